"""Check runs: what the code host ran on a commit, in a sandbox of its own, and how that ended."""

import re

import sqlalchemy as sa

from services.ide import workshop
from services.ide.operations import repositories
from services.ide.sandbox import SandboxLost
from services.ide.system import HOME
from services.ide.tables import check_runs, workflows
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_SECONDS = 120.0
_SUMMARY = 4000
# How long the machine took is no property of the commit: the same commit has the same summary.
_TOOK = re.compile(r" in \d+(\.\d+)?s\b( \(\d+:\d+:\d+\))?")
_WORKFLOWS = Statement(
    sa.select(workflows).where(workflows.c.repository_id == sa.bindparam("repository_id")).order_by(workflows.c.id)
)
_RUNS = Statement(
    sa.select(check_runs)
    .where(check_runs.c.repository_id == sa.bindparam("repository_id"), check_runs.c.sha == sa.bindparam("sha"))
    .order_by(check_runs.c.id)
)


async def of_commit(world: World, repository: Row, sha: str) -> list[Row]:
    """Whoever asks first waits: what has not run on this commit runs now."""
    done = {row["name"] for row in world.find(_RUNS, repository_id=repository["id"], sha=sha)}
    for workflow in world.find(_WORKFLOWS, repository_id=repository["id"]):
        if workflow["name"] not in done:
            await _run(world, repository, workflow, sha)
    return world.find(_RUNS, repository_id=repository["id"], sha=sha)


async def _run(world: World, repository: Row, workflow: Row, sha: str) -> None:
    exit_code, said = await _ran(world, repository, workflow["command"], sha)
    now = world.clock.now_ms()
    actor, world.actor = world.actor, "automation"
    try:
        row: Row = {
            "id": world.ids.next("check_run"),
            "repository_id": repository["id"],
            "name": workflow["name"],
            "sha": sha,
            "conclusion": "success" if exit_code == 0 else ("timed_out" if exit_code is None else "failure"),
            "summary": _TOOK.sub("", said)[-_SUMMARY:],
            "started_at": now,
            "completed_at": now,
        }
        world.save(check_runs, row, "check_run.completed")
    finally:
        world.actor = actor


async def _ran(world: World, repository: Row, command: str, sha: str) -> tuple[int | None, str]:
    forge = await repositories.forge(world)
    archive = await forge.archive(repository, sha)
    sandbox = await workshop.current().take()
    tree = f"{HOME}/{repository['name']}"
    try:
        await sandbox.file("make_folder", path=tree, mode=0o755)
        laid = await sandbox.run(["tar", "-x", "-C", tree], seconds=_SECONDS, stdin=archive)
        if laid.exit:
            raise SandboxLost(f"a commit could not be laid out: {laid.complaint}")
        ran = await sandbox.run(
            ["/bin/bash", "-c", command], cwd=tree, seconds=_SECONDS, merged=True, now_ms=world.clock.now_ms()
        )
        return (None if ran.timed_out else ran.exit), ran.text
    finally:
        sandbox.end()
