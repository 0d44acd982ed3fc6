"""Sandboxes as the workspace API names them: any number of names for the one workspace."""

import hashlib

import sqlalchemy as sa

from services.ide import workspace
from services.ide.errors import NotFound
from services.ide.tables import machines
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_PAGE = Statement(
    sa.select(machines)
    .where(machines.c.id > sa.bindparam("after"))
    .order_by(machines.c.id)
    .limit(sa.bindparam("limit"))
)
_NAMED = Statement(sa.select(machines).where(machines.c.name == sa.bindparam("name")).limit(1))


def create(world: World, name: str | None, env: dict[str, str], labels: dict[str, str]) -> Row:
    key = drawn_id("sandbox", world.ids.next("sandbox"))
    row: Row = {
        "id": key,
        "name": name or key,
        "state": "started",
        "env": env,
        "labels": labels,
        "created_at": world.clock.now_ms(),
    }
    world.save(machines, row, "sandbox.created")
    return row


def find(world: World, id_or_name: str) -> Row:
    row = world.get(machines, id_or_name) or next(iter(world.find(_NAMED, name=id_or_name)), None)
    if row is None:
        raise NotFound(f"Sandbox with ID or name {id_or_name} not found")
    return row


def page(world: World, after: str, limit: int) -> tuple[list[Row], str | None]:
    found = world.find(_PAGE, after=after, limit=limit + 1)
    return found[:limit], found[limit - 1]["id"] if len(found) > limit else None


def count(world: World) -> int:
    return int(world.rows("SELECT count(*) FROM machines")[0][0])


def turn(world: World, id_or_name: str, state: str) -> Row:
    row = {**find(world, id_or_name), "state": state}
    world.save(machines, row, f"sandbox.{state}")
    return row


async def stop(world: World, id_or_name: str, *, force: bool) -> Row:
    row = turn(world, id_or_name, "stopped")
    machine = workspace.of(world).opened
    if force and machine is not None:
        await machine.kill_everything()
    return row


def relabel(world: World, id_or_name: str, labels: dict[str, str]) -> Row:
    row = {**find(world, id_or_name), "labels": labels}
    world.save(machines, row, "sandbox.labelled")
    return row


def remove(world: World, id_or_name: str) -> Row:
    row = find(world, id_or_name)
    world.remove(machines, row["id"], "sandbox.deleted")
    return {**row, "state": "destroyed"}


def drawn_id(kind: str, number: int) -> str:
    """Shaped as a UUID, drawn from a counter: a replay meets the same one."""
    drawn = hashlib.sha256(f"{kind}\x1f{number}".encode()).hexdigest()
    return f"{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-a{drawn[17:20]}-{drawn[20:32]}"
