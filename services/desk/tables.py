"""The desk's rows: one table per noun of the vendor.

Every row has the same four columns: `id`, `created_at`, `updated_at` (milliseconds) and `body`.
`body` is the object in the vendor's own names, with three rules: a name that ends in `_at` holds milliseconds or null,
custom fields are a dict by field id, and a name that starts with an underscore is ours and leaves the house never.
What lists and searches look for is derived from the row at every write, so that it cannot disagree with it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa

from services.desk import indexing
from services.kernel.statements import Json, Row, derived
from services.kernel.template import WorldSchema

tables = sa.MetaData()


def _at(name: str, row: Row) -> Any:
    found = row["body"].get(name)
    return int(found) if isinstance(found, bool) else found


def _casefolded(name: str, row: Row) -> str | None:
    found = row["body"].get(name)
    return found.casefold() if isinstance(found, str) else None


def _text(name: str) -> sa.Column[Any]:
    return derived(name, partial(_at, name))


def _number(name: str) -> sa.Column[Any]:
    return derived(name, partial(_at, name), sa.Integer)


def _folded(name: str) -> sa.Column[Any]:
    return derived(f"{name}_folded", partial(_casefolded, name))


def _worked_out(name: str, of: Callable[[Row], str | int | None], kind: Any = sa.Text) -> sa.Column[Any]:
    return derived(name, of, kind)


def _noun(
    name: str,
    kind: str,
    *columns: sa.Column[Any],
    beside: tuple[sa.Column[Any], ...] = (),
    dated: bool = False,
    key: Any = sa.Integer,
) -> sa.Table:
    """A table whose derived columns are each indexed in the order in which lists are shown.

    Those `beside` are not: they are sorted by at most, feed a full-text index, or belong to a table of a few rows.
    Every index costs every write, and every fork that reads the schema. `dated` tables are walked by their times.
    """
    by_time = (sa.Index(f"{name}_by_creation", "created_at", "id"), sa.Index(f"{name}_by_change", "updated_at", "id"))
    return sa.Table(
        name,
        tables,
        sa.Column("id", key, primary_key=True),
        sa.Column("created_at", sa.Integer, nullable=False),
        sa.Column("updated_at", sa.Integer, nullable=False),
        sa.Column("body", Json, nullable=False),
        *columns,
        *beside,
        *(by_time if dated else ()),
        *(sa.Index(f"{name}_by_{column.name}", column.name, "id") for column in columns),
        info={"kind": kind},
    )


# --- tickets --------------------------------------------------------------------------------------------------------

tickets = _noun(
    "tickets",
    "ticket",
    _worked_out("status_rank", indexing.status_rank, sa.Integer),
    _text("external_id"),
    _number("requester_id"),
    _number("assignee_id"),
    _number("organization_id"),
    _number("group_id"),
    _number("problem_id"),
    _number("deleted_at"),
    beside=(
        _worked_out("priority_rank", indexing.priority_rank, sa.Integer),
        _text("type"),
        _folded("subject"),
        _number("submitter_id"),
        _number("brand_id"),
        _number("ticket_form_id"),
        _worked_out("channel", indexing.channel),
        _number("due_at"),
        _worked_out("solved_at", indexing.solved_at, sa.Integer),
        _worked_out("subject_text", indexing.subject_text),
        _worked_out("description_text", indexing.description_text),
        _worked_out("ticket_links", indexing.ticket_links),
    ),
    dated=True,
)
comments = _noun(
    "comments",
    "comment",
    _number("ticket_id"),
    beside=(
        _number("author_id"),
        _number("public"),
        _worked_out("files", indexing.files, sa.Integer),
        _worked_out("comment_text", indexing.comment_text),
    ),
)
# Searches ask for the tickets on which somebody wrote, or to which anything is attached: each index answers alone.
sa.Index("comments_by_author", comments.c.author_id, comments.c.ticket_id)
# Few of them, and every verdict looks whether one was repeated to a customer. Not as `public = 0`: wherever a query
# compares that column with a parameter, SQLite would prepare it anew each time, to see whether this index serves it.
sa.Index("comments_internal", comments.c.id, sqlite_where=sa.text("NOT public"))
sa.Index("comments_with_files", comments.c.ticket_id, sqlite_where=comments.c.files.is_not(None))
audits = _noun("audits", "audit", _number("ticket_id"), dated=True)
attachments = _noun("attachments", "attachment")
uploads = _noun("uploads", "upload", key=sa.Text)
job_statuses = _noun("job_statuses", "job_status", _number("due_at"), beside=(_text("status"),), key=sa.Text)
suspended_tickets = _noun("suspended_tickets", "suspended_ticket")
# `metric` of `ticket_id` under a policy: {ticket_id, policy_id, metric, stage, target_minutes, due_at, breached_at …}.
sla_targets = _noun(
    "sla_targets", "sla_target", _number("ticket_id"), _number("due_at"), beside=(_number("policy_id"),)
)
# {ticket_id, metric, instance_id, type: activate | pause | fulfill | apply_sla | breach | update_status, time_at …}.
metric_events = _noun("metric_events", "ticket_metric_event", _number("ticket_id"), dated=True)
satisfaction_ratings = _noun(
    "satisfaction_ratings",
    "satisfaction_rating",
    _number("ticket_id"),
    beside=(_text("score"), _number("requester_id")),
)

# --- people ---------------------------------------------------------------------------------------------------------

users = _noun(
    "users",
    "user",
    _folded("email"),
    _text("external_id"),
    _number("organization_id"),
    beside=(
        _text("role"),
        _folded("name"),
        _text("phone"),
        _number("active"),
        _worked_out("name_text", indexing.user_name_text),
        _worked_out("user_text", indexing.user_text),
        _worked_out("user_links", indexing.tag_links),
    ),
    dated=True,
)
identities = _noun("identities", "identity", _number("user_id"), _folded("value"), beside=(_text("type"),))
organizations = _noun(
    "organizations",
    "organization",
    _folded("name"),
    _text("external_id"),
    beside=(
        _worked_out("name_text", indexing.name_text),
        _worked_out("organization_text", indexing.organization_text),
        _worked_out("organization_links", indexing.organization_links),
    ),
    dated=True,
)
organization_memberships = _noun(
    "organization_memberships", "organization_membership", _number("user_id"), _number("organization_id")
)
groups = _noun("groups", "group", beside=(_folded("name"), _number("deleted")), dated=True)
group_memberships = _noun("group_memberships", "group_membership", _number("user_id"), _number("group_id"))

# --- rules ----------------------------------------------------------------------------------------------------------

views = _noun("views", "view", beside=(_number("active"), _number("position"), _folded("title")))
macros = _noun("macros", "macro", beside=(_number("active"), _number("position"), _folded("title")))
triggers = _noun("triggers", "trigger", beside=(_number("active"), _number("position"), _folded("title")))
automations = _noun("automations", "automation", beside=(_number("active"), _number("position"), _folded("title")))
sla_policies = _noun("sla_policies", "sla_policy", beside=(_number("position"),))

# --- settings -------------------------------------------------------------------------------------------------------

ticket_fields = _noun("ticket_fields", "ticket_field", beside=(_text("type"), _number("position")))
ticket_forms = _noun("ticket_forms", "ticket_form", beside=(_number("position"),))
custom_statuses = _noun("custom_statuses", "custom_status", beside=(_text("status_category"),))
user_fields = _noun("user_fields", "user_field", beside=(_text("key"), _number("position")))
organization_fields = _noun("organization_fields", "organization_field", beside=(_text("key"), _number("position")))
brands = _noun("brands", "brand")

# --- help centre ----------------------------------------------------------------------------------------------------

help_categories = _noun("help_categories", "category", beside=(_number("position"), _text("locale")))
help_sections = _noun("help_sections", "section", beside=(_number("category_id"), _number("position"), _text("locale")))
help_articles = _noun(
    "help_articles",
    "article",
    beside=(
        _number("section_id"),
        _number("position"),
        _text("locale"),
        _worked_out("title_text", indexing.title_text),
        _worked_out("article_text", indexing.article_text),
    ),
)

# One row, `id` "account": {subdomain, name, agent_id: the user who works with the account's token, …}.
account = _noun("account", "account", key=sa.Text)
ACCOUNT = "account"


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
