"""Planted rows cannot be recognised: a classifier over their metadata does no better than chance."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from fixtures.calendar import NOW
from fixtures.tasks import registry
from tests.planting.episodes import Place, Setups, new_entries
from tests.planting.metadata import Entry, FieldUse, describe, measure

_NOW_MS = NOW * 1000
_HOUR_MS = 3_600_000
_SEEDS = range(8)
_ENOUGH_NEIGHBOURS, _ENOUGH_PLANTED = 60, 40
_MOST = 0.6
# No answer of the desk has the ids of these rows.
_HIDDEN = {("desk", "sla_targets")}
# What a table's planted rows are about: a ticket that waits has no assignee and no edit, a draft has no number.
_MEANT: dict[Place, frozenset[str]] = {
    ("desk", "tickets"): frozenset({"assignee_id", "organization_id"}),
    ("crm", "objects:deals"): frozenset({"amount", "seats", "plan_name", "term_months", "discount_percent"}),
    ("crm", "objects:contacts"): frozenset({"hs_additional_emails"}),
    ("billing", "invoices"): frozenset(
        {"parent", "number", "hosted_invoice_url", "invoice_pdf", "ending_balance", "effective_at"}
    ),
    ("billing", "payment_intents"): frozenset({"latest_charge", "payment_method", "description"}),
    ("billing", "charges"): frozenset({"description"}),
}
_UNTOUCHED = {("desk", "tickets"), ("crm", "objects:leads")}

Described = dict[Place, dict[int, tuple[list[list[float]], list[int]]]]


@pytest.fixture(scope="module")
def planted(standard_setups: Setups) -> dict[Place, dict[int, list[Entry]]]:
    """Planted rows by table and episode."""
    rows: defaultdict[Place, dict[int, list[Entry]]] = defaultdict(dict)
    for number, (_, family) in enumerate(sorted(registry.families().items())):
        if "ide" in family.products:
            continue
        for seed in _SEEDS:
            changes = standard_setups.plant(family, seed, family.splits[seed // 2 % len(family.splits)])
            for place, entries in new_entries(changes).items():
                rows[place][1000 * number + seed] = entries
    return rows


def test_planted_rows_look_like_their_neighbours(
    standard_setups: Setups, planted: dict[Place, dict[int, list[Entry]]]
) -> None:
    areas = {place: measure(described) for place, described in _describe(standard_setups, planted).items()}

    assert len(areas) > 8
    assert {place: area for place, area in areas.items() if area[0] > _MOST} == {}


@pytest.mark.parametrize("spoil", ["newest ids", "full hours", "edited at the start", "without usual fields"])
def test_the_classifier_notices_rows_that_are_planted_carelessly(
    standard_setups: Setups, planted: dict[Place, dict[int, list[Entry]]], spoil: str
) -> None:
    place = ("crm", "objects:contacts")
    spoilt = {episode: list(_SPOILERS[spoil](entries)) for episode, entries in planted[place].items()}

    ((area, _),) = (measure(one) for one in _describe(standard_setups, {place: spoilt}).values())
    assert area > 0.75


def _describe(setups: Setups, planted: dict[Place, dict[int, list[Entry]]]) -> Described:
    described: Described = defaultdict(dict)
    for place, episodes in planted.items():
        template = [_without_meaning(place, entry) for entry in setups.template(place)]
        if place in _HIDDEN or len(template) < _ENOUGH_NEIGHBOURS:
            continue
        use = FieldUse(template)
        for episode, entries in episodes.items():
            own = [_without_meaning(place, entry) for entry in entries]
            rows, labels = describe(template, own, use, _NOW_MS, episode % 2)
            if rows:
                described[place][episode] = rows, labels
    return {
        place: one
        for place, one in described.items()
        if min(sum(sum(labels) for episode, (_, labels) in one.items() if episode % 2 == half) for half in (0, 1))
        >= _ENOUGH_PLANTED // 2
    }


def _without_meaning(place: Place, entry: Entry) -> Entry:
    fields = entry.fields - _MEANT.get(place, frozenset())
    return replace(entry, fields=fields, updated=entry.created if place in _UNTOUCHED else entry.updated)


def _newest_ids(entries: list[Entry]) -> Iterable[Entry]:
    return (replace(entry, id=95_000_000 + index) for index, entry in enumerate(entries))


def _full_hours(entries: list[Entry]) -> Iterable[Entry]:
    return (replace(entry, created=entry.created // _HOUR_MS * _HOUR_MS) for entry in entries)


def _edited_at_the_start(entries: list[Entry]) -> Iterable[Entry]:
    return (replace(entry, updated=entry.created) for entry in entries)


def _without_usual_fields(entries: list[Entry]) -> Iterable[Entry]:
    return (replace(entry, fields=entry.fields - {"record_origin", "data_region", "site_visits"}) for entry in entries)


_SPOILERS: dict[str, Callable[[list[Entry]], Iterable[Entry]]] = {
    "newest ids": _newest_ids,
    "full hours": _full_hours,
    "edited at the start": _edited_at_the_start,
    "without usual fields": _without_usual_fields,
}
