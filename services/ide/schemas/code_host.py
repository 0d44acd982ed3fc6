"""The code host's bodies."""

from typing import Any, Literal

from pydantic import Field

from services.ide.schemas.toolbox import Lenient

LabelIn = str | dict[str, Any]


class IssueIn(Lenient):
    """An issue to open."""

    title: str = Field(max_length=1024)
    body: str | None = Field(default=None, max_length=65536)
    labels: list[LabelIn] = Field(default_factory=list)
    assignees: list[str] = Field(default_factory=list)


class IssuePatch(Lenient):
    """What of an issue is to change."""

    title: str | None = None
    body: str | None = None
    state: Literal["open", "closed"] | None = None
    state_reason: str | None = None
    labels: list[LabelIn] | None = None
    assignees: list[str] | None = None


class CommentIn(Lenient):
    """Something to say."""

    body: str = Field(max_length=65536)


class PullIn(Lenient):
    """A pull request to open."""

    title: str = Field(max_length=1024)
    head: str
    base: str
    body: str | None = Field(default=None, max_length=65536)
    draft: bool = False


class PullPatch(Lenient):
    """What of a pull request is to change."""

    title: str | None = None
    body: str | None = None
    state: Literal["open", "closed"] | None = None
    base: str | None = None


class ReviewCommentIn(Lenient):
    """Something to say about a line."""

    path: str
    body: str
    line: int | None = None
    position: int | None = None


class ReviewIn(Lenient):
    """A review to submit."""

    body: str | None = None
    event: str | None = None
    comments: list[ReviewCommentIn] = Field(default_factory=list)


class MergeIn(Lenient):
    """How to merge."""

    merge_method: str = "merge"
    commit_title: str | None = None
    commit_message: str | None = None
    sha: str | None = None


class PersonIn(Lenient):
    """Who wrote it."""

    name: str | None = None
    email: str | None = None


class ContentIn(Lenient):
    """A file to write."""

    message: str
    content: str
    sha: str | None = None
    branch: str | None = None
    author: PersonIn | None = None


class ContentGone(Lenient):
    """A file to remove."""

    message: str
    sha: str
    branch: str | None = None
    author: PersonIn | None = None


class RefIn(Lenient):
    """A branch or tag to create."""

    ref: str
    sha: str
