"""The code host: people, repositories, issues, branches, commits, check runs, search."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from services.ide.operations import check_runs, issues, repositories, search
from services.ide.routes.shapes import API, REPO, Shapes, found, paged
from services.ide.schemas.code_host import CommentIn, IssueIn, IssuePatch, LabelIn, RefIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router

router = product_router()
Page = Annotated[int, Query(ge=1, le=10**6)]
PerPage = Annotated[int, Query(ge=1, le=10**6)]


@router.get(API + "/user", operation_id="ide.users.me")
async def me(request: Request, world: CurrentWorld) -> Response:
    """Who the credential belongs to."""
    return Json(Shapes(request, world).user(repositories.me(world)["login"]))


@router.get(API + "/user/repos", operation_id="ide.repos.list")
async def repos(request: Request, world: CurrentWorld, page: Page = 1, per_page: PerPage = 30) -> Response:
    """Repositories one can see."""
    return paged(request, repositories.all_of(world), page, per_page, Shapes(request, world).repository)


@router.get(REPO, operation_id="ide.repos.get")
async def repo(owner: str, repo: str, request: Request, world: CurrentWorld) -> Response:
    """One repository."""
    return Json(Shapes(request, world).repository(repositories.find(world, owner, repo)))


@router.get(REPO + "/issues", operation_id="ide.issues.list")
async def list_issues(
    owner: str,
    repo: str,
    request: Request,
    world: CurrentWorld,
    *,
    state: str = "open",
    labels: str = "",
    assignee: str | None = None,
    page: Page = 1,
    per_page: PerPage = 30,
) -> Response:
    """Issues and pull requests, the newest first."""
    repository = repositories.find(world, owner, repo)
    rows = issues.listed(world, repository, state, [name for name in labels.split(",") if name], assignee)
    shapes = Shapes(request, world)
    return paged(request, rows, page, per_page, lambda row: shapes.issue(repository, row))


@router.post(REPO + "/issues", status_code=201, operation_id="ide.issues.create")
async def create_issue(owner: str, repo: str, body: IssueIn, request: Request, world: CurrentWorld) -> Response:
    """Open an issue."""
    repository = repositories.find(world, owner, repo)
    row = issues.create(world, repository, body.title, body.body, _names(body.labels), body.assignees)
    return Json(Shapes(request, world).issue(repository, row), 201)


@router.get(REPO + "/issues/{number}", operation_id="ide.issues.get")
async def read_issue(owner: str, repo: str, number: int, request: Request, world: CurrentWorld) -> Response:
    """One issue."""
    repository = repositories.find(world, owner, repo)
    return Json(Shapes(request, world).issue(repository, issues.find(world, repository, number)))


@router.patch(REPO + "/issues/{number}", operation_id="ide.issues.update")
async def update_issue(
    owner: str, repo: str, number: int, body: IssuePatch, request: Request, world: CurrentWorld
) -> Response:
    """Change an issue."""
    repository = repositories.find(world, owner, repo)
    change: dict[str, Any] = body.model_dump(exclude_unset=True)
    if body.labels is not None:
        change["labels"] = _names(body.labels)
    row = issues.update(world, issues.find(world, repository, number), change)
    return Json(Shapes(request, world).issue(repository, row))


@router.get(REPO + "/issues/{number}/comments", operation_id="ide.issues.comments")
async def list_comments(
    owner: str,
    repo: str,
    number: int,
    request: Request,
    world: CurrentWorld,
    page: Page = 1,
    per_page: PerPage = 30,
) -> Response:
    """Comments of an issue or pull request."""
    repository = repositories.find(world, owner, repo)
    issue = issues.find(world, repository, number)
    shapes = Shapes(request, world)
    said = issues.comments_of(world, issue)
    return paged(request, said, page, per_page, lambda row: shapes.comment(repository, issue, row))


@router.post(REPO + "/issues/{number}/comments", status_code=201, operation_id="ide.issues.comment")
async def create_comment(
    owner: str, repo: str, number: int, body: CommentIn, request: Request, world: CurrentWorld
) -> Response:
    """Comment on an issue or pull request."""
    repository = repositories.find(world, owner, repo)
    issue = issues.find(world, repository, number)
    said = issues.comment(world, issue, body.body)
    return Json(Shapes(request, world).comment(repository, issue, said), 201)


@router.get(REPO + "/branches", operation_id="ide.branches.list")
async def list_branches(
    owner: str, repo: str, request: Request, world: CurrentWorld, page: Page = 1, per_page: PerPage = 30
) -> Response:
    """Branches."""
    repository = repositories.find(world, owner, repo)
    shapes = Shapes(request, world)
    url = f"{shapes.api}/repos/{owner}/{repo}/commits"
    listed = await repositories.branches(world, repository)
    return paged(
        request,
        listed,
        page,
        per_page,
        lambda one: shapes.branch(repository, one[0], {"sha": one[1], "url": f"{url}/{one[1]}"}),
    )


@router.get(REPO + "/branches/{branch:path}", operation_id="ide.branches.get")
async def read_branch(owner: str, repo: str, branch: str, request: Request, world: CurrentWorld) -> Response:
    """One branch with its last commit."""
    repository = repositories.find(world, owner, repo)
    name, commit = await repositories.branch(world, repository, branch)
    shapes = Shapes(request, world)
    return Json(shapes.branch(repository, name, shapes.commit(repository, commit)))


@router.post(REPO + "/git/refs", status_code=201, operation_id="ide.refs.create")
async def create_ref(owner: str, repo: str, body: RefIn, request: Request, world: CurrentWorld) -> Response:
    """Create a branch or tag."""
    repository = repositories.find(world, owner, repo)
    await repositories.create_ref(world, repository, body.ref, body.sha)
    return Json(_ref(Shapes(request, world), owner, repo, body.ref, body.sha), 201)


@router.delete(REPO + "/git/refs/{ref:path}", status_code=204, operation_id="ide.refs.delete")
async def delete_ref(owner: str, repo: str, ref: str, world: CurrentWorld) -> Response:
    """Delete a branch or tag."""
    await repositories.delete_ref(world, repositories.find(world, owner, repo), f"refs/{ref}")
    return Response(status_code=204)


@router.get(REPO + "/commits", operation_id="ide.commits.list")
async def list_commits(
    owner: str,
    repo: str,
    request: Request,
    world: CurrentWorld,
    sha: str | None = None,
    path: str | None = None,
    page: Page = 1,
    per_page: PerPage = 30,
) -> Response:
    """Commits, the newest first."""
    repository = repositories.find(world, owner, repo)
    shapes = Shapes(request, world)
    listed = await repositories.commits(world, repository, sha, path)
    return paged(request, listed, page, per_page, lambda commit: shapes.commit(repository, commit))


@router.get(REPO + "/commits/{ref}", operation_id="ide.commits.get")
async def read_commit(owner: str, repo: str, ref: str, request: Request, world: CurrentWorld) -> Response:
    """One commit with its changes."""
    repository = repositories.find(world, owner, repo)
    shapes = Shapes(request, world)
    commit = await repositories.commit(world, repository, ref)
    forge = await repositories.forge(world)
    before = commit.parents[0] if commit.parents else "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    changed = await forge.changes(repository, before, commit.sha)
    files = [shapes.change(repository, commit.sha, change) for change in changed]
    counts = {"additions": sum(one.additions for one in changed), "deletions": sum(one.deletions for one in changed)}
    return Json(
        {**shapes.commit(repository, commit), "files": files, "stats": {**counts, "total": sum(counts.values())}}
    )


@router.get(REPO + "/commits/{ref}/check-runs", operation_id="ide.checks.list")
async def list_check_runs(owner: str, repo: str, ref: str, request: Request, world: CurrentWorld) -> Response:
    """What ran on a commit; what has not run yet runs now."""
    repository = repositories.find(world, owner, repo)
    commit = await repositories.commit(world, repository, ref)
    shapes = Shapes(request, world)
    runs = [shapes.check_run(repository, row) for row in await check_runs.of_commit(world, repository, commit.sha)]
    return Json({"total_count": len(runs), "check_runs": runs})


@router.get(REPO + "/commits/{ref}/status", operation_id="ide.checks.status")
async def combined_status(owner: str, repo: str, ref: str, request: Request, world: CurrentWorld) -> Response:
    """All that ran on a commit, summed up."""
    repository = repositories.find(world, owner, repo)
    commit = await repositories.commit(world, repository, ref)
    shapes = Shapes(request, world)
    rows = await check_runs.of_commit(world, repository, commit.sha)
    states = [{"success": "success"}.get(row["conclusion"], "failure") for row in rows]
    summed = "pending" if not states else ("success" if set(states) == {"success"} else "failure")
    url = f"{shapes.api}/repos/{owner}/{repo}/commits/{commit.sha}"
    statuses = [
        {"context": row["name"], "state": state, "description": row["conclusion"], "url": f"{url}/statuses/{row['id']}"}
        for row, state in zip(rows, states, strict=True)
    ]
    about = {"state": summed, "statuses": statuses, "sha": commit.sha, "total_count": len(rows)}
    return Json({**about, "repository": shapes.repository(repository), "url": f"{url}/status", "commit_url": url})


@router.get(API + "/search/code", operation_id="ide.search.code")
async def search_code(
    request: Request, q: str, world: CurrentWorld, page: Page = 1, per_page: PerPage = 30
) -> Response:
    """Files on default branches that hold every word; `repo:` and `path:` narrow it."""
    shapes = Shapes(request, world)

    def shape(hit: tuple[dict[str, Any], str, str]) -> dict[str, Any]:
        repository, path, sha = hit
        url = f"{shapes.api}/repos/{repository['owner']}/{repository['name']}/contents/{path}"
        about = {"name": path.rpartition("/")[2], "path": path, "sha": sha, "url": url, "html_url": url, "git_url": url}
        return {**about, "repository": shapes.repository(repository), "score": 1.0}

    return found(request, await search.code(world, q), page, per_page, shape)


@router.get(API + "/search/issues", operation_id="ide.search.issues")
async def search_issues(
    request: Request, q: str, world: CurrentWorld, page: Page = 1, per_page: PerPage = 30
) -> Response:
    """Issues and pull requests that hold every word; `is:`, `state:`, `author:`, `label:` and `repo:` narrow it."""
    shapes = Shapes(request, world)
    hits = search.find_issues(world, q)
    return found(request, hits, page, per_page, lambda hit: {**shapes.issue(*hit), "score": 1.0})


def _names(labels: list[LabelIn]) -> list[str]:
    return [label if isinstance(label, str) else str(label.get("name", "")) for label in labels]


def _ref(shapes: Shapes, owner: str, repo: str, ref: str, sha: str) -> dict[str, Any]:
    url = f"{shapes.api}/repos/{owner}/{repo}/git"
    target = {"type": "commit", "sha": sha, "url": f"{url}/commits/{sha}"}
    return {"ref": ref, "node_id": f"REF_{ref}", "url": f"{url}/{ref}", "object": target}
