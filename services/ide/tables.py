"""The IDE's tables: the files that an agent starts from, and what a code host keeps beside its repositories."""

import sqlalchemy as sa

from services.ide.rows import (
    CheckRunId,
    CheckRunRow,
    CommentId,
    CommentRow,
    FilePath,
    FileRow,
    HistoryRow,
    HomeKitRow,
    IssueId,
    IssueRow,
    KitDigest,
    ProtectionId,
    ProtectionRow,
    PullRow,
    RefId,
    RefRow,
    RepositoryId,
    RepositoryRow,
    ReviewCommentId,
    ReviewCommentRow,
    ReviewId,
    ReviewRow,
    SandboxId,
    SandboxRow,
    UserId,
    UserRow,
    WorkflowId,
    WorkflowRow,
)
from services.kernel.statements import define_table
from services.kernel.template import WorldSchema

tables = sa.MetaData()

# A plant that changes a row here changes the file, and the commit that last wrote it; what an agent does to the
# workspace is written back here when its diff is taken.
files = define_table(FileRow, FilePath, "files", tables)
users = define_table(UserRow, UserId, "users", tables, sa.Index("users_by_login", "login"))
repositories = define_table(
    RepositoryRow, RepositoryId, "repositories", tables, sa.Index("repositories_by_name", "owner", "name")
)
# Apart from `repositories`, whose rows change.
histories = define_table(HistoryRow, RepositoryId, "histories", tables)
home_kits = define_table(HomeKitRow, KitDigest, "home_kits", tables)
# Read from the code host's repositories when a diff is taken.
refs = define_table(RefRow, RefId, "refs", tables)
protections = define_table(ProtectionRow, ProtectionId, "protections", tables)
# The command belongs to the code host, not to the commit: an agent's commit cannot change how it is checked.
workflows = define_table(WorkflowRow, WorkflowId, "workflows", tables)
check_runs = define_table(
    CheckRunRow, CheckRunId, "check_runs", tables, sa.Index("check_runs_by_commit", "repository_id", "sha", "id")
)
# Issues and pull requests share their numbers, as on the code host: `is_pull` marks a row that has one in `pulls`.
issues = define_table(IssueRow, IssueId, "issues", tables, sa.Index("issues_by_number", "repository_id", "number"))
comments = define_table(CommentRow, CommentId, "comments", tables, sa.Index("comments_by_issue", "issue_id", "id"))
pulls = define_table(PullRow, IssueId, "pulls", tables)
reviews = define_table(ReviewRow, ReviewId, "reviews", tables, sa.Index("reviews_by_pull", "pull_id", "id"))
review_comments = define_table(
    ReviewCommentRow, ReviewCommentId, "review_comments", tables, sa.Index("review_comments_by_pull", "pull_id", "id")
)
# Sandboxes as the workspace API names them; all of them show the one workspace. Worlds and recordings call the table
# `machines`.
sandboxes = define_table(SandboxRow, SandboxId, "machines", tables)

schema = WorldSchema(tables)
