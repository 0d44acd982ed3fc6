"""Rows of the IDE's tables, and the types of their ids. Moments are milliseconds since 1970."""

from typing import Literal, NewType, TypedDict

# Below the home folder: `ledger/src/money.py`.
FilePath = NewType("FilePath", str)
UserId = NewType("UserId", int)
RepositoryId = NewType("RepositoryId", int)
# `1:refs/heads/main`, the repository's id and the ref's name.
RefId = NewType("RefId", str)
# `1:main`, the repository's id and the branch's name.
ProtectionId = NewType("ProtectionId", str)
WorkflowId = NewType("WorkflowId", int)
CheckRunId = NewType("CheckRunId", int)
# Of an issue, and of the pull request that belongs to it.
IssueId = NewType("IssueId", int)
CommentId = NewType("CommentId", int)
ReviewId = NewType("ReviewId", int)
ReviewCommentId = NewType("ReviewCommentId", int)
SandboxId = NewType("SandboxId", str)
# The digest of a kit, see `services.kernel.kits`.
KitDigest = NewType("KitDigest", str)

IssueState = Literal["open", "closed"]
ReviewState = Literal["APPROVED", "CHANGES_REQUESTED", "COMMENTED"]
Conclusion = Literal["success", "failure", "timed_out"]
# A sandbox that is destroyed has no row any more; only the answer to its deletion says so.
SandboxState = Literal["started", "stopped", "destroyed"]


class FileRow(TypedDict):
    """A file of the workspace: `text` for UTF-8, else `base64`."""

    id: FilePath
    mode: int
    text: str | None
    base64: str | None


class UserRow(TypedDict):
    """A user of the code host."""

    id: UserId
    login: str
    name: str
    email: str
    # 1 for the user to whom the credential belongs.
    is_me: int


class RepositoryRow(TypedDict):
    """A repository of the code host."""

    id: RepositoryId
    owner: str
    name: str
    description: str
    default_branch: str
    ssh_url: str
    created_at: int
    pushed_at: int


class HomeKitRow(TypedDict):
    """Files of a kit that the home folder holds beside the repositories, below `path`: installed packages."""

    id: KitDigest
    path: str


class HistoryRow(TypedDict):
    """A repository's history as `git bundle` writes it, in base64; `kit:` and a digest where a kit holds it."""

    id: RepositoryId
    bundle: str


class RefRow(TypedDict):
    """A branch or tag of the code host."""

    id: RefId
    repository_id: RepositoryId
    name: str
    sha: str


class ProtectionRow(TypedDict):
    """What a protected branch requires of a pull request."""

    id: ProtectionId
    repository_id: RepositoryId
    branch: str
    required_reviews: int
    required_checks: list[str]


class WorkflowRow(TypedDict):
    """A command that the code host runs on a commit."""

    id: WorkflowId
    repository_id: RepositoryId
    name: str
    command: str


class CheckRunRow(TypedDict):
    """One run of a workflow on a commit."""

    id: CheckRunId
    repository_id: RepositoryId
    name: str
    sha: str
    conclusion: Conclusion
    summary: str
    started_at: int
    completed_at: int


class IssueRow(TypedDict):
    """An issue, or the issue half of a pull request."""

    id: IssueId
    repository_id: RepositoryId
    number: int
    title: str
    body: str | None
    state: IssueState
    state_reason: str | None
    author: str
    assignees: list[str]
    labels: list[str]
    is_pull: int
    created_at: int
    updated_at: int
    closed_at: int | None


class CommentRow(TypedDict):
    """A comment on an issue or pull request."""

    id: CommentId
    issue_id: IssueId
    author: str
    body: str
    created_at: int
    updated_at: int


class PullRow(TypedDict):
    """The branches of a pull request, and its merge."""

    id: IssueId
    repository_id: RepositoryId
    head: str
    base: str
    draft: int
    # Where head and base stood when it was closed or merged; None while it is open and follows its branches.
    head_sha: str | None
    base_sha: str | None
    merge_sha: str | None
    merged_by: str | None
    merged_at: int | None


class ReviewRow(TypedDict):
    """A submitted review of a pull request."""

    id: ReviewId
    pull_id: IssueId
    author: str
    state: ReviewState
    body: str
    commit_id: str
    submitted_at: int


class ReviewCommentRow(TypedDict):
    """A review's comment on a line of a file."""

    id: ReviewCommentId
    pull_id: IssueId
    review_id: ReviewId
    author: str
    path: str
    line: int | None
    body: str
    created_at: int


class SandboxRow(TypedDict):
    """A sandbox as the workspace API names it."""

    id: SandboxId
    name: str
    state: SandboxState
    env: dict[str, str]
    labels: dict[str, str]
    created_at: int
