"""Tickets through the vendor's clients, unmodified."""

import pytest
from zdesk import Zendesk
from zenpy import Zenpy
from zenpy.lib.api_objects import Comment, CustomField, Ticket, User
from zenpy.lib.exception import APIException, RecordNotFoundException

from tests.desk.conftest import Account
from tests.desk.office import (
    CLOSED,
    CORVANE,
    INCIDENT,
    JONAS,
    LENA,
    MARA,
    NEW,
    OPEN,
    ORDER_FIELD,
    PENDING,
    PROBLEM,
    PRODUCT_FIELD,
    SOLVED,
    SPAM,
    TECH_GROUP,
    TICKETS,
    TOMAS,
    VIP_FIELD,
)


def test_a_ticket_is_created_with_its_requester_and_tells_its_audit(zenpy: Zenpy) -> None:
    written = zenpy.tickets.create(
        Ticket(
            subject="Wrong plan",
            comment=Comment(body="We are on the <b>wrong</b> plan", public=True),
            requester=User(name="Nadia Kerr", email="nadia.kerr@corvane.eu"),
            priority="high",
            tags=["Plan", "sales q"],
            custom_fields=[CustomField(id=PRODUCT_FIELD, value="product_portal")],
        )
    )

    ticket = written.ticket
    assert (ticket.status, ticket.priority, ticket.subject) == ("new", "high", "Wrong plan")
    assert ticket.description == "We are on the wrong plan"
    assert ticket.requester.email == "nadia.kerr@corvane.eu"
    assert ticket.tags == ["plan", "product_portal", "q", "sales"]
    assert ticket.submitter_id == MARA
    assert {event["type"] for event in written.audit.events} >= {"Comment", "Create"}
    fields = {field["id"]: field["value"] for field in zenpy.tickets(id=ticket.id).custom_fields}
    assert fields.pop(PRODUCT_FIELD) == "product_portal"
    assert set(fields.values()) == {None}, "a ticket lists every field, the empty ones too"


def test_a_new_ticket_is_tagged_as_its_requester_and_their_organization_are(zenpy: Zenpy, account: Account) -> None:
    account.put(f"users/{TOMAS}.json", user={"tags": ["vip"]})
    made = zenpy.tickets.create(Ticket(subject="Late", comment=Comment(body="Late"), requester_id=TOMAS, tags=["post"]))
    other = zenpy.tickets.create(Ticket(subject="Late", comment=Comment(body="Late"), requester_id=LENA))

    assert made.ticket.tags == ["customer", "post", "vip"]
    assert other.ticket.tags == []


def test_one_ticket_comes_with_who_and_what_belongs_to_it(zenpy: Zenpy, account: Account) -> None:
    ticket = zenpy.tickets(id=OPEN, include=["users", "organizations"])
    along = account.get(f"tickets/{OPEN}.json", include="users,groups,organizations,comment_count,metric_sets")

    assert (ticket.requester.name, ticket.organization.name, ticket.assignee.id) == ("Lena Brandt", "Corvane", MARA)
    assert [user["id"] for user in along["users"]] == [LENA, MARA]
    assert along["organizations"][0]["id"] == CORVANE
    assert along["ticket"]["comment_count"] == 1
    assert along["metric_sets"][0]["ticket_id"] == OPEN


def test_all_tickets_are_listed_by_cursor_and_by_number(zenpy: Zenpy, account: Account) -> None:
    by_cursor = [ticket.id for ticket in zenpy.tickets()]
    small, url = [], "/api/v2/tickets.json?page[size]=3&sort=-updated_at"
    while url:
        page = account.http.get(url).json()
        small += [ticket["id"] for ticket in page["tickets"]]
        url = page["links"]["next"]
    numbered, url = [], "/api/v2/tickets?per_page=4&sort_by=updated_at&sort_order=desc"
    while url:
        page = account.http.get(url).json()
        numbered += [ticket["id"] for ticket in page["tickets"]]
        url = page["next_page"]

    assert by_cursor == [told[0] for told in TICKETS]
    assert small == numbered == by_cursor[::-1]
    assert page["count"] == len(TICKETS)


def test_a_page_can_be_turned_back(account: Account) -> None:
    first = account.get("tickets", **{"page[size]": 4})
    second = account.http.get(first["links"]["next"]).json()
    back = account.http.get(second["links"]["prev"]).json()

    assert [one["id"] for one in second["tickets"]] == [5, 6, 7, 8]
    assert back["tickets"] == first["tickets"]
    assert first["links"]["prev"] is None


def test_several_are_shown_in_the_order_asked_for(zenpy: Zenpy) -> None:
    assert [ticket.id for ticket in zenpy.tickets(ids=[PENDING, 99_999, NEW])] == [PENDING, NEW]


def test_an_update_replies_solves_and_is_audited(zenpy: Zenpy) -> None:
    ticket = zenpy.tickets(id=OPEN)
    ticket.status = "solved"
    ticket.comment = Comment(body="The second charge went back today.", public=True)
    written = zenpy.tickets.update(ticket)

    assert written.ticket.status == "solved"
    changed = [event for event in written.audit.events if event["type"] == "Change"]
    assert [(one["field_name"], one["previous_value"], one["value"]) for one in changed] == [
        ("status", "open", "solved")
    ]
    assert [comment.body for comment in zenpy.tickets.comments(OPEN)][-1] == "The second charge went back today."
    assert [audit.id for audit in zenpy.tickets.audits(OPEN)][-1] == written.audit.id
    assert zenpy.tickets.metrics(OPEN).replies == 1


def test_an_update_that_changes_nothing_is_answered_without_an_audit(account: Account) -> None:
    answer = account.put(f"tickets/{OPEN}", ticket={"status": "open"}).json()

    assert (answer["ticket"]["id"], answer["audit"]) == (OPEN, None)
    assert account.world.revision == 0


def test_a_safe_update_of_what_somebody_changed_is_refused(zenpy: Zenpy, account: Account) -> None:
    seen = zenpy.tickets(id=OPEN)
    account.put(f"tickets/{OPEN}", ticket={"priority": "urgent"})
    seen.safe_update = True
    seen.updated_stamp = seen.updated_at
    seen.status = "pending"

    with pytest.raises(APIException) as refused:
        zenpy.tickets.update(seen)
    assert refused.value.response.status_code == 409
    assert refused.value.response.json()["error"] == "UpdateConflict"

    stamp = account.get(f"tickets/{OPEN}")["ticket"]["updated_at"]
    again = account.put(f"tickets/{OPEN}", ticket={"safe_update": True, "updated_stamp": stamp, "status": "pending"})
    assert again.json()["ticket"]["status"] == "pending"


def test_a_safe_update_needs_a_stamp(account: Account) -> None:
    answer = account.put(f"tickets/{OPEN}", ticket={"safe_update": True, "status": "pending"})

    assert (answer.status_code, answer.json()["details"].keys()) == (422, {"safe_update"})


def test_the_other_client_creates_updates_and_reads(zdesk: Zendesk) -> None:
    place = zdesk.ticket_create({"ticket": {"subject": "Second client", "comment": {"body": "Hello"}}})
    number = int(place.rpartition("/")[2].removesuffix(".json"))
    zdesk.ticket_update(number, {"ticket": {"assignee_id": MARA, "status": "pending"}})

    shown = zdesk.ticket_show(number)["ticket"]
    assert (shown["status"], shown["subject"], shown["assignee_id"]) == ("pending", "Second client", MARA)
    assert zdesk.ticket_comments(number)["comments"][0]["body"] == "Hello"
    assert len(zdesk.tickets_list(get_all_pages=True)["tickets"]) == len(TICKETS) + 1
    assert zdesk.incremental_tickets_list(start_time=1_700_000_000)["count"] >= len(TICKETS)


def test_many_are_updated_in_a_job(zenpy: Zenpy, account: Account, zdesk: Zendesk) -> None:
    several = list(zenpy.tickets(ids=[OPEN, PENDING]))
    for ticket in several:
        ticket.priority = "low"
    job = zenpy.tickets.update(several)
    for _ in range(3):
        done = zenpy.job_status(id=job.id)
    told = zdesk.tickets_update_many({"ticket": {"additional_tags": ["swept"]}}, ids=f"{OPEN},{CLOSED},99999")
    swept = account.finished_id(told["job_status"]["id"])

    assert (job.status, done.status, done.progress) == ("queued", "completed", 2)
    assert [ticket.priority for ticket in zenpy.tickets(ids=[OPEN, PENDING])] == ["low", "low"]
    assert [entry["success"] for entry in swept["results"]] == [True, True, False]
    assert "swept" in account.get(f"tickets/{CLOSED}")["ticket"]["tags"]


def test_many_are_created_and_deleted_and_brought_back(zenpy: Zenpy, account: Account) -> None:
    job = zenpy.tickets.create([Ticket(subject=name, comment=Comment(body=name)) for name in ("One", "Two")])
    made = [entry["id"] for entry in account.finished_id(job.id)["results"]]
    account.finished(account.http.delete("/api/v2/tickets/destroy_many", params={"ids": ",".join(map(str, made))}))

    with pytest.raises(RecordNotFoundException):
        zenpy.tickets(id=made[0])
    assert [ticket.id for ticket in zenpy.tickets.deleted()] == made
    zenpy.tickets.restore(made[0])
    assert zenpy.tickets(id=made[0]).subject == "One"
    zenpy.tickets.delete(zenpy.tickets(id=made[0]))
    assert {one["id"] for one in account.get("deleted_tickets")["deleted_tickets"]} == set(made)


def test_a_ticket_can_be_made_by_a_job(account: Account) -> None:
    answer = account.http.post("/api/v2/tickets?async=true", json={"ticket": {"comment": {"body": "Later"}}})

    assert answer.status_code == 202
    made = account.finished(answer)["results"][0]["id"]
    assert account.get(f"tickets/{made}")["ticket"]["subject"] == "Later"


def test_a_job_meets_a_conflict_when_somebody_was_faster(account: Account) -> None:
    started = account.http.put(f"/api/v2/tickets/update_many?ids={OPEN}", json={"ticket": {"priority": "low"}})
    account.put(f"tickets/{OPEN}", ticket={"priority": "urgent"})

    result = account.finished(started)["results"][0]
    assert (result["success"], result["error"]) == (False, "UpdateConflict")
    assert account.get(f"tickets/{OPEN}")["ticket"]["priority"] == "urgent"


def test_what_fails_in_a_job_leaves_nothing_behind(account: Account) -> None:
    given = {"requester": {"email": "half@done.eu", "name": "Half"}, "comment": {"body": "x"}, "status": "solved"}
    result = account.finished(account.post("tickets/create_many", tickets=[given]))["results"][0]

    assert (result["success"], result["error"]) == (False, "RecordInvalid")
    assert account.get("users/search", query="half@done.eu")["count"] == 0


def test_duplicates_are_merged_and_closed(zenpy: Zenpy, account: Account) -> None:
    target, source = zenpy.tickets(id=OPEN), zenpy.tickets(id=PENDING)
    job = zenpy.tickets.merge(target, source, target_comment="Took over", source_comment="Goes on there")
    account.finished_id(job.id)

    gone, stays = zenpy.tickets(id=PENDING), account.get(f"tickets/{OPEN}")["ticket"]
    assert (gone.status, "closed_by_merge" in gone.tags) == ("closed", True)
    assert TOMAS in stays["email_cc_ids"]
    assert account.get(f"tickets/{OPEN}/comments")["comments"][-1]["body"] == "Took over"
    assert account.get(f"tickets/{PENDING}/comments")["comments"][-1]["public"] is False
    assert [user["id"] for user in account.get(f"tickets/{OPEN}/email_ccs")["users"]] == [TOMAS]


def test_nothing_merges_into_itself_or_into_a_closed_ticket(account: Account) -> None:
    assert account.post(f"tickets/{OPEN}/merge", ids=[OPEN]).status_code == 422
    assert account.post(f"tickets/{CLOSED}/merge", ids=[OPEN]).status_code == 422
    assert account.finished(account.post(f"tickets/{OPEN}/merge", ids=[CLOSED]))["results"][0]["success"] is False


def test_a_solved_problem_solves_its_incidents(zenpy: Zenpy, account: Account) -> None:
    incidents = [ticket.id for ticket in zenpy.tickets.incidents(PROBLEM)]
    account.put(f"tickets/{PROBLEM}", ticket={"status": "solved", "comment": {"body": "Webhooks are on time again."}})

    incident = account.get(f"tickets/{INCIDENT}")["ticket"]
    assert incidents == [INCIDENT]
    assert (incident["status"], incident["assignee_id"]) == ("solved", JONAS)
    assert account.get(f"tickets/{INCIDENT}/comments")["comments"][-1]["body"] == "Webhooks are on time again."
    assert account.get(f"tickets/{PROBLEM}/related")["ticket_related"]["incidents"] == 1


def test_tags_are_set_added_and_taken_off(zenpy: Zenpy, account: Account) -> None:
    assert list(zenpy.tickets.add_tags(OPEN, ["Late"])) == ["billing", "late", "refund"]
    assert list(zenpy.tickets.delete_tags(OPEN, ["refund"])) == ["billing", "late"]
    assert list(zenpy.tickets.set_tags(OPEN, ["only"])) == ["only"]
    assert account.get(f"tickets/{OPEN}/tags") == {"tags": ["only"]}
    assert {"name": "only", "count": 1} in account.get("tags")["tags"]


def test_custom_fields_are_checked_and_bring_their_tags(account: Account) -> None:
    values = [{"id": PRODUCT_FIELD, "value": "product_gateway"}, {"id": VIP_FIELD, "value": True}]
    written = account.put(f"tickets/{NEW}", ticket={"custom_fields": values}).json()["ticket"]
    changed = account.put(
        f"tickets/{NEW}", ticket={"custom_fields": [{"id": PRODUCT_FIELD, "value": "product_portal"}]}
    ).json()["ticket"]
    wrong = account.put(f"tickets/{NEW}", ticket={"custom_fields": [{"id": PRODUCT_FIELD, "value": "shoe"}]})
    unknown = account.put(f"tickets/{NEW}", ticket={"custom_fields": [{"id": 4242, "value": "x"}]})
    text = account.put(f"tickets/{NEW}", ticket={"custom_fields": [{"id": ORDER_FIELD, "value": "A-1"}]}).json()

    assert written["tags"] == ["product_gateway", "vip"]
    assert changed["tags"] == ["product_portal", "vip"]
    assert (wrong.status_code, unknown.status_code) == (422, 200)
    assert {"id": ORDER_FIELD, "value": "A-1"} in text["ticket"]["custom_fields"]


def test_spam_goes_with_its_sender(zenpy: Zenpy, account: Account) -> None:
    answer = account.http.put(f"/api/v2/tickets/{SPAM}/mark_as_spam.json")

    assert (answer.status_code, answer.json()) == (200, {})
    assert account.http.get(f"/api/v2/tickets/{SPAM}").status_code == 404
    assert account.get("users/914")["user"]["suspended"] is True


def test_words_are_blacked_out_everywhere(zenpy: Zenpy, account: Account) -> None:
    number = "4111 1111 1111 1111"
    given = {"subject": "Card", "comment": {"body": f"My card is {number}, thanks"}}
    made = account.post("tickets", ticket=given).json()["ticket"]["id"]
    comment = account.get(f"tickets/{made}/comments")["comments"][0]
    zenpy.tickets.comment_redact(made, comment["id"], number)

    told = account.http.get(f"/api/v2/tickets/{made}/audits").text + account.http.get(f"/api/v2/tickets/{made}").text
    told += account.http.get(f"/api/v2/tickets/{made}/comments").text
    assert number not in told
    assert "▇" * len(number) in told
    assert account.put(f"tickets/{made}/comments/{comment['id']}/redact", text="not there").status_code == 422


def test_a_comment_can_be_taken_inside(account: Account) -> None:
    account.put(f"tickets/{OPEN}", ticket={"comment": {"body": "Meant for a colleague"}})
    comment = account.get(f"tickets/{OPEN}/comments")["comments"][-1]

    assert account.put(f"tickets/{OPEN}/comments/{comment['id']}/make_private").status_code == 200
    assert account.get(f"tickets/{OPEN}/comments")["comments"][-1]["public"] is False
    assert account.put(f"tickets/{NEW}/comments/{comment['id']}/make_private").status_code == 404


def test_group_and_assignee_keep_in_step(account: Account) -> None:
    by_mail = account.put(f"tickets/{NEW}", ticket={"assignee_email": "mara.lindqvist@tessavik.io"}).json()["ticket"]
    moved = account.put(f"tickets/{NEW}", ticket={"group_id": TECH_GROUP}).json()["ticket"]
    wrong = account.put(f"tickets/{NEW}", ticket={"group_id": TECH_GROUP, "assignee_id": MARA})
    customer = account.put(f"tickets/{NEW}", ticket={"assignee_id": LENA})

    assert (by_mail["assignee_id"], by_mail["group_id"], by_mail["status"]) == (MARA, 501, "open")
    assert (moved["assignee_id"], moved["group_id"]) == (None, TECH_GROUP)
    assert (wrong.status_code, customer.status_code) == (422, 422)


def test_copies_and_followers_are_kept_as_people(account: Account) -> None:
    given = {
        "email_ccs": [{"user_email": "new.face@corvane.eu"}, {"user_id": TOMAS}],
        "followers": [{"user_id": JONAS}],
    }
    written = account.put(f"tickets/{OPEN}", ticket=given).json()["ticket"]
    account.put(f"tickets/{OPEN}", ticket={"email_ccs": [{"user_id": TOMAS, "action": "delete"}]})

    assert len(written["email_cc_ids"]) == 2
    assert written["follower_ids"] == [JONAS]
    assert TOMAS not in account.get(f"tickets/{OPEN}")["ticket"]["email_cc_ids"]
    assert [one["id"] for one in account.get(f"users/{JONAS}/tickets/followed")["tickets"]] == [OPEN]
    assert len(account.get(f"tickets/{OPEN}/collaborators")["users"]) == 2
    assert [one["id"] for one in account.get(f"tickets/{OPEN}/followers")["users"]] == [JONAS]


def test_recent_tickets_are_those_that_one_changed_last(zenpy: Zenpy, account: Account) -> None:
    for number in (PENDING, SOLVED, OPEN):
        account.put(f"tickets/{number}", ticket={"comment": {"body": "Looked at it", "public": False}})

    assert [ticket.id for ticket in zenpy.tickets.recent()] == [OPEN, SOLVED, PENDING]


def test_nobody_speaks_in_a_customers_name(account: Account) -> None:
    answer = account.put(f"tickets/{OPEN}", ticket={"comment": {"body": "All is well!", "author_id": LENA}})
    colleague = account.put(f"tickets/{OPEN}", ticket={"comment": {"body": "From Jonas", "author_id": JONAS}})

    assert (answer.status_code, answer.json()["details"].keys()) == (422, {"author"})
    assert colleague.status_code == 200
    assert account.get(f"tickets/{OPEN}/comments")["comments"][-1]["author_id"] == JONAS


def test_measures_tell_of_stations_replies_and_reopens(account: Account, zenpy: Zenpy) -> None:
    account.put(f"tickets/{NEW}", ticket={"assignee_id": JONAS})
    account.put(f"tickets/{NEW}", ticket={"status": "solved", "comment": {"body": "Try the new driver."}})
    account.wait(1 / 24)
    account.as_customer(LENA, "PUT", f"requests/{NEW}", {"request": {"comment": {"body": "Still blank!"}}})

    told = account.get(f"tickets/{NEW}/metrics")["ticket_metric"]
    assert (told["reopens"], told["replies"], told["assignee_stations"], told["solved_at"]) == (1, 1, 1, None)
    assert told["reply_time_in_minutes"]["calendar"] == 10 * 24 * 60
    assert account.get("ticket_metrics", **{"page[size]": 2})["meta"]["has_more"] is True
    assert account.get(f"ticket_metrics/{NEW}")["ticket_metric"]["reopens"] == 1
