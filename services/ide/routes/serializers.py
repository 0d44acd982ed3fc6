"""JSON of the code host; every address in it is the one that the request came to."""

import base64
from typing import Any
from urllib.parse import quote

from services.ide.code_host.git_server import Commit, FileChange, TreeEntry, sum_lines
from services.ide.operations import issues, pulls, repositories
from services.ide.operations.pulls import Pull
from services.ide.operations.search import CodeHit
from services.ide.rows import (
    CheckRunRow,
    CommentRow,
    IssueRow,
    RepositoryRow,
    ReviewCommentRow,
    ReviewRow,
)
from services.kernel.clock import iso_seconds
from services.kernel.world import World

Document = dict[str, Any]


class Serializer:
    """Turns rows and commits into JSON, for one request. `root` is the address that the request came to."""

    def __init__(self, root: str, world: World) -> None:
        self._root = root
        self._world = world

    @property
    def _api(self) -> str:
        return f"{self._root}/api/v3"

    def user(self, login: str) -> Document:
        row = repositories.find_user(self._world, login)
        about = {"login": login, "id": row["id"], "node_id": f"U_{row['id']}", "type": "User", "site_admin": False}
        return {**about, "name": row["name"], "url": f"{self._api}/users/{login}", "html_url": f"{self._root}/{login}"}

    def repository(self, row: RepositoryRow) -> Document:
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
            "url": self._repository_url(row),
            "html_url": f"{self._root}/{full}",
            "clone_url": f"{self._root}/{full}.git",
            "ssh_url": row["ssh_url"],
            "default_branch": row["default_branch"],
            "created_at": _format(row["created_at"]),
            "updated_at": _format(row["pushed_at"]),
            "pushed_at": _format(row["pushed_at"]),
            "open_issues_count": len(issues.list_issues(self._world, row, "open")),
            "permissions": {"admin": False, "push": True, "pull": True},
        }

    def code_hit(self, hit: CodeHit) -> Document:
        url = f"{self._repository_url(hit.repository)}/contents/{hit.path}"
        return {
            "name": hit.path.rpartition("/")[2],
            "path": hit.path,
            "sha": hit.sha,
            "url": url,
            "html_url": url,
            "git_url": url,
            "repository": self.repository(hit.repository),
            "score": 1.0,
        }

    def issue_hit(self, repository: RepositoryRow, row: IssueRow) -> Document:
        return {**RepositorySerializer(self._root, self._world, repository).issue(row), "score": 1.0}

    def _repository_url(self, row: RepositoryRow) -> str:
        return f"{self._api}/repos/{row['owner']}/{row['name']}"


class RepositorySerializer(Serializer):
    """The same for what belongs to one repository."""

    def __init__(self, root: str, world: World, repository: RepositoryRow) -> None:
        super().__init__(root, world)
        self._repository = repository
        self._url = self._repository_url(repository)
        self._page_url = f"{root}/{repository['owner']}/{repository['name']}"

    def issue(self, row: IssueRow) -> Document:
        url = f"{self._url}/issues/{row['number']}"
        document = {
            **self._issue_fields(row),
            "url": url,
            "html_url": self._page("issues", row),
            "repository_url": self._url,
            "comments_url": f"{url}/comments",
            "state_reason": row["state_reason"],
            "comments": len(issues.list_comments(self._world, row)),
        }
        if row["is_pull"]:
            document["pull_request"] = {"url": f"{self._url}/pulls/{row['number']}"}
        return document

    def comment(self, issue: IssueRow, row: CommentRow) -> Document:
        return {
            "id": row["id"],
            "node_id": f"IC_{row['id']}",
            "url": f"{self._url}/issues/comments/{row['id']}",
            "html_url": f"{self._page('issues', issue)}#issuecomment-{row['id']}",
            "issue_url": f"{self._url}/issues/{issue['number']}",
            "body": row["body"],
            "user": self.user(row["author"]),
            "created_at": _format(row["created_at"]),
            "updated_at": _format(row["updated_at"]),
        }

    def pull(self, pull: Pull) -> Document:
        issue, row = pull.issue, pull.row
        url = f"{self._url}/pulls/{issue['number']}"
        return {
            **self._issue_fields(issue),
            "url": url,
            "html_url": self._page("pull", issue),
            "issue_url": f"{self._url}/issues/{issue['number']}",
            "comments_url": f"{self._url}/issues/{issue['number']}/comments",
            "commits_url": f"{url}/commits",
            "review_comments_url": f"{url}/comments",
            "draft": bool(row["draft"]),
            "head": self._end(row["head"], pull.head_sha),
            "base": self._end(row["base"], pull.base_sha),
            "merged": row["merged_at"] is not None,
            "merged_at": _format(row["merged_at"]),
            "merged_by": None if row["merged_by"] is None else self.user(row["merged_by"]),
            "merge_commit_sha": row["merge_sha"],
        }

    async def full_pull(self, pull: Pull) -> Document:
        """With the fields that lists leave out."""
        changes = await pulls.list_changes(self._world, self._repository, pull)
        additions, deletions = sum_lines(changes)
        mergeable = await pulls.is_mergeable(self._world, self._repository, pull)
        state = {True: "clean", False: "dirty", None: "unknown"}[mergeable]
        return {
            **self.pull(pull),
            "mergeable": mergeable,
            "mergeable_state": state,
            "additions": additions,
            "deletions": deletions,
            "changed_files": len(changes),
            "commits": len(await pulls.list_commits(self._world, self._repository, pull)),
            "comments": len(issues.list_comments(self._world, pull.issue)),
            "review_comments": len(pulls.list_review_comments(self._world, pull)),
        }

    def change(self, sha: str, change: FileChange) -> Document:
        document: Document = {
            "sha": change.sha,
            "filename": change.path,
            "status": change.status,
            "additions": change.additions,
            "deletions": change.deletions,
            "changes": change.additions + change.deletions,
            "contents_url": f"{self._url}/contents/{quote(change.path)}?ref={sha}",
        }
        if change.patch is not None:
            document["patch"] = change.patch
        return document | ({"previous_filename": change.before} if change.before else {})

    def review(self, pull: Pull, row: ReviewRow) -> Document:
        return {
            "id": row["id"],
            "node_id": f"PRR_{row['id']}",
            "user": self.user(row["author"]),
            "body": row["body"],
            "state": row["state"],
            "commit_id": row["commit_id"],
            "submitted_at": _format(row["submitted_at"]),
            "html_url": f"{self._page('pull', pull.issue)}#pullrequestreview-{row['id']}",
            "pull_request_url": f"{self._url}/pulls/{pull.issue['number']}",
        }

    def review_comment(self, pull: Pull, row: ReviewCommentRow) -> Document:
        return {
            "id": row["id"],
            "node_id": f"PRRC_{row['id']}",
            "pull_request_review_id": row["review_id"],
            "user": self.user(row["author"]),
            "path": row["path"],
            "line": row["line"],
            "body": row["body"],
            "commit_id": pull.head_sha,
            "created_at": _format(row["created_at"]),
            "updated_at": _format(row["created_at"]),
            "url": f"{self._url}/pulls/comments/{row['id']}",
            "pull_request_url": f"{self._url}/pulls/{pull.issue['number']}",
        }

    def commit(self, commit: Commit) -> Document:
        url = f"{self._url}/commits/{commit.sha}"
        parents = [{"sha": sha, "url": f"{self._url}/commits/{sha}"} for sha in commit.parents]
        return {
            "sha": commit.sha,
            "node_id": f"C_{commit.sha}",
            "url": url,
            "html_url": f"{self._page_url}/commit/{commit.sha}",
            "commit": self.git_commit(commit),
            "author": None,
            "committer": None,
            "parents": parents,
        }

    def git_commit(self, commit: Commit) -> Document:
        tree = f"{self._url}/git/trees/{commit.tree}"
        return {
            "sha": commit.sha,
            "url": f"{self._url}/git/commits/{commit.sha}",
            "message": commit.message,
            "author": _person(commit.author, commit.author_email, commit.authored_at),
            "committer": _person(commit.committer, commit.committer_email, commit.committed_at),
            "tree": {"sha": commit.tree, "url": tree},
            "parents": [{"sha": sha, "url": f"{self._url}/git/commits/{sha}"} for sha in commit.parents],
            "comment_count": 0,
        }

    def branch(self, name: str, commit: Document) -> Document:
        rules = repositories.find_protection(self._world, self._repository, name)
        url = f"{self._url}/branches/{quote(name, safe='')}"
        document: Document = {
            "name": name,
            "commit": commit,
            "protected": rules is not None,
            "protection_url": f"{url}/protection",
        }
        if rules is not None:
            checks = {"enforcement_level": "everyone", "contexts": rules["required_checks"]}
            document["protection"] = {"enabled": True, "required_status_checks": checks}
        return document

    def entry(self, ref: str, entry: TreeEntry, content: bytes | None = None) -> Document:
        path = quote(entry.path)
        document: Document = {
            "name": entry.path.rpartition("/")[2],
            "path": entry.path,
            "sha": entry.sha,
            "size": entry.size,
            "type": {"tree": "dir", "commit": "submodule"}.get(
                entry.kind, "symlink" if entry.mode == "120000" else "file"
            ),
            "url": f"{self._url}/contents/{path}?ref={quote(ref)}",
            "git_url": f"{self._url}/git/blobs/{entry.sha}",
            "html_url": f"{self._page_url}/blob/{quote(ref)}/{path}",
            "download_url": None,
        }
        if content is not None:
            document |= {"encoding": "base64", "content": base64.encodebytes(content).decode()}
        return document

    def check_run(self, row: CheckRunRow) -> Document:
        return {
            "id": row["id"],
            "node_id": f"CR_{row['id']}",
            "name": row["name"],
            "head_sha": row["sha"],
            "status": "completed",
            "conclusion": row["conclusion"],
            "started_at": _format(row["started_at"]),
            "completed_at": _format(row["completed_at"]),
            "url": f"{self._url}/check-runs/{row['id']}",
            "html_url": f"{self._page_url}/runs/{row['id']}",
            "output": {"title": row["name"], "summary": row["summary"], "text": None, "annotations_count": 0},
            "pull_requests": [],
        }

    def commit_link(self, sha: str) -> Document:
        return {"sha": sha, "url": f"{self._url}/commits/{sha}"}

    def commit_with_changes(self, commit: Commit, changes: list[FileChange]) -> Document:
        additions, deletions = sum_lines(changes)
        return {
            **self.commit(commit),
            "files": [self.change(commit.sha, change) for change in changes],
            "stats": {"additions": additions, "deletions": deletions, "total": additions + deletions},
        }

    def combine_status(self, sha: str, runs: list[CheckRunRow]) -> Document:
        states = ["success" if run["conclusion"] == "success" else "failure" for run in runs]
        state = "pending" if not states else ("success" if set(states) == {"success"} else "failure")
        url = f"{self._url}/commits/{sha}"
        statuses = [
            {
                "context": run["name"],
                "state": run_state,
                "description": run["conclusion"],
                "url": f"{url}/statuses/{run['id']}",
            }
            for run, run_state in zip(runs, states, strict=True)
        ]
        return {
            "state": state,
            "statuses": statuses,
            "sha": sha,
            "total_count": len(runs),
            "repository": self.repository(self._repository),
            "url": f"{url}/status",
            "commit_url": url,
        }

    def ref(self, ref: str, sha: str) -> Document:
        url = f"{self._url}/git"
        target = {"type": "commit", "sha": sha, "url": f"{url}/commits/{sha}"}
        return {"ref": ref, "node_id": f"REF_{ref}", "url": f"{url}/{ref}", "object": target}

    def _issue_fields(self, row: IssueRow) -> Document:
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
                {"name": name, "color": "ededed", "url": f"{self._api}/labels/{quote(name)}"} for name in row["labels"]
            ],
            "assignees": [self.user(login) for login in row["assignees"]],
            "assignee": self.user(row["assignees"][0]) if row["assignees"] else None,
            "created_at": _format(row["created_at"]),
            "updated_at": _format(row["updated_at"]),
            "closed_at": _format(row["closed_at"]),
        }

    def _end(self, branch: str, sha: str) -> Document:
        label = f"{self._repository['owner']}:{branch}"
        return {
            "label": label,
            "ref": branch,
            "sha": sha,
            "user": self.user(self._repository["owner"]),
            "repo": self.repository(self._repository),
        }

    def _page(self, kind: str, row: IssueRow) -> str:
        return f"{self._page_url}/{kind}/{row['number']}"


def _person(name: str, email: str, ms: int) -> Document:
    return {"name": name, "email": email, "date": _format(ms)}


def _format(ms: int | None) -> str | None:
    return None if ms is None else iso_seconds(ms)
