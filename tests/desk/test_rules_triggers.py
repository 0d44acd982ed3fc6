"""Triggers run after every change, in their order, each once, and write down what they did."""

import pytest

from services.desk.errors import RecordInvalid
from services.desk.operations.rule_crud import TRIGGERS, reorder_triggers
from services.desk.operations.satisfaction_ratings import rate
from services.kernel.world import World
from tests.desk.office import BILLING_GROUP, INES, JONAS, LENA, MARA, NEW, OPEN, PENDING, SOLVED, TECH_GROUP, TOMAS
from tests.desk.rulebook import (
    audits_of,
    comments_of,
    condition,
    events_of,
    furnish,
    say,
    ticket,
    trigger,
    update,
    user,
    write_in,
)

CREATED = condition("update_type", "is", "Create")
CHANGED = condition("update_type", "is", "Change")


def test_a_trigger_changes_a_new_ticket_and_the_audit_names_it(world: World) -> None:
    rule = trigger(world, [("priority", "urgent"), ("current_tags", "hot line")], CREATED, title="Urgent words")
    made = write_in(world, "Everything is down")

    assert (made["body"]["priority"], made["body"]["tags"]) == ("urgent", ["hot", "line"])
    (audit,) = audits_of(world, made["id"])
    named = {event["field_name"]: event for event in audit["body"]["events"] if event["type"] == "Change"}
    source = named["priority"]["via"]["source"]
    assert (named["priority"]["value"], named["priority"]["previous_value"]) == ("urgent", None)
    assert (source["rel"], source["from"]["id"], source["from"]["title"]) == ("trigger", rule["id"], "Urgent words")


def test_triggers_run_in_their_order_and_the_last_word_stands(world: World) -> None:
    first = trigger(world, [("priority", "low")], CREATED)
    second = trigger(world, [("priority", "high")], CREATED)
    before = write_in(world, "One")["body"]["priority"]
    reorder_triggers(world, [second["id"], first["id"]])
    after = write_in(world, "Two")["body"]["priority"]

    assert (before, after) == ("high", "low")


def test_a_change_by_a_later_trigger_lets_an_earlier_one_look_again(world: World) -> None:
    trigger(world, [("current_tags", "escalated")], condition("priority", "is", "urgent"))
    trigger(world, [("priority", "urgent")], CREATED)

    assert write_in(world, "Slow")["body"]["tags"] == ["escalated"]


def test_two_triggers_that_undo_each_other_come_to_rest(world: World) -> None:
    trigger(world, [("priority", "high")], condition("priority", "is_not", "high"))
    trigger(world, [("priority", "low")], condition("priority", "is_not", "low"))

    made = write_in(world, "Round and round")
    changes = [one["value"] for one in events_of(world, made["id"], "Change") if one["field_name"] == "priority"]

    assert changes == ["high", "low"]


def test_conditions_see_the_ticket_before_the_update_and_now(world: World) -> None:
    trigger(
        world,
        [("current_tags", "back")],
        condition("status", "value_previous", "solved"),
        condition("status", "value", "open"),
        condition("role", "is", "end_user"),
        condition("comment_is_public", "is", "true"),
    )

    assert "back" not in update(world, PENDING, status="open")["body"]["tags"]
    assert "back" not in update(world, SOLVED, status="open")["body"]["tags"]
    update(world, SOLVED, status="solved")
    assert say(world, SOLVED, "It is still slow", who=ticket(world, SOLVED)["body"]["requester_id"])["body"][
        "tags"
    ] == [
        "back",
        "export",
    ]


def test_a_switched_off_trigger_stays_silent_and_a_closed_ticket_meets_none(world: World) -> None:
    rule = trigger(world, [("current_tags", "seen")], condition("status", "is_not", "hold"))
    TRIGGERS.update(world, rule["id"], {"active": False})
    silent = write_in(world, "Quiet")["body"]["tags"]
    TRIGGERS.update(world, rule["id"], {"active": True})

    assert silent == []
    assert write_in(world, "Loud")["body"]["tags"] == ["seen"]


def test_a_trigger_assigns_opens_and_keeps_group_and_agent_in_line(world: World) -> None:
    trigger(world, [("assignee_id", str(JONAS))], CREATED, condition("subject_includes_word", "includes", "webhook"))
    trigger(world, [("group_id", str(BILLING_GROUP))], CREATED, condition("subject_includes_word", "includes", "vat"))
    trigger(world, [("assignee_id", "4242")], CREATED, condition("subject_includes_word", "includes", "nobody"))

    taken, routed, nobody = (write_in(world, subject)["body"] for subject in ("Webhook late", "VAT id", "Nobody"))

    assert (taken["assignee_id"], taken["group_id"], taken["status"]) == (JONAS, TECH_GROUP, "open")
    assert (routed["assignee_id"], routed["group_id"], routed["status"]) == (None, BILLING_GROUP, "new")
    assert (nobody["assignee_id"], nobody["status"]) == (None, "new")


def test_nobody_solves_by_rule_what_nobody_holds(world: World) -> None:
    trigger(world, [("status", "solved"), ("remove_tags", "spam")], condition("current_tags", "includes", "spam"))

    unassigned = write_in(world, "Prize", tags=["spam", "mail"])["body"]
    held = update(world, OPEN, tags=["spam"])["body"]

    assert (unassigned["status"], unassigned["tags"]) == ("new", ["mail"])
    assert (held["status"], held["tags"]) == ("solved", [])


def test_notifications_are_written_down_with_their_readers_and_filled_in(world: World) -> None:
    mail = [
        "requester_id",
        "[#{{ticket.id}}] {{ticket.title}}",
        "Hi {{ticket.requester.first_name}} {{ticket.nonsense}}!",
    ]
    trigger(world, [("notification_user", mail)], CREATED)
    trigger(world, [("notification_group", [str(TECH_GROUP), "New", "{{current_user.name}}"])], CREATED)
    trigger(world, [("notification_user", ["assignee_id", "Yours", "x"])], CREATED)
    made = write_in(world, "Labels")

    sent = events_of(world, made["id"])

    assert [(one["recipients"], one["subject"], one["body"]) for one in sent] == [
        ([LENA], f"[#{made['id']}] Labels", "Hi Lena !"),
        ([JONAS, INES], "New", "Lena Brandt"),
    ]
    assert sent[0]["via"]["channel"] == "rule"


def test_a_rule_can_leave_a_note_in_nobodys_name(world: World) -> None:
    trigger(world, [("comment_value", "Known since {{ticket.id}}")], CREATED)
    trigger(world, [("comment_value", "We are on it"), ("comment_mode_is_public", "true")], CREATED)
    trigger(world, [("comment_value", "   ")], CREATED)
    made = write_in(world, "Outage")

    said = [(one["body"], one["public"], one["author_id"]) for one in comments_of(world, made["id"])]

    assert said[1:] == [(f"Known since {made['id']}", False, -1), ("We are on it", True, -1)]


def test_a_rule_asks_for_a_rating_once_and_never_gives_one(world: World) -> None:
    trigger(world, [("satisfaction_score", "offered")], condition("status", "is", "solved"))
    asked = update(world, OPEN, status="solved")["body"]["satisfaction_rating"]
    rate(world, OPEN, "bad", None, user(world, LENA))
    kept = update(world, OPEN, tags=["x"])["body"]["satisfaction_rating"]

    assert (asked, kept["score"]) == ({"score": "offered"}, "bad")


@pytest.mark.parametrize(
    "action",
    [
        ("notification_user", ["9" * 40, "s", "b"]),
        ("notification_group", "no group"),
        ("notification_target", ["hook", "{{ticket.id}}"]),
        ("group_id", "9" * 40),
        ("assignee_id", [1, 2]),
        ("brand_id", "9" * 40),
        ("custom_fields_3002", ["a", "b"]),
        ("set_tags", 17),
        ("cc", "current_user"),
        ("follower", str(JONAS)),
        ("subject", "{{ticket.id}} {{"),
        ("comment_value", ["channel:all", "Hello"]),
        ("comment_value_html", "<p>Hello</p>"),
        ("due_date", "soon"),
    ],
)
def test_no_action_breaks_the_update_that_set_it_off(world: World, action: tuple) -> None:
    trigger(world, [action], CREATED)

    assert write_in(world, "Strange rules")["body"]["status"] in ("new", "open")


def test_a_failing_update_leaves_nothing_of_its_rules(world: World) -> None:
    trigger(world, [("current_tags", "touched")], CHANGED)

    with pytest.raises(RecordInvalid):
        update(world, NEW, status="solved")

    assert ticket(world, NEW)["body"]["tags"] == []


def test_the_companys_own_triggers_route_mark_and_notify(world: World) -> None:
    groups = furnish(world)
    billing = write_in(world, "Question about my invoice")["body"]
    access = write_in(world, "Locked out since this morning")["body"]
    security = write_in(world, "Data breach at your side?")["body"]
    other = write_in(world, "Where is the button")
    reply = say(world, other["id"], "Top right.", assignee_id=MARA)

    assert (billing["group_id"], billing["priority"]) == (groups["Billing & Invoices"], "normal")
    assert access["group_id"] == groups["Account Access"]
    assert (security["group_id"], security["priority"]) == (groups["Security"], "urgent")
    assert other["body"]["group_id"] == groups["Product Support"]
    subjects = [one["subject"] for one in events_of(world, other["id"])]
    assert subjects == ["[Request received] Where is the button", "Re: Where is the button"]
    assert events_of(world, other["id"])[1]["body"].startswith("Top right.")
    assert reply["body"]["status"] == "open"


def test_an_internal_note_is_not_sent_to_the_customer(world: World) -> None:
    furnish(world)
    say(world, OPEN, "The customer is furious", public=False)
    say(world, PENDING, "Any news?", who=TOMAS)

    assert [one["recipients"] for one in events_of(world, OPEN)] == []
    assert [one["recipients"] for one in events_of(world, PENDING)] == [[JONAS]]


def test_the_company_marks_reopened_tickets(world: World) -> None:
    furnish(world)

    assert (
        "reopened" in say(world, SOLVED, "Not fixed", who=ticket(world, SOLVED)["body"]["requester_id"])["body"]["tags"]
    )


def test_what_a_rule_of_the_agent_does_is_the_agents_doing(world: World) -> None:
    world.actor = "system"
    trigger(world, [("priority", "low")], CREATED, title="The company's")
    world.actor = "agent"
    trigger(world, [("current_tags", "mine")], CREATED, title="The agent's")
    before = world.revision
    write_in(world, "Hello")

    written = [change for change in world.changes(before) if change.table == "tickets" and change.after is not None]
    ranked = next(change for change in written if change.after["body"]["priority"] == "low")
    tagged = next(change for change in written if "mine" in change.after["body"]["tags"])
    assert (ranked.actor, tagged.actor) == ("rule", "agent's job")
