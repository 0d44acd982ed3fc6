"""The code host: pull requests."""

from typing import cast

from fastapi import Response

from services.ide.operations import pulls
from services.ide.operations.issues import IssueChange
from services.ide.operations.pulls import LineComment
from services.ide.routes.dependencies import CurrentPage, PullRequest, Repository, RepositoryJson
from services.ide.schemas.code_host import MergeIn, PullIn, PullPatch, ReviewIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router

router = product_router()


@router.get("/api/v3/repos/{owner}/{repo}/pulls", operation_id="ide.pulls.list")
async def list_pulls(
    repository: Repository,
    page: CurrentPage,
    serializer: RepositoryJson,
    world: CurrentWorld,
    *,
    state: str = "open",
    base: str | None = None,
    head: str | None = None,
) -> Response:
    """Pull requests, the newest first."""
    matches = await pulls.list_pulls(world, repository, state, base, head)
    return page.respond(matches, serializer.pull)


@router.post("/api/v3/repos/{owner}/{repo}/pulls", status_code=201, operation_id="ide.pulls.create")
async def create_pull(
    repository: Repository, body: PullIn, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """Open a pull request from a branch."""
    pull = await pulls.create(world, repository, body.title, body.head, body.base, body.body, draft=body.draft)
    return Json(await serializer.full_pull(pull), 201)


@router.get("/api/v3/repos/{owner}/{repo}/pulls/{number}", operation_id="ide.pulls.get")
async def read_pull(pull: PullRequest, serializer: RepositoryJson) -> Response:
    """One pull request."""
    return Json(await serializer.full_pull(pull))


@router.patch("/api/v3/repos/{owner}/{repo}/pulls/{number}", operation_id="ide.pulls.update")
async def update_pull(
    repository: Repository, pull: PullRequest, body: PullPatch, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """Change a pull request, or close it."""
    # The model has the fields of the change.
    change = cast("IssueChange", body.model_dump(exclude_unset=True))
    return Json(await serializer.full_pull(await pulls.update(world, repository, pull, change)))


@router.get("/api/v3/repos/{owner}/{repo}/pulls/{number}/files", operation_id="ide.pulls.files")
async def list_files(
    repository: Repository, pull: PullRequest, page: CurrentPage, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """Files that a pull request changes, with their patches."""
    changes = await pulls.list_changes(world, repository, pull)
    return page.respond(changes, lambda change: serializer.change(pull.head_sha, change))


@router.get("/api/v3/repos/{owner}/{repo}/pulls/{number}/commits", operation_id="ide.pulls.commits")
async def list_commits(
    repository: Repository, pull: PullRequest, page: CurrentPage, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """Commits that a pull request brings."""
    commits = await pulls.list_commits(world, repository, pull)
    return page.respond(commits, serializer.commit)


@router.get("/api/v3/repos/{owner}/{repo}/pulls/{number}/reviews", operation_id="ide.pulls.reviews")
async def list_reviews(
    pull: PullRequest, page: CurrentPage, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """Reviews of a pull request."""
    return page.respond(pulls.list_reviews(world, pull), lambda row: serializer.review(pull, row))


@router.post("/api/v3/repos/{owner}/{repo}/pulls/{number}/reviews", operation_id="ide.pulls.review")
async def create_review(
    repository: Repository, pull: PullRequest, body: ReviewIn, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """Review a pull request: APPROVE, REQUEST_CHANGES or COMMENT."""
    comments: list[LineComment] = [
        {"path": comment.path, "body": comment.body, "line": comment.line, "position": comment.position}
        for comment in body.comments
    ]
    review = await pulls.add_review(world, repository, pull, body.event, body.body or "", comments)
    return Json(serializer.review(pull, review))


@router.get("/api/v3/repos/{owner}/{repo}/pulls/{number}/comments", operation_id="ide.pulls.review_comments")
async def list_review_comments(
    pull: PullRequest, page: CurrentPage, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """What reviews said about lines."""
    comments = pulls.list_review_comments(world, pull)
    return page.respond(comments, lambda comment: serializer.review_comment(pull, comment))


@router.put("/api/v3/repos/{owner}/{repo}/pulls/{number}/merge", operation_id="ide.pulls.merge")
async def merge(repository: Repository, pull: PullRequest, body: MergeIn, world: CurrentWorld) -> Response:
    """Merge: `merge`, `squash` or `rebase`."""
    sha = await pulls.merge(
        world, repository, pull, body.merge_method, body.commit_title, body.commit_message, body.sha
    )
    return Json({"sha": sha, "merged": True, "message": "Pull Request successfully merged"})
