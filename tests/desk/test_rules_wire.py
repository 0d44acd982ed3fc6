"""Macros, triggers, automations and service level policies on the wire, through the vendor's clients."""

from typing import Any

import pytest
from zdesk import Zendesk
from zenpy import Zenpy
from zenpy.lib.api_objects import Automation, Macro, SlaPolicy, Trigger
from zenpy.lib.exception import RecordNotFoundException

from services.desk import defaults
from services.desk.rules.validation import (
    read_actions,
    read_conditions,
    read_policy_metrics,
    require_automation,
    require_trigger,
    require_view,
)
from tests.desk.conftest import Account
from tests.desk.office import LENA, MARA, NEW, OPEN
from tests.desk.rulebook import comments_of, condition, furnish, ticket

REPLY = [
    {"field": "comment_value", "value": "Hi {{ticket.requester.first_name}}, it is <on> its way."},
    {"field": "status", "value": "pending"},
    {"field": "current_tags", "value": "asked"},
]
OPENED = {"all": [condition("status", "is", "open")], "any": []}
AGED = [condition("status", "is", "pending"), condition("PENDING", "greater_than", 24)]
PROMISED = [{"priority": "high", "metric": "first_reply_time", "target": 60, "business_hours": True}]


def revision(account: Account) -> int:
    return account.world.revision


def test_a_macro_shows_what_it_would_do_and_writes_nothing(zenpy: Zenpy, zdesk: Zendesk, account: Account) -> None:
    macro = zenpy.macros.create(Macro(title="Ask", actions=REPLY))
    before = revision(account)
    alone = zenpy.macros.apply(macro)
    result = zenpy.tickets.show_macro_effect(OPEN, macro)
    whole = zdesk.ticket_macro_apply(OPEN, macro.id)["result"]["ticket"]

    assert (alone.ticket.status, alone.ticket.tags) == ("pending", ["asked"])
    assert alone.ticket.comment.body == "Hi {{ticket.requester.first_name}}, it is  its way."
    assert result.ticket.comment.body == "Hi Lena, it is  its way."
    assert (whole["status"], whole["tags"], whole["subject"]) == (
        "pending",
        ["asked", "billing", "refund"],
        "Charged twice in October",
    )
    assert whole["comment"]["public"] is True
    assert revision(account) == before
    assert ticket(account.world, OPEN)["body"]["status"] == "open"


def test_what_a_macro_shows_can_be_sent_as_an_update(account: Account) -> None:
    macro = account.post("macros.json", macro={"title": "Ask", "actions": REPLY}).json()["macro"]
    shown = account.get(f"tickets/{OPEN}/macros/{macro['id']}/apply")["result"]["ticket"]
    sent = {name: shown[name] for name in ("status", "tags", "comment")}

    written = account.put(f"tickets/{OPEN}.json", ticket=sent).json()["ticket"]

    assert (written["status"], written["tags"]) == ("pending", ["asked", "billing", "refund"])
    assert comments_of(account.world, OPEN)[-1]["body"] == "Hi Lena, it is  its way."


def test_a_macro_assigns_to_whoever_applies_it_and_can_leave_a_note(account: Account) -> None:
    actions = [{"field": "assignee_id", "value": "current_user"}, {"field": "comment_value", "value": "For the lead"}]
    actions.append({"field": "comment_mode_is_public", "value": "false"})
    macro = account.post("macros.json", macro={"title": "Take", "actions": actions}).json()["macro"]
    shown = account.get(f"tickets/{NEW}/macros/{macro['id']}/apply")["result"]["ticket"]

    assert (shown["assignee_id"], shown["status"], shown["comment"]["public"]) == (MARA, "open", False)


def test_macros_are_listed_searched_changed_and_deleted(zenpy: Zenpy, account: Account) -> None:
    first = zenpy.macros.create(Macro(title="Ask for the invoice", actions=REPLY))
    second = zenpy.macros.create(Macro(title="Hand over", actions=REPLY, active=False))
    first.title = "Ask for the receipt"
    zenpy.macros.update(first)

    assert [(one.id, one.position) for one in zenpy.macros()] == [(first.id, 1), (second.id, 2)]
    assert [one["id"] for one in account.get("macros/active")["macros"]] == [first.id]
    assert [one["title"] for one in account.get("macros/search", query="RECEIPT")["macros"]] == ["Ask for the receipt"]
    assert account.get(f"macros/{first.id}")["macro"]["actions"] == REPLY
    zenpy.macros.delete(first)
    with pytest.raises(RecordNotFoundException):
        zenpy.macros(id=first.id)


def test_a_trigger_made_by_the_vendors_client_runs(zenpy: Zenpy, account: Account) -> None:
    made = zenpy.triggers.create(
        Trigger(
            title="t",
            conditions={"all": [condition("status", "is", "open")]},
            actions=[{"field": "priority", "value": "urgent"}],
        )
    )
    written = account.put(f"tickets/{OPEN}.json", ticket={"comment": {"body": "Looking"}}).json()
    made.active = False
    zenpy.triggers.update(made)
    account.put(f"tickets/{OPEN}.json", ticket={"priority": "low"})

    assert written["ticket"]["priority"] == "urgent"
    fired = next(one for one in written["audit"]["events"] if one.get("field_name") == "priority")
    assert fired["via"]["source"]["from"]["title"] == "t"
    assert ticket(account.world, OPEN)["body"]["priority"] == "low"
    zenpy.triggers.delete(made)
    assert list(zenpy.triggers()) == []


def test_triggers_are_put_into_another_order(account: Account) -> None:
    ids = [
        account.post("triggers.json", trigger={"title": f"T{at}", "conditions": OPENED, "actions": REPLY[1:]}).json()[
            "trigger"
        ]["id"]
        for at in range(3)
    ]
    answer = account.put("triggers/reorder.json", trigger_ids=[ids[2]])
    unknown = account.put("triggers/reorder.json", trigger_ids=[4242])

    assert (answer.status_code, unknown.status_code) == (200, 422)
    assert [one["id"] for one in account.get("triggers")["triggers"]] == [ids[2], ids[0], ids[1]]
    assert [one["id"] for one in account.get("triggers/search", query="t1")["triggers"]] == [ids[1]]
    assert [one["position"] for one in account.get("triggers/active")["triggers"]] == [1, 2, 3]


def test_definitions_tell_every_condition_and_action_that_is_taken(account: Account, zdesk: Zendesk) -> None:
    told = account.get("triggers/definitions")["definitions"]

    conditions = {
        one["subject"]: [operator["value"] for operator in one["operators"]] for one in told["conditions_all"]
    }
    for field, operators in conditions.items():
        for operator in operators:
            value = next(
                (
                    one["values"][0]["value"]
                    for one in told["conditions_all"]
                    if one["subject"] == field and "values" in one
                ),
                "1",
            )
            assert read_conditions({"all": [condition(field, operator, value)]})["all"]
    assert {"status", "priority", "group_id", "notification_user"} <= {one["subject"] for one in told["actions"]}
    assert {one["value"] for one in account.get("slas/policies/definitions")["definitions"]["metrics"]} >= {
        "first_reply_time"
    }


def test_an_automation_made_on_the_wire_runs_when_time_passes(zenpy: Zenpy, account: Account) -> None:
    made = zenpy.automations.create(Automation(title="a", all=AGED, actions=[{"field": "status", "value": "open"}]))
    account.put(f"tickets/{OPEN}.json", ticket={"status": "pending"})
    account.wait(days=1.2)

    assert account.get(f"tickets/{OPEN}")["ticket"]["status"] == "open"
    read = account.get(f"automations/{made.id}")["automation"]
    assert (read["conditions"]["all"], read["active"]) == (AGED, True)
    made.title = "b"
    assert zenpy.automations.update(made).title == "b"
    assert [one["id"] for one in account.get("automations/search", query="b")["automations"]] == [made.id]
    zenpy.automations.delete(made)
    assert account.get("automations")["count"] == 0
    assert account.get("automations/active")["automations"] == []


@pytest.mark.parametrize(
    ("path", "key", "body", "says"),
    [
        ("triggers", "trigger", {"title": "x", "conditions": {}, "actions": REPLY}, "at least one is needed"),
        ("triggers", "trigger", {"title": "x", "conditions": OPENED, "actions": []}, "at least one is needed"),
        ("triggers", "trigger", {"title": "x", "conditions": OPENED, "actions": [{"field": "explode"}]}, "not something"),
        ("triggers", "trigger", {"title": "x", "conditions": OPENED, "actions": [{"field": "status", "value": "new"}]}, "one of open"),
        ("triggers", "trigger", {"title": "x", "conditions": OPENED, "actions": [{"field": "satisfaction_score", "value": "good"}]}, "one of offered"),
        ("triggers", "trigger", {"title": "x", "conditions": OPENED, "actions": [{"field": "custom_fields_x", "value": "1"}]}, "not something"),
        ("macros", "macro", {"title": "", "actions": REPLY}, "Title: cannot be blank"),
        ("automations", "automation", {"title": "x", "all": AGED[:1], "actions": REPLY}, "condition on time"),
        ("automations", "automation", {"title": "x", "all": AGED, "actions": REPLY[:1]}, "must make one of its conditions false"),
        ("automations", "automation", {"title": "x", "all": [*AGED, condition("role", "is", "agent")], "actions": REPLY}, "about an update"),
        ("slas/policies", "sla_policy", {"title": " "}, "Title: cannot be blank"),
        ("slas/policies", "sla_policy", {"title": "x", "policy_metrics": PROMISED * 2}, "given twice"),
        ("slas/policies", "sla_policy", {"title": "x", "filter": {"all": [condition("mood", "is", "x")]}}, "not a field"),
    ],
)  # fmt: skip
def test_rules_that_cannot_be_meant_are_refused(account: Account, path: str, key: str, body: dict, says: str) -> None:
    answer = account.post(f"{path}.json", **{key: body})

    assert (answer.status_code, answer.json()["error"]) == (422, "RecordInvalid")
    assert says in answer.text


def test_policies_are_made_listed_changed_and_deleted(zenpy: Zenpy, account: Account) -> None:
    made = account.post(
        "slas/policies.json", sla_policy={"title": "Fast", "filter": OPENED, "policy_metrics": PROMISED}
    )
    policy = made.json()["sla_policy"]
    changed = account.put(f"slas/policies/{policy['id']}.json", sla_policy={"title": "Faster"}).json()["sla_policy"]

    assert (made.status_code, policy["policy_metrics"], policy["position"]) == (201, PROMISED, 1)
    assert [(type(one), one.title) for one in zenpy.sla_policies()] == [(SlaPolicy, "Faster")]
    assert (changed["filter"], changed["policy_metrics"]) == (OPENED, PROMISED)
    assert account.get(f"slas/policies/{policy['id']}")["sla_policy"]["title"] == "Faster"
    assert account.http.delete(f"/api/v2/slas/policies/{policy['id']}").status_code == 204
    assert account.get("slas/policies")["sla_policies"] == []


def test_a_missed_promise_is_told_in_the_stream_of_metric_events(account: Account) -> None:
    account.post("slas/policies.json", sla_policy={"title": "Fast", "policy_metrics": PROMISED})
    start = account.world.clock.now_ms() // 1000 - 100
    account.put(f"tickets/{OPEN}.json", ticket={"tags": ["x"]})
    account.wait(days=1)

    told = [
        (one["type"], one["metric"], one["ticket_id"])
        for one in account.get("incremental/ticket_metric_events", start_time=str(start))["ticket_metric_events"]
    ]
    assert told == [(kind, "reply_time", OPEN) for kind in ("apply_sla", "activate", "breach")]


def test_end_users_touch_no_rules(account: Account) -> None:
    for path in ("macros", "triggers", "automations", "slas/policies", "triggers/definitions"):
        assert account.as_customer(LENA, "GET", path)[0] == 403


def test_the_companys_rules_are_ones_that_people_could_have_made(account: Account) -> None:
    groups = furnish(account.world)
    rows: dict[str, list[dict[str, Any]]] = {
        table.name: [row["body"] for row in rows] for table, rows in defaults.rows(0, groups)
    }
    for body in rows["views"]:
        require_view(read_conditions(body))
    for body in rows["triggers"]:
        require_trigger(read_conditions(body))
        read_actions(body["actions"])
    for body in rows["automations"]:
        require_automation(read_conditions(body), read_actions(body["actions"]))
    for body in rows["macros"]:
        read_actions(body["actions"])
    for body in rows["sla_policies"]:
        read_conditions({"conditions": body["filter"]})
        read_policy_metrics(body["policy_metrics"])

    assert {name: len(found) for name, found in rows.items()} == {
        "views": 14, "macros": 16, "triggers": 15, "automations": 5, "sla_policies": 3,
    }  # fmt: skip
    with pytest.raises(defaults.NoSuchGroup, match="Payments"):
        defaults.rows(0, {name: key for name, key in groups.items() if name != "Payments"})


def test_every_macro_of_the_company_can_be_applied(account: Account) -> None:
    furnish(account.world)
    before = revision(account)
    for macro in account.get("macros/active")["macros"]:
        shown = account.get(f"tickets/{OPEN}/macros/{macro['id']}/apply")["result"]["ticket"]
        assert "{{" not in shown.get("comment", {}).get("body", "")

    assert revision(account) == before
