"""Issues and pull requests that the agent wrote at the code host."""

from collections.abc import Iterator

import sqlalchemy as sa

from services.ide.rows import IssueRow, PullRow, UserRow
from services.ide.tables import issues, pulls, users
from services.kernel.changes import AGENT
from services.kernel.statements import Statement
from services.kernel.world import World

_ME = Statement(sa.select(users).where(users.c.is_me == 1).limit(1), UserRow)
_ISSUES = Statement(sa.select(issues).order_by(issues.c.id), IssueRow)


def own_login(world: World) -> str:
    return next((me["login"] for me in world.find(_ME)), "")


def rows_of_agent(world: World, table: sa.Table) -> set[int | str]:
    return {change.row_id for change in world.changes(table=table, by=(AGENT,))}


def find_own_issues(world: World) -> list[IssueRow]:
    """Pull requests among them."""
    login, written = own_login(world), rows_of_agent(world, issues)
    return [row for row in world.find(_ISSUES) if row["author"] == login and row["id"] in written]


def find_proposals(world: World, base: str) -> Iterator[tuple[IssueRow, PullRow]]:
    """Pull requests of the agent's against a branch that are open or merged, the newest first."""
    for issue in reversed(find_own_issues(world)):
        pull = world.get(pulls, issue["id"]) if issue["is_pull"] else None
        if pull is not None and pull["base"] == base and (issue["state"] == "open" or pull["merged_at"] is not None):
            yield issue, pull
