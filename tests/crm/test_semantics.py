"""What the CRM does with values: validation, lifecycle, uniqueness, computed properties, reads of the merged."""

from typing import Any

import pytest

from tests.contract.running import Account
from tests.crm.account import COMPANIES, CONTACTS, DEALS, OWNER, TICKETS

ONE = f"/crm/v3/objects/contacts/{CONTACTS}"


def patch(account: Account, path: str = ONE, **properties: Any) -> dict[str, Any]:
    answer = account.http.patch(path, json={"properties": properties})
    assert answer.status_code == 200, answer.text
    return answer.json()["properties"]


def refused(account: Account, kind: str = "contacts", record: int = CONTACTS, **properties: Any) -> str:
    answer = account.http.patch(f"/crm/v3/objects/{kind}/{record}", json={"properties": properties})
    assert answer.status_code == 400, answer.text
    return str(answer.json()["errors"][0]["code"])


def test_a_lifecycle_stage_only_moves_forward(account: Account) -> None:
    assert patch(account, lifecyclestage="opportunity")["lifecyclestage"] == "opportunity"
    assert patch(account, lifecyclestage="lead")["lifecyclestage"] == "opportunity"

    assert "lifecyclestage" not in patch(account, lifecyclestage="")
    assert patch(account, lifecyclestage="lead")["lifecyclestage"] == "lead"


def test_several_choices_are_set_and_added(account: Account) -> None:
    assert patch(account, hs_buying_role="CHAMPION;BLOCKER")["hs_buying_role"] == "CHAMPION;BLOCKER"
    assert patch(account, hs_buying_role=";END_USER;CHAMPION")["hs_buying_role"] == "CHAMPION;BLOCKER;END_USER"
    assert refused(account, hs_buying_role="CHAMPION;JESTER") == "INVALID_OPTION"


def test_json_numbers_and_booleans_are_taken_for_their_text(account: Account) -> None:
    written = patch(account, f"/crm/v3/objects/companies/{COMPANIES}", numberofemployees=250, is_public=True)

    assert (written["numberofemployees"], written["is_public"]) == ("250", "true")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("2026-05-01", "2026-05-01T00:00:00.000Z"),
        ("1777593600000", "2026-05-01T00:00:00.000Z"),
        ("2026-05-01T10:00:00+02:00", "2026-05-01T08:00:00.000Z"),
    ],
)
def test_times_are_kept_in_one_form(account: Account, value: str, kept: str) -> None:
    assert patch(account, f"/crm/v3/objects/deals/{DEALS}", closedate=value)["closedate"] == kept


@pytest.mark.parametrize(
    ("properties", "code"),
    [
        ({"email": "not an address"}, "INVALID_EMAIL"),
        ({"lifecyclestage": "vip"}, "INVALID_OPTION"),
        ({"hs_email_optout": "maybe"}, "INVALID_OPTION"),
        ({"hs_email_bounce": "many"}, "INVALID_DOUBLE"),
        ({"hubspot_owner_id": "59200601"}, "INVALID_OWNER_ID"),
        ({"hs_object_id": "5"}, "READ_ONLY_VALUE"),
        ({"num_associated_deals": "5"}, "READ_ONLY_VALUE"),
        ({"shoe_size": "44"}, "PROPERTY_DOESNT_EXIST"),
    ],
)
def test_a_value_must_fit_its_definition(account: Account, properties: dict[str, str], code: str) -> None:
    assert refused(account, **properties) == code


def test_dates_fall_on_midnight(account: Account) -> None:
    body = {"properties": {"hs_title": "Onboarding", "hs_expiration_date": "1777593600000"}}
    quote = account.http.post("/crm/v3/objects/quotes", json=body).json()

    assert quote["properties"]["hs_expiration_date"] == "2026-05-01"
    assert refused(account, "quotes", int(quote["id"]), hs_expiration_date="1777593600001") == "INVALID_DATE"


def test_a_stage_belongs_to_its_pipeline(account: Account) -> None:
    stages = [{"label": "Asked", "displayOrder": 0, "metadata": {"probability": "0.5"}, "stageId": "asked"}]
    body = {"label": "Renewals", "displayOrder": 1, "stages": stages, "pipelineId": "renewals"}
    assert account.http.post("/crm/v3/pipelines/deals", json=body).status_code == 201

    assert refused(account, "deals", DEALS, dealstage="asked") == "INVALID_PIPELINE_STAGE"
    assert refused(account, "deals", DEALS, dealstage="nowhere") == "INVALID_OPTION"
    assert refused(account, "deals", DEALS, pipeline="nowhere") == "INVALID_OPTION"
    moved = patch(account, f"/crm/v3/objects/deals/{DEALS}", pipeline="renewals", dealstage="asked")
    assert (moved["pipeline"], moved["dealstage"]) == ("renewals", "asked")


@pytest.mark.parametrize(
    ("kind", "properties", "missing"),
    [
        ("deals", {"dealname": "X"}, ["dealstage", "pipeline"]),
        ("tickets", {"subject": "X"}, ["hs_pipeline", "hs_pipeline_stage"]),
        ("notes", {"hs_note_body": "X"}, ["hs_timestamp"]),
        ("emails", {"hs_timestamp": "2026-01-01"}, ["hs_email_direction"]),
        ("companies", {"city": "Ulm"}, ["name", "domain"]),
    ],
)
def test_a_type_requires_what_it_requires(
    account: Account, kind: str, properties: dict[str, str], missing: list[str]
) -> None:
    answer = account.http.post(f"/crm/v3/objects/{kind}", json={"properties": properties})

    assert (answer.status_code, answer.json()["context"]) == (400, {"properties": missing})


def test_an_address_belongs_to_one_contact(account: Account) -> None:
    theirs = account.http.get(f"/crm/v3/objects/contacts/{CONTACTS + 1}").json()["properties"]["email"]

    created = account.http.post("/crm/v3/objects/contacts", json={"properties": {"email": theirs.upper()}})
    updated = account.http.patch(ONE, json={"properties": {"email": theirs}})

    assert (created.status_code, updated.status_code) == (409, 400)
    assert updated.json()["message"].endswith(f"on {CONTACTS}. {CONTACTS + 1} already has that value.")


def test_the_address_of_a_merged_contact_stays_taken_and_finds_the_winner(account: Account) -> None:
    theirs = account.http.get(f"/crm/v3/objects/contacts/{CONTACTS + 1}").json()["properties"]["email"]
    merge = {"primaryObjectId": str(CONTACTS), "objectIdToMerge": str(CONTACTS + 1)}
    assert account.http.post("/crm/v3/objects/contacts/merge", json=merge).status_code == 200

    found = account.http.get(f"/crm/v3/objects/contacts/{theirs}", params={"idProperty": "email"}).json()
    again = account.http.post("/crm/v3/objects/contacts", json={"properties": {"email": theirs}})

    assert found["id"] == str(CONTACTS)
    assert again.json()["message"] == f"Contact already exists. Existing ID: {CONTACTS}"


def test_a_merged_id_still_takes_changes(account: Account) -> None:
    merge = {"primaryObjectId": str(CONTACTS), "objectIdToMerge": str(CONTACTS + 1)}
    account.http.post("/crm/v3/objects/contacts/merge", json=merge)

    changed = account.http.patch(
        f"/crm/v3/objects/contacts/{CONTACTS + 1}", json={"properties": {"city": "Ulm"}}
    ).json()

    assert (changed["id"], changed["properties"]["city"]) == (str(CONTACTS), "Ulm")


def test_a_change_that_changes_nothing_leaves_the_time_alone(account: Account) -> None:
    before = account.http.get(ONE).json()["updatedAt"]

    answer = account.http.patch(ONE, json={"properties": {"firstname": "Marta"}})

    assert answer.json()["updatedAt"] == before
    assert answer.headers["x-data-revision"] == "0"


def test_closing_a_deal_dates_it_and_counts_its_days(account: Account) -> None:
    path = f"/crm/v3/objects/deals/{DEALS}"
    patch(account, path, dealstage="closedwon")

    names = "closedate,hs_is_closed,hs_is_closed_won,days_to_close,hs_closed_amount,hs_forecast_amount"
    read = account.http.get(path, params={"properties": names}).json()["properties"]

    assert read["closedate"].startswith("2026-09-21")
    assert (read["hs_is_closed"], read["hs_is_closed_won"], read["days_to_close"]) == ("true", "true", "200")
    assert (read["hs_closed_amount"], read["hs_forecast_amount"]) == ("1000", "1000")


def test_computed_properties_follow_associations(account: Account) -> None:
    path = f"/crm/v3/objects/companies/{COMPANIES}"
    names = {"properties": "num_associated_contacts,num_associated_deals,hs_num_open_deals,total_revenue,num_notes"}
    before = account.http.get(path, params=names).json()["properties"]

    account.http.delete(f"/crm/v4/objects/companies/{COMPANIES}/associations/contacts/{CONTACTS}")
    after = account.http.get(path, params=names).json()["properties"]

    assert (before["num_associated_contacts"], after["num_associated_contacts"]) == ("8", "7")
    assert (before["num_associated_deals"], before["hs_num_open_deals"], before["total_revenue"]) == ("3", "1", "9000")


def test_closing_a_ticket_and_finishing_a_task_are_dated(account: Account) -> None:
    ticket = patch(account, f"/crm/v3/objects/tickets/{TICKETS}", hs_pipeline_stage="4")
    task = account.http.post(
        "/crm/v3/objects/tasks",
        json={"properties": {"hs_task_subject": "Call", "hs_timestamp": "2026-09-30", "hs_task_status": "COMPLETED"}},
    ).json()["properties"]

    assert ticket["closed_date"].startswith("2026-09-21")
    assert task["hs_task_completion_date"].startswith("2026-09-21")


def test_owners_are_assigned_by_their_id(account: Account) -> None:
    assert patch(account, hubspot_owner_id=str(OWNER))["hubspot_owner_id"] == str(OWNER)


def test_a_custom_property_is_validated_like_any_other(account: Account) -> None:
    body = {
        "name": "tier",
        "label": "Tier",
        "type": "enumeration",
        "fieldType": "select",
        "groupName": "contactinformation",
        "options": [{"label": "Gold", "value": "gold", "hidden": False}],
    }
    account.http.post("/crm/v3/properties/contacts", json=body)

    assert patch(account, tier="gold")["tier"] == "gold"
    assert refused(account, tier="tin") == "INVALID_OPTION"
    account.http.delete("/crm/v3/properties/contacts/tier")
    assert refused(account, tier="gold") == "PROPERTY_DOESNT_EXIST"


def test_the_same_requests_get_the_same_bytes(running: Any) -> None:
    def play() -> list[bytes]:
        account = running.open()
        calls = [
            account.http.post("/crm/v3/objects/contacts", json={"properties": {"email": "a@corvane.eu"}}),
            account.http.post("/crm/v3/objects/contacts", json={"properties": {"email": "a@corvane.eu"}}),
            account.http.post("/crm/v3/objects/contacts/search", json={"query": "cor", "sorts": ["-lastname"]}),
            account.http.get("/crm/v3/objects/nowhere"),
            account.http.post(
                "/crm/v3/objects/contacts/merge", json={"primaryObjectId": "1001", "objectIdToMerge": "1002"}
            ),
        ]
        account.close()
        return [answer.content for answer in calls]

    assert play() == play()
