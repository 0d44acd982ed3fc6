"""Pull requests: opened, reviewed, and merged where the branch's protection allows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import sqlalchemy as sa

from services.ide.code_host.git_server import Commit, FileChange, MergeMethod
from services.ide.errors import Conflict, NotFound, NotMergeable, Unprocessable
from services.ide.operations import check_runs, issues, repositories
from services.ide.operations.issues import IssueChange
from services.ide.rows import (
    IssueRow,
    PullRow,
    RepositoryRow,
    ReviewCommentId,
    ReviewCommentRow,
    ReviewId,
    ReviewRow,
    ReviewState,
)
from services.ide.tables import issues as issues_table
from services.ide.tables import pulls, review_comments, reviews
from services.kernel.statements import Statement
from services.kernel.world import World

_REVIEW_STATES: dict[str, ReviewState] = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}
_METHODS: dict[str, MergeMethod] = {"merge": "merge", "squash": "squash", "rebase": "rebase"}
_REVIEWS = Statement(
    sa.select(reviews).where(reviews.c.pull_id == sa.bindparam("pull_id")).order_by(reviews.c.id), ReviewRow
)
_REVIEW_COMMENTS = Statement(
    sa.select(review_comments)
    .where(review_comments.c.pull_id == sa.bindparam("pull_id"))
    .order_by(review_comments.c.id),
    ReviewCommentRow,
)


class LineComment(TypedDict):
    """A comment on a line, as a review brings it."""

    path: str
    body: str
    line: int | None
    position: int | None


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request, with the commits that its branches name."""

    issue: IssueRow
    row: PullRow
    head_sha: str
    base_sha: str


async def find(world: World, repository: RepositoryRow, number: int) -> Pull:
    issue = issues.find(world, repository, number)
    row = world.get(pulls, issue["id"])
    if row is None:
        raise NotFound
    return await _resolve(world, repository, issue, row)


async def _resolve(world: World, repository: RepositoryRow, issue: IssueRow, row: PullRow) -> Pull:
    if row["head_sha"] is not None and row["base_sha"] is not None:
        return Pull(issue, row, row["head_sha"], row["base_sha"])
    server = await repositories.git_server(world)
    head, base = await server.resolve(repository, row["head"]), await server.resolve(repository, row["base"])
    return Pull(issue, row, head, base)


async def list_pulls(
    world: World, repository: RepositoryRow, state: str, base: str | None, head: str | None
) -> list[Pull]:
    matches = []
    for issue in issues.list_issues(world, repository, state):
        row = world.get(pulls, issue["id"]) if issue["is_pull"] else None
        if row is None or (base and row["base"] != base) or (head and row["head"] != head.rpartition(":")[2]):
            continue
        matches.append(await _resolve(world, repository, issue, row))
    return matches


async def create(
    world: World, repository: RepositoryRow, title: str, head: str, base: str, body: str | None, *, draft: bool = False
) -> Pull:
    server = await repositories.git_server(world)
    name = head.rpartition(":")[2]
    for field, branch in (("head", name), ("base", base)):
        if not await server.has_branch(repository, branch):
            raise Unprocessable("PullRequest", f"{field} is invalid", field, "invalid")
    for other in await list_pulls(world, repository, "open", base, name):
        if other.row["head"] == name:
            raise Unprocessable("PullRequest", f"A pull request already exists for {repository['owner']}:{name}.")
    if not await server.log(repository, f"refs/heads/{base}..refs/heads/{name}"):
        raise Unprocessable("PullRequest", f"No commits between {base} and {name}")
    issue = issues.create(world, repository, title, body, (), (), is_pull=True)
    row: PullRow = {
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
    return await _resolve(world, repository, issue, row)


async def update(world: World, repository: RepositoryRow, pull: Pull, change: IssueChange) -> Pull:
    is_merged = pull.row["merged_at"] is not None
    if is_merged and change.get("state") == "open":
        raise Unprocessable("PullRequest", "state cannot be changed. The pull request is merged.", "state", "invalid")
    issue = issues.update(world, pull.issue, change)
    row: PullRow = {**pull.row, "base": change.get("base") or pull.row["base"]}
    if not is_merged:
        is_closed = issue["state"] == "closed"
        row["head_sha"] = pull.head_sha if is_closed else None
        row["base_sha"] = pull.base_sha if is_closed else None
    world.save(pulls, row, "pull.updated")
    return await _resolve(world, repository, issue, row)


async def list_changes(world: World, repository: RepositoryRow, pull: Pull) -> list[FileChange]:
    """Against the commit where the two branches parted, not against what the base has become since."""
    server = await repositories.git_server(world)
    parted = (await server.git(repository, "merge-base", pull.base_sha, pull.head_sha)).text.strip()
    return await server.changes(repository, parted or pull.base_sha, pull.head_sha)


async def list_commits(world: World, repository: RepositoryRow, pull: Pull) -> list[Commit]:
    server = await repositories.git_server(world)
    return await server.log(repository, "--reverse", f"{pull.base_sha}..{pull.head_sha}")


async def is_mergeable(world: World, repository: RepositoryRow, pull: Pull) -> bool | None:
    """None for a pull request that is not open."""
    if pull.issue["state"] != "open":
        return None
    return await (await repositories.git_server(world)).is_mergeable(repository, pull.base_sha, pull.head_sha)


def list_reviews(world: World, pull: Pull) -> list[ReviewRow]:
    return world.find(_REVIEWS, pull_id=pull.row["id"])


def list_review_comments(world: World, pull: Pull) -> list[ReviewCommentRow]:
    return world.find(_REVIEW_COMMENTS, pull_id=pull.row["id"])


async def add_review(
    world: World, repository: RepositoryRow, pull: Pull, event: str | None, body: str, comments: Sequence[LineComment]
) -> ReviewRow:
    login = repositories.find_me(world)["login"]
    state = _REVIEW_STATES.get(event or "COMMENT")
    if state is None:
        raise Unprocessable("PullRequestReview", f"{event} is not an event", "event", "invalid")
    if state != "COMMENTED" and pull.issue["author"] == login:
        word = "approve" if state == "APPROVED" else "request changes on"
        raise Unprocessable("PullRequestReview", f"Can not {word} your own pull request")
    if state == "CHANGES_REQUESTED" and not body.strip():
        raise Unprocessable("PullRequestReview", "Body is required to request changes", "body", "missing_field")
    changed = {change.path for change in await list_changes(world, repository, pull)}
    if any(comment["path"] not in changed for comment in comments):
        raise Unprocessable("PullRequestReviewComment", "Path could not be resolved", "path", "invalid")
    review: ReviewRow = {
        "id": ReviewId(world.ids.next("review")),
        "pull_id": pull.row["id"],
        "author": login,
        "state": state,
        "body": body,
        "commit_id": pull.head_sha,
        "submitted_at": world.clock.now_ms(),
    }
    world.save(reviews, review, "review.submitted")
    for comment in comments:
        _add_review_comment(world, review, comment)
    return review


def _add_review_comment(world: World, review: ReviewRow, comment: LineComment) -> None:
    row: ReviewCommentRow = {
        "id": ReviewCommentId(world.ids.next("review_comment")),
        "pull_id": review["pull_id"],
        "review_id": review["id"],
        "author": review["author"],
        "path": comment["path"],
        "line": comment["line"] or comment["position"],
        "body": comment["body"],
        "created_at": world.clock.now_ms(),
    }
    world.save(review_comments, row, "review.commented")


async def merge(
    world: World,
    repository: RepositoryRow,
    pull: Pull,
    method_name: str,
    title: str | None,
    message: str | None,
    sha: str | None,
) -> str:
    """Returns the new tip of the base branch."""
    if pull.row["merged_at"] is not None or pull.issue["state"] != "open" or pull.row["draft"]:
        raise NotMergeable("Pull Request is not mergeable")
    method = _METHODS.get(method_name)
    if method is None:
        raise Unprocessable("PullRequest", f"{method_name} is not a merge method", "merge_method", "invalid")
    if sha is not None and sha != pull.head_sha:
        raise Conflict("Head branch was modified. Review and try the merge again.")
    await _require_protection(world, repository, pull)
    server = await repositories.git_server(world)
    me = repositories.find_me(world)
    text = _merge_message(repository, pull, method, title, message)
    author, now = repositories.author_of(me), world.clock.now_ms()
    tip = await server.merge(repository, pull.row["base"], pull.head_sha, method, text, author, now)
    if tip is None:
        raise NotMergeable("Pull Request has merge conflicts")
    merged: PullRow = {
        **pull.row,
        "head_sha": pull.head_sha,
        "base_sha": pull.base_sha,
        "merge_sha": tip,
        "merged_by": me["login"],
        "merged_at": now,
    }
    world.save(pulls, merged, "pull.merged")
    closed: IssueRow = {**pull.issue, "state": "closed", "closed_at": now, "updated_at": now}
    world.save(issues_table, closed, "pull.closed")
    return tip


def _merge_message(
    repository: RepositoryRow, pull: Pull, method: MergeMethod, title: str | None, message: str | None
) -> str:
    number = pull.issue["number"]
    if method == "merge":
        default = f"Merge pull request #{number} from {repository['owner']}/{pull.row['head']}"
        return f"{title or default}\n\n{message or pull.issue['title']}"
    return f"{title or pull.issue['title'] + f' (#{number})'}\n\n{message or pull.issue['body'] or ''}".rstrip()


async def _require_protection(world: World, repository: RepositoryRow, pull: Pull) -> None:
    rules = repositories.find_protection(world, repository, pull.row["base"])
    if rules is None:
        return
    latest = {row["author"]: row["state"] for row in list_reviews(world, pull) if row["state"] != "COMMENTED"}
    if "CHANGES_REQUESTED" in latest.values():
        raise NotMergeable("Changes have been requested on this pull request.")
    approvals = sum(state == "APPROVED" for author, state in latest.items() if author != pull.issue["author"])
    required = rules["required_reviews"]
    if approvals < required:
        word = "reviews are" if required > 1 else "review is"
        raise NotMergeable(f"At least {required} approving {word} required by reviewers with write access.")
    if rules["required_checks"]:
        runs = await check_runs.run_all(world, repository, pull.head_sha)
        conclusions = {row["name"]: row["conclusion"] for row in runs}
        failing = [name for name in rules["required_checks"] if conclusions.get(name) != "success"]
        if failing:
            raise NotMergeable(f'Required status check "{failing[0]}" is failing.')
