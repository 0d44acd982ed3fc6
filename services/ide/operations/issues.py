"""Issues and their comments."""

from collections.abc import Sequence
from typing import TypedDict

import sqlalchemy as sa

from services.ide.errors import NotFound, Unprocessable
from services.ide.operations import repositories
from services.ide.rows import CommentId, CommentRow, IssueId, IssueRow, IssueState, RepositoryRow
from services.ide.tables import comments, issues
from services.kernel.statements import Statement
from services.kernel.world import World

_BY_NUMBER = Statement(
    sa.select(issues)
    .where(issues.c.repository_id == sa.bindparam("repository_id"), issues.c.number == sa.bindparam("number"))
    .limit(1),
    IssueRow,
)
_OF_REPOSITORY = Statement(
    sa.select(issues)
    .where(issues.c.repository_id == sa.bindparam("repository_id"))
    .order_by(issues.c.created_at.desc(), issues.c.number.desc()),
    IssueRow,
)
_COMMENTS = Statement(
    sa.select(comments).where(comments.c.issue_id == sa.bindparam("issue_id")).order_by(comments.c.id), CommentRow
)


class IssueChange(TypedDict, total=False):
    """Fields of an issue or pull request that a request names."""

    title: str | None
    body: str | None
    state: IssueState | None
    state_reason: str | None
    labels: list[str] | None
    assignees: list[str] | None
    base: str | None


def find(world: World, repository: RepositoryRow, number: int) -> IssueRow:
    rows = world.find(_BY_NUMBER, repository_id=repository["id"], number=number)
    if not rows:
        raise NotFound
    return rows[0]


def list_issues(
    world: World, repository: RepositoryRow, state: str, labels: Sequence[str] = (), assignee: str | None = None
) -> list[IssueRow]:
    """The newest first; pull requests are among them, as at the code host."""
    return [
        row
        for row in world.find(_OF_REPOSITORY, repository_id=repository["id"])
        if state in ("all", row["state"])
        and set(labels) <= set(row["labels"])
        and (assignee is None or assignee in row["assignees"])
    ]


def create(
    world: World,
    repository: RepositoryRow,
    title: str,
    body: str | None,
    labels: Sequence[str],
    assignees: Sequence[str],
    *,
    is_pull: bool = False,
) -> IssueRow:
    _require_title(title)
    now = world.clock.now_ms()
    row: IssueRow = {
        "id": IssueId(world.ids.next("issue")),
        "repository_id": repository["id"],
        "number": world.ids.next(f"number:{repository['id']}"),
        "title": title,
        "body": body,
        "state": "open",
        "state_reason": None,
        "author": repositories.find_me(world)["login"],
        "assignees": list(assignees),
        "labels": list(labels),
        "is_pull": int(is_pull),
        "created_at": now,
        "updated_at": now,
        "closed_at": None,
    }
    world.save(issues, row, "pull.opened" if is_pull else "issue.opened")
    return row


def update(world: World, row: IssueRow, change: IssueChange) -> IssueRow:
    """Only fields that are named change; a null empties a text, and leaves alone a field that needs a value."""
    now = world.clock.now_ms()
    after: IssueRow = {**row}
    if "title" in change:
        after["title"] = _require_title(change["title"])
    if "body" in change:
        after["body"] = change["body"]
    if "state_reason" in change:
        after["state_reason"] = change["state_reason"]
    after["state"] = change.get("state") or row["state"]
    if (labels := change.get("labels")) is not None:
        after["labels"] = labels
    if (assignees := change.get("assignees")) is not None:
        after["assignees"] = assignees
    if after["state"] != row["state"]:
        is_closed = after["state"] == "closed"
        after["closed_at"] = now if is_closed else None
        after["state_reason"] = change.get("state_reason") or ("completed" if is_closed else "reopened")
    if after == row:
        return row
    after["updated_at"] = now
    world.save(issues, after, "issue.updated")
    return after


def list_comments(world: World, issue: IssueRow) -> list[CommentRow]:
    return world.find(_COMMENTS, issue_id=issue["id"])


def add_comment(world: World, issue: IssueRow, body: str) -> CommentRow:
    if not body.strip():
        raise Unprocessable("IssueComment", "Body cannot be blank", "body", "unprocessable")
    now = world.clock.now_ms()
    comment: CommentRow = {
        "id": CommentId(world.ids.next("comment")),
        "issue_id": issue["id"],
        "author": repositories.find_me(world)["login"],
        "body": body,
        "created_at": now,
        "updated_at": now,
    }
    world.save(comments, comment, "comment.created")
    touched: IssueRow = {**issue, "updated_at": now}
    world.save(issues, touched, "issue.updated")
    return comment


def _require_title(title: str | None) -> str:
    if title is None or not title.strip():
        raise Unprocessable("Issue", "title can't be blank", "title", "missing_field")
    return title
