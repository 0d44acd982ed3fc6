"""A sandbox whose start is given up leaves nothing open."""

import asyncio
import gc
import warnings
from contextlib import suppress

from services.ide.sandbox import pool
from services.kernel.config import Settings


def test_a_start_that_is_cancelled_at_any_moment_closes_its_sockets() -> None:
    async def cancel_after(seconds: float) -> None:
        await pool.open_pool(Settings())
        starting = asyncio.create_task(pool.current_pool().take())
        await asyncio.sleep(seconds)
        starting.cancel()
        with suppress(asyncio.CancelledError):
            await starting
        await pool.close_pool()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        for moment in range(12):
            asyncio.run(cancel_after(moment / 100))
            gc.collect()

    assert [str(warning.message) for warning in caught if warning.category is ResourceWarning] == []
