"""How the code host shows things; every address in them is the one the request came to."""

import base64
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from fastapi import Request

from services.ide.forge import Commit, Entry, FileChange
from services.ide.operations import issues, pulls, repositories
from services.ide.operations.pulls import Pull
from services.kernel.answers import Json
from services.kernel.clock import moment
from services.kernel.statements import Row
from services.kernel.world import World

API = "/api/v3"
REPO = API + "/repos/{owner}/{repo}"
Item = TypeVar("Item")
Shape = dict[str, Any]
_MOST = 100


class Shapes:
    """Rows and commits as JSON, for one request."""

    def __init__(self, request: Request, world: World) -> None:
        self._root = str(request.base_url).rstrip("/")
        self._world = world

    @property
    def api(self) -> str:
        return self._root + API

    def user(self, login: str) -> Shape:
        row = repositories.user(self._world, login)
        about = {"login": login, "id": row["id"], "node_id": f"U_{row['id']}", "type": "User", "site_admin": False}
        return {**about, "name": row["name"], "url": f"{self.api}/users/{login}", "html_url": f"{self._root}/{login}"}

    def repository(self, row: Row) -> Shape:
        full = f"{row['owner']}/{row['name']}"
        return {
            "id": row["id"],
            "node_id": f"R_{row['id']}",
            "name": row["name"],
            "full_name": full,
            "owner": {**self.user(row["owner"]), "type": "Organization"},
            "private": True,
            "description": row["description"],
            "fork": False,
            "url": self._of(row),
            "html_url": f"{self._root}/{full}",
            "clone_url": f"{self._root}/{full}.git",
            "ssh_url": row["ssh_url"],
            "default_branch": row["default_branch"],
            "created_at": _at(row["created_at"]),
            "updated_at": _at(row["pushed_at"]),
            "pushed_at": _at(row["pushed_at"]),
            "open_issues_count": len(issues.listed(self._world, row, "open")),
            "permissions": {"admin": False, "push": True, "pull": True},
        }

    def issue(self, repository: Row, row: Row) -> Shape:
        url = f"{self._of(repository)}/issues/{row['number']}"
        shape = {
            **self._opened(row),
            "url": url,
            "html_url": self._page(repository, "issues", row),
            "repository_url": self._of(repository),
            "comments_url": f"{url}/comments",
            "state_reason": row["state_reason"],
            "comments": len(issues.comments_of(self._world, row)),
        }
        if row["is_pull"]:
            shape["pull_request"] = {"url": f"{self._of(repository)}/pulls/{row['number']}"}
        return shape

    def comment(self, repository: Row, issue: Row, row: Row) -> Shape:
        return {
            "id": row["id"],
            "node_id": f"IC_{row['id']}",
            "url": f"{self._of(repository)}/issues/comments/{row['id']}",
            "html_url": f"{self._page(repository, 'issues', issue)}#issuecomment-{row['id']}",
            "issue_url": f"{self._of(repository)}/issues/{issue['number']}",
            "body": row["body"],
            "user": self.user(row["author"]),
            "created_at": _at(row["created_at"]),
            "updated_at": _at(row["updated_at"]),
        }

    def pull(self, repository: Row, pull: Pull) -> Shape:
        issue, row = pull.issue, pull.row
        url = f"{self._of(repository)}/pulls/{issue['number']}"
        return {
            **self._opened(issue),
            "url": url,
            "html_url": self._page(repository, "pull", issue),
            "issue_url": f"{self._of(repository)}/issues/{issue['number']}",
            "comments_url": f"{self._of(repository)}/issues/{issue['number']}/comments",
            "commits_url": f"{url}/commits",
            "review_comments_url": f"{url}/comments",
            "draft": bool(row["draft"]),
            "head": self._end(repository, row["head"], pull.head_sha),
            "base": self._end(repository, row["base"], pull.base_sha),
            "merged": row["merged_at"] is not None,
            "merged_at": _at(row["merged_at"]),
            "merged_by": None if row["merged_by"] is None else self.user(row["merged_by"]),
            "merge_commit_sha": row["merge_sha"],
        }

    async def whole_pull(self, repository: Row, pull: Pull) -> Shape:
        """What only a single pull request carries."""
        changed = await pulls.changes(self._world, repository, pull)
        mergeable = await pulls.is_mergeable(self._world, repository, pull)
        state = {True: "clean", False: "dirty", None: "unknown"}[mergeable]
        return {
            **self.pull(repository, pull),
            "mergeable": mergeable,
            "mergeable_state": state,
            "additions": sum(one.additions for one in changed),
            "deletions": sum(one.deletions for one in changed),
            "changed_files": len(changed),
            "commits": len(await pulls.commits(self._world, repository, pull)),
            "comments": len(issues.comments_of(self._world, pull.issue)),
            "review_comments": len(pulls.review_comments_of(self._world, pull)),
        }

    def change(self, repository: Row, sha: str, change: FileChange) -> Shape:
        shape: Shape = {
            "sha": change.sha,
            "filename": change.path,
            "status": change.status,
            "additions": change.additions,
            "deletions": change.deletions,
            "changes": change.additions + change.deletions,
            "contents_url": f"{self._of(repository)}/contents/{quote(change.path)}?ref={sha}",
        }
        if change.patch is not None:
            shape["patch"] = change.patch
        return shape | ({"previous_filename": change.before} if change.before else {})

    def review(self, repository: Row, pull: Pull, row: Row) -> Shape:
        return {
            "id": row["id"],
            "node_id": f"PRR_{row['id']}",
            "user": self.user(row["author"]),
            "body": row["body"],
            "state": row["state"],
            "commit_id": row["commit_id"],
            "submitted_at": _at(row["submitted_at"]),
            "html_url": f"{self._page(repository, 'pull', pull.issue)}#pullrequestreview-{row['id']}",
            "pull_request_url": f"{self._of(repository)}/pulls/{pull.issue['number']}",
        }

    def review_comment(self, repository: Row, pull: Pull, row: Row) -> Shape:
        return {
            "id": row["id"],
            "node_id": f"PRRC_{row['id']}",
            "pull_request_review_id": row["review_id"],
            "user": self.user(row["author"]),
            "path": row["path"],
            "line": row["line"],
            "body": row["body"],
            "commit_id": pull.head_sha,
            "created_at": _at(row["created_at"]),
            "updated_at": _at(row["created_at"]),
            "url": f"{self._of(repository)}/pulls/comments/{row['id']}",
            "pull_request_url": f"{self._of(repository)}/pulls/{pull.issue['number']}",
        }

    def commit(self, repository: Row, commit: Commit) -> Shape:
        url = f"{self._of(repository)}/commits/{commit.sha}"
        parents = [{"sha": sha, "url": f"{self._of(repository)}/commits/{sha}"} for sha in commit.parents]
        return {
            "sha": commit.sha,
            "node_id": f"C_{commit.sha}",
            "url": url,
            "html_url": f"{self._root}/{repository['owner']}/{repository['name']}/commit/{commit.sha}",
            "commit": self.git_commit(repository, commit),
            "author": None,
            "committer": None,
            "parents": parents,
        }

    def git_commit(self, repository: Row, commit: Commit) -> Shape:
        by = (commit.author, commit.author_email, commit.authored_at)
        through = (commit.committer, commit.committer_email, commit.committed_at)
        tree = f"{self._of(repository)}/git/trees/{commit.tree}"
        return {
            "sha": commit.sha,
            "url": f"{self._of(repository)}/git/commits/{commit.sha}",
            "message": commit.message,
            "author": _person(*by),
            "committer": _person(*through),
            "tree": {"sha": commit.tree, "url": tree},
            "parents": [{"sha": sha, "url": f"{self._of(repository)}/git/commits/{sha}"} for sha in commit.parents],
            "comment_count": 0,
        }

    def branch(self, repository: Row, name: str, commit: Shape) -> Shape:
        rules = repositories.protection(self._world, repository, name)
        url = f"{self._of(repository)}/branches/{quote(name, safe='')}"
        shape: Shape = {
            "name": name,
            "commit": commit,
            "protected": rules is not None,
            "protection_url": f"{url}/protection",
        }
        if rules is not None:
            checks = {"enforcement_level": "everyone", "contexts": rules["required_checks"]}
            shape["protection"] = {"enabled": True, "required_status_checks": checks}
        return shape

    def entry(self, repository: Row, ref: str, entry: Entry, content: bytes | None = None) -> Shape:
        path = quote(entry.path)
        shape: Shape = {
            "name": entry.path.rpartition("/")[2],
            "path": entry.path,
            "sha": entry.sha,
            "size": entry.size,
            "type": {"tree": "dir", "commit": "submodule"}.get(
                entry.kind, "symlink" if entry.mode == "120000" else "file"
            ),
            "url": f"{self._of(repository)}/contents/{path}?ref={quote(ref)}",
            "git_url": f"{self._of(repository)}/git/blobs/{entry.sha}",
            "html_url": f"{self._root}/{repository['owner']}/{repository['name']}/blob/{quote(ref)}/{path}",
            "download_url": None,
        }
        if content is not None:
            shape |= {"encoding": "base64", "content": base64.encodebytes(content).decode()}
        return shape

    def check_run(self, repository: Row, row: Row) -> Shape:
        return {
            "id": row["id"],
            "node_id": f"CR_{row['id']}",
            "name": row["name"],
            "head_sha": row["sha"],
            "status": "completed",
            "conclusion": row["conclusion"],
            "started_at": _at(row["started_at"]),
            "completed_at": _at(row["completed_at"]),
            "url": f"{self._of(repository)}/check-runs/{row['id']}",
            "html_url": f"{self._root}/{repository['owner']}/{repository['name']}/runs/{row['id']}",
            "output": {"title": row["name"], "summary": row["summary"], "text": None, "annotations_count": 0},
            "pull_requests": [],
        }

    def _opened(self, row: Row) -> Shape:
        return {
            "id": row["id"],
            "node_id": f"I_{row['id']}",
            "number": row["number"],
            "title": row["title"],
            "body": row["body"],
            "state": row["state"],
            "locked": False,
            "user": self.user(row["author"]),
            "labels": [
                {"name": name, "color": "ededed", "url": f"{self.api}/labels/{quote(name)}"} for name in row["labels"]
            ],
            "assignees": [self.user(login) for login in row["assignees"]],
            "assignee": self.user(row["assignees"][0]) if row["assignees"] else None,
            "created_at": _at(row["created_at"]),
            "updated_at": _at(row["updated_at"]),
            "closed_at": _at(row["closed_at"]),
        }

    def _end(self, repository: Row, branch: str, sha: str) -> Shape:
        label = f"{repository['owner']}:{branch}"
        return {
            "label": label,
            "ref": branch,
            "sha": sha,
            "user": self.user(repository["owner"]),
            "repo": self.repository(repository),
        }

    def _of(self, repository: Row) -> str:
        return f"{self.api}/repos/{repository['owner']}/{repository['name']}"

    def _page(self, repository: Row, kind: str, row: Row) -> str:
        return f"{self._root}/{repository['owner']}/{repository['name']}/{kind}/{row['number']}"


def paged(request: Request, items: Sequence[Item], page: int, per_page: int, shape: Callable[[Item], Shape]) -> Json:
    """One page, and where the others are, in a Link header with absolute addresses."""
    chosen, links = _cut(request, items, page, per_page)
    return Json([shape(item) for item in chosen], headers=links)


def found(request: Request, items: Sequence[Item], page: int, per_page: int, shape: Callable[[Item], Shape]) -> Json:
    chosen, links = _cut(request, items, page, per_page)
    body = {"total_count": len(items), "incomplete_results": False, "items": [shape(item) for item in chosen]}
    return Json(body, headers=links)


def _cut(request: Request, items: Sequence[Item], page: int, per_page: int) -> tuple[Sequence[Item], dict[str, str]]:
    size = min(max(per_page, 1), _MOST)
    number = max(page, 1)
    last = max(1, -(-len(items) // size))
    links = [(number - 1, "prev"), (1, "first")] if number > 1 else []
    links += [(number + 1, "next"), (last, "last")] if number < last else []
    header = ", ".join(f'<{_page_url(request, at)}>; rel="{name}"' for at, name in links)
    return items[(number - 1) * size : number * size], {"link": header} if header else {}


def _page_url(request: Request, number: int) -> str:
    query = [(name, value) for name, value in request.query_params.multi_items() if name != "page"]
    return f"{str(request.base_url).rstrip('/')}{request.url.path}?{urlencode([*query, ('page', number)])}"


def _person(name: str, email: str, at: int) -> Shape:
    return {"name": name, "email": email, "date": _at(at)}


def _at(ms: int | None) -> str | None:
    return None if ms is None else moment(ms).strftime("%Y-%m-%dT%H:%M:%SZ")
