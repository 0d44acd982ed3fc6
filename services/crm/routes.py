"""The HTTP edge: parse, do, answer."""

from typing import Annotated, Any

from fastapi import Query, Response

from services.crm import operations
from services.crm.operations import CONTACT
from services.crm.schemas import ObjectOut, ObjectPage, PropertiesIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.clock import iso
from services.kernel.statements import Row

router = product_router()
_CONTACTS = "/crm/v3/objects/contacts"


@router.post(_CONTACTS, status_code=201, operation_id="crm.contacts.create", response_model=ObjectOut)
async def create(body: PropertiesIn, world: CurrentWorld) -> Response:
    """Create a contact."""
    return Json(_out(operations.create(world, CONTACT, body.properties)), 201)


@router.get(_CONTACTS + "/{contactId}", operation_id="crm.contacts.get", response_model=ObjectOut)
async def read(contactId: str, world: CurrentWorld) -> Response:
    """Read one contact by its id."""
    return Json(_out(operations.read(world, CONTACT, contactId)))


@router.get(_CONTACTS, operation_id="crm.contacts.list", response_model=ObjectPage)
async def page(
    world: CurrentWorld,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    after: Annotated[int, Query(ge=0, le=10**15)] = 0,
) -> Response:
    """List contacts in the order of their creation."""
    found = operations.page(world, CONTACT, after, limit)
    body: dict[str, Any] = {"results": [_out(row) for row in found.records]}
    if found.after is not None:
        body["paging"] = {"next": {"after": str(found.after)}}
    return Json(body)


@router.patch(_CONTACTS + "/{contactId}", operation_id="crm.contacts.update", response_model=ObjectOut)
async def update(contactId: str, body: PropertiesIn, world: CurrentWorld) -> Response:
    """Change some properties of a contact; an empty text clears a value."""
    return Json(_out(operations.update(world, CONTACT, contactId, body.properties)))


@router.delete(_CONTACTS + "/{contactId}", status_code=204, operation_id="crm.contacts.archive")
async def archive(contactId: str, world: CurrentWorld) -> Response:
    """Move a contact to the recycling bin."""
    operations.archive(world, CONTACT, contactId)
    return Response(status_code=204)


def _out(row: Row) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "properties": row["properties"],
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
        "archived": row["archived_at"] is not None,
    }
