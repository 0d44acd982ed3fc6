"""Issues and their comments."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from services.ide.errors import NotFound, Unprocessable
from services.ide.operations import repositories
from services.ide.tables import comments, issues
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_NUMBERED = Statement(
    sa.select(issues)
    .where(issues.c.repository_id == sa.bindparam("repository_id"), issues.c.number == sa.bindparam("number"))
    .limit(1)
)
_OF_REPOSITORY = Statement(
    sa.select(issues)
    .where(issues.c.repository_id == sa.bindparam("repository_id"))
    .order_by(issues.c.created_at.desc(), issues.c.number.desc())
)
_COMMENTS = Statement(
    sa.select(comments).where(comments.c.issue_id == sa.bindparam("issue_id")).order_by(comments.c.id)
)


def find(world: World, repository: Row, number: int) -> Row:
    found = world.find(_NUMBERED, repository_id=repository["id"], number=number)
    if not found:
        raise NotFound
    return found[0]


def listed(
    world: World, repository: Row, state: str, labels: Sequence[str] = (), assignee: str | None = None
) -> list[Row]:
    """The newest first; pull requests among them, as the code host has it."""
    return [
        row
        for row in world.find(_OF_REPOSITORY, repository_id=repository["id"])
        if state in ("all", row["state"])
        and set(labels) <= set(row["labels"])
        and (assignee is None or assignee in row["assignees"])
    ]


def create(
    world: World,
    repository: Row,
    title: str,
    body: str | None,
    labels: Sequence[str],
    assignees: Sequence[str],
    *,
    is_pull: bool = False,
) -> Row:
    if not title.strip():
        raise Unprocessable("Issue", "title can't be blank", "title", "missing_field")
    now = world.clock.now_ms()
    row: Row = {
        "id": world.ids.next("issue"),
        "repository_id": repository["id"],
        "number": world.ids.next(f"number:{repository['id']}"),
        "title": title,
        "body": body,
        "state": "open",
        "state_reason": None,
        "author": repositories.me(world)["login"],
        "assignees": list(assignees),
        "labels": list(labels),
        "is_pull": int(is_pull),
        "created_at": now,
        "updated_at": now,
        "closed_at": None,
    }
    world.save(issues, row, "pull.opened" if is_pull else "issue.opened")
    return row


def update(world: World, row: Row, change: Mapping[str, Any]) -> Row:
    """Only what is named changes; a null empties a text, and leaves alone what cannot be without a value."""
    now = world.clock.now_ms()
    kept = {name: change[name] for name in ("title", "body", "state_reason") if name in change}
    kept |= {name: change[name] for name in ("state", "labels", "assignees") if change.get(name) is not None}
    if "title" in kept and not str(kept["title"] or "").strip():
        raise Unprocessable("Issue", "title can't be blank", "title", "missing_field")
    after = {**row, **kept}
    if after["state"] != row["state"]:
        after["closed_at"] = now if after["state"] == "closed" else None
        after["state_reason"] = change.get("state_reason") or (
            "completed" if after["state"] == "closed" else "reopened"
        )
    if after == row:
        return row
    after["updated_at"] = now
    world.save(issues, after, "issue.updated")
    return after


def comments_of(world: World, row: Row) -> list[Row]:
    return world.find(_COMMENTS, issue_id=row["id"])


def comment(world: World, row: Row, body: str) -> Row:
    if not body.strip():
        raise Unprocessable("IssueComment", "Body cannot be blank", "body", "unprocessable")
    now = world.clock.now_ms()
    said: Row = {
        "id": world.ids.next("comment"),
        "issue_id": row["id"],
        "author": repositories.me(world)["login"],
        "body": body,
        "created_at": now,
        "updated_at": now,
    }
    world.save(comments, said, "comment.created")
    world.save(issues, {**row, "updated_at": now}, "issue.updated")
    return said
