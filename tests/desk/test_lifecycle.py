"""A ticket's life, whatever happens to it, in step with a small model."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from services.desk.operations.deleted_tickets import delete_ticket, restore_ticket
from services.desk.operations.requests import create_request, update_request
from services.desk.operations.tickets import create_ticket, get_ticket, update_ticket
from services.desk.records.ticket_changes import SYSTEM, change_ticket
from services.desk.tables import audits, comments, tickets, users
from services.kernel.documents import equal
from services.kernel.errors import Refusal
from services.kernel.forks import Forks
from services.kernel.world import World
from tests.desk.office import INES, JONAS, LENA, MARA

STATUSES = ("new", "open", "pending", "hold", "solved", "closed")
AGENTS = (MARA, JONAS, INES)


class TicketLifecycle(RuleBasedStateMachine):
    """One ticket: what the desk does with it, and what the rules of the desk say that it should do."""

    forks: Forks

    @initialize()
    def begin(self) -> None:
        self.fork = self.forks.take()
        self.world = World(self.fork, seed=7)
        self.world.actor = "agent"
        self.agent = users.must_exist(self.world, MARA)
        self.customer = users.must_exist(self.world, LENA)
        change = create_request(self.world, {"comment": {"body": "Help"}}, self.customer)
        self.key = change.after["id"]
        self.status, self.assignee, self.priority = "new", None, None
        self.deleted, self.reopens, self.said = False, 0, 1

    def teardown(self) -> None:
        if hasattr(self, "fork"):
            self.forks.give_back(self.fork)

    def attempt(self, act: Any) -> bool:
        self.world.clock.tick()
        try:
            with self.world.attempt():
                act()
        except Refusal:
            return False
        return True

    def update(self, **given: Any) -> bool:
        return self.attempt(lambda: update_ticket(self.world, self.key, given, self.agent))

    def turned(self, status: str) -> None:
        if self.status == "solved" and status not in ("solved", "closed"):
            self.reopens += 1
        self.status = status

    @property
    def takes_changes(self) -> bool:
        return not self.deleted and self.status != "closed"

    @rule(status=st.sampled_from(STATUSES))
    def agent_sets_status(self, status: str) -> None:
        allowed = self.takes_changes and status != "closed"
        allowed = allowed and not (status == "new" and self.status != "new")
        allowed = allowed and not (status == "solved" and self.assignee is None)

        assert self.update(status=status) is allowed
        if allowed:
            self.turned(status)

    @rule(agent=st.sampled_from((*AGENTS, None)))
    def agent_assigns(self, agent: int | None) -> None:
        allowed = self.takes_changes and not (agent is None and self.status == "solved")

        assert self.update(assignee_id=agent) is allowed
        if allowed:
            self.assignee = agent
            if agent is not None and self.status == "new":
                self.turned("open")

    @rule(priority=st.sampled_from(("low", "normal", "high", "urgent", None)))
    def agent_sets_priority(self, priority: str | None) -> None:
        allowed = self.takes_changes and not (priority is None and self.priority is not None)

        assert self.update(priority=priority) is allowed
        if allowed:
            self.priority = priority

    @rule(public=st.booleans())
    def agent_says(self, public: bool) -> None:
        assert self.update(comment={"body": "Hello", "public": public}) is self.takes_changes
        self.said += self.takes_changes

    @rule()
    def customer_says(self) -> None:
        said = {"comment": {"body": "And?"}}
        allowed = self.takes_changes

        assert self.attempt(lambda: update_request(self.world, self.key, said, self.customer)) is allowed
        if allowed:
            self.said += 1
            self.turned("open" if self.status in ("pending", "hold", "solved") else self.status)

    @rule()
    def customer_calls_it_solved(self) -> None:
        allowed = not self.deleted and self.status in ("open", "pending", "hold") and self.assignee is not None

        assert self.attempt(lambda: update_request(self.world, self.key, {"solved": True}, self.customer)) is allowed
        if allowed:
            self.turned("solved")

    @rule()
    def time_closes_what_is_solved(self) -> None:
        if self.status == "solved" and not self.deleted:
            row = get_ticket(self.world, self.key)
            change_ticket(self.world, row, {"status": "closed"}, SYSTEM, {"channel": "rule", "source": {}})
            self.turned("closed")

    @rule()
    def agent_deletes(self) -> None:
        assert self.attempt(lambda: delete_ticket(self.world, self.key, self.agent)) is not self.deleted
        self.deleted = True

    @rule()
    def agent_restores(self) -> None:
        assert self.attempt(lambda: restore_ticket(self.world, self.key, self.agent)) is self.deleted
        self.deleted = False

    @rule()
    def customer_follows_up(self) -> None:
        given = {"comment": {"body": "It is back"}, "via_followup_source_id": self.key}
        allowed = self.status == "closed" and not self.deleted

        assert self.attempt(lambda: create_request(self.world, given, self.customer)) is allowed

    @invariant()
    def the_ticket_is_where_the_model_is(self) -> None:
        if not hasattr(self, "key"):
            return
        row = tickets.must_exist(self.world, self.key)
        body = row["body"]

        assert (body["status"], body["assignee_id"], body["priority"]) == (self.status, self.assignee, self.priority)
        assert (body["deleted_at"] is not None) is self.deleted
        assert body["metrics"]["reopens"] == self.reopens
        assert (body["metrics"]["solved_at"] is not None) is (self.status in ("solved", "closed"))
        assert comments.count_rows(self.world, equal(ticket_id=self.key)) == self.said

    @invariant()
    def the_audits_lead_to_where_it_is(self) -> None:
        if not hasattr(self, "key"):
            return
        status = None
        for audit in audits.find(self.world, equal(ticket_id=self.key)):
            for event in audit["body"]["events"]:
                if event.get("field_name") == "status":
                    assert event.get("previous_value", status) == status
                    status = event["value"]

        assert status == self.status


def test_a_ticket_lives_by_the_rules_of_the_desk(forks: Forks) -> None:
    class OnThisDesk(TicketLifecycle):
        """On the office's desk."""

    OnThisDesk.forks = forks
    limits = settings(
        max_examples=120, stateful_step_count=25, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(OnThisDesk, settings=limits)


@pytest.mark.parametrize("status", STATUSES[1:5])
def test_an_assigned_ticket_is_never_new_again(world: World, status: str) -> None:
    agent = users.must_exist(world, MARA)
    made = create_ticket(world, {"comment": {"body": "x"}, "assignee_id": MARA, "status": status}, agent)

    assert made.after["body"]["status"] == status
    with pytest.raises(Refusal, match="back to New"):
        update_ticket(world, made.after["id"], {"status": "new"}, agent)
