"""The customer portal and uploaded files: what the API hands out links to."""

from typing import Any

from services.billing.errors import InvalidRequest
from services.billing.operations import records
from services.billing.operations.records import Body, now
from services.billing.tables import customers, files, portal_sessions
from services.kernel.world import World

Given = dict[str, Any]

_MOST_BYTES = 5 << 20
PURPOSES = ("business_logo", "customer_signature", "dispute_evidence", "identity_document", "tax_document_user_upload")


def open_session(world: World, given: Given) -> Body:
    customer = records.refer(world, customers, given["customer"], "customer")
    flow = given.get("flow_data")
    number = records.upcoming(world, portal_sessions)
    body = {
        "object": "billing_portal.session",
        "configuration": given.get("configuration") or "bpc_1M7tpDefault",
        "created": now(world),
        "customer": customer["id"],
        "customer_account": None,
        "flow": {"after_completion": {"type": "portal_homepage"}, **flow} if flow else None,
        "livemode": True,
        "locale": given.get("locale"),
        "on_behalf_of": None,
        "return_url": given.get("return_url"),
        "url": f"https://billing.stripe.com/p/session/live_{records.new_id('', number)[1:]}",
    }
    return records.add(world, portal_sessions, body, "billing_portal.session.created")


def keep_file(world: World, purpose: str, name: str | None, kind: str | None, size: int) -> Body:
    if purpose not in PURPOSES:
        raise InvalidRequest(f"Invalid purpose: must be one of {', '.join(PURPOSES)}", "purpose")
    if not 0 < size <= _MOST_BYTES:
        raise InvalidRequest("The file is empty or larger than 5 MB.", "file", "parameter_invalid_empty")
    body = {
        "object": "file",
        "created": now(world),
        "expires_at": None,
        "filename": name,
        "links": {"object": "list", "data": [], "has_more": False, "url": "/v1/file_links"},
        "purpose": purpose,
        "size": size,
        "title": None,
        "type": (name or "").rpartition(".")[2] or kind,
        "url": None,
    }
    return records.add(world, files, body)
