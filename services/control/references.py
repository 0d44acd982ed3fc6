"""References: what a task could not name before the end, as the products hold it then."""

from collections.abc import Sequence
from dataclasses import replace

from fixtures.tasks.family import Asked
from services.control.live import Live


async def resolved(live: Live, questions: Sequence[Asked]) -> list[Asked]:
    """Whoever refers to a record must mean one that is there: an id that was only guessed names nothing."""
    return [await _resolved(live, one) if one.naming else one for one in questions]


async def _resolved(live: Live, asked: Asked) -> Asked:
    named = {argument: await _names(live, referred) for argument, referred in asked.naming.items()}
    return replace(asked, arguments={**asked.arguments, **named}, naming={})


async def _names(live: Live, asked: Asked) -> list[str]:
    question = {"name": asked.check, "arguments": dict(asked.arguments)}
    said = await live.tell(asked.product, "/ask", {"checks": [question]})
    names: list[str] = said["findings"][0]["names"]
    return names
