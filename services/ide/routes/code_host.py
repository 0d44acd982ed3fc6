"""The code host: users, repositories, issues, branches, commits, check runs, search."""

from typing import cast

from fastapi import Response

from services.ide.operations import check_runs, issues, repositories, search
from services.ide.operations.issues import IssueChange
from services.ide.routes.dependencies import CodeHostJson, CommitOfRef, CurrentPage, Issue, Repository, RepositoryJson
from services.ide.schemas.code_host import CommentIn, IssueIn, IssuePatch, LabelIn, RefIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router

router = product_router()
# git's name for the tree without files: the first commit is compared with it.
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@router.get("/api/v3/user", operation_id="ide.users.me")
async def me(serializer: CodeHostJson, world: CurrentWorld) -> Response:
    """Who the credential belongs to."""
    return Json(serializer.user(repositories.find_me(world)["login"]))


@router.get("/api/v3/user/repos", operation_id="ide.repos.list")
async def repos(page: CurrentPage, serializer: CodeHostJson, world: CurrentWorld) -> Response:
    """Repositories one can see."""
    return page.respond(repositories.list_all(world), serializer.repository)


@router.get("/api/v3/repos/{owner}/{repo}", operation_id="ide.repos.get")
async def repo(repository: Repository, serializer: RepositoryJson) -> Response:
    """One repository."""
    return Json(serializer.repository(repository))


@router.get("/api/v3/repos/{owner}/{repo}/issues", operation_id="ide.issues.list")
async def list_issues(
    repository: Repository,
    page: CurrentPage,
    serializer: RepositoryJson,
    world: CurrentWorld,
    *,
    state: str = "open",
    labels: str = "",
    assignee: str | None = None,
) -> Response:
    """Issues and pull requests, the newest first."""
    rows = issues.list_issues(world, repository, state, [name for name in labels.split(",") if name], assignee)
    return page.respond(rows, serializer.issue)


@router.post("/api/v3/repos/{owner}/{repo}/issues", status_code=201, operation_id="ide.issues.create")
async def create_issue(
    repository: Repository, body: IssueIn, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """Open an issue."""
    row = issues.create(world, repository, body.title, body.body, _label_names(body.labels), body.assignees)
    return Json(serializer.issue(row), 201)


@router.get("/api/v3/repos/{owner}/{repo}/issues/{number}", operation_id="ide.issues.get")
async def read_issue(issue: Issue, serializer: RepositoryJson) -> Response:
    """One issue."""
    return Json(serializer.issue(issue))


@router.patch("/api/v3/repos/{owner}/{repo}/issues/{number}", operation_id="ide.issues.update")
async def update_issue(issue: Issue, body: IssuePatch, serializer: RepositoryJson, world: CurrentWorld) -> Response:
    """Change an issue."""
    # The model has the fields of the change.
    change = cast("IssueChange", body.model_dump(exclude_unset=True))
    if body.labels is not None:
        change["labels"] = _label_names(body.labels)
    return Json(serializer.issue(issues.update(world, issue, change)))


@router.get("/api/v3/repos/{owner}/{repo}/issues/{number}/comments", operation_id="ide.issues.comments")
async def list_comments(issue: Issue, page: CurrentPage, serializer: RepositoryJson, world: CurrentWorld) -> Response:
    """Comments of an issue or pull request."""
    comments = issues.list_comments(world, issue)
    return page.respond(comments, lambda comment: serializer.comment(issue, comment))


@router.post(
    "/api/v3/repos/{owner}/{repo}/issues/{number}/comments", status_code=201, operation_id="ide.issues.comment"
)
async def create_comment(issue: Issue, body: CommentIn, serializer: RepositoryJson, world: CurrentWorld) -> Response:
    """Comment on an issue or pull request."""
    return Json(serializer.comment(issue, issues.add_comment(world, issue, body.body)), 201)


@router.get("/api/v3/repos/{owner}/{repo}/branches", operation_id="ide.branches.list")
async def list_branches(
    repository: Repository, page: CurrentPage, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """Branches."""
    branches = await repositories.list_branches(world, repository)
    return page.respond(branches, lambda branch: serializer.branch(branch[0], serializer.commit_link(branch[1])))


@router.get("/api/v3/repos/{owner}/{repo}/branches/{branch:path}", operation_id="ide.branches.get")
async def read_branch(repository: Repository, branch: str, serializer: RepositoryJson, world: CurrentWorld) -> Response:
    """One branch with its last commit."""
    commit = await repositories.find_branch(world, repository, branch)
    return Json(serializer.branch(branch, serializer.commit(commit)))


@router.post("/api/v3/repos/{owner}/{repo}/git/refs", status_code=201, operation_id="ide.refs.create")
async def create_ref(repository: Repository, body: RefIn, serializer: RepositoryJson, world: CurrentWorld) -> Response:
    """Create a branch or tag."""
    await repositories.create_ref(world, repository, body.ref, body.sha)
    return Json(serializer.ref(body.ref, body.sha), 201)


@router.delete("/api/v3/repos/{owner}/{repo}/git/refs/{ref:path}", status_code=204, operation_id="ide.refs.delete")
async def delete_ref(repository: Repository, ref: str, world: CurrentWorld) -> Response:
    """Delete a branch or tag."""
    await repositories.delete_ref(world, repository, f"refs/{ref}")
    return Response(status_code=204)


@router.get("/api/v3/repos/{owner}/{repo}/commits", operation_id="ide.commits.list")
async def list_commits(
    repository: Repository,
    page: CurrentPage,
    serializer: RepositoryJson,
    world: CurrentWorld,
    sha: str | None = None,
    path: str | None = None,
) -> Response:
    """Commits, the newest first."""
    commits = await repositories.list_commits(world, repository, sha, path)
    return page.respond(commits, serializer.commit)


@router.get("/api/v3/repos/{owner}/{repo}/commits/{ref}", operation_id="ide.commits.get")
async def read_commit(
    repository: Repository, commit: CommitOfRef, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """One commit with its changes."""
    server = await repositories.git_server(world)
    before = commit.parents[0] if commit.parents else _EMPTY_TREE
    changes = await server.changes(repository, before, commit.sha)
    return Json(serializer.commit_with_changes(commit, changes))


@router.get("/api/v3/repos/{owner}/{repo}/commits/{ref}/check-runs", operation_id="ide.checks.list")
async def list_check_runs(
    repository: Repository, commit: CommitOfRef, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """What ran on a commit; what has not run yet runs now."""
    rows = await check_runs.run_all(world, repository, commit.sha)
    runs = [serializer.check_run(row) for row in rows]
    return Json({"total_count": len(runs), "check_runs": runs})


@router.get("/api/v3/repos/{owner}/{repo}/commits/{ref}/status", operation_id="ide.checks.status")
async def show_combined_status(
    repository: Repository, commit: CommitOfRef, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """All that ran on a commit, summed up."""
    rows = await check_runs.run_all(world, repository, commit.sha)
    return Json(serializer.combine_status(commit.sha, rows))


@router.get("/api/v3/search/code", operation_id="ide.search.code")
async def search_code(q: str, page: CurrentPage, serializer: CodeHostJson, world: CurrentWorld) -> Response:
    """Files on default branches that hold every word; `repo:` and `path:` narrow it."""
    return page.respond_to_search(await search.find_code(world, q), serializer.code_hit)


@router.get("/api/v3/search/issues", operation_id="ide.search.issues")
async def search_issues(q: str, page: CurrentPage, serializer: CodeHostJson, world: CurrentWorld) -> Response:
    """Issues and pull requests that hold every word; `is:`, `state:`, `author:`, `label:` and `repo:` narrow it."""
    hits = search.find_issues(world, q)
    return page.respond_to_search(hits, lambda hit: serializer.issue_hit(*hit))


def _label_names(labels: list[LabelIn]) -> list[str]:
    return [label if isinstance(label, str) else str(label.get("name", "")) for label in labels]
