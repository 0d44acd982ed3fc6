"""A small neutral product, so that the kernel is tested without knowing any real one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import httpx
import sqlalchemy as sa
from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from services.kernel.answers import Answer, Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.checks import Check, Finding, checks_by_name
from services.kernel.credentials import api_key, basic_password, basic_username, bearer
from services.kernel.episodes import Episode, Episodes, Opening
from services.kernel.errors import Refusal
from services.kernel.product import Product, RequestContext
from services.kernel.statements import Row, Statement, define_table
from services.kernel.telemetry import Telemetry
from services.kernel.template import WorldMeta, WorldSchema, build
from services.kernel.world import World

START_MS = 1_760_000_000_000

metadata = sa.MetaData()


class ShelfRow(TypedDict):
    """A shelf and what stands on it."""

    id: int
    label: str
    contents: dict[str, Any]


class TagRow(TypedDict):
    """A coloured tag."""

    id: str
    colour: str | None


shelves = define_table(ShelfRow, int, "shelves", metadata)
tags = define_table(TagRow, str, "tags", metadata)

schema = WorldSchema(
    metadata,
    derived=(
        "CREATE VIRTUAL TABLE labels USING fts5(label)",
        "CREATE TRIGGER labelled AFTER INSERT ON shelves BEGIN INSERT INTO labels(rowid, label) VALUES (new.id, new.label); END",
        "CREATE TRIGGER relabelled AFTER UPDATE OF label ON shelves BEGIN UPDATE labels SET label = new.label WHERE rowid = new.id; END",
        "CREATE TRIGGER unlabelled AFTER DELETE ON shelves BEGIN DELETE FROM labels WHERE rowid = old.id; END",
    ),
)

BY_LABEL = Statement(sa.select(shelves).where(shelves.c.label == sa.bindparam("label")).order_by(shelves.c.id))


class ShelfGone(Refusal):
    """There is no such shelf."""

    status = 404


class ShelfTried(Refusal):
    """It was tried, and it did not work."""

    status = 402
    stands = True


class ShelfIn(BaseModel):
    """A shelf to write."""

    model_config = ConfigDict(extra="forbid")
    label: str = Field(max_length=50)
    weight: float = 0


class LabelIs(Check):
    """The shelf carries this label."""

    shelf: int
    label: str

    def run(self, world: World) -> Finding:
        row = world.get(shelves, self.shelf)
        return self.holds("it does") if row and row["label"] == self.label else self.fails("it does not")


router = product_router()


@router.get("/shelves/{shelf}", operation_id="pantry.shelves.get")
async def read(shelf: int, world: CurrentWorld) -> Response:
    row = world.get(shelves, shelf)
    if row is None:
        raise ShelfGone
    return Json(row)


@router.post("/shelves", status_code=201, operation_id="pantry.shelves.create")
async def create(body: ShelfIn, world: CurrentWorld) -> Response:
    row: Row = {"id": world.ids.next("shelf"), "label": body.label, "contents": {}}
    world.save(shelves, row, "shelf.created")
    return Json({**row, "now": world.clock.now_ms(), "luck": world.chance("luck").below(1_000_000)}, 201)


@router.patch("/shelves/{shelf}", operation_id="pantry.shelves.update")
async def update(shelf: int, body: ShelfIn, world: CurrentWorld) -> Response:
    row = world.get(shelves, shelf)
    if row is None:
        raise ShelfGone
    world.save(shelves, {**row, "label": body.label}, "shelf.updated")
    if body.label == "refuse me":
        raise ShelfGone
    if body.label == "try me":
        raise ShelfTried
    if body.label == "break me":
        raise ZeroDivisionError("a secret inside: hunter2")
    return Json({**row, "label": body.label})


@router.get("/search", operation_id="pantry.search")
async def search(label: str, world: CurrentWorld) -> Response:
    with world.lag_search(product.table):
        return Json([row["id"] for row in world.find(BY_LABEL, label=label)])


def render(refusal: Refusal, circumstance: RequestContext) -> Answer:
    return Answer.json(refusal.status, {"oops": refusal.message, "request": circumstance.request}, refusal.headers)


product = Product(
    name="pantry",
    title="Pantry API",
    version="1",
    port=8790,
    schema=schema,
    router=router,
    render=render,
    checks=checks_by_name(LabelIs),
    create_credential=lambda secret: f"pk_{secret}",
    credential_formats=(bearer, basic_password, basic_username, api_key),
    body_limit=4096,
)


def rows(count: int) -> list[tuple[sa.Table, list[Row]]]:
    return [
        (shelves, [{"id": i, "label": f"shelf {i}", "contents": {"jars": i % 7}} for i in range(1, count + 1)]),
        (tags, [{"id": f"t{i}", "colour": None if i % 3 else "red"} for i in range(20)]),
    ]


def build_pantry(folder: Path, count: int = 200, name: str = "small") -> Path:
    path = folder / f"pantry-{name}.sqlite"
    build(path, schema, WorldMeta("pantry", name, 1, START_MS, {"shelf": count}), rows(count))
    return path


class FakeTime:
    """Wall time that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Pantry:
    """A running pantry with as many episodes as a test opens."""

    episodes: Episodes
    app: Any
    wall: FakeTime
    telemetry: Telemetry

    def open(self, name: str = "one", **opening: Any) -> Episode:
        return self.episodes.open(
            Opening(id=name, credential=f"pk_{name}_secret", **{"seed": 7, "world": "small", **opening})
        )

    def client(self, name: str = "one", **headers: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app),
            base_url="http://pantry",
            headers={"authorization": f"Bearer pk_{name}_secret", **headers},
        )
