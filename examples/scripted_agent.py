"""The agent of the examples that show a protocol: it solves `crm/correct-contact` without a model.

It yields tools with their arguments and is sent the text of each answer; a model would read the brief for itself.
"""

import json
import re
from collections.abc import Generator
from typing import Any

TASK = "crm/correct-contact"
_EMAIL = re.compile(r"[^\s<>()]+@[^\s<>(),]*[^\s<>(),.:]")
_PHONE = re.compile(
    r"(?:phone is|should read|reached at|right number is|confirmed|Set it to) (.+?)(?:\. | \(|, not at|\n|$)"
)


def work(brief: str) -> Generator[tuple[str, dict[str, Any]], str, None]:
    email, phone = _EMAIL.findall(brief)[0], _PHONE.findall(brief)[0].rstrip(".")
    filters = [{"propertyName": "email", "operator": "EQ", "value": email}]
    answer = yield "crm_contacts_search", {"filterGroups": [{"filters": filters}], "limit": 1}
    record = json.loads(answer)["results"][0]["id"]
    yield "crm_contacts_update", {"contactId": record, "properties": {"phone": phone}}
    yield "finish_work", {}
