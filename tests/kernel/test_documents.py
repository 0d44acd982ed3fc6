"""Documents: derived columns, conditions, slices of an order, and a store with the product's own refusals."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NewType, TypedDict

import pytest
import sqlalchemy as sa

from services.kernel import documents
from services.kernel.documents import EVERYTHING, DocumentStore, Order, Where, equal
from services.kernel.errors import Refusal
from services.kernel.forks import Forks
from services.kernel.statements import define_table
from services.kernel.template import Template, WorldMeta, WorldSchema, build
from services.kernel.world import World

JarId = NewType("JarId", int)


class Jar(TypedDict, total=False):
    """What a row keeps."""

    name: str
    lid: dict[str, bool]
    grams: int


class JarRow(TypedDict):
    """One jar."""

    id: JarId
    changed: int
    body: Jar


metadata = sa.MetaData()
jars = define_table(
    JarRow,
    JarId,
    "jars",
    metadata,
    documents.text_column("name"),
    documents.folded_column("name"),
    documents.number_column("closed", "lid.closed"),
    documents.number_column("grams"),
    info={"kind": "jar"},
)
schema = WorldSchema(metadata)
BY_WEIGHT = Order(("grams", "id"))


class NoJar(Refusal):
    """No such jar."""


store = DocumentStore(
    not_found=lambda table, key: NoJar(f"{table.name} {key}"),
    bad_reference=lambda _, key, parameter: NoJar(f"{parameter} {key}"),
    is_usable=lambda body: body.get("grams", 0) > 0,
    columns_when_added=lambda world: {"changed": 0},
    columns_when_changed=lambda world: {"changed": world.revision},
    name_event=lambda table, event: f"{table.info['kind']}.{event}",
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    path = tmp_path / "jars-small.sqlite"
    build(path, schema, WorldMeta("jars", "small", 1, 1_700_000_000_000, {}), [])
    template = Template(path, schema)
    forks = Forks(template)
    world = World(forks.take(), seed=1)
    filled = (("Salt", 5), ("Rice", 9), ("Tea", 5), ("Oats", 7), ("Air", 0))
    for number, (name, grams) in enumerate(filled, 1):
        body: Jar = {"name": name, "lid": {"closed": name != "Tea"}, "grams": grams}
        store.add(world, jars, body, JarId(number))
    yield world
    forks.close()
    template.close()


def names(rows: list[JarRow]) -> list[str]:
    return [row["body"]["name"] for row in rows]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (EVERYTHING, ["Salt", "Rice", "Tea", "Oats", "Air"]),
        (equal(name_folded="tea"), ["Tea"]),
        (equal(closed=False), ["Tea"]),
        (documents.among("grams", [5, 9]), ["Salt", "Rice", "Tea"]),
        (documents.not_among("grams", [5, 9]), ["Oats", "Air"]),
        (documents.compare("grams", ">", 5) & documents.compare("grams", "<=", 7), ["Oats"]),
        (documents.is_set("name") & EVERYTHING & equal(grams=5), ["Salt", "Tea"]),
        (documents.is_null("name"), []),
        (Where("name LIKE :start", {"start": "R%"}), ["Rice"]),
    ],
)
def test_conditions_compare_what_is_derived_from_the_body(world: World, where: Where, wanted: list[str]) -> None:
    assert names(documents.select(world, jars, where)) == wanted
    assert documents.count(world, jars, where) == len(wanted)


def test_slices_lead_through_an_order_and_back(world: World) -> None:
    first = documents.select_slice(world, jars, EVERYTHING, BY_WEIGHT, 2)
    second = documents.select_slice(world, jars, EVERYTHING, BY_WEIGHT, 2, first.places[-1])
    back = documents.select_slice(world, jars, EVERYTHING, BY_WEIGHT, 2, second.places[0], backwards=True)

    assert (names(first.rows), first.has_more) == (["Air", "Salt"], True)
    assert (names(second.rows), second.has_more) == (["Tea", "Oats"], True)
    assert (names(back.rows), back.has_more) == (["Air", "Salt"], False)


def test_rows_come_in_the_order_of_the_ids_that_were_asked_for(world: World) -> None:
    wanted = [JarId(4), JarId(99), JarId(2), JarId(4)]

    assert names(documents.select_by_id(world, jars, wanted)) == ["Oats", "Rice"]


def test_a_store_refuses_in_the_words_of_its_product(world: World) -> None:
    with pytest.raises(NoJar, match="jars 9"):
        store.need(world, jars, JarId(9))
    with pytest.raises(NoJar, match="jar_id 5"):
        store.refer(world, jars, JarId(5), "jar_id")
    with pytest.raises(LookupError):
        store.must_exist(world, jars, JarId(9))

    assert store.refer(world, jars, JarId(1), "jar_id")["body"]["name"] == "Salt"


def test_a_change_that_changes_nothing_is_not_written(world: World) -> None:
    salt, revision = store.need(world, jars, JarId(1)), world.revision

    assert store.change(world, jars, salt, {"grams": 5}) is salt
    assert world.revision == revision

    changed = store.change(world, jars, salt, {"grams": 6})
    store.remove(world, jars, JarId(2))

    assert changed == {"id": 1, "changed": revision, "body": {**salt["body"], "grams": 6}}
    assert [change.event for change in world.changes(revision)] == ["jar.updated", "jar.deleted"]


def test_a_path_into_a_body_may_lead_nowhere() -> None:
    row: Mapping[str, Any] = {"body": {"lid": None}}

    assert documents.read_path(("lid", "closed"), row) is None
