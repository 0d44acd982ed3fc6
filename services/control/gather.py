"""Runs several coroutines at once."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def gather_all(*work: Coroutine[Any, Any, Any]) -> None:
    """Waits for all, even if one fails, and then raises the first error: a clean-up must not race with running work."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
