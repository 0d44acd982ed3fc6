"""References: arguments of questions that a task could not know before the end, such as the ids of new rows."""

from collections.abc import Sequence
from dataclasses import replace

from fixtures.tasks.family import CheckQuestion
from services.control.open_episode import OpenEpisode


async def resolve_references(episode: OpenEpisode, questions: Sequence[CheckQuestion]) -> list[CheckQuestion]:
    """Puts the ids of existing rows into questions that refer to some: an id that was only guessed names nothing."""
    return [await _resolve(episode, question) if question.references else question for question in questions]


async def _resolve(episode: OpenEpisode, question: CheckQuestion) -> CheckQuestion:
    names = {
        argument: (await episode.ask_checks(reference.product, [reference]))[0]["names"]
        for argument, reference in question.references.items()
    }
    return replace(question, arguments={**question.arguments, **names}, references={})
