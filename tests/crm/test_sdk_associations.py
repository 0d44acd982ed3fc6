"""Associations v4 and v3 and their labels, through the vendor's SDK."""

from typing import Any

import pytest
from hubspot import HubSpot
from hubspot.crm import associations as v3
from hubspot.crm.associations import v4
from hubspot.crm.associations.v4 import schema as labels

from tests.contract.running import Account
from tests.crm.account import COMPANIES, CONTACTS, DEALS, NOTES

CONTACT, COMPANY, OTHER_COMPANY = str(CONTACTS + 1), str(COMPANIES + 1), str(COMPANIES + 2)


def spec(type_id: int, category: str = "HUBSPOT_DEFINED") -> v4.AssociationSpec:
    return v4.AssociationSpec(association_category=category, association_type_id=type_id)


def types_of(sdk: HubSpot, contact: str = CONTACT) -> dict[str, set[int]]:
    page = sdk.crm.associations.v4.basic_api.get_page("contacts", contact, "companies")
    return {one.to_object_id: {kind.type_id for kind in one.association_types} for one in page.results}


def pair(one: str, other: str) -> dict[str, Any]:
    return {"_from": v4.PublicObjectId(id=one), "to": v4.PublicObjectId(id=other)}


def test_a_tie_without_a_label_goes_both_ways(sdk: HubSpot) -> None:
    done = sdk.crm.associations.v4.basic_api.create_default("contacts", CONTACT, "companies", OTHER_COMPANY)

    assert [one.association_spec.association_type_id for one in done.results] == [279, 280]
    assert types_of(sdk)[OTHER_COMPANY] == {279}
    back = sdk.crm.associations.v4.basic_api.get_page("companies", OTHER_COMPANY, "contacts", limit=500)
    assert CONTACT in [one.to_object_id for one in back.results]


def test_a_labelled_tie_stands_beside_the_unlabelled(sdk: HubSpot) -> None:
    done = sdk.crm.associations.v4.basic_api.create("contacts", CONTACT, "companies", OTHER_COMPANY, [spec(1)])

    assert (done.from_object_type_id, done.to_object_type_id, done.labels) == ("0-1", "0-2", ["Primary"])
    assert types_of(sdk)[OTHER_COMPANY] == {1, 279}


def test_a_contact_has_one_primary_company(sdk: HubSpot) -> None:
    for company in (COMPANY, OTHER_COMPANY):
        sdk.crm.associations.v4.basic_api.create("contacts", CONTACT, "companies", company, [spec(1)])

    assert types_of(sdk) == {COMPANY: {279}, OTHER_COMPANY: {1, 279}}
    read = sdk.crm.contacts.basic_api.get_by_id(CONTACT, properties=["associatedcompanyid"])
    assert read.properties["associatedcompanyid"] == OTHER_COMPANY


def test_labels_are_made_used_replaced_renamed_and_removed(sdk: HubSpot) -> None:
    api = sdk.crm.associations.v4.schema.definitions_api
    made = api.create(
        "contacts",
        "companies",
        labels.PublicAssociationDefinitionCreateRequest(
            label="Board member", name="board", inverse_label="Has on board"
        ),
    )
    there, back = made.results
    basic = sdk.crm.associations.v4.basic_api
    basic.create("contacts", CONTACT, "companies", OTHER_COMPANY, [spec(there.type_id, "USER_DEFINED"), spec(1)])
    basic.create("contacts", CONTACT, "companies", OTHER_COMPANY, [spec(there.type_id, "USER_DEFINED")])

    assert types_of(sdk)[OTHER_COMPANY] == {279, there.type_id}
    assert (there.label, back.label) == ("Board member", "Has on board")

    api.update(
        "contacts",
        "companies",
        labels.PublicAssociationDefinitionUpdateRequest(association_type_id=there.type_id, label="Director"),
    )
    known = {one.type_id: one.label for one in api.get_all("contacts", "companies").results}
    assert known == {279: None, 1: "Primary", there.type_id: "Director"}

    api.remove("contacts", "companies", there.type_id)
    assert types_of(sdk)[OTHER_COMPANY] == {279}
    assert len(api.get_all("companies", "contacts").results) == 2


def test_the_platforms_own_labels_do_not_change(account: Account) -> None:
    answer = account.http.delete("/crm/v4/associations/contacts/companies/labels/279")

    assert answer.status_code == 403


def test_a_removed_tie_is_gone_from_both_ends(sdk: HubSpot) -> None:
    sdk.crm.associations.v4.basic_api.archive("contacts", CONTACT, "companies", COMPANY)

    assert types_of(sdk) == {}
    back = sdk.crm.associations.v4.basic_api.get_page("companies", COMPANY, "contacts")
    assert CONTACT not in [one.to_object_id for one in back.results]


def test_batches_tie_read_and_untie(sdk: HubSpot) -> None:
    batch = sdk.crm.associations.v4.batch_api
    tied = batch.create(
        "contacts",
        "companies",
        v4.BatchInputPublicAssociationMultiPost(
            inputs=[v4.PublicAssociationMultiPost(**pair(CONTACT, OTHER_COMPANY), types=[spec(1)])]
        ),
    )
    plain = batch.create_default(
        "notes",
        "deals",
        v4.BatchInputPublicDefaultAssociationMultiPost(
            inputs=[v4.PublicDefaultAssociationMultiPost(**pair(str(NOTES), str(DEALS)))]
        ),
    )
    read = batch.get_page(
        "contacts",
        "companies",
        v4.BatchInputPublicFetchAssociationsBatchRequest(inputs=[v4.PublicFetchAssociationsBatchRequest(id=CONTACT)]),
    )

    assert tied.results[0].labels == ["Primary"]
    assert [one.association_spec.association_type_id for one in plain.results] == [214, 213]
    assert [one.to_object_id for one in read.results[0].to] == [COMPANY, OTHER_COMPANY]

    labelled = v4.PublicAssociationMultiPost(**pair(CONTACT, OTHER_COMPANY), types=[spec(1)])
    batch.archive_labels("contacts", "companies", v4.BatchInputPublicAssociationMultiPost(inputs=[labelled]))
    assert types_of(sdk)[OTHER_COMPANY] == {279}

    gone = v4.PublicAssociationMultiArchive(
        _from=v4.PublicObjectId(id=CONTACT), to=[v4.PublicObjectId(id=one) for one in (COMPANY, OTHER_COMPANY)]
    )
    batch.archive("contacts", "companies", v4.BatchInputPublicAssociationMultiArchive(inputs=[gone]))
    assert types_of(sdk) == {}


def test_deleting_the_unlabelled_type_removes_the_tie(sdk: HubSpot) -> None:
    basic, batch = sdk.crm.associations.v4.basic_api, sdk.crm.associations.v4.batch_api
    basic.create("contacts", CONTACT, "companies", COMPANY, [spec(1)])

    plain = v4.PublicAssociationMultiPost(**pair(CONTACT, COMPANY), types=[spec(279)])
    batch.archive_labels("contacts", "companies", v4.BatchInputPublicAssociationMultiPost(inputs=[plain]))

    assert types_of(sdk) == {}


def test_a_batch_reports_the_pairs_that_failed(sdk: HubSpot) -> None:
    batch = sdk.crm.associations.v4.batch_api
    inputs = [
        v4.PublicAssociationMultiPost(**pair(one, OTHER_COMPANY), types=[spec(279)]) for one in (CONTACT, "999999")
    ]

    done = batch.create("contacts", "companies", v4.BatchInputPublicAssociationMultiPost(inputs=inputs))
    read = batch.get_page(
        "contacts",
        "companies",
        v4.BatchInputPublicFetchAssociationsBatchRequest(
            inputs=[v4.PublicFetchAssociationsBatchRequest(id=one) for one in (CONTACT, "999999")]
        ),
    )

    assert (len(done.results), done.num_errors) == (1, 1)
    assert (len(read.results), read.num_errors) == (1, 1)
    assert done.errors[0].context["fromObjectId"] == ["999999"]


def test_v3_names_its_types(sdk: HubSpot) -> None:
    batch = sdk.crm.associations.batch_api
    named = v3.PublicAssociation(
        _from=v3.PublicObjectId(id=CONTACT), to=v3.PublicObjectId(id=OTHER_COMPANY), type="contact_to_company"
    )

    made = batch.create("contacts", "companies", v3.BatchInputPublicAssociation(inputs=[named]))
    read = batch.read("contacts", "companies", v3.BatchInputPublicObjectId(inputs=[v3.PublicObjectId(id=CONTACT)]))
    known = sdk.crm.associations.schema.types_api.get_all("contacts", "companies")

    assert made.results[0].type == "contact_to_company"
    assert (OTHER_COMPANY, "contact_to_company") in [(one.id, one.type) for one in read.results[0].to]
    assert {one.name for one in known.results} == {"contact_to_company", "contact_to_company_unlabeled"}

    batch.archive("contacts", "companies", v3.BatchInputPublicAssociation(inputs=[named]))
    assert types_of(sdk)[OTHER_COMPANY] == {279}


def test_pages_of_associations_are_followed_by_their_cursor(sdk: HubSpot) -> None:
    seen: list[str] = []
    after: str | None = None
    while True:
        page = sdk.crm.associations.v4.basic_api.get_page(
            "companies", str(COMPANIES), "contacts", limit=3, **({"after": after} if after else {})
        )
        seen += [one.to_object_id for one in page.results]
        if page.paging is None:
            break
        after = page.paging.next.after

    assert seen == [str(CONTACTS + number) for number in range(0, 30, 4)]


@pytest.mark.parametrize(
    ("type_id", "category", "words"),
    [(3, "HUBSPOT_DEFINED", "not valid between"), (279, "USER_DEFINED", "does not belong to category")],
)
def test_a_type_of_another_pair_is_refused(account: Account, type_id: int, category: str, words: str) -> None:
    answer = account.http.put(
        f"/crm/v4/objects/contacts/{CONTACT}/associations/companies/{COMPANY}",
        json=[{"associationCategory": category, "associationTypeId": type_id}],
    )

    assert answer.status_code == 400
    assert words in answer.json()["message"]
