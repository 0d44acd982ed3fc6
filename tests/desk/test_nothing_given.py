"""A field given as null is a field like any other: answered, never a failure of ours."""

from typing import Any

import pytest

from services.desk.product import product
from services.kernel.app import create_api
from tests.desk.conftest import Account
from tests.desk.office import LENA, OPEN

DOCUMENT = create_api(product).openapi()
_WRITES = {
    ("POST", "/api/v2/tickets"): ("ticket", {"subject": "Printer", "comment": {"body": "It smokes."}}),
    ("PUT", f"/api/v2/tickets/{OPEN}"): ("ticket", {}),
    ("POST", "/api/v2/users"): ("user", {"name": "Ruth Adeyemi"}),
    ("PUT", f"/api/v2/users/{LENA}"): ("user", {}),
    ("POST", "/api/v2/organizations"): ("organization", {"name": "Quayside"}),
    ("POST", "/api/v2/views"): (
        "view",
        {"title": "Mine", "all": [{"field": "status", "operator": "is", "value": "open"}]},
    ),
    ("POST", "/api/v2/macros"): ("macro", {"title": "Hi", "actions": [{"field": "status", "value": "open"}]}),
    ("POST", "/api/v2/requests"): ("request", {"subject": "Help", "comment": {"body": "Please."}}),
}
_GIVEN = DOCUMENT["components"]["schemas"]


def _fields(path: str, method: str, noun: str) -> list[str]:
    served = next(
        found[method.lower()]
        for known, found in DOCUMENT["paths"].items()
        if method.lower() in found and _matches(known, path)
    )
    body = _resolved(served["requestBody"]["content"]["application/json"]["schema"])
    return sorted(_resolved(body["properties"][noun])["properties"])


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = _GIVEN[schema["$ref"].rpartition("/")[2]]
    return schema


def _matches(known: str, path: str) -> bool:
    parts, asked = known.split("/"), path.split("/")
    return len(parts) == len(asked) and all(a == b or a.startswith("{") for a, b in zip(parts, asked, strict=True))


@pytest.mark.parametrize(("method", "path"), list(_WRITES))
def test_every_field_may_be_null(account: Account, method: str, path: str) -> None:
    noun, least = _WRITES[method, path]
    fields = _fields(path, method, noun)
    answers = {
        name: account.http.request(method, path, json={noun: {**least, name: None}}).status_code for name in fields
    }

    assert len(fields) > 3
    assert {name: status for name, status in answers.items() if status >= 500} == {}
