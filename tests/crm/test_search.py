"""Search: every operator, limit, paging and default of the contract."""

from typing import Any

import pytest

from tests.contract.running import Account
from tests.crm.account import COMPANIES, CONTACTS, DEALS, PEOPLE

CONTACT_DEFAULTS = {"firstname", "lastname", "email", "createdate", "lastmodifieddate", "hs_object_id"}


def search(account: Account, kind: str = "contacts", **body: Any) -> dict[str, Any]:
    answer = account.http.post(f"/crm/v3/objects/{kind}/search", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def one(name: str, operator: str, **more: Any) -> dict[str, Any]:
    return {"propertyName": name, "operator": operator, **more}


def count(account: Account, *filters: dict[str, Any], kind: str = "contacts") -> int:
    return search(account, kind, filterGroups=[{"filters": list(filters)}])["total"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (one("lastname", "EQ", value="BRANDT"), 3),
        (one("lastname", "EQ", value="ÅKESSON"), 3),
        (one("lastname", "NEQ", value="brandt"), 27),
        (one("jobtitle", "NEQ", value="nobody"), 6),
        (one("numemployees", "LT", value="20"), None),
        (one("createdate", "GTE", value="2026-03-31T14:13:20Z"), 4),
        (one("createdate", "GT", value="1774966400000"), 3),
        (one("createdate", "BETWEEN", value="2026-03-05", highValue="2026-03-08"), 3),
        (one("createdate", "LTE", value="2026-03-06T14:13:20Z"), 2),
        (one("lifecyclestage", "EQ", value="lead"), 10),
        (one("lifecyclestage", "EQ", value="LEAD"), 0),
        (one("lifecyclestage", "IN", values=["lead", "customer"]), 20),
        (one("lifecyclestage", "NOT_IN", values=["lead"]), 20),
        (one("lastname", "IN", values=["brandt", "iyer"]), 6),
        (one("lastname", "IN", values=["Brandt", "Iyer"]), 0),
        (one("jobtitle", "HAS_PROPERTY"), 6),
        (one("jobtitle", "NOT_HAS_PROPERTY"), 24),
        (one("jobtitle", "CONTAINS_TOKEN", value="operations"), 6),
        (one("jobtitle", "CONTAINS_TOKEN", value="oper"), 0),
        (one("jobtitle", "CONTAINS_TOKEN", value="oper*"), 6),
        (one("email", "CONTAINS_TOKEN", value="*@corvane.eu"), 8),
        (one("lastname", "NOT_CONTAINS_TOKEN", value="wit"), 27),
        (one("hs_object_id", "EQ", value=str(CONTACTS)), 1),
        (one("hubspot_owner_id", "EQ", value="601"), 15),
        (one("associations.company", "EQ", value=str(COMPANIES)), 8),
        (one("associations.company", "IN", values=[str(COMPANIES), str(COMPANIES + 1)]), 16),
        (one("associations.deals", "NOT_HAS_PROPERTY"), 20),
        (one("associatedcompanyid", "HAS_PROPERTY"), 15),
    ],
)
def test_an_operator_finds_what_it_should(account: Account, given: dict[str, Any], expected: int | None) -> None:
    if expected is None:
        # A text property is compared as text: "100" comes before "20".
        expected = sum(str(number * 10) < "20" for number in range(PEOPLE))

    assert count(account, given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (one("amount", "GT", value="9000"), 1),
        (one("amount", "GTE", value="9000"), 2),
        (one("amount", "LT", value="10000"), 9),
        (one("amount", "LTE", value="1000"), 1),
        (one("amount", "BETWEEN", value="2000", highValue="4000"), 3),
        (one("amount", "EQ", value="5000.0"), 1),
        (one("amount", "IN", values=["1000", "2000.00"]), 2),
        (one("amount", "NOT_IN", values=["1000"]), 9),
        (one("dealname", "CONTAINS_TOKEN", value="corvane renewal"), 0),
        (one("dealname", "CONTAINS_TOKEN", value="GmbH Renewal"), 3),
        (one("hs_is_closed_won", "EQ", value="true"), 2),
        (one("num_associated_contacts", "EQ", value="1"), 10),
        (one("hs_deal_stage_probability", "BETWEEN", value="0.3", highValue="0.7"), 4),
    ],
)
def test_numbers_and_computed_values_are_compared_as_what_they_are(
    account: Account, given: dict[str, Any], expected: int
) -> None:
    assert count(account, given, kind="deals") == expected


def test_filters_of_a_group_must_all_hold_and_one_group_is_enough(account: Account) -> None:
    lead_brandt = [one("lifecyclestage", "EQ", value="lead"), one("lastname", "EQ", value="brandt")]
    iyer = [one("lastname", "EQ", value="iyer")]

    assert count(account, *lead_brandt) == 1
    assert search(account, filterGroups=[{"filters": lead_brandt}, {"filters": iyer}])["total"] == 4
    assert search(account, filters=iyer)["total"] == 3


def test_words_are_found_by_their_beginning_in_any_case_and_accent(account: Account) -> None:
    assert search(account, query="ORJ")["total"] == 3
    assert search(account, query="örjan corvane")["total"] == 2
    assert search(account, query="marta.brandt0@corvane.eu")["total"] == 1
    assert search(account, query='"; DROP TABLE objects; --')["total"] == 0
    assert search(account, "deals", query="nordvik ren")["total"] == 2
    assert search(account, "deals", query="nordvik - ren &")["total"] == 2


def test_default_order_is_creation_and_default_properties_are_few(account: Account) -> None:
    found = search(account)

    assert [int(row["id"]) for row in found["results"]] == [CONTACTS + number for number in range(10)]
    assert set(found["results"][0]["properties"]) == CONTACT_DEFAULTS
    assert found["total"] == PEOPLE


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("deals", {"dealname", "amount", "closedate", "pipeline", "dealstage", "createdate", "hs_lastmodifieddate", "hs_object_id"}),
        ("companies", {"name", "domain", "createdate", "hs_lastmodifieddate", "hs_object_id"}),
        ("notes", {"hs_createdate", "hs_lastmodifieddate", "hs_object_id"}),
    ],
)  # fmt: skip
def test_each_type_has_default_properties_of_its_own(account: Account, kind: str, shown: set[str]) -> None:
    assert set(search(account, kind)["results"][0]["properties"]) == shown


@pytest.mark.parametrize("sorts", [["-amount"], [{"propertyName": "amount", "direction": "DESCENDING"}]])
def test_one_sort_is_taken_in_either_form(account: Account, sorts: list[Any]) -> None:
    found = search(account, "deals", sorts=sorts, limit=3)

    assert [row["properties"]["amount"] for row in found["results"]] == ["10000", "9000", "8000"]


def test_records_without_the_value_come_last_whichever_way(account: Account) -> None:
    for sorts in (["closedate"], ["-closedate"]):
        dates = [row["properties"]["closedate"] for row in search(account, "deals", sorts=sorts)["results"]]

        assert [date is None for date in dates] == [False] * 4 + [True] * 6


def test_large_results_are_sorted_like_small_ones(account: Account) -> None:
    for number in range(250):
        body = {"properties": {"name": f"Harbour {number:03d}", "numberofemployees": str(number * 7 % 251)}}
        assert account.http.post("/crm/v3/objects/companies", json=body).status_code == 201

    found = search(account, "companies", sorts=["-numberofemployees"], properties=["numberofemployees"], limit=200)

    sizes = [int(row["properties"]["numberofemployees"]) for row in found["results"]]
    assert found["total"] == 254
    assert sizes == sorted(sizes, reverse=True)


def test_pages_are_followed_by_an_offset(account: Account) -> None:
    seen: list[str] = []
    after = "0"
    while after:
        page = search(account, limit=7, after=after, sorts=["lastname"])
        seen += [row["id"] for row in page["results"]]
        after = page.get("paging", {}).get("next", {}).get("after")

    assert len(seen) == len(set(seen)) == PEOPLE


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"filterGroups": [{"filters": [one("email", "HAS_PROPERTY")]}] * 6}, "Too many filter groups"),
        ({"filterGroups": [{"filters": [one("email", "HAS_PROPERTY")] * 7}]}, "Too many filters"),
        ({"filterGroups": [{"filters": [one("email", "HAS_PROPERTY")] * 5}] * 4}, "Too many filters"),
        ({"limit": 201}, "limit"),
        ({"after": "9995", "limit": 10}, "Paging past 10000"),
        ({"sorts": ["createdate", "lastname"]}, "sorts"),
        ({"query": "x" * 3000}, "exceeds 3000 characters"),
        ({"filterGroups": [{"filters": [one("shoe_size", "EQ", value="44")]}]}, "Property 'shoe_size' does not exist"),
        ({"filterGroups": [{"filters": [one("createdate", "GT", value="soon")]}]}, "not a valid value"),
        ({"filterGroups": [{"filters": [one("lastname", "IN", value="x")]}]}, "requires values"),
        ({"filterGroups": [{"filters": [one("lastname", "BETWEEN", value="x")]}]}, "requires value and highValue"),
        ({"filterGroups": [{"filters": [one("lastname", "EQ")]}]}, "requires value"),
        ({"filterGroups": [{"filters": [one("lastname", "LIKE", value="x")]}]}, "operator"),
    ],
)
def test_what_goes_beyond_the_limits_is_refused(account: Account, body: dict[str, Any], words: str) -> None:
    answer = account.http.post("/crm/v3/objects/contacts/search", json=body)

    assert (answer.status_code, answer.json()["category"]) == (400, "VALIDATION_ERROR")
    assert words in answer.text


def test_archived_records_never_appear(account: Account) -> None:
    account.http.delete(f"/crm/v3/objects/contacts/{CONTACTS}")

    assert count(account, one("hs_object_id", "EQ", value=str(CONTACTS))) == 0
    assert search(account, query="marta.brandt0")["total"] == 0


def test_a_write_is_found_at_once(account: Account) -> None:
    account.http.patch(f"/crm/v3/objects/deals/{DEALS}", json={"properties": {"dealname": "Ümlaut & Söhne"}})

    assert search(account, "deals", query="umlaut")["total"] == 1
    assert count(account, one("dealname", "EQ", value="ÜMLAUT & SÖHNE"), kind="deals") == 1
    assert count(account, one("dealname", "CONTAINS_TOKEN", value="söhne"), kind="deals") == 1


def test_lag_is_a_fault_plan_and_counted_in_requests(running: Any) -> None:
    account = running.open(faults="lagging-search")
    created = account.http.post("/crm/v3/objects/contacts", json={"properties": {"email": "late@corvane.eu"}}).json()

    totals = [search(account, query="late")["total"] for _ in range(6)]
    read = account.http.get(f"/crm/v3/objects/contacts/{created['id']}").status_code
    account.close()

    assert totals == [0, 0, 0, 0, 1, 1]
    assert read == 200


@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
@pytest.mark.parametrize("sort", ["createdate", "lastmodifieddate", "hs_object_id"])
def test_a_stroll_along_an_index_pages_as_sorting_does(
    account: Account, monkeypatch: pytest.MonkeyPatch, sort: str, direction: str
) -> None:
    asked = {
        "filterGroups": [{"filters": [one("lastname", "NEQ", value="brandt")]}],
        "sorts": [{"propertyName": sort, "direction": direction}],
        "limit": 4,
    }

    def pages() -> list[list[str]]:
        return [[found["id"] for found in search(account, **asked, after=str(at))["results"]] for at in range(0, 27, 4)]

    sorted_ = pages()
    monkeypatch.setattr("services.crm.operations.search._FEW", 0)
    monkeypatch.setattr("services.crm.operations.search._MANY", 0)
    monkeypatch.setattr("services.crm.operations.search._FIRST_CHUNK", 3)

    assert pages() == sorted_
    assert len({found for page in sorted_ for found in page}) == 27
