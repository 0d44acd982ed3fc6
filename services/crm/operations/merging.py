"""Two records become one; and one is forgotten for good."""

from services.crm.errors import InvalidRequest, RecordNotFound
from services.crm.kinds import Kind
from services.crm.operations import associations, records
from services.crm.tables import list_memberships, merges, objects
from services.kernel.statements import Row
from services.kernel.world import World

_MEMBERSHIPS = "SELECT id FROM list_memberships WHERE record_id = ? ORDER BY id"
_MERGED_INTO = "SELECT loser_id FROM merges WHERE winner_id = ? ORDER BY loser_id"


def merge(world: World, kind: Kind, primary_id: str, loser_id: str) -> Row:
    """The primary keeps its values and takes the other's where it has none; ties and activities move over."""
    if not kind.mergeable:
        raise InvalidRequest(f"Merging is not supported for {kind.name}")
    winner, loser = _merged(world, kind, primary_id), _merged(world, kind, loser_id)
    if winner["id"] == loser["id"]:
        raise InvalidRequest(
            f"Cannot merge {primary_id} and {loser_id}: they are the same {kind.singular}",
            context={"primaryObjectId": [primary_id], "objectIdToMerge": [loser_id]},
        )
    now = world.clock.now_ms()
    world.save(objects, {**loser, "updated_at": now, "archived_at": now}, "record.merged_away")
    world.save(merges, {"loser_id": loser["id"], "winner_id": winner["id"], "merged_at": now}, "record.merged")
    associations.move(world, loser, winner)
    changed = {**winner, "updated_at": now, "properties": _united(winner, loser)}
    world.save(objects, changed, "record.merged_into")
    return changed


def forget(world: World, row: Row) -> None:
    """A deletion under data protection law: nothing of the record stays, not even in the recycling bin."""
    associations.untie_all(world, row["id"])
    for (membership,) in world.rows(_MEMBERSHIPS, (row["id"],)):
        world.remove(list_memberships, membership, "list_membership.removed")
    for (loser_id,) in world.rows(_MERGED_INTO, (row["id"],)):
        world.remove(merges, loser_id, "record.forgotten")
        world.remove(objects, loser_id, "record.forgotten")
    world.remove(objects, row["id"], "record.forgotten")


def _merged(world: World, kind: Kind, record_id: str) -> Row:
    row = records.find(world, kind, record_id)
    if row is None:
        raise RecordNotFound(
            f"No {kind.singular} with ID {record_id} exists, or it has been deleted", context={"id": [record_id]}
        )
    return row


def _united(winner: Row, loser: Row) -> dict[str, str]:
    mine, theirs = winner["properties"], loser["properties"]
    united = {**theirs, **mine}
    united["hs_merged_object_ids"] = _joined(
        mine.get("hs_merged_object_ids"), theirs.get("hs_merged_object_ids"), str(loser["id"])
    )
    if winner["kind"] == "contacts":
        further = _joined(
            mine.get("hs_additional_emails"),
            theirs.get("hs_additional_emails"),
            theirs.get("email") if theirs.get("email") != united.get("email") else None,
        )
        if further:
            united["hs_additional_emails"] = further
    return united


def _joined(*parts: str | None) -> str:
    return ";".join(dict.fromkeys(one for part in parts if part for one in part.split(";") if one))
