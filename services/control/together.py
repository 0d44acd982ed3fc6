"""Several things at once, none of them left half done."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def all_or_first_error(*work: Coroutine[Any, Any, Any]) -> None:
    """Wait for all, even if one fails: whoever cleans up must not race with what is still under way."""
    done = await asyncio.gather(*work, return_exceptions=True)
    for outcome in done:
        if isinstance(outcome, BaseException):
            raise outcome
