"""How the desk speaks: credentials, addresses, pages, refusals, limits."""

import base64

import httpx
import pytest
from zenpy import Zenpy
from zenpy.lib.exception import APIException, RecordNotFoundException

from services.desk.errors import render
from services.kernel.errors import RateLimited
from services.kernel.product import RequestContext
from tests.contract.running import Running
from tests.desk.conftest import Account
from tests.desk.office import CLOSED, LENA, MARA, NEW, OPEN, STAFF


def test_a_token_comes_as_bearer_or_with_an_address(account: Account) -> None:
    pair = base64.b64encode(f"{STAFF[MARA][1]}/token:{account.key}".encode()).decode()
    plain = httpx.Client(base_url=account.running.url, timeout=120)
    answers = [
        plain.get("/api/v2/users/me.json", headers={"authorization": written})
        for written in (f"Bearer {account.key}", f"Basic {pair}")
    ]
    nobody = [
        plain.get("/api/v2/users/me.json", headers={"authorization": written})
        for written in ("Bearer nonsense", "Basic !!!", "")
    ]
    plain.close()

    assert [answer.json()["user"]["id"] for answer in answers] == [MARA, MARA]
    assert [(one.status_code, one.json()) for one in nobody] == [(401, {"error": "Couldn't authenticate you"})] * 3


def test_every_address_works_with_and_without_its_ending(account: Account) -> None:
    assert account.get("tickets/2.json") == account.get("tickets/2")
    assert account.get("views.json")["views"] == account.get("views")["views"]


def test_links_carry_the_name_under_which_the_desk_was_reached(account: Account) -> None:
    answer = account.http.get("/api/v2/tickets.json?page[size]=2", headers={"host": "tessavik.help:8443"}).json()

    assert answer["links"]["next"].startswith("http://tessavik.help:8443/api/v2/tickets.json?page%5Bsize%5D=2&")
    assert answer["tickets"][0]["url"] == "http://tessavik.help:8443/api/v2/tickets/1.json"


def test_a_literal_none_to_include_is_nothing(account: Account) -> None:
    assert "users" not in account.get("tickets", include="None")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("tickets?page[size]=101", 400),
        ("tickets?per_page=0", 400),
        ("tickets?page[after]=%21%21", 400),
        ("tickets?page[after]=WzEsMiwzXQ", 400),
        ("tickets?page[after]=a&page[before]=b", 400),
        ("tickets?page[size]=3&sort=shoe", 400),
        ("tickets/show_many?ids=1,x", 400),
        ("tickets/show_many?ids=" + ",".join(str(one) for one in range(1, 102)), 400),
        ("tickets/abc", 400),
        ("tickets/99999", 404),
        ("tickets/99999/comments", 404),
        ("users/99999999999999", 404),
        ("job_statuses/none", 404),
        ("nothing/here", 404),
    ],
)
def test_what_cannot_be_read_is_refused_in_the_vendors_shape(account: Account, path: str, status: int) -> None:
    answer = account.http.get(f"/api/v2/{path}")

    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.parametrize(
    ("ticket", "field"),
    [
        ({"status": "closed"}, "status"),
        ({"status": "new"}, "status"),
        ({"priority": None}, "priority"),
        ({"requester_id": 12345}, "requester_id"),
        ({"problem_id": NEW}, "problem_id"),
        ({"due_at": "tomorrow"}, "due_at"),
        ({"comment": {"body": "  "}}, "comment"),
        ({"comment": {"body": "x", "uploads": ["none"]}}, "uploads"),
        ({"group_id": 1}, "group_id"),
        ({"organization_id": 702}, "organization"),
        ({"email_ccs": [{"action": "put"}]}, "base"),
        ({"requester": {"email": "not an address"}}, "email"),
    ],
)
def test_what_the_desk_does_not_allow_is_named_and_changes_nothing(account: Account, ticket: dict, field: str) -> None:
    answer = account.put(f"tickets/{OPEN}", ticket=ticket)

    assert answer.status_code == 422
    assert answer.json()["error"] == "RecordInvalid"
    assert answer.json()["description"] == "Record validation errors"
    assert set(answer.json()["details"]) == {field}
    assert account.world.revision == 0


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"ticket": 3}', b'{"ticket": {"status": "asleep"}}', b"{}"])
def test_a_body_that_cannot_be_read_is_refused(account: Account, body: bytes) -> None:
    answer = account.http.put(f"/api/v2/tickets/{OPEN}", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert answer.json()["error"]["title"]


def test_the_clients_know_what_they_met(zenpy: Zenpy, account: Account) -> None:
    with pytest.raises(RecordNotFoundException):
        zenpy.tickets(id=99_999)
    closed = zenpy.tickets(id=CLOSED)
    closed.status = "open"
    with pytest.raises(APIException, match="closed prevents ticket update"):
        zenpy.tickets.update(closed)


def test_a_ticket_needs_words(account: Account) -> None:
    answer = account.post("tickets", ticket={"subject": "Nothing to say"})

    assert (answer.status_code, set(answer.json()["details"])) == (422, {"comment"})


def test_slowing_down_is_asked_for_in_html_where_a_ticket_is_updated() -> None:
    update = render(RateLimited(7), RequestContext(1, "PUT", "/api/v2/tickets/2.json", 0))
    read = render(RateLimited(7), RequestContext(1, "GET", "/api/v2/tickets/2.json", 0))

    assert dict(update.headers)[b"content-type"].startswith(b"text/html")
    assert dict(update.headers)[b"retry-after"] == b"7"
    assert dict(read.headers)[b"content-type"] == b"application/json"
    assert b"APIRateLimitExceeded" in read.body


def test_planned_faults_meet_the_client_and_change_nothing_by_themselves(running: Running[Account]) -> None:
    account = running.open(faults="storm", seed=5)
    seen: dict[int, set[str]] = {}
    for number in range(60):
        try:
            answer = account.put(f"tickets/{OPEN}", ticket={"tags": [f"try{number}"]})
        except httpx.TransportError:
            continue
        seen.setdefault(answer.status_code, set()).add(answer.headers["content-type"].partition(";")[0])
    account.close()

    assert seen[200] == {"application/json"}
    assert seen[429] == {"text/html"}
    assert set(seen) <= {200, 429, 503}


def test_every_answer_says_what_is_left_of_the_minute(account: Account) -> None:
    headers = account.http.get("/api/v2/tickets/1").headers

    assert headers["x-rate-limit"] == "700"
    assert 0 < int(headers["x-rate-limit-remaining"]) < 700
    assert headers["ratelimit-limit"] == "700"
    assert 0 < int(headers["ratelimit-reset"]) <= 60


def test_the_same_key_creates_once(account: Account) -> None:
    given = {"ticket": {"comment": {"body": "Once"}, "requester_id": LENA}}
    made = [
        account.http.post("/api/v2/tickets", json=given, headers={"idempotency-key": "k"}).json()["ticket"]["id"]
        for _ in range(3)
    ]

    assert len(set(made)) == 1


def test_answers_do_not_say_what_they_are(account: Account) -> None:
    account.put(f"tickets/{OPEN}", ticket={"status": "solved", "comment": {"body": "Done"}})
    paths = ("tickets", "tickets/2/audits", "users", "job_statuses", "incremental/ticket_events?start_time=1")
    text = "".join(account.http.get(f"/api/v2/{path}").text.lower() for path in paths)
    text += account.http.get("/openapi.json").text.lower()

    words = ("mock", "fake", "simulat", "episode", "reward", "example.com", "john doe", "lorem", '"_')
    assert not [word for word in words if word in text]


def test_the_same_calls_get_the_same_bytes_with_the_same_seed(running: Running[Account]) -> None:
    said = []
    for seed in (1, 1, 2):
        account = running.open(seed=seed)
        host = {"host": "desk"}
        answers = [
            account.http.post("/api/v2/tickets", json={"ticket": {"comment": {"body": "Twice"}}}, headers=host),
            account.http.put("/api/v2/tickets/update_many?ids=1,2", json={"ticket": {"priority": "low"}}, headers=host),
        ]
        account.wait(5)
        answers += [
            account.http.get(f"/api/v2/{path}", headers=host)
            for path in ("tickets", "job_statuses", "ticket_audits", "incremental/ticket_events?start_time=1")
        ]
        said.append([(one.content, one.headers["date"]) for one in answers])
        account.close()

    assert said[0] == said[1]
    assert said[0] != said[2], "ids come from the seed"


def test_a_truth_value_is_no_id(account: Account) -> None:
    """To Python true is one, and somebody has that number."""
    copied = {"subject": "s", "comment": {"body": "b"}, "email_ccs": [{"user_id": True}]}

    assert account.post("tickets", ticket=copied).status_code == 400
    assert account.post("tickets", ticket={**copied, "email_ccs": []}).status_code == 201


def test_nothing_given_for_what_always_is_leaves_it_as_it_was(account: Account) -> None:
    given = {"suspended": None, "verified": None, "locale": None, "time_zone": None, "role": None, "notes": None}
    before = account.get(f"users/{MARA}")["user"]

    after = account.put(f"users/{MARA}", user={**given, "alias": "M"}).json()["user"]

    assert {name: after[name] for name in given} == {name: before[name] for name in given if name != "notes"} | {
        "notes": None
    }
    assert after["alias"] == "M"
