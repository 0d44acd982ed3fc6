"""The CRM's tables. Every record of every type is one row of `objects`, as the vendor's API suggests."""

import sqlalchemy as sa

from services.crm import search_index
from services.crm.rows import (
    AssociationId,
    AssociationRow,
    AssociationTypeId,
    AssociationTypeRow,
    ImportErrorId,
    ImportErrorRow,
    ImportId,
    ImportRow,
    ListId,
    ListRow,
    MembershipId,
    MembershipRow,
    MergeRow,
    ObjectTypeName,
    ObjectTypeRow,
    OwnerId,
    OwnerRow,
    PipelineKey,
    PipelineRow,
    PropertyGroupKey,
    PropertyGroupRow,
    PropertyKey,
    PropertyRow,
    RecordId,
    RecordRow,
    StageKey,
    StageRow,
)
from services.kernel.statements import change_column, define_table, derived_column
from services.kernel.template import WorldSchema

tables = sa.MetaData()


# `kind` is the object type's name: the plural (contacts, line_items) or, for a custom type, its id (2-44200001).
# Times of creation and change are columns; the properties `createdate`, `hs_object_id` and the like are read from them.
objects = define_table(
    RecordRow,
    RecordId,
    "objects",
    tables,
    derived_column("indexed", search_index.index_values),
    # The entries of the index that the last write changed: the trigger need not compare forty values to find one.
    change_column("reindexed", search_index.diff_index),
    derived_column("searchable", search_index.collect_text),
    sa.Index("objects_by_kind", "kind", "archived_at", "id"),
    sa.Index("objects_by_creation", "kind", "archived_at", "created_at", "id"),
    sa.Index("objects_by_change", "kind", "archived_at", "updated_at", "id"),
)

# The API answers requests for the loser's id with the winner's record.
merges = define_table(
    MergeRow,
    RecordId,
    "merges",
    tables,
    sa.Index("merges_by_winner", "winner_id"),
)

# One row for each direction: contact→company (279) comes with company→contact (280). `id` is association_id().
associations = define_table(
    AssociationRow,
    AssociationId,
    "associations",
    tables,
    sa.Index("associations_by_end", "from_id", "to_kind", "to_id", "type_id"),
)


def association_id(from_id: int, type_id: int, to_id: int) -> AssociationId:
    return AssociationId(f"{from_id}-{type_id}-{to_id}")


association_types = define_table(
    AssociationTypeRow,
    AssociationTypeId,
    "association_types",
    tables,
    sa.Index("association_types_by_pair", "from_kind", "to_kind", "id"),
)

# `id` is property_key(), and property_group_key(), pipeline_key() and stage_key() below.
property_definitions = define_table(
    PropertyRow,
    PropertyKey,
    "property_definitions",
    tables,
    sa.Index("property_definitions_by_kind", "kind", "name"),
)
property_groups = define_table(
    PropertyGroupRow,
    PropertyGroupKey,
    "property_groups",
    tables,
    sa.Index("property_groups_by_kind", "kind", "name"),
)
pipelines = define_table(
    PipelineRow,
    PipelineKey,
    "pipelines",
    tables,
    sa.Index("pipelines_by_kind", "kind", "pipeline_id"),
)
# Stage ids are unique within a kind, as production's are within an account.
stages = define_table(
    StageRow,
    StageKey,
    "stages",
    tables,
    sa.Index("stages_by_pipeline", "kind", "pipeline_id", "display_order"),
)


def property_key(object_type: str, name: str) -> PropertyKey:
    return PropertyKey(f"{object_type}.{name}")


def property_group_key(object_type: str, name: str) -> PropertyGroupKey:
    return PropertyGroupKey(f"{object_type}.{name}")


def pipeline_key(object_type: str, pipeline_id: str) -> PipelineKey:
    return PipelineKey(f"{object_type}.{pipeline_id}")


def stage_key(object_type: str, stage_id: str) -> StageKey:
    return StageKey(f"{object_type}.{stage_id}")


owners = define_table(
    OwnerRow,
    OwnerId,
    "owners",
    tables,
    sa.Index("owners_by_user", "user_id"),
)

lists = define_table(
    ListRow,
    ListId,
    "lists",
    tables,
)
# `id` is membership_id().
list_memberships = define_table(
    MembershipRow,
    MembershipId,
    "list_memberships",
    tables,
    sa.Index("list_memberships_by_list", "list_id", "record_id"),
    sa.Index("list_memberships_by_record", "record_id", "list_id"),
)


def membership_id(list_id: int, record_id: int) -> MembershipId:
    return MembershipId(f"{list_id}-{record_id}")


imports = define_table(
    ImportRow,
    ImportId,
    "imports",
    tables,
    sa.Index("imports_by_state", "state", "due_at"),
)
import_errors = define_table(
    ImportErrorRow,
    ImportErrorId,
    "import_errors",
    tables,
    sa.Index("import_errors_by_import", "import_id", "id"),
)

# Custom object types; the standard ones are in object_types.py.
object_types = define_table(
    ObjectTypeRow,
    ObjectTypeName,
    "object_types",
    tables,
)

# SQLite maintains the search index by triggers: no write can forget it, and a rollback includes it.
# A deletion names the whole key: by name and value alone SQLite would scan all records that share the value.
_VALUE_INDEX = (
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
_TEXT_INDEX = (
    """CREATE VIRTUAL TABLE object_texts USING fts5(kind, searchable, content='objects', content_rowid='id',
        tokenize="unicode61 remove_diacritics 2")""",
    # An episode writes a few records and is rolled back: merging segments on the way would cost more than it saves.
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

schema = WorldSchema(tables, derived=(*_VALUE_INDEX, *_TEXT_INDEX))
