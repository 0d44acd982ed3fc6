"""Tickets that a world starts with were promised what they would have been, had the desk watched them."""

from services.desk import defaults
from services.desk.rules.initial_targets import build_targets
from services.desk.tables import sla_policies, sla_targets, tickets
from services.kernel.world import World
from tests.desk.office import HELD, NEW, OPEN, PENDING
from tests.desk.rulebook import condition, policy, say, ticket, update, wait, write_in

KEPT = (
    "ticket_id",
    "policy_id",
    "metric",
    "stage",
    "target_minutes",
    "business_hours",
    "elapsed_ms",
    "due_at",
    "breached_at",
)


def kept(rows: list) -> list[tuple]:
    return sorted(tuple(row["body"][name] for name in KEPT) for row in rows if row["body"]["stage"] != "achieved")


def begun(world: World) -> list:
    rows, policies = tickets.find(world), sla_policies.find(world)
    return build_targets(rows, policies, defaults.schedule(), world.clock.now_ms())


def test_what_is_worked_out_at_the_start_is_what_watching_would_have_told(world: World) -> None:
    for key in (NEW, OPEN, PENDING, HELD):
        row = ticket(world, key)
        world.save(tickets, {**row, "body": {**row["body"], "status": "closed"}}, "planted")
    policy(
        world,
        {"first_reply_time": 240, "requester_wait_time": 600, "total_resolution_time": 900},
        condition("subject_includes_word", "is", "watched"),
        office=True,
    )
    waiting = write_in(world, "Watched one", priority="normal")["id"]
    write_in(world, "Watched two", priority="normal")
    wait(world, 1.5)
    say(world, waiting, "Which printer?", assignee_id=901, status="pending")
    wait(world, 40)
    update(world, waiting, status="open")
    wait(world, 1)

    worked_out, watched = begun(world), sla_targets.find(world)
    assert kept(worked_out) == kept(watched)
    assert len(kept(watched)) == 5


def test_only_unsolved_tickets_with_a_priority_are_promised_anything(world: World) -> None:
    policy(world, {"first_reply_time": 60, "next_reply_time": 60})
    rows = begun(world)

    assert {row["body"]["ticket_id"] for row in rows} == {PENDING}
    assert [row["id"] for row in rows] == [1]
    assert rows[0]["body"]["breached_at"] == ticket(world, PENDING)["created_at"] + 60 * 60_000
