"""Every record operation, for every object type, through the vendor's SDK."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hubspot import HubSpot
from hubspot.crm import contacts as contact_models
from hubspot.crm import objects as models

from services.crm.object_types import STANDARD
from tests.contract.running import Account
from tests.crm.account import COMPANIES, CONTACTS, DEALS, NOTES, PEOPLE

NEW: dict[str, dict[str, str]] = {
    "contacts": {"email": "ida.lund@hollispine.com", "firstname": "Ida"},
    "companies": {"name": "Brightwater Mills", "domain": "brightwater.co.uk"},
    "deals": {"dealname": "Brightwater rollout", "pipeline": "default", "dealstage": "qualifiedtobuy"},
    "tickets": {"subject": "Cannot log in", "hs_pipeline": "0", "hs_pipeline_stage": "1"},
    "leads": {"hs_lead_name": "Ida Lund, Hollis & Pine"},
    "notes": {"hs_note_body": "Asked for a quote.", "hs_timestamp": "2026-09-01T10:00:00Z"},
    "tasks": {"hs_task_subject": "Send quote", "hs_timestamp": "2026-09-02T10:00:00Z"},
    "calls": {"hs_call_title": "First call", "hs_timestamp": "2026-09-01T10:00:00Z"},
    "meetings": {"hs_meeting_title": "Kick-off", "hs_timestamp": "2026-09-01T10:00:00Z"},
    "emails": {"hs_email_subject": "Quote", "hs_timestamp": "2026-09-01T10:00:00Z", "hs_email_direction": "EMAIL"},
    "communications": {
        "hs_communication_body": "See you Monday",
        "hs_timestamp": "2026-09-01T10:00:00Z",
        "hs_communication_channel_type": "SMS",
        "hs_communication_logged_from": "CRM",
    },
    "products": {"name": "Onboarding day", "price": "900"},
    "line_items": {"name": "Onboarding day", "price": "900", "quantity": "2"},
    "quotes": {"hs_title": "Onboarding", "hs_expiration_date": "2026-12-31"},
}
CHANGE: dict[str, tuple[str, str]] = {
    "contacts": ("phone", "+44 113 496 0000"),
    "companies": ("city", "Leeds"),
    "deals": ("amount", "1500"),
    "tickets": ("hs_ticket_priority", "HIGH"),
    "leads": ("hs_lead_label", "WARM"),
    "notes": ("hs_note_body", "Asked for two quotes."),
    "tasks": ("hs_task_status", "IN_PROGRESS"),
    "calls": ("hs_call_direction", "OUTBOUND"),
    "meetings": ("hs_meeting_outcome", "SCHEDULED"),
    "emails": ("hs_email_status", "SENT"),
    "communications": ("hs_communication_body", "See you Tuesday"),
    "products": ("price", "950"),
    "line_items": ("description", "On site"),
    "quotes": ("hs_status", "DRAFT"),
}
KINDS = [kind.name for kind in STANDARD]


def api(sdk: HubSpot, kind: str) -> Any:
    return getattr(sdk.crm, kind) if hasattr(sdk.crm, kind) else getattr(sdk.crm.objects, kind)


def new(kind: str, **more: str) -> models.SimplePublicObjectInputForCreate:
    return models.SimplePublicObjectInputForCreate(properties={**NEW[kind], **more}, associations=[])


def made(sdk: HubSpot, kind: str) -> Any:
    return api(sdk, kind).basic_api.create(new(kind))


def ids(*record_ids: str) -> list[models.SimplePublicObjectId]:
    return [models.SimplePublicObjectId(id=one) for one in record_ids]


@pytest.mark.parametrize("kind", KINDS)
def test_a_created_record_comes_back_typed_and_whole(sdk: HubSpot, kind: str) -> None:
    created = made(sdk, kind)

    assert int(created.id) > 9000
    assert created.archived is False
    assert isinstance(created.created_at, datetime)
    assert created.properties["hs_object_id"] == created.id
    for name in NEW[kind]:
        assert created.properties[name].startswith(NEW[kind][name].removesuffix("Z"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_is_read_by_id_with_the_properties_asked_for(sdk: HubSpot, kind: str) -> None:
    created = made(sdk, kind)
    name = next(iter(NEW[kind]))

    read = api(sdk, kind).basic_api.get_by_id(created.id, properties=[name, "no_such_property"], archived=False)

    assert read.id == created.id
    assert read.properties[name] == created.properties[name]
    assert "no_such_property" not in read.properties


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_changes_what_it_names_and_nothing_else(sdk: HubSpot, kind: str) -> None:
    created = made(sdk, kind)
    name, value = CHANGE[kind]

    updated = api(sdk, kind).basic_api.update(
        created.id, simple_public_object_input=models.SimplePublicObjectInput(properties={name: value})
    )

    assert updated.properties[name] == value
    kept = {key: text for key, text in created.properties.items() if "modified" not in key and key != name}
    assert {key: updated.properties[key] for key in kept} == kept
    assert updated.updated_at > created.updated_at


@pytest.mark.parametrize("kind", KINDS)
def test_an_archived_record_is_gone_until_one_asks_for_the_archived(sdk: HubSpot, kind: str) -> None:
    created = made(sdk, kind)

    assert api(sdk, kind).basic_api.archive(created.id) is None

    archived = api(sdk, kind).basic_api.get_by_id(created.id, archived=True)
    assert archived.archived is True
    assert archived.archived_at >= created.created_at
    with pytest.raises(Exception, match="404"):
        api(sdk, kind).basic_api.get_by_id(created.id)
    page = api(sdk, kind).basic_api.get_page(limit=100, archived=True)
    assert [one.id for one in page.results] == [created.id]


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_record_is_found_at_once(sdk: HubSpot, kind: str) -> None:
    created = made(sdk, kind)
    filters = [{"propertyName": "hs_object_id", "operator": "EQ", "value": created.id}]

    found = api(sdk, kind).search_api.do_search({"filterGroups": [{"filters": filters}], "limit": 5})

    assert found.total == 1
    assert found.results[0].id == created.id
    assert found.paging is None


@pytest.mark.parametrize("kind", KINDS)
def test_batches_create_read_update_and_archive(sdk: HubSpot, kind: str) -> None:
    batch = api(sdk, kind).batch_api
    twice = [NEW[kind], {**NEW[kind], **({"email": "jon.lund@hollispine.com"} if kind == "contacts" else {})}]
    inputs = [models.SimplePublicObjectBatchInputForCreate(properties=one, associations=[]) for one in twice]

    created = batch.create(models.BatchInputSimplePublicObjectBatchInputForCreate(inputs=inputs))
    both = [one.id for one in created.results]
    name, value = CHANGE[kind]
    changes = [models.SimplePublicObjectBatchInput(id=one, properties={name: value}) for one in both]
    updated = batch.update(models.BatchInputSimplePublicObjectBatchInput(inputs=changes))
    read = batch.read(
        models.BatchReadInputSimplePublicObjectId(inputs=ids(*both), properties=[name], properties_with_history=[name])
    )
    batch.archive(models.BatchInputSimplePublicObjectId(inputs=ids(*both)))

    assert created.status == updated.status == read.status == "COMPLETE"
    assert [one.properties[name] for one in read.results] == [value, value]
    assert read.results[0].properties_with_history[name][0].value == value
    assert (
        batch.read(
            models.BatchReadInputSimplePublicObjectId(inputs=ids(*both), properties=[], properties_with_history=[])
        ).num_errors
        == 1
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_upsert_updates_what_a_unique_property_finds_and_creates_the_rest(
    sdk: HubSpot, account: Account, kind: str
) -> None:
    group = account.http.get(f"/crm/v3/properties/{kind}/groups").json()["results"][0]["name"]
    key = {"name": "ledger_key", "label": "Ledger key", "type": "string", "fieldType": "text"}
    answer = account.http.post(f"/crm/v3/properties/{kind}", json={**key, "groupName": group, "hasUniqueValue": True})
    assert answer.status_code == 201

    def upsert(value: str) -> Any:
        one = models.SimplePublicObjectBatchInputUpsert(id=value, id_property="ledger_key", properties=NEW[kind])
        return api(sdk, kind).batch_api.upsert(models.BatchInputSimplePublicObjectBatchInputUpsert(inputs=[one]))

    first, second = upsert("L-1"), upsert("L-1")

    assert [one.new for one in (*first.results, *second.results)] == [True, False]
    assert first.results[0].id == second.results[0].id
    assert first.results[0].properties["ledger_key"] == "L-1"


@pytest.mark.parametrize("kind", ["contacts", "companies", "deals", "tickets"])
def test_a_merge_keeps_the_winner_and_answers_for_the_loser(sdk: HubSpot, kind: str) -> None:
    winner = made(sdk, kind)
    loser = api(sdk, kind).basic_api.create(
        new(kind, **({"email": "ida@hollispine.com", "jobtitle": "Buyer"} if kind == "contacts" else {}))
    )

    merged = api(sdk, kind).basic_api.merge(
        contact_models.PublicMergeInput(primary_object_id=winner.id, object_id_to_merge=loser.id)
    )

    assert merged.id == winner.id
    assert merged.properties["hs_merged_object_ids"] == loser.id
    assert api(sdk, kind).basic_api.get_by_id(loser.id).id == winner.id
    if kind == "contacts":
        assert merged.properties["jobtitle"] == "Buyer"
        assert merged.properties["hs_additional_emails"] == "ida@hollispine.com"


def test_a_merge_moves_associations_and_activities(sdk: HubSpot) -> None:
    sdk.crm.contacts.basic_api.merge(
        contact_models.PublicMergeInput(primary_object_id=str(CONTACTS + 9), object_id_to_merge=str(CONTACTS))
    )

    read = sdk.crm.contacts.basic_api.get_by_id(str(CONTACTS + 9), associations=["notes", "deals", "companies"])
    assert {one.id for one in read.associations["notes"].results} == {str(NOTES)}
    assert {one.id for one in read.associations["deals"].results} == {str(DEALS), str(DEALS + 9)}
    assert {one.id for one in read.associations["companies"].results} == {str(COMPANIES), str(COMPANIES + 1)}


def test_a_forgotten_contact_leaves_nothing_behind(sdk: HubSpot, account: Account) -> None:
    email = sdk.crm.contacts.basic_api.get_by_id(str(CONTACTS)).properties["email"]

    sdk.crm.contacts.basic_api.purge(contact_models.PublicGdprDeleteInput(object_id=email, id_property="email"))

    for archived in (False, True):
        with pytest.raises(contact_models.exceptions.NotFoundException):
            sdk.crm.contacts.basic_api.get_by_id(str(CONTACTS), archived=archived)
    associated = account.http.get(f"/crm/v4/objects/notes/{NOTES}/associations/contacts").json()
    assert associated["results"] == []


def test_every_page_is_walked_by_get_all(sdk: HubSpot) -> None:
    for number in range(80):
        sdk.crm.contacts.basic_api.create(new("contacts", email=f"person{number}@hollispine.com"))

    everyone = sdk.crm.contacts.get_all(properties=["email"])

    assert len(everyone) == PEOPLE + 80
    assert len({one.id for one in everyone}) == PEOPLE + 80
    assert everyone[0].properties["email"] == "marta.brandt0@corvane.eu"


def test_a_record_is_read_by_a_unique_property(sdk: HubSpot) -> None:
    read = sdk.crm.contacts.basic_api.get_by_id("MARTA.BRANDT0@corvane.eu", id_property="email")

    assert read.id == str(CONTACTS)


def test_history_is_newest_first_and_knows_its_source(sdk: HubSpot) -> None:
    for value in ("opportunity", "customer"):
        sdk.crm.contacts.basic_api.update(
            str(CONTACTS), contact_models.SimplePublicObjectInput(properties={"lifecyclestage": value})
        )

    read = sdk.crm.contacts.basic_api.get_by_id(str(CONTACTS), properties_with_history=["lifecyclestage"])

    versions = read.properties_with_history["lifecyclestage"]
    assert [one.value for one in versions] == ["customer", "opportunity", "lead"]
    assert [one.source_type for one in versions] == ["INTEGRATION", "INTEGRATION", "CRM_UI"]
    assert versions[0].timestamp - versions[1].timestamp == timedelta(seconds=1)


def test_associations_come_with_a_record_when_asked_for(sdk: HubSpot) -> None:
    read = sdk.crm.contacts.basic_api.get_by_id(str(CONTACTS), associations=["companies", "deals"])

    kinds = {one.type for one in read.associations["companies"].results}
    assert kinds == {"contact_to_company", "contact_to_company_unlabeled"}
    assert [(one.id, one.type) for one in read.associations["deals"].results] == [(str(DEALS), "contact_to_deal")]


def test_a_record_is_created_together_with_its_associations(sdk: HubSpot) -> None:
    spec = contact_models.AssociationSpec(association_category="HUBSPOT_DEFINED", association_type_id=279)
    tie = contact_models.PublicAssociationsForObject(to=contact_models.PublicObjectId(id=str(COMPANIES)), types=[spec])
    created = sdk.crm.contacts.basic_api.create(
        contact_models.SimplePublicObjectInputForCreate(properties=NEW["contacts"], associations=[tie])
    )

    read = sdk.crm.contacts.basic_api.get_by_id(created.id, associations=["companies"])
    assert [one.id for one in read.associations["companies"].results] == [str(COMPANIES)]


@pytest.mark.parametrize("type_id", ["0-1", "contact"])
def test_the_generic_api_serves_type_ids_and_singular_names(sdk: HubSpot, type_id: str) -> None:
    created = sdk.crm.objects.basic_api.create(
        object_type=type_id, simple_public_object_input_for_create=new("contacts")
    )
    basic = sdk.crm.objects.basic_api
    change = models.SimplePublicObjectInput(properties={"phone": "1"})

    assert basic.get_by_id(type_id, created.id).properties["email"] == "ida.lund@hollispine.com"
    assert basic.update(type_id, created.id, change).properties["phone"] == "1"
    assert len(basic.get_page(type_id, limit=5).results) == 5
    assert sdk.crm.objects.search_api.do_search(type_id, {"query": "lund", "limit": 3}).total == 1
    assert basic.archive(type_id, created.id) is None


def test_generic_batches_serve_type_ids(sdk: HubSpot) -> None:
    batch = sdk.crm.objects.batch_api
    inputs = [models.SimplePublicObjectBatchInputForCreate(properties=NEW["companies"], associations=[])]
    created = batch.create("0-2", models.BatchInputSimplePublicObjectBatchInputForCreate(inputs=inputs)).results[0]
    change = models.SimplePublicObjectBatchInput(id=created.id, properties={"city": "Hull"})
    upsert = models.SimplePublicObjectBatchInputUpsert(id="x@nordvik.no", id_property="email", properties={})

    updated = batch.update("0-2", models.BatchInputSimplePublicObjectBatchInput(inputs=[change]))
    upserted = batch.upsert("0-1", models.BatchInputSimplePublicObjectBatchInputUpsert(inputs=[upsert]))
    read = batch.read(
        "0-2",
        models.BatchReadInputSimplePublicObjectId(
            inputs=ids(created.id), properties=["city"], properties_with_history=[]
        ),
    )
    batch.archive("0-2", models.BatchInputSimplePublicObjectId(inputs=ids(created.id)))

    assert updated.results[0].properties["city"] == read.results[0].properties["city"] == "Hull"
    assert upserted.results[0].new is True


def test_a_batch_with_trace_ids_fails_only_where_it_must(sdk: HubSpot) -> None:
    inputs = [
        contact_models.SimplePublicObjectBatchInputForCreate(
            properties={"email": email}, associations=[], object_write_trace_id=trace
        )
        for trace, email in (("one", "fresh@hollispine.com"), ("two", "marta.brandt0@corvane.eu"), ("three", "nope"))
    ]

    done = sdk.crm.contacts.batch_api.create(
        contact_models.BatchInputSimplePublicObjectBatchInputForCreate(inputs=inputs)
    )

    assert [one.object_write_trace_id for one in done.results] == ["one"]
    assert done.num_errors == 2
    assert [one.context["objectWriteTraceId"] for one in done.errors] == [["two"], ["three"]]
    assert [one.category for one in done.errors] == ["CONFLICT", "VALIDATION_ERROR"]


def test_a_batch_without_trace_ids_stands_or_falls_together(sdk: HubSpot) -> None:
    inputs = [
        contact_models.SimplePublicObjectBatchInputForCreate(properties={"email": email}, associations=[])
        for email in ("fresh@hollispine.com", "marta.brandt0@corvane.eu")
    ]

    with pytest.raises(contact_models.ApiException) as declined:
        sdk.crm.contacts.batch_api.create(contact_models.BatchInputSimplePublicObjectBatchInputForCreate(inputs=inputs))

    assert declined.value.status == 409
    assert sdk.crm.contacts.search_api.do_search({"query": "fresh"}).total == 0


def test_times_are_the_accounts_own(sdk: HubSpot) -> None:
    created = made(sdk, "contacts")

    assert created.created_at.astimezone(UTC) == datetime(2026, 9, 21, 14, 13, 21, tzinfo=UTC)
