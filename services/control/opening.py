"""Parts of opening an episode: slots at the products, and the edits of colleagues that each is sent."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fixtures.tasks.family import Instance
from services.control.open_episode import Owner


@asynccontextmanager
async def opening_slots(owners: Mapping[str, Owner]) -> AsyncIterator[None]:
    """Wait for a slot at each product; all openings take them in the same order, so that none waits for another."""
    async with AsyncExitStack() as slots:
        for product in sorted(owners):
            await slots.enter_async_context(owners[product].client.opening_slots)
        yield


def list_planned_edits(instance: Instance, product: str) -> list[dict[str, Any]]:
    return [
        {"after_steps": edit.after_steps, "table": edit.table, "key": edit.row, "values": dict(edit.values)}
        for edit in instance.concurrent_edits
        if edit.product == product
    ]
