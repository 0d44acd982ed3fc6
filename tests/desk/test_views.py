"""Views through the vendor's clients: conditions evaluated, rows, counts, previews."""

import pytest
from zdesk import Zendesk
from zenpy import Zenpy
from zenpy.lib.api_objects import View
from zenpy.lib.exception import APIException, RecordNotFoundException

from tests.desk.conftest import Account
from tests.desk.office import HELD, INCIDENT, LAST, LENA, MARA, NEW, OPEN, PENDING, PROBLEM, SPAM
from tests.desk.rulebook import condition, furnish

UNSOLVED = condition("status", "less_than", "solved")
MINE = [UNSOLVED, condition("assignee_id", "is", "current_user")]


def made(account: Account, title: str = "Mine", all: list | None = None, **more) -> dict:  # noqa: A002 - the vendor's own word
    answer = account.post("views.json", view={"title": title, "all": MINE if all is None else all, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()["view"]


def test_a_view_is_made_read_changed_and_deleted(zenpy: Zenpy, account: Account) -> None:
    view = zenpy.views.create(
        View(title="Mine", all=MINE, output={"columns": ["status", "subject"], "sort_by": "created"})
    )
    read = zenpy.views(id=view.id)
    read.title = "Ours"
    changed = zenpy.views.update(read)

    shown = account.get(f"views/{view.id}")["view"]
    assert (shown["conditions"]["all"], shown["execution"]["sort_by"], read.active) == (MINE, "created", True)
    assert [one["id"] for one in shown["execution"]["columns"]] == ["status", "subject"]
    assert changed.title == shown["title"] == "Ours"
    zenpy.views.delete(changed)
    with pytest.raises(RecordNotFoundException):
        zenpy.views(id=view.id)


def test_a_view_shows_the_tickets_that_meet_it_now(zenpy: Zenpy, account: Account) -> None:
    view = made(account, output={"sort_by": "created", "sort_order": "asc"})
    before = [ticket.id for ticket in zenpy.views.tickets(view["id"])]
    account.put(f"tickets/{OPEN}", ticket={"status": "solved"})
    account.put(f"tickets/{NEW}", ticket={"assignee_id": MARA, "group_id": None})

    assert before == [OPEN, HELD, LAST]
    assert [ticket.id for ticket in zenpy.views.tickets(view["id"])] == [NEW, HELD, LAST]
    assert zenpy.views.count(view["id"]).value == 3


def test_a_view_is_executed_row_by_row_in_groups(zenpy: Zenpy, account: Account) -> None:
    view = made(
        account,
        all=[condition("status", "less_than", "pending")],
        output={
            "columns": ["subject", "requester", "created", "priority"],
            "group_by": "status",
            "group_order": "asc",
            "sort_by": "created",
            "sort_order": "desc",
        },
    )
    done = account.get(f"views/{view['id']}/execute")

    assert zenpy.views.execute(view["id"]).id == view["id"]
    assert [row["ticket"]["id"] for row in done["rows"]] == [SPAM, INCIDENT, NEW, LAST, PROBLEM, OPEN]
    assert done["columns"][1] == {"id": "requester", "title": "Requester"}
    assert done["rows"][-1]["requester_id"] == LENA
    assert done["rows"][-1]["created"] == "2026-11-07T09:00:00Z"
    assert (done["count"], done["next_page"]) == (6, None)


def test_pages_of_a_view_come_by_cursor_and_by_number(account: Account) -> None:
    view = made(account, all=[UNSOLVED], output={"sort_by": "priority", "sort_order": "desc"})
    path = f"views/{view['id']}/tickets"
    first = account.get(path, **{"page[size]": "3"})
    second = account.http.get(first["links"]["next"]).json()
    numbered = account.get(path, page="2", per_page="3")

    whole = [one["id"] for one in account.get(path)["tickets"]]
    assert [one["id"] for one in first["tickets"] + second["tickets"]] == whole[:6]
    assert [one["id"] for one in numbered["tickets"]] == whole[3:6]
    assert whole[0] == PROBLEM


def test_rows_of_an_executed_view_come_in_pages(account: Account) -> None:
    view = made(account, all=[UNSOLVED], output={"sort_by": "created", "sort_order": "asc"})
    first = account.get(f"views/{view['id']}/execute", per_page="3")
    second = account.http.get(first["next_page"]).json()

    assert [row["ticket"]["id"] for row in first["rows"] + second["rows"]] == [
        NEW,
        OPEN,
        PENDING,
        HELD,
        PROBLEM,
        INCIDENT,
    ]


def test_counts_of_several_views_come_at_once(account: Account, zdesk: Zendesk) -> None:
    mine, all_of_them = made(account)["id"], made(account, all=[UNSOLVED])["id"]
    counts = account.get("views/count_many", ids=f"{mine},{all_of_them}")["view_counts"]

    assert [(one["view_id"], one["value"], one["pretty"], one["fresh"]) for one in counts] == [
        (mine, 3, "3", True),
        (all_of_them, 8, "8", True),
    ]
    assert zdesk.view_count(mine)["view_count"]["value"] == 3
    many = ",".join(str(one) for one in range(1, 22))
    assert account.http.get("/api/v2/views/count_many", params={"ids": many}).status_code == 400


def test_a_preview_shows_rows_and_saves_nothing(account: Account) -> None:
    asked = {
        "all": [UNSOLVED],
        "any": [condition("current_tags", "includes", "outage")],
        "output": {"columns": ["subject"]},
    }
    shown = account.post("views/preview.json", view=asked).json()
    count = account.post("views/preview/count.json", view=asked).json()["view_count"]["value"]

    assert {row["subject"] for row in shown["rows"]} == {"Webhooks are delayed", "Orders arrive late"}
    assert (shown["columns"], count) == ([{"id": "subject", "title": "Subject"}], 2)
    assert account.get("views")["count"] == 0


def test_switched_off_views_are_listed_but_not_in_use(zenpy: Zenpy, account: Account) -> None:
    used, unused = made(account, "Used")["id"], made(account, "Unused", active=False)["id"]

    assert [view.id for view in zenpy.views()] == [used, unused]
    assert [view.id for view in zenpy.views.active()] == [used]
    assert [view.id for view in zenpy.views.search("unus")] == [unused]
    assert account.http.get(f"/api/v2/views/{unused}/tickets").status_code == 404


def test_a_compact_list_ends_at_32(account: Account, zenpy: Zenpy) -> None:
    for at in range(34):
        made(account, f"View {at}")

    assert len(account.get("views/compact")["views"]) == 32
    assert len(list(zenpy.views.compact())) == 32


@pytest.mark.parametrize(
    ("view", "says"),
    [
        ({"title": " ", "all": MINE}, "Title: cannot be blank"),
        ({"title": "x", "all": []}, "must have an all condition"),
        ({"title": "x", "all": [condition("priority", "is", "high")]}, "must have an all condition"),
        ({"title": "x", "all": [condition("status", "is", "finished")]}, "status is one of"),
        ({"title": "x", "all": [condition("status", "resembles", "open")]}, "status takes"),
        ({"title": "x", "all": [*MINE, condition("mood", "is", "bad")]}, "not a field"),
        ({"title": "x", "all": [*MINE, condition("status", "changed")]}, "about an update"),
        ({"title": "x", "all": [*MINE, condition("PENDING", "is", "long")]}, "number of hours"),
    ],
)
def test_views_that_cannot_be_meant_are_refused(account: Account, view: dict, says: str) -> None:
    answer = account.post("views.json", view=view)

    assert answer.status_code == 422
    assert says in answer.text


def test_the_vendors_client_raises_what_is_refused(zenpy: Zenpy) -> None:
    with pytest.raises(APIException, match="all condition"):
        zenpy.views.create(View(title="Everything", all=[]))


def test_end_users_see_no_views(account: Account) -> None:
    assert account.as_customer(LENA, "GET", "views")[0] == 403


def test_every_view_of_the_company_can_be_executed(account: Account) -> None:
    furnish(account.world)
    counts = {}
    for view in account.get("views/active")["views"]:
        done = account.get(f"views/{view['id']}/execute")
        assert len(done["rows"]) == done["count"] == account.get(f"views/{view['id']}/count")["view_count"]["value"]
        counts[view["title"]] = done["count"]

    assert (counts["Your unsolved tickets"], counts["Unassigned tickets"], counts["Pending tickets"]) == (3, 3, 1)
    assert (counts["Urgent and high priority"], counts["New tickets in your groups"]) == (3, 0)
