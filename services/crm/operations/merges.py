"""Merging two records into one, and deleting a record permanently."""

from services.crm.errors import InvalidRequest, RecordNotFound
from services.crm.object_types import ObjectType
from services.crm.operations import associations, records
from services.crm.rows import MergeRow, PropertyValues, RecordRow
from services.crm.tables import list_memberships, merges, objects
from services.kernel.world import World

_MEMBERSHIPS = "SELECT id FROM list_memberships WHERE record_id = ? ORDER BY id"
_MERGED_INTO = "SELECT loser_id FROM merges WHERE winner_id = ? ORDER BY loser_id"


def merge(world: World, object_type: ObjectType, primary_id: str, loser_id: str) -> RecordRow:
    """Merges the loser into the primary record, which keeps its values and takes the loser's where it has none.

    Associations move to the primary record; activities are associations too.
    """
    if not object_type.is_mergeable:
        raise InvalidRequest(f"Merging is not supported for {object_type.name}")
    winner, loser = _require(world, object_type, primary_id), _require(world, object_type, loser_id)
    if winner["id"] == loser["id"]:
        raise InvalidRequest(
            f"Cannot merge {primary_id} and {loser_id}: they are the same {object_type.singular}",
            context={"primaryObjectId": [primary_id], "objectIdToMerge": [loser_id]},
        )
    now = world.clock.now_ms()
    world.save(objects, loser | {"updated_at": now, "archived_at": now}, "record.merged_away")
    merge_row: MergeRow = {"loser_id": loser["id"], "winner_id": winner["id"], "merged_at": now}
    world.save(merges, merge_row, "record.merged")
    associations.move(world, loser, winner)
    changed = winner | {"updated_at": now, "properties": _merge_properties(winner, loser)}
    world.save(objects, changed, "record.merged_into")
    return changed


def purge(world: World, row: RecordRow) -> None:
    """Deletes a record under data protection law: nothing of it stays, not even in the recycling bin."""
    associations.remove_all(world, row["id"])
    for (membership_id,) in world.rows(_MEMBERSHIPS, (row["id"],)):
        world.remove(list_memberships, membership_id, "list_membership.removed")
    for (loser_id,) in world.rows(_MERGED_INTO, (row["id"],)):
        world.remove(merges, loser_id, "record.forgotten")
        world.remove(objects, loser_id, "record.forgotten")
    world.remove(objects, row["id"], "record.forgotten")


def _require(world: World, object_type: ObjectType, record_id: str) -> RecordRow:
    row = records.find(world, object_type, record_id)
    if row is None:
        raise RecordNotFound(
            f"No {object_type.singular} with ID {record_id} exists, or it has been deleted", context={"id": [record_id]}
        )
    return row


def _merge_properties(winner: RecordRow, loser: RecordRow) -> PropertyValues:
    winner_values, loser_values = winner["properties"], loser["properties"]
    merged = {**loser_values, **winner_values}
    merged["hs_merged_object_ids"] = _join(
        winner_values.get("hs_merged_object_ids"), loser_values.get("hs_merged_object_ids"), str(loser["id"])
    )
    if winner["kind"] == "contacts":
        additional_emails = _join(
            winner_values.get("hs_additional_emails"),
            loser_values.get("hs_additional_emails"),
            loser_values.get("email") if loser_values.get("email") != merged.get("email") else None,
        )
        if additional_emails:
            merged["hs_additional_emails"] = additional_emails
    return merged


def _join(*lists: str | None) -> str:
    return ";".join(dict.fromkeys(item for text in lists if text for item in text.split(";") if item))
