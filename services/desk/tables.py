"""The desk's tables: one per noun of the vendor; `rows` has the type of each body.

Every row has the same four columns: `id`, `created_at`, `updated_at` (milliseconds) and `body`.
`body` is the object in the vendor's own names, with three rules: a name that ends in `_at` holds milliseconds or null,
custom fields are a dict by field id, and a name that starts with an underscore is ours and never appears in an answer.
The columns that lists and searches compare are derived from the row at every write, so that they cannot disagree with
it.
"""

from typing import Any

import sqlalchemy as sa

from services.desk import indexing
from services.desk import rows as ids
from services.desk.documents import DeskTable
from services.desk.rows import DeskRow
from services.desk.rows import people as person
from services.desk.rows import rules as rule
from services.desk.rows import settings as setting
from services.desk.rows import tickets as ticket
from services.kernel.documents import folded_column, number_column, text_column
from services.kernel.statements import Json, derived_column
from services.kernel.template import WorldSchema

tables = sa.MetaData()


def _table(
    name: str,
    kind: str,
    *columns: sa.Column[Any],
    unindexed: tuple[sa.Column[Any], ...] = (),
    walked_by_time: bool = False,
    key_column: Any = sa.Integer,
) -> DeskTable[Any, Any]:
    """A table whose derived columns are each indexed in the order in which lists are shown.

    Those that are `unindexed` are at most sorted by, feed a full-text index, or belong to a table of a few rows.
    Every index costs every write, and every fork that reads the schema.
    """
    by_time = (sa.Index(f"{name}_by_creation", "created_at", "id"), sa.Index(f"{name}_by_change", "updated_at", "id"))
    table: DeskTable[Any, Any] = DeskTable(
        name,
        tables,
        sa.Column("id", key_column, primary_key=True),
        sa.Column("created_at", sa.Integer, nullable=False),
        sa.Column("updated_at", sa.Integer, nullable=False),
        sa.Column("body", Json, nullable=False),
        *columns,
        *unindexed,
        *(by_time if walked_by_time else ()),
        *(sa.Index(f"{name}_by_{column.name}", column.name, "id") for column in columns),
        info={"kind": kind},
    )
    table.row = DeskRow
    return table


def _rule_table(name: str, kind: str) -> DeskTable[Any, Any]:
    columns = (number_column("active"), number_column("position"), folded_column("title"))
    return _table(name, kind, unindexed=columns)


# --- tickets --------------------------------------------------------------------------------------------------------

tickets: DeskTable[ids.TicketId, ticket.TicketBody] = _table(
    "tickets",
    "ticket",
    derived_column("status_rank", indexing.status_rank, sa.Integer),
    text_column("external_id"),
    number_column("requester_id"),
    number_column("assignee_id"),
    number_column("organization_id"),
    number_column("group_id"),
    number_column("problem_id"),
    number_column("deleted_at"),
    unindexed=(
        derived_column("priority_rank", indexing.priority_rank, sa.Integer),
        text_column("type"),
        folded_column("subject"),
        number_column("submitter_id"),
        number_column("brand_id"),
        number_column("ticket_form_id"),
        derived_column("channel", indexing.channel),
        number_column("due_at"),
        derived_column("solved_at", indexing.read_solved_at, sa.Integer),
        derived_column("subject_text", indexing.subject_text),
        derived_column("description_text", indexing.description_text),
        derived_column("ticket_links", indexing.ticket_links),
    ),
    walked_by_time=True,
)
comments: DeskTable[ids.EventId, ticket.CommentBody] = _table(
    "comments",
    "comment",
    number_column("ticket_id"),
    unindexed=(
        number_column("author_id"),
        number_column("public"),
        derived_column("files", indexing.files, sa.Integer),
        derived_column("comment_text", indexing.comment_text),
    ),
)
# Searches ask for the tickets on which somebody wrote, or to which anything is attached: each index answers alone.
sa.Index("comments_by_author", comments.c.author_id, comments.c.ticket_id)
# There are few internal notes, and every verdict looks whether one was repeated to a customer. Not as `public = 0`:
# wherever a query compares that column with a parameter, SQLite would prepare it anew each time, to see whether this
# index serves it.
sa.Index("comments_internal", comments.c.id, sqlite_where=sa.text("NOT public"))
sa.Index("comments_with_files", comments.c.ticket_id, sqlite_where=comments.c.files.is_not(None))
audits: DeskTable[ids.AuditId, ticket.AuditBody] = _table(
    "audits", "audit", number_column("ticket_id"), walked_by_time=True
)
attachments: DeskTable[ids.AttachmentId, ticket.AttachmentBody] = _table("attachments", "attachment")
uploads: DeskTable[ids.UploadToken, ticket.UploadBody] = _table("uploads", "upload", key_column=sa.Text)
job_statuses: DeskTable[ids.JobId, ticket.JobStatusBody] = _table(
    "job_statuses", "job_status", number_column("due_at"), unindexed=(text_column("status"),), key_column=sa.Text
)
suspended_tickets: DeskTable[ids.SuspendedTicketId, ticket.SuspendedTicketBody] = _table(
    "suspended_tickets", "suspended_ticket"
)
sla_targets: DeskTable[ids.SlaTargetId, ticket.SlaTargetBody] = _table(
    "sla_targets",
    "sla_target",
    number_column("ticket_id"),
    number_column("due_at"),
    unindexed=(number_column("policy_id"),),
)
metric_events: DeskTable[ids.MetricEventId, ticket.MetricEventBody] = _table(
    "metric_events", "ticket_metric_event", number_column("ticket_id"), walked_by_time=True
)
satisfaction_ratings: DeskTable[ids.RatingId, ticket.RatingBody] = _table(
    "satisfaction_ratings",
    "satisfaction_rating",
    number_column("ticket_id"),
    unindexed=(text_column("score"), number_column("requester_id")),
)

# --- people ---------------------------------------------------------------------------------------------------------

users: DeskTable[ids.UserId, person.UserBody] = _table(
    "users",
    "user",
    folded_column("email"),
    text_column("external_id"),
    number_column("organization_id"),
    unindexed=(
        text_column("role"),
        folded_column("name"),
        text_column("phone"),
        number_column("active"),
        derived_column("name_text", indexing.user_name_text),
        derived_column("user_text", indexing.user_text),
        derived_column("user_links", indexing.tag_links),
    ),
    walked_by_time=True,
)
identities: DeskTable[ids.IdentityId, person.IdentityBody] = _table(
    "identities", "identity", number_column("user_id"), folded_column("value"), unindexed=(text_column("type"),)
)
organizations: DeskTable[ids.OrganizationId, person.OrganizationBody] = _table(
    "organizations",
    "organization",
    folded_column("name"),
    text_column("external_id"),
    unindexed=(
        derived_column("name_text", indexing.name_text),
        derived_column("organization_text", indexing.organization_text),
        derived_column("organization_links", indexing.organization_links),
    ),
    walked_by_time=True,
)
organization_memberships: DeskTable[ids.OrganizationMembershipId, person.OrganizationMembershipBody] = _table(
    "organization_memberships", "organization_membership", number_column("user_id"), number_column("organization_id")
)
groups: DeskTable[ids.GroupId, person.GroupBody] = _table(
    "groups", "group", unindexed=(folded_column("name"), number_column("deleted")), walked_by_time=True
)
group_memberships: DeskTable[ids.GroupMembershipId, person.GroupMembershipBody] = _table(
    "group_memberships", "group_membership", number_column("user_id"), number_column("group_id")
)

# --- rules ----------------------------------------------------------------------------------------------------------

views: DeskTable[ids.ViewId, rule.ViewBody] = _rule_table("views", "view")
macros: DeskTable[ids.MacroId, rule.MacroBody] = _rule_table("macros", "macro")
triggers: DeskTable[ids.TriggerId, rule.TriggerBody] = _rule_table("triggers", "trigger")
automations: DeskTable[ids.AutomationId, rule.AutomationBody] = _rule_table("automations", "automation")
sla_policies: DeskTable[ids.SlaPolicyId, rule.SlaPolicyBody] = _table(
    "sla_policies", "sla_policy", unindexed=(number_column("position"),)
)

# --- settings -------------------------------------------------------------------------------------------------------

ticket_fields: DeskTable[ids.TicketFieldId, setting.TicketFieldBody] = _table(
    "ticket_fields", "ticket_field", unindexed=(text_column("type"), number_column("position"))
)
ticket_forms: DeskTable[ids.TicketFormId, setting.TicketFormBody] = _table(
    "ticket_forms", "ticket_form", unindexed=(number_column("position"),)
)
custom_statuses: DeskTable[ids.CustomStatusId, setting.CustomStatusBody] = _table(
    "custom_statuses", "custom_status", unindexed=(text_column("status_category"),)
)
user_fields: DeskTable[ids.UserFieldId, setting.PersonFieldBody] = _table(
    "user_fields", "user_field", unindexed=(text_column("key"), number_column("position"))
)
organization_fields: DeskTable[ids.OrganizationFieldId, setting.PersonFieldBody] = _table(
    "organization_fields", "organization_field", unindexed=(text_column("key"), number_column("position"))
)
brands: DeskTable[ids.BrandId, setting.BrandBody] = _table("brands", "brand")

# --- help centre ----------------------------------------------------------------------------------------------------

help_categories: DeskTable[ids.CategoryId, setting.CategoryBody] = _table(
    "help_categories", "category", unindexed=(number_column("position"), text_column("locale"))
)
help_sections: DeskTable[ids.SectionId, setting.SectionBody] = _table(
    "help_sections",
    "section",
    unindexed=(number_column("category_id"), number_column("position"), text_column("locale")),
)
help_articles: DeskTable[ids.ArticleId, setting.ArticleBody] = _table(
    "help_articles",
    "article",
    unindexed=(
        number_column("section_id"),
        number_column("position"),
        text_column("locale"),
        derived_column("title_text", indexing.title_text),
        derived_column("article_text", indexing.article_text),
    ),
)

# One row.
account: DeskTable[ids.AccountId, setting.AccountBody] = _table("account", "account", key_column=sa.Text)
ACCOUNT = ids.AccountId("account")


def _texts(table: sa.Table, *columns: str) -> tuple[str, ...]:
    """A full-text index that SQLite keeps itself: no write can forget it, and a rollback takes it along."""
    name, texts = table.name, f"{table.name}_texts"
    named = ", ".join(columns)
    old, new = (", ".join(f"{which}.{column}" for column in columns) for which in ("old", "new"))
    differs = " OR ".join(f"old.{column} IS NOT new.{column}" for column in columns)
    forget = f"INSERT INTO {texts} ({texts}, rowid, {named}) VALUES ('delete', old.id, {old});"  # noqa: S608 - our own names
    learn = f"INSERT INTO {texts} (rowid, {named}) VALUES (new.id, {new});"  # noqa: S608 - our own names
    return (
        f"""CREATE VIRTUAL TABLE {texts} USING fts5({named}, content='{name}', content_rowid='id',
            tokenize="unicode61 remove_diacritics 2", prefix='2 3')""",
        # An episode writes a few rows and is rolled back: merging segments as it goes would cost more than it saves.
        f"INSERT INTO {texts} ({texts}, rank) VALUES ('automerge', 0)",  # noqa: S608 - our own names
        f"INSERT INTO {texts} ({texts}, rank) VALUES ('crisismerge', 256)",  # noqa: S608 - our own names
        f"CREATE TRIGGER {name}_texted AFTER INSERT ON {name} BEGIN {learn} END",
        f"CREATE TRIGGER {name}_retexted AFTER UPDATE ON {name} WHEN {differs} BEGIN {forget} {learn} END",
        f"CREATE TRIGGER {name}_untexted AFTER DELETE ON {name} BEGIN {forget} END",
    )


def _links(table: sa.Table, column: str) -> tuple[str, ...]:
    """(kind, value) → row: tags, people in copy, values of custom fields; kept by SQLite too."""
    name, links = table.name, column
    return (
        f"""CREATE TABLE {links} (kind TEXT NOT NULL, value TEXT NOT NULL, owner_id INTEGER NOT NULL,
            PRIMARY KEY (kind, value, owner_id)) WITHOUT ROWID""",
        f"""CREATE TRIGGER {links}_made AFTER INSERT ON {name} WHEN new.{column} IS NOT NULL BEGIN
            INSERT OR IGNORE INTO {links} (kind, value, owner_id)
            SELECT value ->> 0, value ->> 1, new.id FROM json_each(new.{column}); END""",  # noqa: S608 - our own names
        f"""CREATE TRIGGER {links}_remade AFTER UPDATE ON {name} WHEN old.{column} IS NOT new.{column} BEGIN
            DELETE FROM {links} WHERE owner_id = old.id AND (kind, value) IN (
                SELECT value ->> 0, value ->> 1 FROM json_each(coalesce(old.{column}, '[]')));
            INSERT OR IGNORE INTO {links} (kind, value, owner_id)
            SELECT value ->> 0, value ->> 1, new.id FROM json_each(coalesce(new.{column}, '[]')); END""",  # noqa: S608 - our own names
        f"""CREATE TRIGGER {links}_unmade AFTER DELETE ON {name} WHEN old.{column} IS NOT NULL BEGIN
            DELETE FROM {links} WHERE owner_id = old.id AND (kind, value) IN (
                SELECT value ->> 0, value ->> 1 FROM json_each(old.{column})); END""",  # noqa: S608 - our own names
    )


schema = WorldSchema(
    tables,
    derived=(
        *_texts(tickets, "subject_text", "description_text"),
        *_texts(comments, "comment_text"),
        *_texts(users, "name_text", "user_text"),
        *_texts(organizations, "name_text", "organization_text"),
        *_texts(help_articles, "title_text", "article_text"),
        *_links(tickets, "ticket_links"),
        *_links(users, "user_links"),
        *_links(organizations, "organization_links"),
    ),
)
