"""Lists, memberships and imports, through the vendor's SDK."""

import json
from pathlib import Path
from typing import Any

import pytest
from hubspot import HubSpot
from hubspot.crm import lists

from tests.contract.running import HOURS_A_DAY, Account
from tests.crm.account import CONTACTS, PEOPLE

FIRST, SECOND = str(CONTACTS), str(CONTACTS + 1)


def made(sdk: HubSpot, name: str = "Call back", **more: Any) -> Any:
    wanted = lists.ListCreateRequest(name=name, object_type_id="0-1", processing_type="MANUAL", **more)
    return sdk.crm.lists.lists_api.create(wanted).list


def property_filter(name: str, **operation: Any) -> dict[str, Any]:
    return {"filterType": "PROPERTY", "property": name, "operation": operation}


def either(*groups: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    branches = [{"filterBranchType": "AND", "filterBranches": [], "filters": group} for group in groups]
    return {"filterBranchType": "OR", "filterBranches": branches, "filters": [], **more}


def members_of(account: Account, branch: dict[str, Any]) -> list[int]:
    body = {"name": "Found", "objectTypeId": "0-1", "processingType": "DYNAMIC", "filterBranch": branch}
    answer = account.http.post("/crm/v3/lists", json=body)
    assert answer.status_code == 200, answer.text
    page = account.http.get(f"/crm/v3/lists/{answer.json()['list']['listId']}/memberships", params={"limit": 250})
    return [int(one["recordId"]) for one in page.json()["results"]]


def test_a_manual_list_lives_from_creation_to_restore(sdk: HubSpot) -> None:
    api = sdk.crm.lists.lists_api
    created = made(sdk)

    assert (created.processing_type, created.object_type_id, created.size) == ("MANUAL", "0-1", 0)
    assert api.get_by_id(created.list_id).list.name == "Call back"
    assert api.get_by_name("Call back", "0-1").list.list_id == created.list_id
    assert [one.name for one in api.get_all(list_ids=[created.list_id]).lists] == ["Call back"]
    assert api.update_name(created.list_id, list_name="Call again").updated_list.name == "Call again"
    assert api.remove(created.list_id) is None
    with pytest.raises(lists.exceptions.NotFoundException):
        api.get_by_id(created.list_id)
    assert api.restore(created.list_id) is None
    assert api.get_by_id(created.list_id).list.name == "Call again"


def test_members_are_added_removed_and_cleared(sdk: HubSpot) -> None:
    api, list_id = sdk.crm.lists.memberships_api, made(sdk).list_id

    added = api.add(list_id, [FIRST, SECOND, "999999"])
    removed = api.remove(list_id, [SECOND])
    swapped = api.add_and_remove(
        list_id, lists.MembershipChangeRequest(record_ids_to_add=[SECOND], record_ids_to_remove=[FIRST])
    )

    assert (added.records_ids_added, added.record_ids_missing) == ([FIRST, SECOND], ["999999"])
    assert removed.record_ids_removed == [SECOND]
    assert (swapped.records_ids_added, swapped.record_ids_removed) == ([SECOND], [FIRST])
    page = api.get_page(list_id)
    assert [one.record_id for one in page.results] == [SECOND]
    assert [one.list_id for one in api.get_lists("0-1", SECOND).results] == [list_id]
    assert api.remove_all(list_id) is None
    assert api.get_page(list_id).results == []


def test_members_are_paged(sdk: HubSpot) -> None:
    api, list_id = sdk.crm.lists.memberships_api, made(sdk).list_id
    api.add(list_id, [str(CONTACTS + number) for number in range(5)])

    first = api.get_page(list_id, limit=3)
    second = api.get_page(list_id, limit=3, after=first.paging.next.after)

    assert (first.total, len(first.results), len(second.results), second.paging) == (5, 3, 2, None)


def test_lists_are_searched(sdk: HubSpot) -> None:
    for name in ("Call back", "Call never", "Partners"):
        made(sdk, name)

    wanted = lists.ListSearchRequest(query="call", offset=0, count=1, additional_properties=["hs_list_size"])
    found = sdk.crm.lists.lists_api.do_search(wanted)

    assert (found.total, found.has_more, found.offset) == (2, True, 1)
    assert found.lists[0].additional_properties == {"hs_list_size": "0"}


def test_a_dynamic_list_follows_the_records(sdk: HubSpot, account: Account) -> None:
    branch = either(
        [property_filter("lifecyclestage", operationType="ENUMERATION", operator="IS_ANY_OF", values=["lead"])]
    )
    body = {"name": "Leads", "objectTypeId": "0-1", "processingType": "DYNAMIC", "filterBranch": branch}
    list_id = account.http.post("/crm/v3/lists/", json=body).json()["list"]["listId"]
    before = sdk.crm.lists.memberships_api.get_page(list_id).total

    account.http.patch(f"/crm/v3/objects/contacts/{FIRST}", json={"properties": {"lifecyclestage": "customer"}})

    assert before == 10
    assert sdk.crm.lists.memberships_api.get_page(list_id).total == 9
    assert FIRST not in [one.record_id for one in sdk.crm.lists.memberships_api.get_page(list_id).results]
    shown = sdk.crm.lists.lists_api.get_by_id(list_id, include_filters=True).list
    assert shown.size == 9
    assert shown.filter_branch.filter_branch_type == "OR"


def test_new_filters_make_new_members(sdk: HubSpot, account: Account) -> None:
    known = either([property_filter("jobtitle", operationType="ALL_PROPERTY", operator="IS_KNOWN")])
    body = {"name": "Titled", "objectTypeId": "0-1", "processingType": "DYNAMIC", "filterBranch": known}
    list_id = account.http.post("/crm/v3/lists/", json=body).json()["list"]["listId"]
    unknown = either([property_filter("jobtitle", operationType="ALL_PROPERTY", operator="IS_UNKNOWN")])

    answer = account.http.put(f"/crm/v3/lists/{list_id}/update-list-filters", json={"filterBranch": unknown})

    assert (answer.json()["updatedList"]["size"], answer.json()["updatedList"]["listVersion"]) == (PEOPLE - 6, 2)


def test_a_snapshot_is_taken_once(account: Account) -> None:
    branch = either([property_filter("jobtitle", operationType="ALL_PROPERTY", operator="IS_KNOWN")])
    body = {"name": "Titled", "objectTypeId": "0-1", "processingType": "SNAPSHOT", "filterBranch": branch}
    list_id = account.http.post("/crm/v3/lists/", json=body).json()["list"]["listId"]

    account.http.patch(f"/crm/v3/objects/contacts/{FIRST}", json={"properties": {"jobtitle": ""}})

    assert account.http.get(f"/crm/v3/lists/{list_id}/memberships").json()["total"] == 6


@pytest.mark.parametrize(
    ("branch", "count"),
    [
        (either([property_filter("numemployees", operationType="MULTISTRING", operator="IS_EQUAL_TO", values=["10", "20"])]), 2),
        (either([property_filter("lastname", operationType="STRING", operator="CONTAINS", value="KESS")]), 3),
        (either([property_filter("lastname", operationType="STRING", operator="DOES_NOT_CONTAIN", value="kess")]), 27),
        (either([property_filter("firstname", operationType="STRING", operator="STARTS_WITH", value="ör")]), 3),
        (either([property_filter("email", operationType="STRING", operator="ENDS_WITH", value="@nordvik.no")]), 7),
        (either([property_filter("lifecyclestage", operationType="ENUMERATION", operator="IS_NONE_OF", values=["lead"])]), 20),
        (
            either(
                [property_filter("jobtitle", operationType="STRING", operator="IS_EQUAL_TO", value="none", includeObjectsWithNoValueSet=True)]
            ),
            24,
        ),
        (
            either(
                [property_filter("createdate", operationType="TIME_POINT", operator="IS_BEFORE", timePoint={"timeType": "DATE", "year": 2026, "month": 3, "day": 10})]
            ),
            5,
        ),
        (
            either(
                [
                    property_filter("lifecyclestage", operationType="ENUMERATION", operator="IS_ANY_OF", values=["lead"]),
                    property_filter("jobtitle", operationType="ALL_PROPERTY", operator="IS_KNOWN"),
                ],
                [property_filter("lastname", operationType="STRING", operator="IS_EQUAL_TO", value="åkesson")],
            ),
            5,
        ),
    ],
)  # fmt: skip
def test_filter_branches_are_evaluated(account: Account, branch: dict[str, Any], count: int) -> None:
    assert len(members_of(account, branch)) == count


def test_a_branch_can_ask_about_associated_records(account: Account) -> None:
    norwegian = {
        "filterBranchType": "ASSOCIATION",
        "objectTypeId": "0-2",
        "operator": "IN_LIST",
        "associationTypeId": 279,
        "associationCategory": "HUBSPOT_DEFINED",
        "filterBranches": [],
        "filters": [property_filter("city", operationType="STRING", operator="IS_EQUAL_TO", value="Bergen")],
    }
    branch = {"filterBranchType": "OR", "filters": [], "filterBranches": [
        {"filterBranchType": "AND", "filters": [], "filterBranches": [norwegian]}]}  # fmt: skip

    assert members_of(account, branch) == [CONTACTS + number for number in range(2, PEOPLE, 4)]


def test_members_of_a_dynamic_list_are_not_changed_by_hand(account: Account) -> None:
    branch = either([property_filter("jobtitle", operationType="ALL_PROPERTY", operator="IS_KNOWN")])
    body = {"name": "Titled", "objectTypeId": "0-1", "processingType": "DYNAMIC", "filterBranch": branch}
    list_id = account.http.post("/crm/v3/lists/", json=body).json()["list"]["listId"]

    answer = account.http.put(f"/crm/v3/lists/{list_id}/memberships/add", json=[FIRST])

    assert answer.status_code == 400


CSV = """Email,First Name,Number of employees,Stage
new.person@hollispine.com,Nell,12,lead
marta.brandt0@corvane.eu,Martha,,
not-an-address,Bob,,
other@hollispine.com,Liv,many,
third@hollispine.com,Tor,,unheard-of
short@hollispine.com
"""


def import_request(*, mapped: bool = True) -> str:
    columns = {
        "Email": "email",
        "First Name": "firstname",
        "Number of employees": "numemployees",
        "Stage": "lifecyclestage",
    }
    page = {
        "hasHeader": True,
        "columnMappings": [
            {"columnObjectTypeId": "0-1", "columnName": header, "propertyName": name}
            for header, name in columns.items()
        ],
    }
    file = {"fileName": "people.csv", "fileFormat": "CSV", **({"fileImportPage": page} if mapped else {})}
    return json.dumps({"name": "Fair leads", "files": [file]})


def start_import(sdk: HubSpot, tmp_path: Path) -> Any:
    path = tmp_path / "people.csv"
    path.write_text(CSV.replace("Number of employees", "Employees"))
    request = import_request().replace("Number of employees", "Employees").replace("numemployees", "hs_email_bounce")
    return sdk.crm.imports.core_api.create(files=[str(path)], import_request=request)


def test_an_import_is_worked_off_on_the_accounts_clock(sdk: HubSpot, account: Account, tmp_path: Path) -> None:
    started = start_import(sdk, tmp_path)
    assert started.state == "STARTED"
    assert sdk.crm.contacts.search_api.do_search({"query": "nell"}).total == 0

    account.wait(0.1 / HOURS_A_DAY)

    done = sdk.crm.imports.core_api.get_by_id(started.id)
    assert done.state == "DONE"
    assert done.metadata.counters == {
        "TOTAL_ROWS": 6,
        "CREATED_OBJECTS": 1,
        "UPDATED_OBJECTS": 1,
        "PROPERTY_VALUES_EMITTED": 6,
        "ERRORS": 4,
    }
    assert sdk.crm.contacts.basic_api.get_by_id(FIRST).properties["firstname"] == "Martha"
    assert sdk.crm.contacts.search_api.do_search({"query": "nell"}).total == 1


def test_an_import_also_falls_due_by_the_ticks_of_requests(sdk: HubSpot, tmp_path: Path) -> None:
    started = start_import(sdk, tmp_path)

    states = [sdk.crm.imports.core_api.get_by_id(started.id).state for _ in range(4)]

    assert states == ["STARTED", "PROCESSING", "DONE", "DONE"]


def test_row_errors_say_what_was_wrong_and_where(sdk: HubSpot, account: Account, tmp_path: Path) -> None:
    started = start_import(sdk, tmp_path)
    account.wait(1 / HOURS_A_DAY)

    page = sdk.crm.imports.public_imports_api.get_errors(
        int(started.id), include_error_message=True, include_row_data=True
    )

    assert [one.error_type for one in page.results] == [
        "INVALID_EMAIL",
        "COULD_NOT_PARSE_NUMBER",
        "INVALID_ENUMERATION_OPTION",
        "INCORRECT_NUMBER_OF_COLUMNS",
    ]
    assert [one.source_data.line_number for one in page.results] == [4, 5, 6, 7]
    assert page.results[1].invalid_value == "many"
    assert page.results[0].source_data.row_data[0] == "not-an-address"


def test_imports_are_listed_and_canceled(sdk: HubSpot, tmp_path: Path) -> None:
    first, second = start_import(sdk, tmp_path), start_import(sdk, tmp_path)

    assert sdk.crm.imports.core_api.cancel(second.id).status == "COMPLETE"

    listed = sdk.crm.imports.core_api.get_page(limit=1)
    assert [(one.id, one.state) for one in listed.results] == [(second.id, "CANCELED")]
    more = sdk.crm.imports.core_api.get_page(limit=1, after=listed.paging.next.after)
    assert [one.id for one in more.results] == [first.id]
