"""The end user's own door: requests."""

import pytest
from zenpy import Zenpy

from tests.desk.conftest import Account
from tests.desk.office import CLOSED, HELD, JONAS, LENA, NEW, OPEN, PENDING, PRIYA, SOLVED, STAFF, TOMAS


def test_a_customer_sees_own_requests_and_nobody_elses(account: Account) -> None:
    _, mine = account.as_customer(TOMAS, "GET", "requests")
    others, _ = account.as_customer(TOMAS, "GET", f"requests/{OPEN}")
    _, waiting = account.as_customer(TOMAS, "GET", "requests", status="pending,hold")

    assert {one["id"] for one in mine["requests"]} == {PENDING, HELD, 8}
    assert others == 404
    assert {one["id"] for one in waiting["requests"]} == {PENDING, HELD}


def test_a_customer_asks_for_help(account: Account) -> None:
    status, made = account.as_customer(
        LENA, "POST", "requests", {"request": {"subject": "Where is my refund?", "comment": {"body": "It is late."}}}
    )

    ticket = account.get(f"tickets/{made['request']['id']}")["ticket"]
    assert (status, ticket["requester_id"], ticket["via"]["channel"]) == (201, LENA, "web")
    assert ticket["status"] in ("new", "open")


@pytest.mark.parametrize("number", [PENDING, HELD])
def test_an_answer_opens_what_waits(account: Account, number: int) -> None:
    _, answer = account.as_customer(
        TOMAS, "PUT", f"requests/{number}", {"request": {"comment": {"body": "Here it is"}}}
    )

    assert answer["request"]["status"] == "open"
    assert account.get(f"tickets/{number}/comments")["comments"][-1]["author_id"] == TOMAS


def test_an_answer_reopens_what_was_solved(account: Account) -> None:
    account.as_customer(PRIYA, "PUT", f"requests/{SOLVED}", {"request": {"comment": {"body": "Still slow!"}}})

    assert account.get(f"tickets/{SOLVED}")["ticket"]["status"] == "open"
    assert account.get(f"tickets/{SOLVED}/metrics")["ticket_metric"]["reopens"] == 1


def test_what_is_closed_is_followed_up(account: Account) -> None:
    refused, told = account.as_customer(
        PRIYA, "PUT", f"requests/{CLOSED}", {"request": {"comment": {"body": "One more thing"}}}
    )
    follow = {"comment": {"body": "One more thing"}, "via_followup_source_id": CLOSED}
    _, made = account.as_customer(PRIYA, "POST", "requests", {"request": follow})

    ticket = account.get(f"tickets/{made['request']['id']}")["ticket"]
    assert (refused, told["details"]["status"][0]["description"]) == (422, "Status: closed prevents ticket update")
    assert ticket["via"]["source"]["rel"] == "follow_up"
    assert "howto" in ticket["tags"]
    assert account.get(f"tickets/{CLOSED}")["ticket"]["followup_ids"] == [ticket["id"]]
    assert account.get(f"tickets/{ticket['id']}/related")["ticket_related"]["followup_source_ids"] == [CLOSED]


def test_only_what_is_closed_is_followed_up(account: Account) -> None:
    answer = account.post("tickets", ticket={"comment": {"body": "x"}, "via_followup_source_id": OPEN})

    assert answer.status_code == 422


def test_internal_notes_stay_inside(account: Account) -> None:
    account.put(f"tickets/{OPEN}", ticket={"comment": {"body": "She is right", "public": False}})
    account.put(f"tickets/{OPEN}", ticket={"comment": {"body": "We look into it"}})
    _, said = account.as_customer(LENA, "GET", f"requests/{OPEN}/comments")

    assert [one["body"] for one in said["comments"]] == ["Our card was charged twice.", "We look into it"]
    assert {one["name"]: one["agent"] for one in said["users"]} == {"Lena Brandt": False, "Mara Lindqvist": True}


def test_a_customers_words_are_always_public(account: Account) -> None:
    account.as_customer(LENA, "PUT", f"requests/{OPEN}", {"request": {"comment": {"body": "psst", "public": False}}})

    assert account.get(f"tickets/{OPEN}/comments")["comments"][-1]["public"] is True


def test_a_customer_may_call_it_solved(account: Account) -> None:
    _, before = account.as_customer(TOMAS, "GET", f"requests/{PENDING}")
    _, after = account.as_customer(TOMAS, "PUT", f"requests/{PENDING}", {"request": {"solved": True}})
    early, _ = account.as_customer(LENA, "PUT", f"requests/{NEW}", {"request": {"solved": True}})

    assert before["request"]["can_be_solved_by_me"] is True
    assert after["request"]["status"] == "solved"
    assert early == 422


def test_a_customer_searches_own_requests(account: Account) -> None:
    _, found = account.as_customer(LENA, "GET", "requests/search", query="charged")
    _, none = account.as_customer(TOMAS, "GET", "requests/search", query="charged")

    assert [one["id"] for one in found["requests"]] == [OPEN]
    assert none["requests"] == []


@pytest.mark.parametrize(
    "path", ["tickets", f"tickets/{OPEN}", "users", "organizations", "incremental/users?start_time=1"]
)
def test_the_agents_addresses_are_shut_to_customers(account: Account, path: str) -> None:
    status, told = account.as_customer(LENA, "GET", path.partition("?")[0], start_time="1")

    assert (status, told["error"]["title"]) == (403, "Forbidden")


def test_a_customer_cannot_speak_as_another(account: Account) -> None:
    said = {"comment": {"body": "I am Tomas", "author_id": TOMAS}}
    status, _ = account.as_customer(LENA, "PUT", f"requests/{OPEN}", {"request": said})

    assert status == 422


def test_a_colleague_in_the_requests_sees_own_ones(zenpy: Zenpy, account: Account) -> None:
    assert list(zenpy.requests()) == []
    made = account.post("requests", request={"subject": "Badge", "comment": {"body": "Mine is lost"}}).json()["request"]
    assert [request.id for request in zenpy.requests()] == [made["id"]]
    assert account.get(f"requests/{made['id']}")["request"]["subject"] == "Badge"
    assert account.put(f"requests/{made['id']}", request={"comment": {"body": "Found it"}}).status_code == 200
    assert len(account.get(f"requests/{made['id']}/comments")["comments"]) == 2


def test_the_token_speaks_for_staff_and_never_for_a_customer(account: Account) -> None:
    def me(email: str) -> int:
        return account.http.get("/api/v2/users/me", auth=(f"{email}/token", account.key)).status_code

    assert me(STAFF[JONAS][1]) == 200
    assert me("lena.brandt@corvane.eu") == 401
    assert me("nobody@tessavik.io") == 401
