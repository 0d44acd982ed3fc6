"""Check runs: workflows that the code host runs on a commit, in a sandbox of their own."""

import re

import sqlalchemy as sa

from services.ide.operations import repositories
from services.ide.rows import CheckRunId, CheckRunRow, Conclusion, RepositoryRow, WorkflowRow
from services.ide.sandbox.pool import current_pool
from services.ide.sandbox.sandbox import ProcessResult, SandboxLost
from services.ide.sandbox.system_files import HOME
from services.ide.tables import check_runs, workflows
from services.ide.workspace.workspace import list_installed_images
from services.kernel.statements import Statement
from services.kernel.world import World

_SECONDS = 120.0
_SUMMARY_LENGTH = 4000
# The machine's speed is no property of the commit: the same commit has the same summary.
_DURATION = re.compile(r" in \d+(\.\d+)?s\b( \(\d+:\d+:\d+\))?")
_WORKFLOWS = Statement(
    sa.select(workflows).where(workflows.c.repository_id == sa.bindparam("repository_id")).order_by(workflows.c.id),
    WorkflowRow,
)
_RUNS = Statement(
    sa.select(check_runs)
    .where(check_runs.c.repository_id == sa.bindparam("repository_id"), check_runs.c.sha == sa.bindparam("sha"))
    .order_by(check_runs.c.id),
    CheckRunRow,
)


async def run_all(world: World, repository: RepositoryRow, sha: str) -> list[CheckRunRow]:
    """The check runs of a commit. The first request waits: workflows that have not run on this commit run now."""
    done = {row["name"] for row in world.find(_RUNS, repository_id=repository["id"], sha=sha)}
    for workflow in world.find(_WORKFLOWS, repository_id=repository["id"]):
        if workflow["name"] not in done:
            await _run(world, repository, workflow, sha)
    return world.find(_RUNS, repository_id=repository["id"], sha=sha)


async def _run(world: World, repository: RepositoryRow, workflow: WorkflowRow, sha: str) -> None:
    result = await _run_command(world, repository, workflow["command"], sha)
    now = world.clock.now_ms()
    actor, world.actor = world.actor, "automation"
    try:
        row: CheckRunRow = {
            "id": CheckRunId(world.ids.next("check_run")),
            "repository_id": repository["id"],
            "name": workflow["name"],
            "sha": sha,
            "conclusion": _conclude(result),
            "summary": _DURATION.sub("", result.text)[-_SUMMARY_LENGTH:],
            "started_at": now,
            "completed_at": now,
        }
        world.save(check_runs, row, "check_run.completed")
    finally:
        world.actor = actor


def _conclude(result: ProcessResult) -> Conclusion:
    if result.timed_out:
        return "timed_out"
    return "failure" if result.exit_code else "success"


async def _run_command(world: World, repository: RepositoryRow, command: str, sha: str) -> ProcessResult:
    server = await repositories.git_server(world)
    archive = await server.archive(repository, sha)
    sandbox = await current_pool().take()
    tree = f"{HOME}/{repository['name']}"
    try:
        await sandbox.request_file("make_folder", path=tree, mode=0o755)
        unpacked = await sandbox.run(["tar", "-x", "-C", tree], seconds=_SECONDS, stdin=archive)
        if unpacked.exit_code:
            raise SandboxLost(f"a commit could not be laid out: {unpacked.error_text}")
        for image in await list_installed_images(world):
            await image.lay_out(sandbox)
        argv = ["/bin/bash", "-c", command]
        return await sandbox.run(argv, cwd=tree, seconds=_SECONDS, merged=True, now_ms=world.clock.now_ms())
    finally:
        sandbox.end()
