"""Planted rows cannot be recognised: a classifier over their metadata does hardly better than guessing.

It learns on most instances of all families and judges the others. Rows are compared with fair neighbours of the
template: what they hold with rows of the same state and age, when they came with rows around them, and rows that a
task needs to be recent with the same hours of other weeks. For each kind of which families plant rows, the area under
the ROC curve on rows that it has not seen is at most 0.6. The same scores are compared within each family: there
the area is at most 0.6 and three standard errors, which follow from the number of rows.

Rows of the template that a setup changed are compared with what they were before.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.tasks import registry
from services.crm.operations.history import read_history
from services.crm.operations.object_types import resolve
from services.kernel.changes import Change, net
from tests.company import build_company
from tests.planting.classifier import Separation, separate
from tests.planting.episodes import Setups
from tests.planting.kinds import CHANGED_KINDS, KINDS, ChangedKind, Row, View
from tests.planting.metadata import Alter, Described, Population, describe_changed

# The world that is served: a small one has too few rows to compare with.
_WORLD = "standard"
_SEEDS = range(10)
# An area over fewer rows says little: with fifty, its standard error is about 0.04. Families that plant what few others
# do take further seeds, until there are as many.
_MOST, _ENOUGH_ROWS, _MOST_PER_SETUP = 0.6, 50, 3
_FURTHER_SEEDS = range(len(_SEEDS), 60)
_STANDARD_ERRORS = 3
_HOUR = 3_600_000
# Rows that an agent never sees, that only join others, that are named by the brief, or are another view of a record.
_NOT_COMPARED = {
    *(("billing", table) for table in ("journal", "coupons")),
    *(("crm", table) for table in ("associations", "list_memberships")),
    ("desk", "sla_targets"),
    # They come with the whole repository that a task is about, and have no dates of their own.
    *(("ide", table) for table in ("files", "refs", "repositories", "histories", "home_kits")),
    *(("ide", table) for table in ("pulls", "comments", "protections", "workflows", "check_runs")),
    ("desk", "group_memberships"),
    ("billing", "discounts"),
    # The brief says by their times which leads came in, and by the lookup key which prices are list prices.
    ("crm", "leads"),
    ("billing", "prices"),
}
# Rows of which the template has hardly any: nothing could be said of what they look like. Briefs and letters name them.
_TOO_FEW_OTHERS = {
    *(("crm", table) for table in ("quotes", "line_items", "lists")),
    *(("billing", table) for table in ("balance_entries", "credit_notes", "credit_note_lines")),
}
_FEW = 20

# Changed rows that a task comes with as a whole repository, or that follow from a change of another row.
_CHANGES_NOT_COMPARED = {
    *(("ide", table) for table in ("files", "refs", "histories")),
    *(("billing", table) for table in ("coupons", "subscriptions", "subscription_items", "payment_methods")),
}

Planted = Mapping[tuple[str, int], Mapping[str, Sequence[Change]]]


@pytest.fixture(scope="module")
def setups(tmp_path_factory: pytest.TempPathFactory) -> Setups:
    folder: Path = build_company(tmp_path_factory, _WORLD) / "worlds"
    return Setups(folder, _WORLD)


@pytest.fixture(scope="module")
def planted(setups: Setups) -> Planted:
    """By family and seed, what setups write; splits take turns."""
    return {
        (family.id, seed): setups.plant(family, seed, family.splits[seed % len(family.splits)])
        for family in registry.families().values()
        for seed in _SEEDS
    }


@pytest.fixture(scope="module")
def further(setups: Setups, planted: Planted) -> Mapping[tuple[str, str], Planted]:
    """By product and kind, what further setups write of a kind of which the first ones have too few rows."""
    found: dict[tuple[str, str], dict[tuple[str, int], Mapping[str, Sequence[Change]]]] = {}
    for key, count in count_rows(planted).items():
        if count >= _ENOUGH_ROWS or key in _NOT_COMPARED | _TOO_FEW_OTHERS:
            continue
        names = sorted({family for (family, _), changes in planted.items() if count_rows({(family, 0): changes})[key]})
        found[key] = {}
        for seed in _FURTHER_SEEDS:
            if count >= _ENOUGH_ROWS:
                break
            for name in names:
                family = registry.family(name)
                changes = setups.plant(family, seed, family.splits[seed % len(family.splits)])
                found[key][name, seed] = changes
                count += count_rows({(name, seed): changes})[key]
    return found


@pytest.fixture(scope="module")
def populations(setups: Setups) -> dict[str, Population]:
    with setups.forks(tuple(sorted({kind.product for kind in KINDS})), 0) as worlds:
        return {kind.name: Population(kind, worlds[kind.product]) for kind in KINDS}


@pytest.fixture(scope="module")
def now_ms(setups: Setups) -> int:
    with setups.forks(("crm",), 0) as worlds:
        return worlds["crm"].clock.now_ms()


def describe(planted: Planted, population: Population, view: View, alter: Alter = lambda row: row) -> list[Described]:
    kind = population.kind
    return [
        described
        for (family, seed), changes in planted.items()
        if kind.product in changes and (view == "when" or family not in kind.incomplete)
        for described in population.describe(changes[kind.product], (family, seed), view, alter)
    ]


def separation_of(rows: Sequence[Described]) -> Separation:
    names = sorted({name for row in rows for name in row.features})
    features = [[row.features.get(name, 0.0) for name in names] for row in rows]
    planted, groups = [row.planted for row in rows], [row.group for row in rows]
    return separate(features, planted, groups, [row.row for row in rows], [family_of(row) for row in rows])


def family_of(row: Described) -> str:
    assert isinstance(row.group, tuple), "a family and a seed"
    return str(row.group[0])


def families_told(separation: Separation) -> dict[object, Separation]:
    """Families whose rows stand out further than chance explains."""
    return {
        part: compared
        for part, compared in separation.parts.items()
        if compared.area > _MOST + _STANDARD_ERRORS * compared.error
    }


@pytest.mark.parametrize(("name", "view"), [(kind.name, view) for kind in KINDS for view in kind.views])
def test_planted_rows_are_not_told_from_their_neighbours(
    planted: Planted,
    further: Mapping[tuple[str, str], Planted],
    populations: Mapping[str, Population],
    name: str,
    view: View,
) -> None:
    kind = populations[name].kind
    rows = {**planted, **further.get((kind.product, name), {})}
    separation = separation_of(describe(rows, populations[name], view))

    assert separation.planted >= _ENOUGH_ROWS
    assert separation.area <= _MOST, separation
    assert families_told(separation) == {}


def changed_rows(planted: Planted, kind: ChangedKind, now_ms: int, alter: Alter = lambda row: row) -> list[Described]:
    return [
        described
        for (family, seed), changes in planted.items()
        if kind.product in changes and family not in kind.content
        for described in describe_changed(kind, changes[kind.product], (family, seed), now_ms, alter)
    ]


@pytest.mark.parametrize("kind", CHANGED_KINDS, ids=lambda kind: kind.name)
def test_changed_rows_are_not_told_from_what_they_were(planted: Planted, now_ms: int, kind: ChangedKind) -> None:
    rows = changed_rows(planted, kind, now_ms)
    if not any(row.features != other.features for row, other in zip(rows[::2], rows[1::2], strict=True)):
        # Nothing that is compared here has changed at all.
        return
    separation = separation_of(rows)

    assert separation.area <= _MOST, separation
    assert families_told(separation) == {}


def test_every_table_of_which_rows_are_changed_is_compared(planted: Planted) -> None:
    changed = {
        (product, _kind_of(change))
        for products in planted.values()
        for product, changes in products.items()
        for change in changes
        if change.before is not None and change.after is not None
    }
    exempt = {(kind.name, family) for kind in CHANGED_KINDS for family in kind.content}
    met = {
        (kind.name, family)
        for (family, _), products in planted.items()
        for kind in CHANGED_KINDS
        if any(map(kind.covers, products.get(kind.product, ())))
    }

    assert changed - _CHANGES_NOT_COMPARED == {(kind.product, kind.name) for kind in CHANGED_KINDS}
    assert exempt <= met


@pytest.mark.parametrize("family_id", ["crm/correct-contact", "crm/finish-handover", "crm/reassign-book"])
def test_a_changed_record_has_no_history_of_its_change(setups: Setups, family_id: str) -> None:
    found = registry.family(family_id)
    with setups.forks(found.products, 0) as worlds:
        found.instance(worlds, found.draw(0, "train"))
        crm = worlds["crm"]
        changed = [change.after for change in net(crm.changes()) if change.before and change.after]
        histories = [
            read_history(crm, resolve(crm, row["kind"]), row, sorted(row["properties"]))
            for row in changed
            if "properties" in row
        ]

    assert histories
    assert {len(versions) for listed in histories for versions in listed.values()} == {1}


def _touch(row: Row) -> Row:
    return {**row, "updated_at": row["created_at"] + 90 * 24 * _HOUR}


def _empty_a_field(row: Row) -> Row:
    return {**row, "properties": {**row["properties"], "email": ""}}


@pytest.mark.parametrize("alter", [_touch, _empty_a_field])
def test_a_tell_of_a_change_is_found(planted: Planted, now_ms: int, alter: Alter) -> None:
    separation = separation_of(changed_rows(planted, CHANGED_KINDS[0], now_ms, alter))

    assert separation.area > _MOST
    assert families_told(separation)


def test_every_kind_of_planted_rows_is_compared(planted: Planted) -> None:
    compared = {(kind.product, kind.name) for kind in KINDS}

    assert set(count_rows(planted)) - _NOT_COMPARED - _TOO_FEW_OTHERS == compared


@pytest.mark.parametrize(("product", "kind"), sorted(_TOO_FEW_OTHERS))
def test_what_is_not_compared_for_want_of_others_has_hardly_any(setups: Setups, product: str, kind: str) -> None:
    is_record = kind in ("quotes", "line_items")
    query = f"SELECT count(*) FROM {'objects' if is_record else kind}"
    with setups.forks((product,), 0) as worlds:
        ((count,),) = worlds[product].rows(f"{query} WHERE kind = '{kind}'" if is_record else query)

    assert count < _FEW


def count_rows(planted: Planted) -> Counter[tuple[str, str]]:
    """By product and kind, the new rows that are compared."""
    counts: Counter[tuple[str, str]] = Counter()
    for products in planted.values():
        for product, changes in products.items():
            added = Counter(_kind_of(change) for change in changes if change.before is None)
            counts.update({(product, name): min(count, _MOST_PER_SETUP) for name, count in added.items()})
    return counts


def _kind_of(change: Change) -> str:
    """Records of the CRM share a table."""
    return change.after["kind"] if change.table == "objects" and change.after else change.table


def _write_at_full_hours(row: Row) -> Row:
    return {**row, "created_at": row["created_at"] - row["created_at"] % _HOUR}


def _leave_out_the_recipient(row: Row) -> Row:
    return {**row, "body": {**row["body"], "recipient": None}}


def _add_a_tag(row: Row) -> Row:
    return {**row, "body": {**row["body"], "tags": [*row["body"]["tags"], "case"]}}


@pytest.mark.parametrize(
    ("view", "alter"),
    [("when", _write_at_full_hours), ("what", _leave_out_the_recipient), ("what", _add_a_tag)],
)
def test_a_tell_is_found(planted: Planted, populations: Mapping[str, Population], view: View, alter: Alter) -> None:
    """The same tickets, if they were written at full hours, lacked a field, or had a tag of their own."""
    rows = describe(planted, populations["tickets"], view, alter)

    assert separation_of(rows).area > _MOST


def test_a_tell_of_one_family_is_found(planted: Planted, populations: Mapping[str, Population]) -> None:
    """It hides among those of all families, and not among its own."""
    altered = {
        (family, seed): changes
        if family != "office/churn-risk"
        else {**changes, "desk": [_with_a_due_date(change) for change in changes["desk"]]}
        for (family, seed), changes in planted.items()
    }

    separation = separation_of(describe(altered, populations["tickets"], "what"))

    assert separation.area <= _MOST
    assert list(families_told(separation)) == ["office/churn-risk"]


def _with_a_due_date(change: Change) -> Change:
    if change.table != "tickets" or change.before is not None or change.after is None:
        return change
    body = {**change.after["body"], "due_at": "2026-11-20T10:00:00Z"}
    return replace(change, after={**change.after, "body": body})
