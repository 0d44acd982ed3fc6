"""The code host: pull requests."""

from fastapi import Request, Response

from services.ide.operations import pulls, repositories
from services.ide.routes.code_host import Page, PerPage
from services.ide.routes.shapes import REPO, Shapes, paged
from services.ide.schemas.code_host import MergeIn, PullIn, PullPatch, ReviewIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router

router = product_router()
_PULLS = REPO + "/pulls"
_ONE = _PULLS + "/{number}"


@router.get(_PULLS, operation_id="ide.pulls.list")
async def list_pulls(
    owner: str,
    repo: str,
    request: Request,
    world: CurrentWorld,
    *,
    state: str = "open",
    base: str | None = None,
    head: str | None = None,
    page: Page = 1,
    per_page: PerPage = 30,
) -> Response:
    """Pull requests, the newest first."""
    repository = repositories.find(world, owner, repo)
    shapes = Shapes(request, world)
    listed = await pulls.listed(world, repository, state, base, head)
    return paged(request, listed, page, per_page, lambda pull: shapes.pull(repository, pull))


@router.post(_PULLS, status_code=201, operation_id="ide.pulls.create")
async def create_pull(owner: str, repo: str, body: PullIn, request: Request, world: CurrentWorld) -> Response:
    """Propose a branch."""
    repository = repositories.find(world, owner, repo)
    pull = await pulls.create(world, repository, body.title, body.head, body.base, body.body, draft=body.draft)
    return Json(await Shapes(request, world).whole_pull(repository, pull), 201)


@router.get(_ONE, operation_id="ide.pulls.get")
async def read_pull(owner: str, repo: str, number: int, request: Request, world: CurrentWorld) -> Response:
    """One pull request."""
    repository = repositories.find(world, owner, repo)
    pull = await pulls.find(world, repository, number)
    return Json(await Shapes(request, world).whole_pull(repository, pull))


@router.patch(_ONE, operation_id="ide.pulls.update")
async def update_pull(
    owner: str, repo: str, number: int, body: PullPatch, request: Request, world: CurrentWorld
) -> Response:
    """Change a pull request, or close it."""
    repository = repositories.find(world, owner, repo)
    pull = await pulls.find(world, repository, number)
    pull = await pulls.update(world, repository, pull, body.model_dump(exclude_unset=True))
    return Json(await Shapes(request, world).whole_pull(repository, pull))


@router.get(_ONE + "/files", operation_id="ide.pulls.files")
async def list_files(
    owner: str,
    repo: str,
    number: int,
    request: Request,
    world: CurrentWorld,
    page: Page = 1,
    per_page: PerPage = 30,
) -> Response:
    """Files that a pull request changes, with their patches."""
    repository = repositories.find(world, owner, repo)
    pull = await pulls.find(world, repository, number)
    changed = await pulls.changes(world, repository, pull)
    shapes = Shapes(request, world)
    return paged(request, changed, page, per_page, lambda one: shapes.change(repository, pull.head_sha, one))


@router.get(_ONE + "/commits", operation_id="ide.pulls.commits")
async def list_commits(
    owner: str,
    repo: str,
    number: int,
    request: Request,
    world: CurrentWorld,
    page: Page = 1,
    per_page: PerPage = 30,
) -> Response:
    """Commits that a pull request brings."""
    repository = repositories.find(world, owner, repo)
    pull = await pulls.find(world, repository, number)
    shapes = Shapes(request, world)
    brought = await pulls.commits(world, repository, pull)
    return paged(request, brought, page, per_page, lambda commit: shapes.commit(repository, commit))


@router.get(_ONE + "/reviews", operation_id="ide.pulls.reviews")
async def list_reviews(
    owner: str,
    repo: str,
    number: int,
    request: Request,
    world: CurrentWorld,
    page: Page = 1,
    per_page: PerPage = 30,
) -> Response:
    """Reviews of a pull request."""
    repository = repositories.find(world, owner, repo)
    pull = await pulls.find(world, repository, number)
    shapes = Shapes(request, world)
    rows = pulls.reviews_of(world, pull)
    return paged(request, rows, page, per_page, lambda row: shapes.review(repository, pull, row))


@router.post(_ONE + "/reviews", operation_id="ide.pulls.review")
async def create_review(
    owner: str, repo: str, number: int, body: ReviewIn, request: Request, world: CurrentWorld
) -> Response:
    """Review a pull request: APPROVE, REQUEST_CHANGES or COMMENT."""
    repository = repositories.find(world, owner, repo)
    pull = await pulls.find(world, repository, number)
    said = [one.model_dump() for one in body.comments]
    row = await pulls.review(world, repository, pull, body.event, body.body or "", said)
    return Json(Shapes(request, world).review(repository, pull, row))


@router.get(_ONE + "/comments", operation_id="ide.pulls.review_comments")
async def list_review_comments(
    owner: str,
    repo: str,
    number: int,
    request: Request,
    world: CurrentWorld,
    page: Page = 1,
    per_page: PerPage = 30,
) -> Response:
    """What reviews said about lines."""
    repository = repositories.find(world, owner, repo)
    pull = await pulls.find(world, repository, number)
    shapes = Shapes(request, world)
    rows = pulls.review_comments_of(world, pull)
    return paged(request, rows, page, per_page, lambda row: shapes.review_comment(repository, pull, row))


@router.put(_ONE + "/merge", operation_id="ide.pulls.merge")
async def merge(owner: str, repo: str, number: int, body: MergeIn, world: CurrentWorld) -> Response:
    """Merge: `merge`, `squash` or `rebase`."""
    repository = repositories.find(world, owner, repo)
    pull = await pulls.find(world, repository, number)
    sha = await pulls.merge(
        world, repository, pull, body.merge_method, body.commit_title, body.commit_message, body.sha
    )
    return Json({"sha": sha, "merged": True, "message": "Pull Request successfully merged"})
