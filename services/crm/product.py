"""The CRM, declared."""

from services.crm.checks import checks
from services.crm.errors import render
from services.crm.routes import router
from services.crm.tables import schema
from services.kernel.product import BenchCall, Product

_TO_PASTE = """\
curl -s -H 'Authorization: Bearer {token}' '{base}/crm/v3/objects/contacts?limit=3'

python, with the vendor's SDK:
  import hubspot
  contacts = hubspot.Client.create(access_token="{token}").crm.contacts.basic_api
  contacts.api_client.configuration.host = "{base}"
  print(contacts.get_page(limit=3))"""
_CONTACTS = "SELECT id FROM objects WHERE kind = 'contacts' AND archived_at IS NULL"

product = Product(
    name="crm",
    title="CRM API",
    version="3.0",
    port=8701,
    schema=schema,
    router=router,
    render=render,
    checks=checks,
    mint=lambda secret: f"pat-na1-{secret}",
    snippet=_TO_PASTE,
    bench={
        "contact by id": BenchCall("GET", "/crm/v3/objects/contacts/{id}", ids=_CONTACTS, bar=2.5),
        "list of 25 contacts": BenchCall("GET", "/crm/v3/objects/contacts?limit=25"),
        "update a contact": BenchCall(
            "PATCH", "/crm/v3/objects/contacts/{id}", {"properties": {"phone": "+1 415 555 {n}"}}, _CONTACTS, bar=4.0
        ),
        "create a contact": BenchCall(
            "POST", "/crm/v3/objects/contacts", {"properties": {"email": "ann{n}@corvane.eu", "firstname": "Ann"}}
        ),
    },
)
