"""Search on the wire, through the vendor's clients: pages, limits, counts, exports, side-loads."""

import pytest
from zdesk import Zendesk
from zenpy import Zenpy
from zenpy.lib.api_objects import Group, Organization, Ticket, User

from services.desk.tables import tickets
from tests.desk.conftest import Account
from tests.desk.office import CORVANE, LENA, MARA, NEW, OPEN, PROBLEM, TECH_GROUP


def crowd(account: Account, many: int) -> None:
    """So many more tickets than anybody would page through."""
    row = account.world.get(tickets, OPEN)
    for at in range(many):
        body = {**row["body"], "subject": f"Copy {at}", "tags": ["crowd"]}
        account.world.save(tickets, {**row, "id": 100 + at, "body": body}, "planted")


def test_a_search_yields_typed_things_and_side_loads(zenpy: Zenpy, account: Account) -> None:
    tickets_found = list(zenpy.search("late", type="ticket", sort_by="created_at", sort_order="asc"))
    people = list(zenpy.search(type="user", query="brandt"))
    mixed = list(zenpy.search("corvane"))
    groups = list(zenpy.search("technical"))
    along = account.get("search", query="type:ticket tags:refund", include="tickets(users,groups,organizations)")

    assert (type(tickets_found[0]), tickets_found[0].id) == (Ticket, PROBLEM)
    assert [(type(one), one.id) for one in people] == [(User, LENA)]
    assert {type(one) for one in mixed} == {Organization, User}
    assert [(type(one), one.id) for one in groups] == [(Group, TECH_GROUP)]
    assert {one["id"] for one in along["users"]} == {LENA, MARA}
    assert (along["organizations"][0]["id"], along["groups"][0]["name"]) == (CORVANE, "Billing")
    assert (along["results"][0]["result_type"], along["facets"]) == ("ticket", None)


def test_both_clients_find_the_same(zenpy: Zenpy, zdesk: Zendesk) -> None:
    through_zenpy = [one.id for one in zenpy.search(type="ticket", status_less_than="pending", assignee="me")]
    through_zdesk = zdesk.search(query="type:ticket status<pending assignee:me")

    assert [one["id"] for one in through_zdesk["results"]] == through_zenpy
    assert through_zdesk["count"] == len(through_zenpy) == 2


def test_the_count_is_the_true_total_and_the_first_thousand_are_shown(zenpy: Zenpy, account: Account) -> None:
    crowd(account, 1_050)

    last = account.get("search", query="tags:crowd", page="10")
    beyond = account.http.get("/api/v2/search.json", params={"query": "tags:crowd", "page": "11"})
    narrow = account.http.get("/api/v2/search.json", params={"query": "tags:crowd", "page": "41", "per_page": "25"})

    assert (last["count"], len(last["results"])) == (1_050, 100)
    assert last["next_page"].startswith(account.running.url)
    assert "page=11" in last["next_page"]
    assert (beyond.status_code, beyond.json()["error"], narrow.status_code) == (422, "invalid", 422)
    assert zenpy.search.count("tags:crowd") == 1_050
    assert len(list(zenpy.search("tags:crowd"))) == 1_000


def test_pages_follow_each_other_without_gaps(account: Account) -> None:
    crowd(account, 130)
    first = account.get("search", query="tags:crowd", sort_by="created_at", sort_order="asc")
    second = account.http.get(first["next_page"]).json()

    assert [one["id"] for one in first["results"] + second["results"]] == list(range(100, 230))
    assert second["next_page"] is None
    assert "page=1" in second["previous_page"]


def test_an_export_goes_on_beyond_a_thousand(zenpy: Zenpy, account: Account) -> None:
    crowd(account, 1_050)
    exported = [one.id for one in zenpy.search_export(query="tags:crowd", type="ticket")]
    answer = account.get("search/export", **{"query": "tags:crowd", "filter[type]": "ticket", "page[size]": "1000"})

    assert exported == list(range(100, 1_150))
    assert (len(answer["results"]), answer["meta"]["has_more"], "count" in answer) == (1_000, True, False)
    rest = account.http.get(answer["links"]["next"]).json()
    assert ([one["id"] for one in rest["results"]][-1], rest["meta"]["has_more"]) == (1_149, False)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("search.json", 400),
        ("search.json?query=", 400),
        ("search.json?query=created>soon", 422),
        ("search/export.json?query=x", 400),
        ("search/export.json?query=x&filter[type]=ticket&page[after]=%21", 400),
        ("search/export.json?query=x&filter[type]=ticket&page[size]=1001", 400),
        ("search/count.json?query=status<gone", 422),
    ],
)
def test_searches_that_cannot_be_meant_are_refused(account: Account, path: str, status: int) -> None:
    assert account.http.get(f"/api/v2/{path}").status_code == status


def test_a_search_by_id_finds_that_ticket_first(zenpy: Zenpy) -> None:
    assert [one.id for one in zenpy.search(str(NEW), type="ticket")] == [NEW]


def test_an_end_user_does_not_search_the_desk(account: Account) -> None:
    status, body = account.as_customer(LENA, "GET", "search", query="type:ticket")

    assert (status, body["error"]["title"]) == (403, "Forbidden")


def test_a_lagging_index_misses_what_was_just_written(account: Account) -> None:
    lagging = account.running.open(faults="lagging-search")
    made = lagging.post("tickets", ticket={"comment": {"body": "a zeppelin"}}).json()["ticket"]["id"]

    assert lagging.get("search", query="zeppelin")["count"] == 0
    assert lagging.get(f"tickets/{made}")["ticket"]["id"] == made
    for _ in range(5):
        lagging.get("tickets", page="1")
    assert [one["id"] for one in lagging.get("search", query="zeppelin")["results"]] == [made]
    lagging.close()
