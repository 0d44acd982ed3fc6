"""The piece of work that every client does: it lists, reads, writes, is refused, and says that it is done.

Imports nothing of ours: it runs beside packages that the project does not have.
"""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

URL = os.environ["MCP_URL"]
CREDENTIAL = os.environ["MCP_CREDENTIAL"]
HEADERS = {"Authorization": f"Bearer {CREDENTIAL}"}

# Makes a call; returns whether the client saw an error, and the text.
Call = Callable[[str, dict[str, Any]], Awaitable[tuple[bool, str]]]


async def do_work(names: list[str], call: Call) -> None:
    """Corrects the first contact's phone number, and prints what happened as JSON."""
    found = await call("crm_contacts_search", {"limit": 1, "properties": ["email"]})
    contact = json.loads(found[1])["results"][0]["id"]
    changed = await call("crm_contacts_update", {"contactId": contact, "properties": {"phone": "+49 30 1234567"}})
    refused = await call("crm_contacts_get", {"contactId": "999999999"})
    looked_up = await call("find_operations", {"words": "merge contacts"})
    done = await call("finish_work", {})
    report = {
        "tools": names,
        "errors": [result[0] for result in (found, changed, refused, looked_up, done)],
        "refused": refused[1],
        "done": done[1],
    }
    print(json.dumps(report))
    sys.stdout.flush()
