"""The catalogue comes from the products' documents, and every call of it can be encoded."""

import json
from typing import Any

import dayshift
import numpy as np
import pytest
from dayshift.argument_sampling import sample_arguments
from dayshift.openapi import credential_headers, read_operations
from dayshift.operations import BodyEncoding, Catalogue
from dayshift.request_encoding import encode_request

from services.kernel import catalog
from services.kernel.app import create_api

FORMS: dict[str, Any] = {
    "paths": {
        "/v1/charges/{id}": {
            "post": {
                "operationId": "pay.charges.update",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "expand", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                    {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}},
                    {"name": "X-Account", "in": "header", "schema": {"type": "string"}},
                ],
                "requestBody": {
                    "content": {
                        "application/x-www-form-urlencoded": {
                            "schema": {"type": "object", "properties": {"metadata": {}, "items": {}, "live": {}}}
                        }
                    }
                },
            }
        },
        "/v1/batch": {
            "post": {
                "operationId": "pay.batch",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/A"}}}
                    },
                },
            }
        },
        "/v1/clash/{id}": {
            "put": {
                "operationId": "pay.clash",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "requestBody": {
                    "content": {"application/json": {"schema": {"properties": {"id": {"type": "integer"}}}}}
                },
            }
        },
        "/v1/files": {
            "post": {
                "operationId": "pay.files",
                "requestBody": {
                    "content": {"multipart/form-data": {"schema": {"properties": {"file": {}, "purpose": {}}}}}
                },
            },
            "get": {},
        },
    },
    "components": {
        "schemas": {
            "A": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/B"}}},
            "B": {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/A"}}},
            "Unused": {"type": "object"},
        },
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}},
    },
}


@pytest.fixture
def crm() -> Catalogue:
    return Catalogue(read_operations("crm", create_api(catalog.product("crm")).openapi()))


@pytest.fixture
def forms() -> Catalogue:
    return Catalogue(read_operations("pay", FORMS))


def test_every_route_of_a_product_is_an_operation(crm: Catalogue) -> None:
    described = create_api(catalog.product("crm")).openapi()["paths"]
    ids = {route["operationId"] for item in described.values() for route in item.values()}

    assert set(crm) == ids | {"come_back_later", "finish_work"}


def test_tool_definitions_are_what_model_providers_accept(crm: Catalogue) -> None:
    names = set()
    for openai, anthropic in zip(crm.openai_tools(), crm.anthropic_tools(), strict=True):
        function = openai["function"]
        assert openai["type"] == "function"
        assert function["parameters"] == anthropic["input_schema"]
        assert function["name"] == anthropic["name"]
        assert 0 < len(function["name"]) <= 64
        assert function["name"].replace("_", "").replace("-", "").isalnum()
        names.add(function["name"])
        json.dumps(openai)

    assert len(names) == len(crm)
    assert crm.by_tool_name("crm_contacts_get") is crm["crm.contacts.get"]


def test_schemas_contain_every_component_that_they_refer_to(crm: Catalogue, forms: Catalogue) -> None:
    for operation in (*crm.values(), *forms.values()):
        text = json.dumps(operation.schema)
        assert "#/components/" not in text
        for reference in text.split('"#/$defs/')[1:]:
            assert reference.split('"')[0] in operation.schema["$defs"]

    assert set(forms["pay.batch"].schema["$defs"]) == {"A", "B"}


def test_every_sampled_call_can_be_encoded(crm: Catalogue, forms: Catalogue) -> None:
    chance = np.random.default_rng(5)
    for operation in (*crm.values(), *forms.values()):
        for _ in range(20):
            arguments = sample_arguments(operation.schema, chance)
            if not operation.belongs_to_harness:
                assert encode_request(operation, arguments).target.startswith("/")
            assert set(operation.schema["required"]) <= set(arguments)


def test_arguments_are_encoded_into_path_query_and_body(crm: Catalogue) -> None:
    update = encode_request(crm["crm.contacts.update"], {"contactId": "a/b c", "properties": {"phone": "☎"}})
    listing = encode_request(
        crm["crm.contacts.list"],
        {"limit": 3, "archived": None} if "archived" in crm["crm.contacts.list"].arguments_by_name else {"limit": 3},
    )

    assert update.target == "/crm/v3/objects/contacts/a%2Fb%20c"
    assert json.loads(update.content) == {"properties": {"phone": "☎"}}
    assert listing.target.endswith("?limit=3")
    assert listing.content == b""


def test_forms_use_brackets_lists_repeat_and_headers_are_sent(forms: Catalogue) -> None:
    written = encode_request(
        forms["pay.charges.update"],
        {
            "id": "ch_1",
            "expand": ["a", "b"],
            "X-Account": "acct",
            "metadata": {"k": "v w"},
            "items": [{"q": 2}],
            "live": True,
        },
    )

    assert written.target == "/v1/charges/ch_1?expand=a&expand=b"
    assert written.content == b"metadata%5Bk%5D=v+w&items%5B0%5D%5Bq%5D=2&live=true"
    assert written.headers["x-account"] == "acct"
    assert "Idempotency-Key" not in forms["pay.charges.update"].arguments_by_name


def test_a_body_that_is_not_a_plain_object_is_one_argument(forms: Catalogue) -> None:
    assert forms["pay.batch"].body is BodyEncoding.WHOLE_JSON
    assert encode_request(forms["pay.batch"], {"body": [{"b": {}}]}).content == b'[{"b":{}}]'
    assert json.loads(encode_request(forms["pay.clash"], {"id": "7", "body": {"id": 8}}).content) == {"id": 8}


def test_the_same_upload_gives_the_same_bytes(forms: Catalogue) -> None:
    arguments = {"file": {"filename": "a.csv", "content": "x,y\n"}, "purpose": "import"}
    first, second = (encode_request(forms["pay.files"], arguments) for _ in range(2))

    assert first == second
    assert b'name="file"; filename="a.csv"' in first.content
    boundary = first.headers["content-type"].partition("boundary=")[2]
    assert first.content.endswith(f"--{boundary}--\r\n".encode())


def test_a_route_without_a_name_gets_one(forms: Catalogue) -> None:
    assert "pay.get.v1_files" in forms


@pytest.mark.parametrize(
    "arguments",
    [{}, {"contactId": ""}, {"contactId": ".."}, {"contactId": "1", "colour": "red"}, {"contactId": float("nan")}],
)
def test_arguments_that_cannot_be_encoded_raise_before_anything_is_sent(
    crm: Catalogue, arguments: dict[str, Any]
) -> None:
    with pytest.raises(dayshift.BadArguments):
        encode_request(crm["crm.contacts.get"], arguments)


def test_a_header_cannot_contain_a_line_break(forms: Catalogue) -> None:
    with pytest.raises(dayshift.BadArguments):
        encode_request(forms["pay.charges.update"], {"id": "1", "X-Account": "a\r\nevil: 1"})


def test_an_unknown_operation_suggests_similar_names(crm: Catalogue) -> None:
    with pytest.raises(dayshift.UnknownOperation, match=r"did you mean crm\.contacts\.get"):
        crm["crm.contact.get"]


def test_the_fingerprint_changes_with_the_operations(crm: Catalogue, forms: Catalogue) -> None:
    again = Catalogue(read_operations("crm", create_api(catalog.product("crm")).openapi()))
    fewer = Catalogue([one for one in crm.values() if one.product and one.name != "crm.contacts.get"])

    assert again.fingerprint == crm.fingerprint
    assert len({crm.fingerprint, forms.fingerprint, fewer.fingerprint}) == 3


def test_the_credential_is_sent_in_the_header_that_a_product_declares() -> None:
    assert credential_headers(FORMS, "s") == {"x-api-key": "s"}
    assert credential_headers({}, "s") == {"authorization": "Bearer s"}


def test_an_answer_schema_becomes_part_of_submit(crm: Catalogue) -> None:
    with_answer_schema = crm.with_answer_schema({"type": "integer"})

    assert with_answer_schema["submit"].schema["properties"]["answer"] == {"type": "integer"}
    assert with_answer_schema["submit"].schema["required"] == ["answer"]
    assert with_answer_schema.names == crm.names
