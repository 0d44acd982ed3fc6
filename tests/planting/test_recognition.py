"""Planted rows cannot be recognised: a classifier over their metadata does hardly better than guessing.

It learns on most instances of all families and judges the others. Rows are compared with fair neighbours of the
template: what they hold with rows of the same state and age, when they came with rows around them, and rows that a
task needs to be recent with the same hours of other weeks. For each kind of which families plant enough rows, the area
under the ROC curve on rows that it has not seen is at most 0.6.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fixtures.tasks import registry
from services.kernel.changes import Change
from tests.company import build_company
from tests.planting.classifier import Separation, separate
from tests.planting.episodes import Setups
from tests.planting.kinds import KINDS, Row
from tests.planting.metadata import VIEWS, Alter, Described, Population, View

# The world that is served: a small one has too few rows to compare with.
_WORLD = "standard"
_SEEDS = range(10)
# An area over fewer rows says little: with fifty, its standard error is about 0.04.
_MOST, _ENOUGH_ROWS, _MOST_PER_SETUP = 0.6, 50, 3
_HOUR = 3_600_000
# Rows that an agent never sees, that only join others, that are named by the brief, or are another view of a record.
_NOT_COMPARED = {
    *(("billing", table) for table in ("journal", "coupons")),
    *(("crm", table) for table in ("associations", "list_memberships")),
    ("desk", "sla_targets"),
    # They come with the whole repository that a task is about, and have no dates of their own.
    *(("ide", table) for table in ("files", "refs")),
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
def populations(setups: Setups) -> dict[str, Population]:
    with setups.forks(tuple(sorted({kind.product for kind in KINDS})), 0) as worlds:
        return {kind.name: Population(kind, worlds[kind.product]) for kind in KINDS}


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
    return separate(features, [row.planted for row in rows], [row.group for row in rows], [row.row for row in rows])


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_planted_rows_are_not_told_from_their_neighbours(
    planted: Planted, populations: Mapping[str, Population], name: str, view: View
) -> None:
    separation = separation_of(describe(planted, populations[name], view))

    assert separation.planted >= _ENOUGH_ROWS
    assert separation.area <= _MOST, separation


def test_every_kind_of_which_enough_rows_are_planted_is_compared(planted: Planted) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for products in planted.values():
        for product, changes in products.items():
            added = Counter(_kind_of(change) for change in changes if change.before is None)
            counts.update({(product, name): min(count, _MOST_PER_SETUP) for name, count in added.items()})
    enough = {key for key, count in counts.items() if count >= _ENOUGH_ROWS}

    assert enough - _NOT_COMPARED == {(kind.product, kind.name) for kind in KINDS}


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
