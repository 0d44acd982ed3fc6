"""How the desk is set up: fields, forms, statuses, brands, tags."""

from typing import Annotated, Any

from fastapi import Query, Response

from services.desk.documents import DeskTable, Sort, cut_page
from services.desk.routes import endpoints as serve
from services.desk.routes.base import StaffCall, answer_page, noun_router, read_paging
from services.desk.routes.endpoints import add_operations, resource
from services.desk.schemas import exports as schemas
from services.desk.schemas.base import Paged
from services.desk.tables import brands, custom_statuses, organization_fields, ticket_fields, ticket_forms, user_fields
from services.kernel.operations import Endpoint, Operation

_TAG_COUNTS = "SELECT value, count(*) FROM ticket_links WHERE kind = 'tag' GROUP BY value ORDER BY count(*) DESC, value"
router = noun_router("settings")


def _list(table: DeskTable[Any, Any], column: str = "id") -> Endpoint:
    return serve.list_rows(resource(table), sorts={"id": "id", "position": column}, default=Sort(column))


async def all_tags(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the tags in use with how many tickets have each, the most used first."""
    tags = [{"name": name, "count": count} for name, count in call.world.rows(_TAG_COUNTS)]
    result = cut_page(tags, read_paging(params))
    return answer_page(call, "tags", result, result.rows)


# fmt: off
add_operations(router, (
    Operation("desk.ticket_fields.list", "GET", "/api/v2/ticket_fields", "Page", schemas.Settings,
              _list(ticket_fields, "position"), "List the fields of tickets with their ids, types and options."),
    Operation("desk.ticket_forms.list", "GET", "/api/v2/ticket_forms", "Page", schemas.Settings,
              _list(ticket_forms, "position"), "List the forms of tickets and the fields in each."),
    Operation("desk.custom_statuses.list", "GET", "/api/v2/custom_statuses", "Page", schemas.Settings,
              _list(custom_statuses), "List the statuses that agents see, each within one of the desk's own."),
    Operation("desk.user_fields.list", "GET", "/api/v2/user_fields", "Page", schemas.Settings,
              _list(user_fields, "position"), "List the fields of users with their keys and types."),
    Operation("desk.organization_fields.list", "GET", "/api/v2/organization_fields", "Page", schemas.Settings,
              _list(organization_fields, "position"), "List the fields of organizations with their keys and types."),
    Operation("desk.brands.list", "GET", "/api/v2/brands", "Page", schemas.Settings, _list(brands),
              "List the brands under which help is given."),
    Operation("desk.ticket_fields.show", "GET", "/api/v2/ticket_fields/{field_id}", "Ticket Field",
              schemas.TicketFieldShown, serve.show(resource(ticket_fields)),
              "Read one field of tickets, with its options."),
    Operation("desk.tags.list", "GET", "/api/v2/tags", "All Tags", schemas.Settings, all_tags),
))
# fmt: on
