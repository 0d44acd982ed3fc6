"""Refusals in the vendor's shape, wording, status and category; and what the SDK makes of them."""

import json
import re
from typing import Any

import httpx
import pytest
from hubspot import HubSpot
from hubspot.crm import contacts

from tests.contract.running import Account, Running
from tests.crm.account import CONTACTS

OBJECTS = "/crm/v3/objects/contacts"


def test_a_taken_address_is_a_conflict_that_names_the_holder(sdk: HubSpot) -> None:
    with pytest.raises(contacts.ApiException) as declined:
        sdk.crm.contacts.basic_api.create(
            contacts.SimplePublicObjectInputForCreate(properties={"email": "marta.brandt0@corvane.eu"}, associations=[])
        )

    body = json.loads(declined.value.body)
    assert declined.value.status == 409
    assert body == {
        "status": "error",
        "message": f"Contact already exists. Existing ID: {CONTACTS}",
        "correlationId": body["correlationId"],
        "category": "CONFLICT",
    }
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", body["correlationId"])


def test_an_unknown_property_is_spelt_out_in_the_message(account: Account) -> None:
    body = account.http.post(OBJECTS, json={"properties": {"x": "1"}}).json()

    prefix, _, problems = body["message"].partition(": ")
    assert (prefix, body["category"]) == ("Property values were not valid", "VALIDATION_ERROR")
    assert json.loads(problems) == [
        {
            "isValid": False,
            "message": 'Property "x" does not exist',
            "error": "PROPERTY_DOESNT_EXIST",
            "name": "x",
            "localizedErrorMessage": 'Property "x" does not exist',
        }
    ]
    assert body["errors"][0]["context"] == {"propertyName": ["x"]}


@pytest.mark.parametrize("record_id", ["999999", "0", "abc", "9" * 30, "٣"])
def test_what_is_not_there_is_not_found(sdk: HubSpot, record_id: str) -> None:
    with pytest.raises(contacts.exceptions.NotFoundException) as declined:
        sdk.crm.contacts.basic_api.get_by_id(record_id)

    body = json.loads(declined.value.body)
    assert (body["status"], body["message"], body["category"]) == ("error", "resource not found", "OBJECT_NOT_FOUND")


def test_a_wrong_credential_is_refused(running: Running[Account]) -> None:
    stranger = HubSpot(access_token="pat-na1-nobody", host=running.url)

    with pytest.raises(contacts.exceptions.UnauthorizedException) as declined:
        stranger.crm.contacts.basic_api.get_page()

    assert json.loads(declined.value.body)["category"] == "INVALID_AUTHENTICATION"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "category", "words"),
    [
        ("GET", "/crm/v3/nowhere", None, 404, "OBJECT_NOT_FOUND", "No service found"),
        ("PUT", OBJECTS, {}, 405, "METHOD_NOT_ALLOWED", ""),
        ("POST", OBJECTS, [], 400, "VALIDATION_ERROR", "Invalid input JSON"),
        ("POST", OBJECTS, {"properties": {"firstname": {}}}, 400, "VALIDATION_ERROR", "firstname"),
        ("GET", "/crm/v3/objects/spaceships/1", None, 400, "VALIDATION_ERROR", "Unable to infer object type from: spaceships"),
        ("GET", OBJECTS + "?limit=101", None, 400, "VALIDATION_ERROR", "limit"),
        ("GET", OBJECTS + "?limit=60&propertiesWithHistory=email", None, 400, "VALIDATION_ERROR", "at most 50"),
        ("GET", OBJECTS + "/x?idProperty=city", None, 400, "VALIDATION_ERROR", "not a unique identifier"),
        ("GET", "/crm/v3/owners/5", None, 404, "OBJECT_NOT_FOUND", "Owner"),
        ("GET", "/crm/v3/pipelines/deals/nowhere", None, 404, "OBJECT_NOT_FOUND", "Pipeline"),
        ("GET", "/crm/v3/properties/contacts/nothing", None, 404, "OBJECT_NOT_FOUND", "nothing"),
        ("GET", "/crm/v3/lists/77", None, 404, "OBJECT_NOT_FOUND", "List does not exist with ID 77."),
        ("GET", "/crm/v3/imports/77", None, 404, "OBJECT_NOT_FOUND", "Import"),
        ("POST", OBJECTS + "/merge", {"primaryObjectId": "1001", "objectIdToMerge": "1001"}, 400, "VALIDATION_ERROR", "same"),
        ("POST", "/crm/v3/pipelines/contacts", {"label": "x", "displayOrder": 0, "stages": []}, 400, "VALIDATION_ERROR", "pipelines"),
        ("POST", OBJECTS + "/batch/read", {"inputs": [{"id": "1"}] * 101}, 400, "VALIDATION_ERROR", "100"),
    ],
)  # fmt: skip
def test_each_refusal_has_its_status_category_and_words(
    account: Account, method: str, path: str, body: Any, status: int, category: str, words: str
) -> None:
    answer = account.http.request(method, path, json=body)

    body = answer.json()
    assert (answer.status_code, body["status"], body["category"]) == (status, "error", category)
    assert words in answer.text


def test_a_body_that_is_no_json_is_refused(account: Account) -> None:
    broken = account.http.post(OBJECTS, content=b'{"properties": {', headers={"content-type": "application/json"})
    form = account.http.post(OBJECTS, data={"properties": "x"})

    assert (broken.status_code, form.status_code) == (400, 415)


def test_correlation_ids_are_the_same_on_a_replay_and_differ_between_requests(running: Running[Account]) -> None:
    def ids() -> list[str]:
        account = running.open()
        found = [account.http.get(f"{OBJECTS}/1").json()["correlationId"] for _ in range(2)]
        account.close()
        return found

    first, again = ids(), ids()
    assert first == again
    assert first[0] != first[1]


def test_every_answer_tells_how_much_of_the_rate_limit_is_left(account: Account) -> None:
    left = [account.http.get(OBJECTS).headers["x-hubspot-ratelimit-daily-remaining"] for _ in range(3)]
    headers = account.http.get(f"{OBJECTS}/1").headers

    assert left == ["499999", "499998", "499997"]
    assert headers["x-hubspot-ratelimit-max"] == "190"
    assert headers["x-hubspot-ratelimit-interval-milliseconds"] == "10000"
    assert 0 < int(headers["x-hubspot-ratelimit-remaining"]) < 190


def limited(account: Account, tries: int = 400) -> httpx.Response:
    for _ in range(tries):
        try:
            answer = account.http.get(OBJECTS)
        except httpx.HTTPError:
            continue
        if answer.status_code == 429:
            return answer
    raise AssertionError("the plan never limited the rate")


def test_a_planned_limit_speaks_as_the_vendor_does(running: Running[Account]) -> None:
    account = running.open(faults="storm")
    answer = limited(account)
    account.close()

    body = answer.json()
    assert body["message"] == "You have reached your secondly limit."
    assert (body["errorType"], body["policyName"]) == ("RATE_LIMIT", "SECONDLY")
    assert answer.headers["retry-after"] == "1"


def test_the_sdk_waits_out_a_limit_and_reads_on(running: Running[Account], monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    account = running.open(faults="rough", seed=_seed_that_limits_the_first_read())
    client = HubSpot(access_token=account.key, host=running.url)

    page = client.crm.contacts.basic_api.get_page(limit=1)
    account.close()

    assert [one.id for one in page.results] == [str(CONTACTS)]
    assert slept == [1]


def _seed_that_limits_the_first_read() -> int:
    from services.kernel.faults import FaultKind, FaultPlan

    for seed in range(10_000):
        plan = FaultPlan("rough", seed, "crm")
        first, second = plan.strike(1), plan.strike(2)
        if first is not None and first.kind is FaultKind.RATE_LIMITED and second is None:
            return seed
    raise AssertionError("no seed limits the first read")
