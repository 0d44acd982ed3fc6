"""Exports, uploads and attachments."""

from pathlib import Path

from zenpy import Zenpy
from zenpy.lib.api_objects import Comment

from tests.contract.unreadable_forms import send_unreadable_forms
from tests.desk.conftest import Account
from tests.desk.office import CUSTOMERS, NEW, NOW, OPEN, PENDING, STAFF, TICKETS

LONG_AGO = 1_700_000_000


def test_tickets_stream_by_cursor_in_the_order_of_their_last_change(zenpy: Zenpy, account: Account) -> None:
    account.put(f"tickets/{NEW}", ticket={"priority": "low"})
    account.http.delete(f"/api/v2/tickets/{PENDING}")
    streamed, url = [], f"/api/v2/incremental/tickets/cursor?start_time={LONG_AGO}&per_page=4"
    while url:
        page = account.http.get(url).json()
        streamed += page["tickets"]
        url = None if page["end_of_stream"] else page["after_url"]

    assert [ticket["id"] for ticket in streamed][-2:] == [NEW, PENDING]
    assert streamed[-1]["status"] == "deleted"
    changed = [ticket["generated_timestamp"] for ticket in streamed]
    assert changed == sorted(changed)
    assert changed[-1] >= NOW // 1000 > changed[0] > LONG_AGO
    assert len(streamed) == len(TICKETS)
    assert [ticket.id for ticket in zenpy.tickets.incremental(start_time=LONG_AGO)][-1] == PENDING


def test_a_cursor_goes_on_where_the_stream_ended(account: Account) -> None:
    first = account.get("incremental/tickets/cursor", start_time=LONG_AGO)
    account.put(f"tickets/{OPEN}", ticket={"priority": "low"})
    second = account.get("incremental/tickets/cursor", cursor=first["after_cursor"])

    assert first["end_of_stream"] is True
    assert [ticket["id"] for ticket in second["tickets"]] == [OPEN]
    assert account.http.get("/api/v2/incremental/tickets/cursor?cursor=%%%").status_code == 400
    assert account.http.get("/api/v2/incremental/tickets/cursor").status_code == 400


def test_tickets_since_a_time_never_split_a_second(zenpy: Zenpy, account: Account) -> None:
    seen, start = [], LONG_AGO
    while True:
        page = account.get("incremental/tickets", start_time=start, per_page=3)
        seen += [ticket["id"] for ticket in page["tickets"]]
        if page["end_of_stream"]:
            break
        assert str(page["end_time"]) in page["next_page"]
        start = page["end_time"]

    assert list(dict.fromkeys(seen)) == [told[0] for told in TICKETS]
    by_time = zenpy.tickets.incremental(start_time=LONG_AGO, paginate_by_time=True)
    assert [ticket.id for ticket in by_time] == [told[0] for told in TICKETS]


def test_the_last_minute_cannot_be_exported(account: Account) -> None:
    answer = account.http.get(f"/api/v2/incremental/tickets?start_time={NOW // 1000}")

    assert answer.status_code == 422
    assert "Too recent" in answer.text


def test_people_organizations_and_events_are_exported_too(zenpy: Zenpy, account: Account) -> None:
    account.put(f"tickets/{OPEN}", ticket={"status": "pending"})

    assert len(account.get("incremental/users", start_time=LONG_AGO)["users"]) == len(STAFF) + len(CUSTOMERS)
    assert len(account.get("incremental/users/cursor", start_time=LONG_AGO)["users"]) == len(STAFF) + len(CUSTOMERS)
    assert len(list(zenpy.organizations.incremental(start_time=LONG_AGO))) == 2
    last = account.get("incremental/ticket_events", start_time=LONG_AGO)["ticket_events"][-1]
    assert (last["ticket_id"], last["event_type"]) == (OPEN, "Audit")
    assert {"event_type": "Change", "status": "pending", "previous_value": "open"}.items() <= last["child_events"][
        0
    ].items()
    assert "ticket_metric_events" in account.get("incremental/ticket_metric_events", start_time=LONG_AGO)


def test_all_audits_are_listed_with_the_address_of_the_next(zenpy: Zenpy, account: Account) -> None:
    page = account.get("ticket_audits", **{"page[size]": 4})
    following = account.http.get(page["after_url"]).json()

    assert [audit["ticket_id"] for audit in page["audits"] + following["audits"]] == list(range(1, 9))
    audits = account.get(f"tickets/{OPEN}/audits")["audits"]
    assert account.get(f"tickets/{OPEN}/audits/{audits[0]['id']}")["audit"] == audits[0]
    assert account.http.get(f"/api/v2/tickets/{NEW}/audits/{audits[0]['id']}").status_code == 404
    assert audits[0]["events"][0]["body"] == "Our card was charged twice."


def test_a_file_is_uploaded_attached_and_downloaded(zenpy: Zenpy, account: Account, tmp_path: Path) -> None:
    file = tmp_path / "charges.csv"
    file.write_bytes(b"date;amount\n2026-10-01;49\n")
    upload = zenpy.attachments.upload(str(file), target_name="charges.csv")
    ticket = zenpy.tickets(id=OPEN)
    ticket.comment = Comment(body="See the list", uploads=[upload.token])
    zenpy.tickets.update(ticket)

    attached = account.get(f"tickets/{OPEN}/comments")["comments"][-1]["attachments"]
    assert [(one["file_name"], one["size"]) for one in attached] == [("charges.csv", 26)]
    assert account.http.get(attached[0]["content_url"]).content == file.read_bytes()
    assert account.get(f"attachments/{attached[0]['id']}")["attachment"]["file_name"] == "charges.csv"
    spent = account.put(f"tickets/{OPEN}", ticket={"comment": {"body": "Again", "uploads": [upload.token]}})
    assert spent.status_code == 422


def test_an_upload_takes_more_files_and_can_be_discarded(account: Account) -> None:
    first = account.http.post("/api/v2/uploads?filename=a.txt", content=b"a").json()["upload"]
    form = {"file": ("b.txt", b"bb", "text/plain")}
    both = account.http.post(f"/api/v2/uploads?filename=b.txt&token={first['token']}", files=form).json()["upload"]

    assert [one["size"] for one in both["attachments"]] == [1, 2]
    assert account.http.delete(f"/api/v2/uploads/{first['token']}").status_code == 204
    assert account.http.delete(f"/api/v2/uploads/{first['token']}").status_code == 404
    assert account.http.post("/api/v2/uploads?filename=c.txt", content=b"").status_code == 422


def test_a_form_that_cannot_be_read_is_the_senders_mistake_and_spoils_nothing(account: Account) -> None:
    assert send_unreadable_forms(account.http, "/api/v2/uploads?filename=log.txt") == {400}
