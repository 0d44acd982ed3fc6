"""Pull requests: proposed, reviewed, merged where the branch's protection lets them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from services.ide.errors import Conflict, NotFound, NotMergeable, Unprocessable
from services.ide.forge import Commit, FileChange
from services.ide.operations import check_runs, issues, repositories
from services.ide.tables import issues as issues_table
from services.ide.tables import pulls, review_comments, reviews
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_EVENTS = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}
_METHODS = ("merge", "squash", "rebase")
_REVIEWS = Statement(sa.select(reviews).where(reviews.c.pull_id == sa.bindparam("pull_id")).order_by(reviews.c.id))
_REVIEW_COMMENTS = Statement(
    sa.select(review_comments)
    .where(review_comments.c.pull_id == sa.bindparam("pull_id"))
    .order_by(review_comments.c.id)
)


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request with the two places it stands between."""

    issue: Row
    row: Row
    head_sha: str
    base_sha: str


async def find(world: World, repository: Row, number: int) -> Pull:
    issue = issues.find(world, repository, number)
    row = world.get(pulls, issue["id"])
    if row is None:
        raise NotFound
    return await _placed(world, repository, issue, row)


async def _placed(world: World, repository: Row, issue: Row, row: Row) -> Pull:
    if row["head_sha"] is not None:
        return Pull(issue, row, row["head_sha"], row["base_sha"])
    forge = await repositories.forge(world)
    head, base = await forge.resolve(repository, row["head"]), await forge.resolve(repository, row["base"])
    return Pull(issue, row, head, base)


async def listed(world: World, repository: Row, state: str, base: str | None, head: str | None) -> list[Pull]:
    found = []
    for issue in issues.listed(world, repository, state):
        row = world.get(pulls, issue["id"]) if issue["is_pull"] else None
        if row is None or (base and row["base"] != base) or (head and row["head"] != head.rpartition(":")[2]):
            continue
        found.append(await _placed(world, repository, issue, row))
    return found


async def create(
    world: World, repository: Row, title: str, head: str, base: str, body: str | None, *, draft: bool = False
) -> Pull:
    forge = await repositories.forge(world)
    name = head.rpartition(":")[2]
    for field, branch in (("head", name), ("base", base)):
        if not await forge.has_branch(repository, branch):
            raise Unprocessable("PullRequest", f"{field} is invalid", field, "invalid")
    for other in await listed(world, repository, "open", base, name):
        if other.row["head"] == name:
            raise Unprocessable("PullRequest", f"A pull request already exists for {repository['owner']}:{name}.")
    if not await forge.log(repository, f"refs/heads/{base}..refs/heads/{name}"):
        raise Unprocessable("PullRequest", f"No commits between {base} and {name}")
    issue = issues.create(world, repository, title, body, (), (), is_pull=True)
    row: Row = {
        "id": issue["id"],
        "repository_id": repository["id"],
        "head": name,
        "base": base,
        "draft": int(draft),
        "head_sha": None,
        "base_sha": None,
        "merge_sha": None,
        "merged_by": None,
        "merged_at": None,
    }
    world.save(pulls, row, "pull.opened")
    return await _placed(world, repository, issue, row)


async def update(world: World, repository: Row, pull: Pull, change: Mapping[str, Any]) -> Pull:
    if "state" in change and pull.row["merged_at"] is not None and change["state"] == "open":
        raise Unprocessable("PullRequest", "state cannot be changed. The pull request is merged.", "state", "invalid")
    issue = issues.update(world, pull.issue, change)
    closed = issue["state"] == "closed" and pull.row["merged_at"] is None
    shas = (pull.head_sha, pull.base_sha) if closed else (None, None)
    row = {**pull.row, "base": change.get("base") or pull.row["base"]}
    if pull.row["merged_at"] is None:
        row |= {"head_sha": shas[0], "base_sha": shas[1]}
    world.save(pulls, row, "pull.updated")
    return await _placed(world, repository, issue, row)


async def changes(world: World, repository: Row, pull: Pull) -> list[FileChange]:
    """Against where the two lines parted, not against what the base has become since."""
    forge = await repositories.forge(world)
    parted = (await forge.git(repository, "merge-base", pull.base_sha, pull.head_sha)).text.strip()
    return await forge.changes(repository, parted or pull.base_sha, pull.head_sha)


async def commits(world: World, repository: Row, pull: Pull) -> list[Commit]:
    forge = await repositories.forge(world)
    return await forge.log(repository, "--reverse", f"{pull.base_sha}..{pull.head_sha}")


async def is_mergeable(world: World, repository: Row, pull: Pull) -> bool | None:
    if pull.issue["state"] != "open":
        return None
    return await (await repositories.forge(world)).mergeable(repository, pull.base_sha, pull.head_sha)


def reviews_of(world: World, pull: Pull) -> list[Row]:
    return world.find(_REVIEWS, pull_id=pull.row["id"])


def review_comments_of(world: World, pull: Pull) -> list[Row]:
    return world.find(_REVIEW_COMMENTS, pull_id=pull.row["id"])


async def review(
    world: World, repository: Row, pull: Pull, event: str | None, body: str, said: Sequence[Mapping[str, Any]]
) -> Row:
    login = repositories.me(world)["login"]
    state = _EVENTS.get(event or "COMMENT")
    if state is None:
        raise Unprocessable("PullRequestReview", f"{event} is not an event", "event", "invalid")
    if state != "COMMENTED" and pull.issue["author"] == login:
        word = "approve" if state == "APPROVED" else "request changes on"
        raise Unprocessable("PullRequestReview", f"Can not {word} your own pull request")
    if state == "CHANGES_REQUESTED" and not body.strip():
        raise Unprocessable("PullRequestReview", "Body is required to request changes", "body", "missing_field")
    changed = {change.path for change in await changes(world, repository, pull)}
    if any(one["path"] not in changed for one in said):
        raise Unprocessable("PullRequestReviewComment", "Path could not be resolved", "path", "invalid")
    row: Row = {
        "id": world.ids.next("review"),
        "pull_id": pull.row["id"],
        "author": login,
        "state": state,
        "body": body,
        "commit_id": pull.head_sha,
        "submitted_at": world.clock.now_ms(),
    }
    world.save(reviews, row, "review.submitted")
    for one in said:
        _comment(world, pull, row, one)
    return row


def _comment(world: World, pull: Pull, review_row: Row, said: Mapping[str, Any]) -> None:
    row: Row = {
        "id": world.ids.next("review_comment"),
        "pull_id": pull.row["id"],
        "review_id": review_row["id"],
        "author": review_row["author"],
        "path": said["path"],
        "line": said.get("line") or said.get("position"),
        "body": said["body"],
        "created_at": world.clock.now_ms(),
    }
    world.save(review_comments, row, "review.commented")


async def merge(
    world: World, repository: Row, pull: Pull, how: str, title: str | None, message: str | None, sha: str | None
) -> str:
    if pull.row["merged_at"] is not None or pull.issue["state"] != "open" or pull.row["draft"]:
        raise NotMergeable("Pull Request is not mergeable")
    if how not in _METHODS:
        raise Unprocessable("PullRequest", f"{how} is not a merge method", "merge_method", "invalid")
    if sha is not None and sha != pull.head_sha:
        raise Conflict("Head branch was modified. Review and try the merge again.")
    await _require_protection(world, repository, pull)
    forge = await repositories.forge(world)
    author = repositories.me(world)
    text = _merge_message(repository, pull, how, title, message)
    who = {"name": author["name"], "email": author["email"]}
    new = await forge.merge(repository, pull.row["base"], pull.head_sha, how, text, who, world.clock.now_ms())
    if new is None:
        raise NotMergeable("Pull Request has merge conflicts")
    now = world.clock.now_ms()
    ends = {"head_sha": pull.head_sha, "base_sha": pull.base_sha, "merge_sha": new}
    world.save(pulls, {**pull.row, **ends, "merged_by": author["login"], "merged_at": now}, "pull.merged")
    world.save(issues_table, {**pull.issue, "state": "closed", "closed_at": now, "updated_at": now}, "pull.closed")
    return new


def _merge_message(repository: Row, pull: Pull, how: str, title: str | None, message: str | None) -> str:
    number = pull.issue["number"]
    if how == "merge":
        default = f"Merge pull request #{number} from {repository['owner']}/{pull.row['head']}"
        return f"{title or default}\n\n{message or pull.issue['title']}"
    return f"{title or pull.issue['title'] + f' (#{number})'}\n\n{message or pull.issue['body'] or ''}".rstrip()


async def _require_protection(world: World, repository: Row, pull: Pull) -> None:
    rules = repositories.protection(world, repository, pull.row["base"])
    if rules is None:
        return
    latest = {row["author"]: row["state"] for row in reviews_of(world, pull) if row["state"] != "COMMENTED"}
    if "CHANGES_REQUESTED" in latest.values():
        raise NotMergeable("Changes have been requested on this pull request.")
    approved = sum(state == "APPROVED" for author, state in latest.items() if author != pull.issue["author"])
    if approved < rules["required_reviews"]:
        missing = rules["required_reviews"]
        word = "reviews are" if missing > 1 else "review is"
        raise NotMergeable(f"At least {missing} approving {word} required by reviewers with write access.")
    if rules["required_checks"]:
        ran = {row["name"]: row["conclusion"] for row in await check_runs.of_commit(world, repository, pull.head_sha)}
        failing = [name for name in rules["required_checks"] if ran.get(name) != "success"]
        if failing:
            raise NotMergeable(f'Required status check "{failing[0]}" is failing.')
