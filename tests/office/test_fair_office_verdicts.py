"""What makes verdicts of office families hold: other right ways pass, mistakes do not, and stories can be true."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from fixtures.tasks.family import Call
from fixtures.tasks.registry import families, family
from services.validate.attempt import TrialContext, attempt, draw_instance

# Its pull requests are tried in the IDE's tests.
FAMILIES = sorted(name for name in families() if name.startswith("office/") and name != "office/fix-for-customer")
SEED = 1
LEAST = 3


@pytest.mark.parametrize("name", FAMILIES)
def test_every_other_right_way_passes(context: TrialContext, name: str) -> None:
    found, known = family(name), draw_instance(context, family(name), SEED)
    ways = found.alternatives(known[1])
    assert len(ways) >= LEAST

    for way in ways:
        with attempt(context, found, SEED, known_instance=known) as made:
            verdict = made.submit(made.follow(found.alternatives(made.trouble)[way]))
        assert (verdict.outcome, verdict.reward) == ("passed", 1), (way, verdict.because)


@pytest.mark.parametrize("name", FAMILIES)
def test_no_tempting_mistake_passes(context: TrialContext, name: str) -> None:
    found, known = family(name), draw_instance(context, family(name), SEED)
    ways = found.mistakes(known[1])
    assert len(ways) >= LEAST

    for way in ways:
        with attempt(context, found, SEED, known_instance=known) as made:
            verdict = made.submit(made.follow(found.mistakes(made.trouble)[way]))
        assert verdict.outcome == "failed", way


def test_a_deal_lacks_nothing_that_our_stages_ask_for(context: TrialContext) -> None:
    """Whoever reads the article on deal stages before they close a deal finds it complete but for the order."""
    with attempt(context, family("office/quote-to-cash"), SEED) as made:
        needed: Any = ["amount", "closedate", "plan_name", "seats", "term_months", "discount_percent", "purchase_order"]
        deal = made.do(Call("crm.deals.get", {"dealId": str(made.trouble.deal), "properties": needed}))
        ends = {"objectType": "deals", "objectId": str(made.trouble.deal), "toObjectType": "contacts"}
        people = made.do(Call("crm.associations.list", ends))

    assert [name for name in needed if not deal["properties"][name]] == ["purchase_order"]
    assert people["results"]


def test_an_outage_is_over_before_it_is_noted_and_lasts_as_long_as_its_credit_says(context: TrialContext) -> None:
    for seed in range(6):
        with attempt(context, family("office/outage-shift"), seed) as made:
            opened = made.do(Call("desk.tickets.show", {"ticket_id": made.trouble.problem}))["ticket"]["created_at"]
            comments = made.do(Call("desk.comments.list", {"ticket_id": made.trouble.problem}))["comments"]
            asked = made.do(Call("desk.tickets.show", {"ticket_id": made.trouble.claimant.ticket}))["ticket"][
                "created_at"
            ]
        note = comments[-1]
        noted = datetime.fromisoformat(note["created_at"])
        spelt = re.findall(r"(\d+ \w+ at \d\d:\d\d) UTC", note["body"])
        start, end = (
            datetime.strptime(f"{text} {noted.year}", "%d %B at %H:%M %Y").replace(tzinfo=noted.tzinfo)
            for text in spelt
        )
        assert start < datetime.fromisoformat(opened) < end < noted
        assert end < datetime.fromisoformat(asked)
        assert timedelta(hours=4) < end - start < timedelta(hours=12)


def test_only_one_deal_of_a_new_customer_is_won(context: TrialContext) -> None:
    found = family("office/onboard-customer")
    for seed in range(30):
        with attempt(context, found, seed) as made:
            on: Any = [{"propertyName": "associations.company", "operator": "EQ", "value": str(made.trouble.company)}]
            body = {"filterGroups": [{"filters": on}], "properties": ["dealname", "dealstage"], "limit": 100}
            deals = [row["properties"] for row in made.do(Call("crm.deals.search", body))["results"]]
        assert [deal["dealstage"] for deal in deals].count("closedwon") == 1
        assert len({deal["dealname"] for deal in deals}) == len(deals)


def test_no_other_account_comes_near_the_rule_for_escalations(context: TrialContext) -> None:
    """Each of them has at most two requests of its own beside those that the task knows of."""
    with attempt(context, family("office/churn-risk"), SEED) as made:
        for client in (made.trouble.client, *made.trouble.others):
            arguments = {"organization_id": client.account.organization, "per_page": 100}
            tickets = made.do(Call("desk.organizations.tickets", arguments))["tickets"]
            recent = [ticket for ticket in tickets if ticket["created_at"] > "2026-10-10"]
            assert len(recent) <= 5
