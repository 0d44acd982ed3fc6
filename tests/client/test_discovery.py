"""Discovery reads each document once, however many episodes ask for it at the same time."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from dayshift import discovery
from dayshift.http_flow import HttpResponse
from dayshift.operations import Operation
from dayshift.wire import ProductAccess

ACCESS = ProductAccess(base_url="http://127.0.0.1:1", credential="c", openapi_url="http://127.0.0.1:1/openapi.json")


@pytest.fixture
def documents_read(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    read: list[Mapping[str, Any]] = []

    def read_operations(_: str, document: Mapping[str, Any]) -> list[Operation]:
        read.append(document)
        return []

    monkeypatch.setattr(discovery, "read_operations", read_operations)
    monkeypatch.setattr(discovery, "_product_apis", {})
    return read


def fetch_together(count: int, title: str, *, refresh: bool = False) -> list[discovery.ProductApi]:
    """All flows ask before the first is answered."""
    flows = [discovery.fetch_product_apis({"crm": ACCESS}, refresh=refresh) for _ in range(count)]
    for flow in flows:
        next(flow)
    results = []
    for flow in flows:
        with pytest.raises(StopIteration) as stop:
            flow.send(HttpResponse(200, {}, json.dumps({"info": {"title": title}}).encode()))
        results.append(stop.value.value["crm"])
    return results


def test_episodes_that_open_together_read_a_document_once(documents_read: list[Mapping[str, Any]]) -> None:
    apis = fetch_together(5, "CRM")

    assert documents_read == [{"info": {"title": "CRM"}}]
    assert all(api is apis[0] for api in apis)


def test_a_document_that_changed_is_read_again(documents_read: list[Mapping[str, Any]]) -> None:
    fetch_together(1, "CRM")
    (api,) = fetch_together(1, "CRM 2", refresh=True)

    assert len(documents_read) == 2
    assert api.document == {"info": {"title": "CRM 2"}}
