"""The IDE's rows: the files an agent starts from, and what a code host keeps beside its repositories."""

import sqlalchemy as sa

from services.kernel.statements import Json
from services.kernel.template import WorldSchema

tables = sa.MetaData()


def _moment(name: str) -> sa.Column[int]:
    """Milliseconds since 1970."""
    return sa.Column(name, sa.Integer, nullable=False)


def _perhaps(name: str) -> sa.Column[int]:
    """Milliseconds since 1970, or NULL where it never happened."""
    return sa.Column(name, sa.Integer)


# Every file of the workspace by its path below the home folder, `ledger/src/money.py`; `text` for UTF-8, else `base64`.
# A plant that changes a row here changes the file, and the commit that last wrote it; what an agent does to the
# workspace is written back here when its diff is taken.
files = sa.Table(
    "files",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("mode", sa.Integer, nullable=False),
    sa.Column("text", sa.Text),
    sa.Column("base64", sa.Text),
)

users = sa.Table(
    "users",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("login", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("email", sa.Text, nullable=False),
    # 1 for whoever the credential belongs to.
    sa.Column("is_me", sa.Integer, nullable=False),
    sa.Index("users_by_login", "login"),
)

repositories = sa.Table(
    "repositories",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("default_branch", sa.Text, nullable=False),
    sa.Column("ssh_url", sa.Text, nullable=False),
    _moment("created_at"),
    _moment("pushed_at"),
    sa.Index("repositories_by_name", "owner", "name"),
)

# A repository's history as `git bundle` writes it, base64. Apart from `repositories`, whose rows change.
histories = sa.Table(
    "histories",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("bundle", sa.Text, nullable=False),
)

# Branches and tags of the code host, `1:refs/heads/main`; settled from its repositories when a diff is taken.
refs = sa.Table(
    "refs",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("repository_id", sa.Integer, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("sha", sa.Text, nullable=False),
)

protections = sa.Table(
    "protections",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("repository_id", sa.Integer, nullable=False),
    sa.Column("branch", sa.Text, nullable=False),
    sa.Column("required_reviews", sa.Integer, nullable=False),
    sa.Column("required_checks", Json, nullable=False),
)

# What runs on a commit that is pushed or proposed; the command is the code host's, not the commit's.
workflows = sa.Table(
    "workflows",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("repository_id", sa.Integer, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("command", sa.Text, nullable=False),
)

check_runs = sa.Table(
    "check_runs",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("repository_id", sa.Integer, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("sha", sa.Text, nullable=False),
    sa.Column("conclusion", sa.Text, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    _moment("started_at"),
    _moment("completed_at"),
    sa.Index("check_runs_by_commit", "repository_id", "sha", "id"),
)

# Issues and pull requests share their numbers, as on the code host: `is_pull` marks a row that has one in `pulls`.
issues = sa.Table(
    "issues",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("repository_id", sa.Integer, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("body", sa.Text),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("state_reason", sa.Text),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("assignees", Json, nullable=False),
    sa.Column("labels", Json, nullable=False),
    sa.Column("is_pull", sa.Integer, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    _perhaps("closed_at"),
    sa.Index("issues_by_number", "repository_id", "number"),
)

comments = sa.Table(
    "comments",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("issue_id", sa.Integer, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    sa.Index("comments_by_issue", "issue_id", "id"),
)

# `id` is the issue's.
pulls = sa.Table(
    "pulls",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("repository_id", sa.Integer, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("base", sa.Text, nullable=False),
    sa.Column("draft", sa.Integer, nullable=False),
    # Where head and base stood when it was closed or merged; NULL while it is open and follows its branches.
    sa.Column("head_sha", sa.Text),
    sa.Column("base_sha", sa.Text),
    sa.Column("merge_sha", sa.Text),
    sa.Column("merged_by", sa.Text),
    _perhaps("merged_at"),
)

reviews = sa.Table(
    "reviews",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("pull_id", sa.Integer, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("commit_id", sa.Text, nullable=False),
    _moment("submitted_at"),
    sa.Index("reviews_by_pull", "pull_id", "id"),
)

review_comments = sa.Table(
    "review_comments",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("pull_id", sa.Integer, nullable=False),
    sa.Column("review_id", sa.Integer, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("line", sa.Integer),
    sa.Column("body", sa.Text, nullable=False),
    _moment("created_at"),
    sa.Index("review_comments_by_pull", "pull_id", "id"),
)

# Sandboxes as the workspace API names them. All of them show the one workspace.
machines = sa.Table(
    "machines",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("env", Json, nullable=False),
    sa.Column("labels", Json, nullable=False),
    _moment("created_at"),
)

schema = WorldSchema(tables)
