"""How the desk is set up: fields, forms, statuses, brands, tags."""

from typing import Annotated, Any

from fastapi import Query, Response

from services.desk.documents import DeskTable, Sort, cut_page
from services.desk.routes.base import StaffCall, answer_page, answer_rows, noun_router, read_paging, read_sort
from services.desk.schemas import exports as schemas
from services.desk.schemas.base import Paged, TicketFieldKey
from services.desk.shapes.base import render
from services.desk.tables import brands, custom_statuses, organization_fields, ticket_fields, ticket_forms, user_fields
from services.kernel.answers import Json

_TAG_COUNTS = "SELECT value, count(*) FROM ticket_links WHERE kind = 'tag' GROUP BY value ORDER BY count(*) DESC, value"
router = noun_router("settings")


def _add_list(table: DeskTable[Any, Any], description: str, column: str = "id") -> None:
    """Adds the list of one table: `/ticket_fields`, `/ticket_forms`, `/brands` and their like."""
    key = str(table.name)

    async def page(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
        sort = read_sort(params, {"id": "id", "position": column}, Sort(column))
        return answer_rows(call, table.info["kind"], key, table.page(call.world, read_paging(params), sort=sort))

    page.__doc__ = description
    router.get(f"/{key}", operation_id=f"desk.{key}.list", response_model=schemas.Settings)(page)


_add_list(ticket_fields, "List the fields of tickets with their ids, types and options.", "position")
_add_list(ticket_forms, "List the forms of tickets and the fields in each.", "position")
_add_list(custom_statuses, "List the statuses that agents see, each within one of the desk's own.")
_add_list(user_fields, "List the fields of users with their keys and types.", "position")
_add_list(organization_fields, "List the fields of organizations with their keys and types.", "position")
_add_list(brands, "List the brands under which help is given.")


@router.get(
    "/ticket_fields/{field_id}", operation_id="desk.ticket_fields.show", response_model=schemas.TicketFieldShown
)
async def ticket_field(field_id: TicketFieldKey, call: StaffCall) -> Response:
    """Read one field of tickets, with its options."""
    row = ticket_fields.need(call.world, field_id)
    return Json({"ticket_field": render("ticket_field", row, call.base)})


@router.get("/tags", operation_id="desk.tags.list", response_model=schemas.Settings)
async def all_tags(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the tags in use with how many tickets have each, the most used first."""
    tags = [{"name": name, "count": count} for name, count in call.world.rows(_TAG_COUNTS)]
    result = cut_page(tags, read_paging(params))
    return answer_page(call, "tags", result, result.rows)
