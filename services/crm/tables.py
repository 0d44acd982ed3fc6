"""The CRM's rows. Every record of every type is one row of `objects`, as its vendor's API suggests."""

import sqlalchemy as sa

from services.crm import indexing
from services.kernel.statements import Json, derived, turned
from services.kernel.template import WorldSchema

tables = sa.MetaData()


def _moment(name: str) -> sa.Column[int]:
    """Milliseconds since 1970."""
    return sa.Column(name, sa.Integer, nullable=False)


def _perhaps(name: str) -> sa.Column[int]:
    """Milliseconds since 1970, or NULL where it never happened."""
    return sa.Column(name, sa.Integer)


# `kind` is the plural name (contacts, line_items) or, for custom objects, the type id (2-1001).
# Times of creation and change are columns; `createdate`, `hs_object_id` and the like are read from them.
objects = sa.Table(
    "objects",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    _perhaps("archived_at"),
    sa.Column("properties", Json, nullable=False),
    derived("indexed", indexing.indexed),
    # What the last write changed in the index, so that the trigger need not compare forty values to find one.
    turned("reindexed", indexing.reindexed),
    derived("searchable", indexing.searchable),
    sa.Index("objects_by_kind", "kind", "archived_at", "id"),
    sa.Index("objects_by_creation", "kind", "archived_at", "created_at", "id"),
    sa.Index("objects_by_change", "kind", "archived_at", "updated_at", "id"),
)

# The loser of a merge keeps answering under its id with the winner's record.
merges = sa.Table(
    "merges",
    tables,
    sa.Column("loser_id", sa.Integer, primary_key=True),
    sa.Column("winner_id", sa.Integer, nullable=False),
    _moment("merged_at"),
    sa.Index("merges_by_winner", "winner_id"),
)

# One row per direction: contact→company (279) has its company→contact (280). `id` is association_id().
associations = sa.Table(
    "associations",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("from_id", sa.Integer, nullable=False),
    sa.Column("from_kind", sa.Text, nullable=False),
    sa.Column("to_id", sa.Integer, nullable=False),
    sa.Column("to_kind", sa.Text, nullable=False),
    sa.Column("type_id", sa.Integer, nullable=False),
    _moment("created_at"),
    sa.Index("associations_by_end", "from_id", "to_kind", "to_id", "type_id"),
)


def association_id(from_id: int, type_id: int, to_id: int) -> str:
    return f"{from_id}-{type_id}-{to_id}"


# `rank` tells the primary type, the unlabelled one and the labels of a pair of kinds apart.
association_types = sa.Table(
    "association_types",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("category", sa.Text, nullable=False),
    sa.Column("from_kind", sa.Text, nullable=False),
    sa.Column("to_kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("label", sa.Text),
    sa.Column("inverse_id", sa.Integer, nullable=False),
    sa.Column("rank", sa.Text, nullable=False),
    sa.Index("association_types_by_pair", "from_kind", "to_kind", "id"),
)

# `id` is qualified(kind, name), here and below. `definition` holds label, type, fieldType, options …, in wire names.
property_definitions = sa.Table(
    "property_definitions",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("definition", Json, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    _perhaps("archived_at"),
    sa.Index("property_definitions_by_kind", "kind", "name"),
)
property_groups = sa.Table(
    "property_groups",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("display_order", sa.Integer, nullable=False),
    _perhaps("archived_at"),
    sa.Index("property_groups_by_kind", "kind", "name"),
)
pipelines = sa.Table(
    "pipelines",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("pipeline_id", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("display_order", sa.Integer, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    _perhaps("archived_at"),
    sa.Index("pipelines_by_kind", "kind", "pipeline_id"),
)
# Stage ids are unique within a kind, as production's are within an account.
stages = sa.Table(
    "stages",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("pipeline_id", sa.Text, nullable=False),
    sa.Column("stage_id", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("display_order", sa.Integer, nullable=False),
    sa.Column("metadata", Json, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    _perhaps("archived_at"),
    sa.Index("stages_by_pipeline", "kind", "pipeline_id", "display_order"),
)


def qualified(kind: str, name: str) -> str:
    return f"{kind}.{name}"


# `teams` is a list of {id, name, primary}.
owners = sa.Table(
    "owners",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("user_id", sa.Integer, nullable=False),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("first_name", sa.Text, nullable=False),
    sa.Column("last_name", sa.Text, nullable=False),
    sa.Column("teams", Json, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    _perhaps("archived_at"),
    sa.Index("owners_by_user", "user_id"),
)

lists = sa.Table(
    "lists",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("processing_type", sa.Text, nullable=False),
    sa.Column("filter_branch", Json),
    sa.Column("version", sa.Integer, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    _moment("filters_updated_at"),
    _perhaps("deleted_at"),
)
# `id` is membership_id().
list_memberships = sa.Table(
    "list_memberships",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("list_id", sa.Integer, nullable=False),
    sa.Column("record_id", sa.Integer, nullable=False),
    _moment("added_at"),
    sa.Index("list_memberships_by_list", "list_id", "record_id"),
    sa.Index("list_memberships_by_record", "record_id", "list_id"),
)


def membership_id(list_id: int, record_id: int) -> str:
    return f"{list_id}-{record_id}"


# `files` is a list of {name, content}; `request` the importRequest as it came.
imports = sa.Table(
    "imports",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("request", Json, nullable=False),
    sa.Column("files", Json, nullable=False),
    sa.Column("counters", Json, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    _moment("due_at"),
    sa.Index("imports_by_state", "state", "due_at"),
)
import_errors = sa.Table(
    "import_errors",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("import_id", sa.Integer, nullable=False),
    sa.Column("error", Json, nullable=False),
    sa.Index("import_errors_by_import", "import_id", "id"),
)

# Custom object types; the standard ones are in kinds.py.
object_types = sa.Table(
    "object_types",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("definition", Json, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    _perhaps("archived_at"),
)

# SQLite keeps the search index itself: no write can forget it, and a rollback takes it along.
# What leaves it is named by its whole key: by name and value alone it would be sought among all who share them.
_INDEX_OF_VALUES = (
    """CREATE TABLE property_values (
        kind TEXT NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL, object_id INTEGER NOT NULL,
        number REAL, words TEXT, exact TEXT,
        PRIMARY KEY (kind, name, folded, object_id)) WITHOUT ROWID""",
    """CREATE INDEX property_numbers ON property_values (kind, name, number) WHERE number IS NOT NULL""",
    """CREATE TRIGGER objects_indexed AFTER INSERT ON objects BEGIN
        INSERT INTO property_values (kind, name, folded, object_id, number, words, exact)
        SELECT new.kind, key, value ->> 0, new.id, value ->> 1, value ->> 2, value ->> 3
        FROM json_each(new.indexed); END""",
    """CREATE TRIGGER objects_reindexed AFTER UPDATE OF reindexed ON objects WHEN new.reindexed IS NOT NULL BEGIN
        DELETE FROM property_values WHERE kind = old.kind AND object_id = old.id AND (name, folded) IN (
            SELECT key, value FROM json_each(new.reindexed, '$[0]'));
        INSERT INTO property_values (kind, name, folded, object_id, number, words, exact)
            SELECT new.kind, key, value ->> 0, new.id, value ->> 1, value ->> 2, value ->> 3
            FROM json_each(new.reindexed, '$[1]'); END""",
    """CREATE TRIGGER objects_unindexed AFTER DELETE ON objects BEGIN
        DELETE FROM property_values WHERE kind = old.kind AND object_id = old.id AND (name, folded) IN (
            SELECT key, value ->> 0 FROM json_each(old.indexed)); END""",
)
_INDEX_OF_TEXTS = (
    """CREATE VIRTUAL TABLE object_texts USING fts5(kind, searchable, content='objects', content_rowid='id',
        tokenize="unicode61 remove_diacritics 2")""",
    # An episode writes a few records and is rolled back: merging segments as it goes would cost more than it saves.
    "INSERT INTO object_texts (object_texts, rank) VALUES ('automerge', 0)",
    "INSERT INTO object_texts (object_texts, rank) VALUES ('crisismerge', 256)",
    """CREATE TRIGGER objects_texted AFTER INSERT ON objects BEGIN
        INSERT INTO object_texts (rowid, kind, searchable) VALUES (new.id, new.kind, new.searchable); END""",
    """CREATE TRIGGER objects_retexted AFTER UPDATE OF searchable ON objects
        WHEN old.searchable IS NOT new.searchable BEGIN
        INSERT INTO object_texts (object_texts, rowid, kind, searchable)
            VALUES ('delete', old.id, old.kind, old.searchable);
        INSERT INTO object_texts (rowid, kind, searchable) VALUES (new.id, new.kind, new.searchable); END""",
    """CREATE TRIGGER objects_untexted AFTER DELETE ON objects BEGIN
        INSERT INTO object_texts (object_texts, rowid, kind, searchable)
            VALUES ('delete', old.id, old.kind, old.searchable); END""",
)

schema = WorldSchema(tables, derived=(*_INDEX_OF_VALUES, *_INDEX_OF_TEXTS))
