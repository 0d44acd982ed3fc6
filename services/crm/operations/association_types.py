"""Which kinds of record may be associated, and how such a tie may be labelled."""

import sqlalchemy as sa

from services.crm.defaults import USER_DEFINED_FROM, association_type_row
from services.crm.errors import AlreadyExists, Forbidden, InvalidRequest, RecordNotFound
from services.crm.kinds import Kind
from services.crm.tables import association_types, associations
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_PAIR = Statement(
    sa.select(association_types)
    .where(
        association_types.c.from_kind == sa.bindparam("from_kind"),
        association_types.c.to_kind == sa.bindparam("to_kind"),
    )
    .order_by(association_types.c.id)
)
_FROM = Statement(
    sa.select(association_types)
    .where(association_types.c.from_kind == sa.bindparam("from_kind"))
    .order_by(association_types.c.id)
)
_USED = Statement(sa.select(associations.c.id).where(associations.c.type_id == sa.bindparam("type_id")))


def between(world: World, from_kind: str, to_kind: str) -> list[Row]:
    return world.find(_PAIR, from_kind=from_kind, to_kind=to_kind)


def from_kind(world: World, kind: str) -> list[Row]:
    return world.find(_FROM, from_kind=kind)


def unlabelled(world: World, from_kind: str, to_kind: str) -> Row:
    found = next((row for row in between(world, from_kind, to_kind) if row["rank"] == "unlabelled"), None)
    if found is None:
        raise InvalidRequest(f"Associations from {from_kind} to {to_kind} are not defined")
    return found


def named(world: World, from_kind: str, to_kind: str, name: str) -> Row:
    """By the name that v3 uses, contact_to_company, or by number."""
    for row in between(world, from_kind, to_kind):
        if name in (row["name"], str(row["id"])):
            return row
    raise InvalidRequest(f"The association type {name} is not valid between {from_kind} and {to_kind}")


def numbered(world: World, from_kind: str, to_kind: str, type_id: int) -> Row:
    for row in between(world, from_kind, to_kind):
        if row["id"] == type_id:
            return row
    raise InvalidRequest(
        f"Association type id {type_id} is not valid between {from_kind} and {to_kind}",
        sub_category="crm.associations.INVALID_ASSOCIATION_TYPE",
        context={"type": [str(type_id)], "fromObjectType": [from_kind], "toObjectType": [to_kind]},
    )


def connect(world: World, one: Kind, other: Kind) -> None:
    """The unlabelled pair between a new object type and another."""
    _pair(world, one, other, f"{one.singular}_to_{other.singular}", None, None, "unlabelled")


def create(world: World, one: Kind, other: Kind, name: str, label: str, inverse: str | None) -> list[Row]:
    """A label of the account's own, in both directions; one row where both read the same."""
    unlabelled(world, one.name, other.name)
    taken = {row["name"] for row in between(world, one.name, other.name)}
    labels = {row["label"] for row in between(world, one.name, other.name)}
    if name in taken or label in labels:
        raise AlreadyExists(f"An association label '{label}' with the name '{name}' already exists")
    return _pair(world, one, other, name, label, inverse, "label")


def rename(world: World, one: Kind, other: Kind, type_id: int, label: str, inverse: str | None) -> None:
    row = _own(world, one, other, type_id)
    world.save(association_types, {**row, "label": label}, "association_label.renamed")
    back = world.get(association_types, row["inverse_id"])
    if inverse is not None and back is not None and back["id"] != row["id"]:
        world.save(association_types, {**back, "label": inverse}, "association_label.renamed")


def remove(world: World, one: Kind, other: Kind, type_id: int) -> None:
    row = _own(world, one, other, type_id)
    for one_id in dict.fromkeys((row["id"], row["inverse_id"])):
        for used in world.find(_USED, type_id=one_id):
            world.remove(associations, used["id"], "association.removed")
        world.remove(association_types, one_id, "association_label.removed")


def _own(world: World, one: Kind, other: Kind, type_id: int) -> Row:
    row = world.get(association_types, type_id)
    if row is None or (row["from_kind"], row["to_kind"]) != (one.name, other.name):
        raise RecordNotFound(f"No association label with id {type_id}")
    if row["category"] != "USER_DEFINED":
        raise Forbidden(f"Association type {type_id} is not defined by this account and cannot be changed")
    return row


def _pair(
    world: World, one: Kind, other: Kind, name: str, label: str | None, inverse: str | None, rank: str
) -> list[Row]:
    there, back = (USER_DEFINED_FROM + world.ids.next("association_type") for _ in range(2))
    if one.name == other.name and inverse is None:
        back = there
    rows = [association_type_row(there, one.name, other.name, name, rank=rank, inverse_id=back, label=label)]
    if back != there:
        backward = f"{other.singular}_to_{one.singular}" if rank == "unlabelled" else f"{name}_inverse"
        rows.append(
            association_type_row(
                back, other.name, one.name, backward, rank=rank, inverse_id=there, label=inverse or label
            )
        )
    for row in rows:
        world.save(association_types, row, "association_label.created")
    return rows
