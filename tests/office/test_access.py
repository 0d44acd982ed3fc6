"""What control says of an agent's credential to the services that speak MCP with agents."""

import pytest
from dayshift.episode import Episode
from dayshift.errors import ControlRefused

from services.mcp.session import choose_operations
from services.validate.attempt import TrialContext
from tests.company import WORLD


def test_the_office_credential_opens_every_product_and_a_products_own_opens_that_product(context: TrialContext) -> None:
    with Episode.open(None, world=WORLD, connection=context.stack) as episode:
        assert episode.mcp is not None
        control = episode.protocol.control
        office = context.stack.run(control.access(episode.mcp.credential))
        desk = context.stack.run(control.access(episode.products["desk"].credential))

    assert {name: access.credential for name, access in office.products.items()} == {
        name: access.credential for name, access in episode.products.items()
    }
    assert list(desk.products) == ["desk"]
    assert (office.episode_id, office.can_finish) == (episode.id, True)


def test_the_answer_that_the_work_asks_for_is_in_the_closing_tool(context: TrialContext) -> None:
    with Episode.open("crm/pipeline-question", seed=1, world=WORLD, connection=context.stack) as episode:
        assert episode.mcp is not None
        access = context.stack.run(episode.protocol.control.access(episode.mcp.credential))
        finish = choose_operations(episode.operations, access)["finish_work"]

    assert access.answer_schema == episode.protocol.opened.answer_schema
    assert finish.lean_schema == episode.operations["finish_work"].lean_schema
    assert finish.lean_schema["required"] == ["answer"]


@pytest.mark.parametrize(("surface", "is_told"), [("task", True), ("core", False)])
def test_only_an_assisted_agent_is_told_what_known_solutions_use(
    context: TrialContext, surface: str, is_told: bool
) -> None:
    task = "crm/pipeline-question"
    with Episode.open(task, seed=1, world=WORLD, connection=context.stack, surface=surface) as episode:
        assert episode.mcp is not None
        access = context.stack.run(episode.protocol.control.access(episode.mcp.credential))

    assert ("crm.deals.search" in access.operations) == is_told


def test_the_credential_of_an_episode_that_is_over_opens_nothing(context: TrialContext) -> None:
    with Episode.open(None, world=WORLD, connection=context.stack) as episode:
        assert episode.mcp is not None
        credentials = [episode.mcp.credential, *(access.credential for access in episode.products.values())]

    for credential in credentials:
        with pytest.raises(ControlRefused, match="no open episode has this credential"):
            context.stack.run(episode.protocol.control.access(credential))
