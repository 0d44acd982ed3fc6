"""The CRM as the kernel serves it."""

from collections.abc import Mapping

from services.crm.checks import checks
from services.crm.errors import render
from services.crm.judging import judging
from services.crm.news import tell_news
from services.crm.operations.imports import run_due
from services.crm.parameter_texts import PARAMETER_TEXTS
from services.crm.routes import router
from services.crm.tables import schema
from services.kernel.product import BenchCall, Product
from services.kernel.sizes import MIB
from services.kernel.world import World

_SNIPPET = """\
curl -s -H 'Authorization: Bearer {token}' '{base}/crm/v3/objects/contacts?limit=3'
python -c 'from hubspot import HubSpot; crm = HubSpot(access_token="{token}", host="{base}"); \
print(crm.crm.contacts.basic_api.get_page(limit=3).results)'"""
_DAILY, _BURST, _INTERVAL_MS = 500_000, 190, 10_000
_CONTACTS = "SELECT id FROM objects WHERE kind = 'contacts' AND archived_at IS NULL ORDER BY id"


def advance(world: World, until_ms: int) -> None:
    """Imports that fall due on the way run at their own time."""
    run_due(world, until_ms)
    world.clock.advance_to(max(until_ms, world.clock.now_ms()))


def run_due_now(world: World) -> None:
    run_due(world, world.clock.now_ms())


def headers(world: World) -> Mapping[str, str]:
    """Counts requests and the episode's own seconds, so that a replay answers the same."""
    in_interval = min(world.request, world.clock.now_ms() % _INTERVAL_MS // 1000 + 1)
    return {
        "x-hubspot-ratelimit-daily": str(_DAILY),
        "x-hubspot-ratelimit-daily-remaining": str(max(_DAILY - world.request, 0)),
        "x-hubspot-ratelimit-interval-milliseconds": str(_INTERVAL_MS),
        "x-hubspot-ratelimit-max": str(_BURST),
        "x-hubspot-ratelimit-remaining": str(_BURST - in_interval),
    }


# What people who work with it use every day; README.md lists it.
_CORE_OPERATIONS = (
    "crm.associations.create_default",
    "crm.associations.list",
    "crm.companies.get",
    "crm.companies.search",
    "crm.companies.update",
    "crm.contacts.create",
    "crm.contacts.get",
    "crm.contacts.merge",
    "crm.contacts.search",
    "crm.contacts.update",
    "crm.deals.create",
    "crm.deals.get",
    "crm.deals.search",
    "crm.deals.update",
    "crm.leads.get",
    "crm.leads.search",
    "crm.leads.update",
    "crm.list_memberships.add",
    "crm.lists.search",
    "crm.notes.create",
    "crm.objects.get",
    "crm.objects.search",
    "crm.owners.list",
    "crm.pipelines.list",
    "crm.properties.get",
    "crm.properties.list",
    "crm.tasks.create",
)
# What these operations take beside it; a model finds it when it looks an operation up.
_RARE_PARAMETERS = frozenset(
    (
        "archived",
        "filters",
        "idProperty",
        "objectWriteTraceId",
        "propertiesWithHistory",
        "sorts.direction",
    )
)

product = Product(
    name="crm",
    title="CRM API",
    version="3.0",
    port=8701,
    public_url="https://api.hubapi.com",
    schema=schema,
    router=router,
    render=render,
    checks=checks,
    core_operations=_CORE_OPERATIONS,
    rare_parameters=_RARE_PARAMETERS,
    parameter_texts=PARAMETER_TEXTS,
    judging=judging,
    create_credential=lambda secret: f"pat-na1-{secret}",
    key_shapes=("pat-na1-{}",),
    sdk="hubspot-api-client",
    snippet=_SNIPPET,
    advance=advance,
    on_tick=run_due_now,
    news=tell_news,
    headers=headers,
    body_limit=8 * MIB,
    bench={
        "contact by id": BenchCall("GET", "/crm/v3/objects/contacts/{id}", ids=_CONTACTS, bar=2.5),
        "list of 25 contacts": BenchCall("GET", "/crm/v3/objects/contacts?limit=25"),
        "search of 10 contacts": BenchCall(
            "POST",
            "/crm/v3/objects/contacts/search",
            {
                "filterGroups": [
                    {"filters": [{"propertyName": "lifecyclestage", "operator": "EQ", "value": "customer"}]}
                ],
                "sorts": ["-createdate"],
                "limit": 10,
            },
            bar=6.0,
        ),
        "batch read of 100 contacts": BenchCall(
            "POST",
            "/crm/v3/objects/contacts/batch/read",
            {"inputs": [{"id": "{id}"}], "properties": ["email", "firstname", "lastname", "phone"]},
            ids=_CONTACTS,
            many=100,
            bar=15.0,
        ),
        "update a contact": BenchCall(
            "PATCH",
            "/crm/v3/objects/contacts/{id}",
            {"properties": {"phone": "+1 415 555 {n}"}},
            ids=_CONTACTS,
            bar=4.0,
        ),
        "create a contact": BenchCall(
            "POST", "/crm/v3/objects/contacts", {"properties": {"email": "ann{n}@corvane.eu", "firstname": "Ann"}}
        ),
    },
)
