"""The CRM's rows. Every record of every type is one row of `objects`, as its vendor's API suggests."""

import sqlalchemy as sa

from services.kernel.statements import Json
from services.kernel.template import WorldSchema

tables = sa.MetaData()

objects = sa.Table(
    "objects",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("created_at", sa.Integer, nullable=False),
    sa.Column("updated_at", sa.Integer, nullable=False),
    sa.Column("archived_at", sa.Integer),
    sa.Column("properties", Json, nullable=False),
    sa.Index("objects_by_kind", "kind", "archived_at", "id"),
)

# SQLite keeps the search index itself: no write can forget it, and a rollback takes it along.
_INDEX_OF_VALUES = (
    """CREATE TABLE property_values (
        kind TEXT NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL, object_id INTEGER NOT NULL,
        PRIMARY KEY (kind, name, folded, object_id)) WITHOUT ROWID""",
    """CREATE TRIGGER objects_indexed AFTER INSERT ON objects BEGIN
        INSERT INTO property_values
        SELECT new.kind, key, lower(value), new.id FROM json_each(new.properties) WHERE value IS NOT NULL; END""",
    """CREATE TRIGGER objects_reindexed AFTER UPDATE OF properties ON objects WHEN old.properties IS NOT new.properties BEGIN
        DELETE FROM property_values WHERE (kind, name, folded, object_id) IN (
            SELECT old.kind, was.key, lower(was.value), old.id FROM json_each(old.properties) was
            WHERE was.value IS NOT NULL AND was.value IS NOT json_extract(new.properties, '$."' || was.key || '"'));
        INSERT OR IGNORE INTO property_values
        SELECT new.kind, now.key, lower(now.value), new.id FROM json_each(new.properties) now
            WHERE now.value IS NOT NULL AND now.value IS NOT json_extract(old.properties, '$."' || now.key || '"'); END""",
    """CREATE TRIGGER objects_unindexed AFTER DELETE ON objects BEGIN
        DELETE FROM property_values WHERE (kind, name, folded, object_id) IN (
            SELECT old.kind, key, lower(value), old.id FROM json_each(old.properties) WHERE value IS NOT NULL); END""",
)

schema = WorldSchema(tables, derived=_INDEX_OF_VALUES)
