"""Sessions of the customer portal, and uploaded files."""

from dataclasses import dataclass

from services.billing.errors import InvalidRequest
from services.billing.objects.events import FileBody, PortalSessionBody
from services.billing.operations import records
from services.billing.operations.params import Params
from services.billing.operations.records import now
from services.billing.tables import customers, files, portal_sessions
from services.kernel.world import World

_MOST_BYTES = 5 << 20
PURPOSES = ("business_logo", "customer_signature", "dispute_evidence", "identity_document", "tax_document_user_upload")


def create_session(world: World, params: Params) -> PortalSessionBody:
    customer = records.refer(world, customers, params["customer"], "customer")
    flow = params.get("flow_data")
    number = records.next_number(world, portal_sessions)
    body: PortalSessionBody = {
        "object": "billing_portal.session",
        "configuration": params.get("configuration") or "bpc_1M7tpDefault",
        "created": now(world),
        "customer": customer["id"],
        "customer_account": None,
        "flow": {"after_completion": {"type": "portal_homepage"}, **flow} if flow else None,
        "livemode": True,
        "locale": params.get("locale"),
        "on_behalf_of": None,
        "return_url": params.get("return_url"),
        "url": f"https://billing.stripe.com/p/session/live_{records.new_token(world.ids, 'portal', number)}",
    }
    return records.add(world, portal_sessions, body, "billing_portal.session.created")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as a client sent it."""

    purpose: str
    name: str | None
    content_type: str | None
    size: int


def create_file(world: World, upload: Upload) -> FileBody:
    if upload.purpose not in PURPOSES:
        raise InvalidRequest(f"Invalid purpose: must be one of {', '.join(PURPOSES)}", "purpose")
    if not 0 < upload.size <= _MOST_BYTES:
        raise InvalidRequest("The file is empty or larger than 5 MB.", "file", "parameter_invalid_empty")
    body: FileBody = {
        "object": "file",
        "created": now(world),
        "expires_at": None,
        "filename": upload.name,
        "links": {"object": "list", "data": [], "has_more": False, "url": "/v1/file_links"},
        "purpose": upload.purpose,
        "size": upload.size,
        "title": None,
        "type": (upload.name or "").rpartition(".")[2] or upload.content_type,
        "url": None,
    }
    return records.add(world, files, body)
