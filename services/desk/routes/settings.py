"""How the desk is set up: fields, forms, statuses, brands, tags."""

from typing import Annotated

import sqlalchemy as sa
from fastapi import Query, Request, Response

from services.desk.operations import listing, records, showing, tags
from services.desk.operations.listing import Order
from services.desk.routes.base import listed, noun_router, order, paging, staff
from services.desk.schemas import exports as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.tables import brands, custom_statuses, organization_fields, ticket_fields, ticket_forms, user_fields
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld

router = noun_router("settings")


def _listed(table: sa.Table, told: str, first: str = "id") -> None:
    key = str(table.name)

    async def page(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
        call = staff(request, world)
        found = listing.page(
            world, table, paging(asked), order=order(asked, {"id": "id", "position": first}, Order(first))
        )
        return listed(call, key, found, showing.many(table.info["kind"], found.rows, call.base))

    page.__doc__ = told
    router.get(f"/{key}", operation_id=f"desk.{key}.list", response_model=schemas.Settings)(page)


_listed(ticket_fields, "List the fields of tickets with their ids, types and options.", "position")
_listed(ticket_forms, "List the forms of tickets and the fields in each.", "position")
_listed(custom_statuses, "List the statuses that agents see, each within one of the desk's own.")
_listed(user_fields, "List the fields of users with their keys and types.", "position")
_listed(organization_fields, "List the fields of organizations with their keys and types.", "position")
_listed(brands, "List the brands under which help is given.")


@router.get(
    "/ticket_fields/{field_id}", operation_id="desk.ticket_fields.show", response_model=schemas.TicketFieldShown
)
async def ticket_field(field_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one field of tickets, with its options."""
    call = staff(request, world)
    row = records.need(world, ticket_fields, field_id)
    return Json({"ticket_field": showing.shown("ticket_field", row, call.base)})


@router.get("/tags", operation_id="desk.tags.list", response_model=schemas.Settings)
async def all_tags(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the tags in use with how many tickets have each, the most used first."""
    call = staff(request, world)
    found = listing.paged(tags.counted(world), paging(asked))
    return listed(call, "tags", found, found.rows)
