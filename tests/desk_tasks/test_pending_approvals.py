"""What waits for a person waits no longer than its episode, however that ends."""

import re

import pytest
from dayshift.episode import Episode

from services.validate.attempt import TrialContext
from tests.company import WORLD

TASK = "desk/refund-above-limit"


@pytest.mark.parametrize("ending", ["submit", "close"])
def test_nothing_waits_for_a_person_once_its_episode_is_over(
    context: TrialContext, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    episodes = context.stack.control.episodes
    monkeypatch.setattr(episodes, "_human_approvals", (TASK,))
    monkeypatch.setattr(episodes.approvals, "wait_seconds", 0.1)
    episode = Episode.open(TASK, seed=5, world=WORLD, connection=context.stack)
    ticket = re.search(r"\d{3,}", episode.brief)
    assert ticket is not None
    note = {"body": "Do you approve the refund that the customer asks for?", "public": False}
    episode.step("desk.tickets.update", ticket_id=int(ticket[0]), ticket={"comment": note})
    # Nobody decides: the colleague has not answered yet.
    episode.wait(8)
    waiting = [approval.episode_id for approval in episodes.approvals.list().approvals]
    assert waiting == [episode.id]

    episode.submit() if ending == "submit" else episode.close()

    assert episodes.approvals.list().approvals == []
    episode.close()
