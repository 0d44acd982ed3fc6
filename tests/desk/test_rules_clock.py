"""Automations every full hour, promises to the minute: on the desk's own clock, however it is moved."""

import pytest

from services.desk.operations.clock import tick
from services.desk.operations.deleted_tickets import delete_ticket
from services.desk.operations.rule_crud import AUTOMATIONS, SLA_POLICIES
from services.desk.tables import tickets
from services.kernel.clock import TICK_MS
from services.kernel.forks import Forks
from services.kernel.world import World
from tests.desk.office import HOUR, JONAS, LENA, MARA, NEW, NOW, OPEN, PENDING
from tests.desk.rulebook import (
    audits_of,
    automation,
    comments_of,
    condition,
    events_of,
    furnish,
    policy,
    say,
    steps,
    ticket,
    trigger,
    update,
    user,
    wait,
    write_in,
)

DAY = 24
PENDING_ONLY = condition("status", "is", "pending")


def asleep(world: World, key: int = NEW) -> int:
    """A ticket that waits for its customer from now on."""
    update(world, key, assignee_id=JONAS, status="pending")
    return key


def status(world: World, key: int) -> str:
    return ticket(world, key)["body"]["status"]


def test_an_automation_acts_at_the_first_full_hour_after_its_time(world: World) -> None:
    rule = automation(world, [("status", "open")], PENDING_ONLY, condition("PENDING", "greater_than", 5))
    world.clock.advance_to(NOW + 20 * 60_000)
    key = asleep(world)

    wait(world, 5.5)
    early = status(world, key)
    wait(world, 0.5)
    audit = audits_of(world, key)[-1]

    assert (early, status(world, key)) == ("pending", "open")
    assert audit["created_at"] == NOW + 6 * HOUR
    assert (audit["body"]["author_id"], audit["body"]["via"]["source"]["rel"]) == (-1, "automation")
    assert audit["body"]["via"]["source"]["from"]["id"] == rule["id"]


def test_one_long_wait_equals_many_short_ones(world: World, forks: Forks) -> None:
    other = forks.take()
    short = World(other, seed=7)
    for one in (world, short):
        furnish(one)
        asleep(one)
        write_in(one, "Question about my invoice")

    wait(world, 21 * DAY)
    for _ in range(21 * 4):
        wait(short, 6)

    assert [(one.table, one.row_id, one.at, one.after) for one in world.changes()] == [
        (one.table, one.row_id, one.at, one.after) for one in short.changes()
    ]
    forks.give_back(other)


def test_the_company_reminds_once_then_solves_then_closes(world: World) -> None:
    furnish(world)
    key = asleep(world)
    seen = []
    for _ in range(20):
        wait(world, DAY)
        body = ticket(world, key)["body"]
        seen.append((body["status"], "reminder_sent" in body["tags"]))

    assert seen.index(("pending", True)) == 7
    assert [state for state, _ in seen].index("solved") == 14
    assert [state for state, _ in seen].index("closed") == 19
    reminders = [one for one in events_of(world, key) if "still waiting" in one["body"]]
    assert [one["recipients"] for one in reminders] == [[LENA]]
    assert ticket(world, key)["body"]["satisfaction_rating"]["score"] == "offered"


def test_a_customer_who_answers_in_time_keeps_the_ticket_open(world: World) -> None:
    furnish(world)
    key = asleep(world)
    wait(world, 6 * DAY)
    say(world, key, "Here is the number: 1044", who=LENA)
    wait(world, 20 * DAY)

    assert status(world, key) == "open"
    assert "reminder_sent" not in ticket(world, key)["body"]["tags"]


def test_an_answer_to_a_solved_ticket_starts_its_time_anew(world: World) -> None:
    furnish(world)
    wait(world, 4 * DAY)
    solved = update(world, OPEN, status="solved")["body"]["status"]
    wait(world, 4 * DAY)
    say(world, OPEN, "Charged again!", who=LENA)
    update(world, OPEN, status="solved")
    wait(world, 4 * DAY)
    still = status(world, OPEN)
    wait(world, 1.5 * DAY)

    assert (solved, still, status(world, OPEN)) == ("solved", "solved", "closed")


def test_an_automation_sets_off_triggers(world: World) -> None:
    automation(
        world, [("priority", "urgent")], condition("OPEN", "greater_than", 1), condition("priority", "is", "high")
    )
    trigger(world, [("current_tags", "alarm")], condition("priority", "value", "urgent"))
    say(world, OPEN, "Looking into it.")

    wait(world, 2)

    assert "alarm" in ticket(world, OPEN)["body"]["tags"]


def test_an_automation_that_only_tells_tells_once(world: World) -> None:
    automation(
        world, [("notification_user", ["assignee_id", "Wake up", "x"])], PENDING_ONLY, condition("PENDING", "is", 3)
    )
    key = asleep(world)
    for _ in range(12 * 6):
        wait(world, 1 / 6)

    assert len(events_of(world, key)) == 0
    assert ticket(world, key)["body"]["_automated"] != {}


def test_an_automation_that_comments_and_tells_does_both_once(world: World) -> None:
    actions = [("comment_value", "Nobody answered"), ("notification_user", ["assignee_id", "Wake up", "x"])]
    automation(world, actions, PENDING_ONLY, condition("PENDING", "is", 3))
    key = asleep(world)
    wait(world, 30)

    assert [one["body"] for one in comments_of(world, key)][1:] == ["Nobody answered"]
    assert [one["recipients"] for one in events_of(world, key)] == [[JONAS]]


def test_business_hours_do_not_pass_at_night(world: World) -> None:
    automation(
        world,
        [("current_tags", "late")],
        condition("OPEN", "greater_than_business_hours", 10),
        condition("current_tags", "not_includes", "late"),
    )
    say(world, OPEN, "On it.")  # Monday 09:00, nine hours before the desk closes
    made = update(world, PENDING, status="open")["id"]

    wait(world, 23)
    tuesday_at_eight = "late" in ticket(world, made)["body"]["tags"]
    wait(world, 2)

    assert tuesday_at_eight is False
    assert "late" in ticket(world, made)["body"]["tags"]


def test_an_hour_that_falls_into_a_request_is_not_missed(world: World) -> None:
    automation(world, [("status", "open")], PENDING_ONLY, condition("PENDING", "greater_than", 1))
    key = asleep(world)
    world.clock.advance_to(NOW + 2 * HOUR - 500)
    world.clock.advance_to(world.clock.now_ms() + TICK_MS)
    tick(world)

    assert status(world, key) == "open"


def test_what_automations_foresee_survives_nothing_that_changed(world: World) -> None:
    rule = automation(world, [("status", "open")], PENDING_ONLY, condition("PENDING", "greater_than", 5))
    key = asleep(world)
    wait(world, 2)
    row = ticket(world, key)
    world.save(tickets, {**row, "body": {**row["body"], "status": "hold"}}, "planted")
    wait(world, 6)
    held = status(world, key)
    world.save(tickets, row, "planted")
    AUTOMATIONS.update(
        world,
        rule["id"],
        {"actions": [{"field": "priority", "value": "urgent"}, {"field": "status", "value": "open"}]},
    )
    wait(world, 1)

    assert (held, status(world, key), ticket(world, key)["body"]["priority"]) == ("hold", "open", "urgent")


def test_a_first_reply_is_due_in_office_hours_and_missed_to_the_minute(world: World) -> None:
    policy(world, {"first_reply_time": 11 * 60}, office=True)
    key = write_in(world, "Labels", priority="normal")["id"]

    wait(world, 24 + 1.9)
    before = steps(world, key, "reply_time")
    wait(world, 1)

    # Monday 09:00 to 18:00 are nine hours; two more end on Tuesday at 10:00, 25 hours later.
    assert before == [("apply_sla", 0), ("activate", 0), ("breach", 25 * 60)]
    assert steps(world, key, "reply_time") == before


def test_a_reply_in_time_keeps_the_promise(world: World) -> None:
    policy(world, {"first_reply_time": 60})
    key = write_in(world, "Labels", priority="normal")["id"]
    wait(world, 0.5)
    say(world, key, "A note to ourselves", public=False)
    note = steps(world, key, "reply_time")[-1]
    say(world, key, "We are looking into it")
    wait(world, 10)

    assert note == ("activate", 0)
    assert steps(world, key, "reply_time")[2:] == [("fulfill", 30)]


def test_the_wait_of_the_customer_stops_while_we_wait_for_them(world: World) -> None:
    policy(world, {"requester_wait_time": 120})
    key = write_in(world, "Labels", priority="normal")["id"]
    wait(world, 1)
    say(world, key, "Which printer?", assignee_id=MARA, status="pending")
    wait(world, 50)
    say(world, key, "The blue one", who=LENA)
    wait(world, 0.5)
    still = steps(world, key, "requester_wait_time")
    wait(world, 1)

    assert still == [("apply_sla", 0), ("activate", 0), ("pause", 60), ("activate", 51 * 60)]
    assert steps(world, key, "requester_wait_time")[4:] == [("breach", 52 * 60)]


def test_solving_keeps_what_is_open_and_reopening_goes_on_where_it_stopped(world: World) -> None:
    policy(world, {"total_resolution_time": 180, "agent_work_time": 180})
    key = write_in(world, "Labels", priority="normal")["id"]
    wait(world, 1)
    say(world, key, "Done.", assignee_id=MARA, status="solved")
    wait(world, 24)
    say(world, key, "No, it is not", who=LENA)
    wait(world, 3)

    for metric in ("total_resolution_time", "agent_work_time"):
        assert steps(world, key, metric)[1:] == [
            ("activate", 0),
            ("fulfill", 60),
            ("activate", 25 * 60),
            ("breach", 27 * 60),
        ]


def test_the_next_reply_is_owed_from_the_customers_next_word(world: World) -> None:
    policy(world, {"next_reply_time": 60})
    key = write_in(world, "Labels", priority="normal")["id"]
    say(world, key, "Hello", assignee_id=MARA)
    wait(world, 5)
    quiet = steps(world, key, "reply_time")
    say(world, key, "And now?", who=LENA)
    wait(world, 2)
    say(world, key, "Sorry, now.")
    say(world, key, "Thanks, one more", who=LENA)
    wait(world, 0.5)
    say(world, key, "Here you are.")

    assert quiet == []
    assert [kind for kind, _ in steps(world, key, "reply_time")] == [
        "apply_sla",
        "activate",
        "breach",
        "fulfill",
        "activate",
        "fulfill",
    ]
    assert steps(world, key, "reply_time")[2] == ("breach", 6 * 60)


@pytest.mark.parametrize(
    ("metric", "missed"), [("periodic_update_time", [("breach", 120)]), ("pausable_update_time", [])]
)
def test_updates_are_owed_again_after_each_and_one_kind_pauses(world: World, metric: str, missed: list) -> None:
    policy(world, {metric: 60})
    key = write_in(world, "Labels", priority="normal")["id"]
    wait(world, 0.5)
    say(world, key, "Hello", assignee_id=MARA)
    wait(world, 0.5)
    say(world, key, "Still on it", status="pending")
    wait(world, 5)

    told = steps(world, key, metric)
    assert [one for one in told if one[0] != "apply_sla"][:2] == [("activate", 30), ("fulfill", 60)]
    assert [one for one in told if one[0] == "breach"] == missed


def test_a_change_of_priority_changes_the_target_and_counts_what_has_passed(world: World) -> None:
    both = [
        {"priority": "urgent", "metric": "first_reply_time", "target": 90, "business_hours": False},
        {"priority": "low", "metric": "first_reply_time", "target": 600, "business_hours": False},
    ]
    made = policy(world, {"first_reply_time": 1})
    SLA_POLICIES.update(world, made["id"], {"policy_metrics": both})
    key = write_in(world, "Labels", priority="low")["id"]
    wait(world, 1)
    update(world, key, priority="urgent")
    wait(world, 1)

    assert steps(world, key, "reply_time") == [("apply_sla", 0), ("activate", 0), ("apply_sla", 60), ("breach", 90)]


def test_without_a_priority_or_a_policy_nothing_is_promised(world: World) -> None:
    policy(world, {"first_reply_time": 60}, condition("current_tags", "includes", "gold"))
    plain = write_in(world, "Labels", priority="normal")["id"]
    unranked = write_in(world, "Labels", tags=["gold"])["id"]
    golden = write_in(world, "Labels", priority="normal", tags=["gold"])["id"]
    wait(world, 0.5)
    update(world, golden, tags=[])
    wait(world, 3)

    assert steps(world, plain, "reply_time") == steps(world, unranked, "reply_time") == []
    assert [kind for kind, _ in steps(world, golden, "reply_time")] == ["apply_sla", "activate"]


def test_the_first_policy_that_fits_counts(world: World) -> None:
    policy(world, {"first_reply_time": 60}, condition("current_tags", "includes", "gold"))
    policy(world, {"first_reply_time": 240})
    golden = write_in(world, "Labels", priority="normal", tags=["gold"])["id"]
    plain = write_in(world, "Labels", priority="normal")["id"]
    wait(world, 5)

    assert [steps(world, key, "reply_time")[-1] for key in (golden, plain)] == [("breach", 60), ("breach", 240)]


def test_the_companys_promises_and_the_lead_who_hears_of_a_missed_one(world: World) -> None:
    furnish(world)
    urgent = write_in(world, "Nothing works", priority="urgent", tags=["vip"])["id"]
    normal = write_in(world, "A question", priority="normal")["id"]
    security = write_in(world, "Phishing mail", priority="low")["id"]
    wait(world, 2)

    assert [steps(world, key, "reply_time")[-1] for key in (urgent, normal, security)] == [
        ("breach", 60),
        ("activate", 0),
        ("breach", 60),
    ]
    assert "target_missed" in ticket(world, urgent)["body"]["tags"]
    assert "target_missed" not in ticket(world, normal)["body"]["tags"]


def test_a_deleted_ticket_is_promised_nothing_more(world: World) -> None:
    policy(world, {"first_reply_time": 60})
    key = write_in(world, "Labels", priority="normal")["id"]
    delete_ticket(world, key, user(world, MARA))
    wait(world, 3)

    assert [kind for kind, _ in steps(world, key, "reply_time")] == ["apply_sla", "activate"]


@pytest.mark.parametrize("operator", ["less_than", "is", "less_than_business_hours", "is_business_hours"])
def test_rules_can_act_before_a_promise_is_missed(world: World, operator: str) -> None:
    policy(world, {"first_reply_time": 6 * 60})
    ahead = condition("until_sla_next_breach_at", operator, 2)
    automation(world, [("priority", "urgent")], ahead, condition("priority", "is", "normal"))
    key = write_in(world, "Labels", priority="normal")["id"]
    seen = []
    for _ in range(6):
        wait(world, 1)
        seen.append(ticket(world, key)["body"]["priority"])

    # Monday 09:00 on; due at 15:00. Two hours are left at 13:00, less than two at 14:00.
    assert seen.index("urgent") == (3 if operator.startswith("is") else 4)


def test_people_of_the_desk_do_not_owe_replies_to_themselves(world: World) -> None:
    policy(world, {"next_reply_time": 60})
    key = write_in(world, "Labels", priority="normal")["id"]
    say(world, key, "Hello", assignee_id=MARA)
    say(world, key, "A colleague adds something", who=JONAS)

    assert steps(world, key, "reply_time") == []
