"""Sandboxes as the workspace API names them: any number of names for the one workspace."""

import sqlalchemy as sa

from services.ide.errors import NotFound
from services.ide.rows import SandboxId, SandboxRow, SandboxState
from services.ide.tables import sandboxes
from services.ide.workspace.workspace import workspace_of
from services.kernel.changes import PLANTED
from services.kernel.ids import Ids
from services.kernel.statements import Statement
from services.kernel.world import World

_OLDEST_DAYS, _DAY_SECONDS = 9, 86_400
_PAGE = Statement(
    sa.select(sandboxes)
    .where(sandboxes.c.id > sa.bindparam("after"))
    .order_by(sandboxes.c.id)
    .limit(sa.bindparam("limit")),
    SandboxRow,
)
_BY_NAME = Statement(sa.select(sandboxes).where(sandboxes.c.name == sa.bindparam("name")).limit(1), SandboxRow)


def create_first(world: World) -> None:
    """The sandbox that shows the workspace from the beginning: somebody started it some days ago."""
    chance = world.chance("first sandbox")
    seconds = _OLDEST_DAYS * _DAY_SECONDS - chance.below((_OLDEST_DAYS - 1) * _DAY_SECONDS)
    row: SandboxRow = {
        "id": SandboxId(make_uuid(world.ids, "sandbox")),
        "name": "dev",
        "state": "started",
        "env": {},
        "labels": {},
        "created_at": world.clock.now_ms() - seconds * 1000 - chance.below(1000),
    }
    world.save(sandboxes, row, PLANTED)


def create(world: World, name: str | None, env: dict[str, str], labels: dict[str, str]) -> SandboxRow:
    key = SandboxId(make_uuid(world.ids, "sandbox"))
    row: SandboxRow = {
        "id": key,
        "name": name or key,
        "state": "started",
        "env": env,
        "labels": labels,
        "created_at": world.clock.now_ms(),
    }
    world.save(sandboxes, row, "sandbox.created")
    return row


def find(world: World, id_or_name: str) -> SandboxRow:
    row = world.get(sandboxes, SandboxId(id_or_name)) or next(iter(world.find(_BY_NAME, name=id_or_name)), None)
    if row is None:
        raise NotFound(f"Sandbox with ID or name {id_or_name} not found")
    return row


def list_page(world: World, after: str, limit: int) -> tuple[list[SandboxRow], str | None]:
    rows = world.find(_PAGE, after=after, limit=limit + 1)
    return rows[:limit], rows[limit - 1]["id"] if len(rows) > limit else None


def count(world: World) -> int:
    return int(world.rows("SELECT count(*) FROM machines")[0][0])


def set_state(world: World, row: SandboxRow, state: SandboxState) -> SandboxRow:
    after: SandboxRow = {**row, "state": state}
    world.save(sandboxes, after, f"sandbox.{state}")
    return after


async def stop(world: World, row: SandboxRow, *, force: bool) -> SandboxRow:
    after = set_state(world, row, "stopped")
    sandbox = workspace_of(world).opened_sandbox
    if force and sandbox is not None:
        await sandbox.kill_everything()
    return after


def set_labels(world: World, row: SandboxRow, labels: dict[str, str]) -> SandboxRow:
    after: SandboxRow = {**row, "labels": labels}
    world.save(sandboxes, after, "sandbox.labelled")
    return after


def remove(world: World, row: SandboxRow) -> SandboxRow:
    world.remove(sandboxes, row["id"], "sandbox.deleted")
    return {**row, "state": "destroyed"}


def make_uuid(ids: Ids, kind: str) -> str:
    """Shaped as a UUID, made from the episode's seed and a counter: a replay gets the same one."""
    digest = ids.digest(kind, ids.next(kind)).hex()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"
