"""Declares the support desk."""

from collections.abc import Mapping

from services.desk.checks import checks
from services.desk.errors import render
from services.desk.judging import judging
from services.desk.news import tell_news
from services.desk.operations.clock import advance, tick
from services.desk.parameter_texts import PARAMETER_TEXTS
from services.desk.routes import router
from services.desk.tables import schema
from services.kernel.credentials import basic_password, bearer
from services.kernel.product import BenchCall, Product
from services.kernel.sizes import MIB
from services.kernel.world import World

_MOST_A_MINUTE = 700
_TICKETS = "SELECT id FROM tickets WHERE deleted_at IS NULL"
_OPEN = "SELECT id FROM tickets WHERE deleted_at IS NULL AND status_rank < 4"


def headers(world: World) -> Mapping[str, str]:
    """Counts down the requests that are left of this minute: each takes a second of the desk's clock."""
    second = world.clock.now_ms() // 1000 % 60
    remaining, reset = str(_MOST_A_MINUTE - 1 - second), str(60 - second)
    return {
        "X-Rate-Limit": str(_MOST_A_MINUTE),
        "X-Rate-Limit-Remaining": remaining,
        "ratelimit-limit": str(_MOST_A_MINUTE),
        "ratelimit-remaining": remaining,
        "ratelimit-reset": reset,
    }


# What people who work with it use every day; README.md lists it.
_CORE_OPERATIONS = (
    "desk.articles.search",
    "desk.articles.show",
    "desk.attachments.show",
    "desk.audits.list",
    "desk.comments.list",
    "desk.groups.list",
    "desk.groups.users",
    "desk.macros.active",
    "desk.macros.apply",
    "desk.organizations.search",
    "desk.organizations.show",
    "desk.organizations.users",
    "desk.search",
    "desk.ticket_fields.list",
    "desk.tickets.add_tags",
    "desk.tickets.create",
    "desk.tickets.delete",
    "desk.tickets.incidents",
    "desk.tickets.mark_as_spam",
    "desk.tickets.merge",
    "desk.tickets.show",
    "desk.tickets.show_many",
    "desk.tickets.update",
    "desk.users.me",
    "desk.users.requested_tickets",
    "desk.users.search",
    "desk.users.show",
    "desk.users.update",
    "desk.views.active",
    "desk.views.tickets",
)
# What these operations take beside it; a model finds it when it looks an operation up.
_RARE_PARAMETERS = frozenset(
    (
        "external_id",
        "include",
        "page[after]",
        "page[before]",
        "page[size]",
        "sort",
        "ticket.additional_collaborators",
        "ticket.assignee_email",
        "ticket.brand_id",
        "ticket.collaborator_ids",
        "ticket.comment.author_id",
        "ticket.comment.html_body",
        "ticket.custom_status_id",
        "ticket.due_at",
        "ticket.external_id",
        "ticket.followers",
        "ticket.metadata",
        "ticket.recipient",
        "ticket.requester",
        "ticket.safe_update",
        "ticket.submitter_id",
        "ticket.ticket_form_id",
        "ticket.updated_stamp",
        "ticket.via_followup_source_id",
        "user.alias",
        "user.default_group_id",
        "user.details",
        "user.external_id",
        "user.identities",
        "user.locale",
        "user.organization",
        "user.photo",
        "user.signature",
        "user.skip_verify_email",
        "user.time_zone",
    )
)

product = Product(
    name="desk",
    title="Support Desk API",
    version="2.0",
    port=8702,
    public_url="https://tallyport.zendesk.com",
    schema=schema,
    router=router,
    render=render,
    checks=checks,
    core_operations=_CORE_OPERATIONS,
    rare_parameters=_RARE_PARAMETERS,
    parameter_texts=PARAMETER_TEXTS,
    judging=judging,
    create_credential=lambda secret: f"zd_{secret}",
    credential_formats=(bearer, basic_password),
    advance=advance,
    on_tick=tick,
    news=tell_news,
    headers=headers,
    suffix=".json",
    body_limit=6 * MIB,
    sdk="zenpy",
    snippet="curl -sg -H 'Authorization: Bearer {token}' '{base}/api/v2/tickets.json?page[size]=3'\n"
    "curl -s -H 'Authorization: Bearer {token}' '{base}/api/v2/search.json?query=type:ticket+status%3Csolved'",
    bench={
        "ticket by id": BenchCall("GET", "/api/v2/tickets/{id}.json", ids=_TICKETS, bar=3.0),
        "list of 25 tickets": BenchCall("GET", "/api/v2/tickets.json?page[size]=25", bar=12.0),
        "comments of a ticket": BenchCall("GET", "/api/v2/tickets/{id}/comments.json", ids=_TICKETS, bar=6.0),
        "open tickets by a word": BenchCall(
            "GET", "/api/v2/search.json?query=type:ticket%20status%3Csolved%20invoice&per_page=25", bar=20.0
        ),
        "reply": BenchCall(
            "PUT", "/api/v2/tickets/{id}.json", {"ticket": {"comment": {"body": "Reply number {n}"}}}, _OPEN, bar=14.0
        ),
    },
)
