"""Owners, pipelines, properties and object types, through the vendor's SDK."""

import pytest
from hubspot import HubSpot
from hubspot.crm import objects, pipelines, properties, schemas
from hubspot.crm.owners.exceptions import NotFoundException as OwnerNotFound

from tests.contract.running import Account
from tests.crm.account import DEALS, FORMER_OWNER, OTHER_OWNER, OWNER


def test_owners_are_listed_read_and_found_by_email(sdk: HubSpot) -> None:
    api = sdk.crm.owners.owners_api
    listed = api.get_page(limit=1)

    assert [one.id for one in listed.results] == [str(OWNER)]
    assert [one.id for one in api.get_page(after=listed.paging.next.after).results] == [str(OTHER_OWNER)]
    assert [one.id for one in sdk.crm.owners.get_all()] == [str(OWNER), str(OTHER_OWNER)]
    assert api.get_page(email="Dana.Whitlock@dayfold.io").results[0].teams[0].name == "Mid-market"
    assert api.get_by_id(OWNER).user_id == 59_200_000 + OWNER
    assert api.get_by_id(59_200_000 + OWNER, id_property="userId").id == str(OWNER)


def test_a_former_owner_is_archived_and_takes_no_records(sdk: HubSpot, account: Account) -> None:
    with pytest.raises(OwnerNotFound):
        sdk.crm.owners.owners_api.get_by_id(FORMER_OWNER)

    answer = account.http.patch(
        "/crm/v3/objects/contacts/1001", json={"properties": {"hubspot_owner_id": str(FORMER_OWNER)}}
    )

    assert [one.id for one in sdk.crm.owners.owners_api.get_page(archived=True).results] == [str(FORMER_OWNER)]
    assert answer.json()["errors"][0]["code"] == "INVALID_OWNER_ID"


def test_a_pipeline_lives_from_creation_to_archive(sdk: HubSpot) -> None:
    api = sdk.crm.pipelines.pipelines_api
    stage = pipelines.PipelineStageInput(label="Quote sent", display_order=0, metadata={"probability": "0.3"})
    made = api.create("deals", pipelines.PipelineInput(label="Renewals", display_order=1, stages=[stage]))

    assert (made.label, made.stages[0].metadata) == ("Renewals", {"probability": "0.3", "isClosed": "false"})
    assert [one.label for one in api.get_all("deals").results] == ["Sales Pipeline", "Renewals"]
    assert api.get_by_id("deals", made.id).stages[0].id == made.stages[0].id

    assert api.update("deals", made.id, pipelines.PipelinePatchInput(label="Renewals 2027")).label == "Renewals 2027"
    replaced = api.replace(
        "deals",
        made.id,
        pipelines.PipelineInput(
            label="Renewals 2028",
            display_order=2,
            stages=[
                pipelines.PipelineStageInput(label="Quote sent", display_order=0, metadata={"probability": "0.5"}),
                pipelines.PipelineStageInput(label="Signed", display_order=1, metadata={"probability": "1.0"}),
            ],
        ),
    )
    assert [(one.label, one.metadata["isClosed"]) for one in replaced.stages] == [
        ("Quote sent", "false"),
        ("Signed", "true"),
    ]
    assert replaced.stages[0].id == made.stages[0].id

    assert [one.action for one in sdk.crm.pipelines.pipeline_audits_api.get_audit("deals", made.id).results] == [
        "UPDATE",
        "UPDATE",
        "CREATE",
    ]
    assert api.archive("deals", made.id) is None
    assert [one.label for one in api.get_all("deals").results] == ["Sales Pipeline"]


def test_a_stage_lives_from_creation_to_archive(sdk: HubSpot) -> None:
    api = sdk.crm.pipelines.pipeline_stages_api
    made = api.create(
        "deals",
        "default",
        pipelines.PipelineStageInput(label="Legal review", display_order=5, metadata={"probability": "0.85"}),
    )

    assert "Legal review" in [one.label for one in api.get_all("deals", "default").results]
    assert api.get_by_id("deals", "default", made.id).label == "Legal review"
    patched = api.update(
        "deals", "default", made.id, pipelines.PipelineStagePatchInput(label="Legal", metadata={"probability": "0.9"})
    )
    assert (patched.label, patched.metadata["probability"]) == ("Legal", "0.9")
    replaced = api.replace(
        "deals",
        "default",
        made.id,
        pipelines.PipelineStageInput(label="Legal!", display_order=6, metadata={"probability": "0.9"}),
    )
    assert replaced.display_order == 6
    audits = sdk.crm.pipelines.pipeline_stage_audits_api
    audit = audits.get_audit("deals", made.id)
    assert [one.action for one in audit.results] == ["UPDATE", "UPDATE", "CREATE"]
    assert api.archive("deals", "default", made.id) is None
    assert "Legal!" not in [one.label for one in api.get_all("deals", "default").results]


def test_a_stage_in_use_cannot_be_archived(account: Account) -> None:
    answer = account.http.delete("/crm/v3/pipelines/deals/default/stages/qualifiedtobuy")

    assert answer.status_code == 400
    assert answer.json()["context"]["objectIds"] == [str(DEALS + 1), str(DEALS + 6)]


def test_a_pipeline_in_use_is_kept_if_one_asks_to_look(account: Account) -> None:
    guarded = account.http.delete("/crm/v3/pipelines/deals/default", params={"validateReferencesBeforeDelete": "True"})

    assert guarded.status_code == 400
    assert account.http.delete("/crm/v3/pipelines/deals/default").status_code == 204


def test_a_property_lives_from_creation_to_archive(sdk: HubSpot) -> None:
    api = sdk.crm.properties.core_api
    option = properties.OptionInput(label="Gold", value="gold", hidden=False, display_order=0)
    made = api.create(
        "contacts",
        properties.PropertyCreate(
            name="tier",
            label="Tier",
            type="enumeration",
            field_type="select",
            group_name="contactinformation",
            options=[option],
        ),
    )

    assert (made.name, made.hubspot_defined, made.options[0].value) == ("tier", False, "gold")
    assert "tier" in [one.name for one in api.get_all("contacts").results]
    assert api.get_by_name("contacts", "tier").modification_metadata.archivable is True
    more = [option, properties.OptionInput(label="Silver", value="silver", hidden=False)]
    assert [one.value for one in api.update("contacts", "tier", properties.PropertyUpdate(options=more)).options] == [
        "gold",
        "silver",
    ]
    assert api.archive("contacts", "tier") is None
    assert [one.name for one in api.get_all("contacts", archived=True).results] == ["tier"]


def test_properties_are_made_read_and_archived_in_batches(sdk: HubSpot) -> None:
    batch = sdk.crm.properties.batch_api
    wanted = [
        properties.PropertyCreate(name=name, label=name, type="string", field_type="text", group_name=group)
        for name, group in (("site_code", "companyinformation"), ("route", "companyinformation"), ("odd", "nowhere"))
    ]

    made = batch.create("companies", properties.BatchInputPropertyCreate(inputs=wanted))
    names = [properties.PropertyName(name=one) for one in ("site_code", "route", "ghost")]
    read = batch.read("companies", properties.BatchReadInputPropertyName(inputs=names, archived=False))
    batch.archive("companies", properties.BatchInputPropertyName(inputs=names[:2]))

    assert ([one.name for one in made.results], made.num_errors) == (["site_code", "route"], 1)
    assert ([one.name for one in read.results], read.num_errors) == (["site_code", "route"], 1)
    assert len(sdk.crm.properties.core_api.get_all("companies", archived=True).results) == 2


def test_groups_of_properties_live_from_creation_to_archive(sdk: HubSpot) -> None:
    api = sdk.crm.properties.groups_api
    api.create("deals", properties.PropertyGroupCreate(name="shipping", label="Shipping", display_order=9))

    assert "shipping" in [one.name for one in api.get_all("deals").results]
    assert api.update("deals", "shipping", properties.PropertyGroupUpdate(label="Freight")).label == "Freight"
    assert api.get_by_name("deals", "shipping").display_order == 9
    assert api.archive("deals", "shipping") is None
    assert "shipping" not in [one.name for one in api.get_all("deals").results]


def test_what_the_platform_defines_stays(account: Account) -> None:
    assert account.http.delete("/crm/v3/properties/contacts/email").status_code == 403
    assert account.http.delete("/crm/v3/properties/contacts/groups/contactinformation").status_code == 400


def test_an_object_type_of_ones_own_is_defined_and_used(sdk: HubSpot) -> None:
    egg = schemas.ObjectSchemaEgg(
        name="site",
        labels=schemas.ObjectTypeDefinitionLabels(singular="Site", plural="Sites"),
        primary_display_property="site_name",
        required_properties=["site_name"],
        searchable_properties=["site_name"],
        secondary_display_properties=[],
        properties=[
            schemas.ObjectTypePropertyCreate(name="site_name", label="Name", type="string", field_type="text"),
            schemas.ObjectTypePropertyCreate(
                name="code", label="Code", type="string", field_type="text", has_unique_value=True
            ),
        ],
        associated_objects=["companies"],
    )
    made = sdk.crm.schemas.core_api.create(egg)
    kind = made.object_type_id

    record = objects.SimplePublicObjectInputForCreate(
        properties={"site_name": "Harbour depot", "code": "H1"}, associations=[]
    )
    created = sdk.crm.objects.basic_api.create(kind, record)

    assert made.fully_qualified_name.endswith("_site")
    assert [one.name for one in sdk.crm.schemas.core_api.get_all().results] == ["site"]
    assert sdk.crm.schemas.core_api.get_by_id(kind).required_properties == ["site_name"]
    assert sdk.crm.objects.search_api.do_search(kind, {"query": "harb"}).results[0].id == created.id
    assert sdk.crm.objects.basic_api.get_by_id(kind, "h1", id_property="code").id == created.id
    sdk.crm.associations.v4.basic_api.create_default(kind, created.id, "companies", "2001")
    assert sdk.crm.associations.v4.basic_api.get_page("companies", "2001", kind).results[0].to_object_id == created.id


def test_a_standard_object_type_can_be_read(sdk: HubSpot) -> None:
    read = sdk.crm.schemas.core_api.get_by_id("contacts")

    assert (read.object_type_id, read.primary_display_property) == ("0-1", "email")
    assert {"email", "lifecyclestage"} <= {one.name for one in read.properties}
    assert any(one.to_object_type_id == "0-2" for one in read.associations)
