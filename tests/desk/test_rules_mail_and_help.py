"""Messages that were held back, and the help centre."""

import pytest
from zdesk import Zendesk
from zenpy import Zenpy
from zenpy.lib.exception import RecordNotFoundException

from services.desk.tables import help_articles, help_categories, help_sections, suspended_tickets
from services.kernel.world import World
from tests.desk.conftest import Account
from tests.desk.office import LENA, NOW
from tests.desk.rulebook import comments_of, trigger

ENGLISH, GERMAN, BILLING, RECHNUNG = 11, 12, 21, 22
REFUNDS, LIMITS, RUECK, DRAFT, DUNNING = 31, 32, 33, 34, 35


@pytest.fixture
def held(account: Account) -> Account:
    for key, sender in (
        (71, {"id": LENA, "name": "Lena Brandt", "email": "lena.brandt@corvane.eu"}),
        (72, {"id": None, "name": "Nico Frey", "email": "nico@frey.ch"}),
    ):
        body = {
            "author": sender, "subject": "Where is my refund?", "content": "You promised it on Monday.", "cause": "Detected as spam",
            "cause_id": 0, "message_id": f"<{key}@mail>", "recipient": "support@tessavik.io", "ticket_id": None, "brand_id": None,
            "via": {"channel": "email", "source": {"from": {}, "to": {}, "rel": None}}, "error_messages": None, "attachments": [],
        }  # fmt: skip
        account.world.save(
            suspended_tickets, {"id": key, "created_at": NOW, "updated_at": NOW, "body": body}, "planted"
        )
    return account


def test_held_back_messages_are_listed_and_read(held: Account, zenpy: Zenpy, zdesk: Zendesk) -> None:
    assert [(one.id, one.cause) for one in zenpy.suspended_tickets()] == [
        (71, "Detected as spam"),
        (72, "Detected as spam"),
    ]
    assert zenpy.suspended_tickets(id=71).subject == "Where is my refund?"
    assert zdesk.suspended_tickets_list()["suspended_tickets"][1]["author"]["email"] == "nico@frey.ch"


def test_a_recovered_message_becomes_a_ticket_of_its_sender(held: Account) -> None:
    trigger(held.world, [("current_tags", "let_in")], {"field": "update_type", "operator": "is", "value": "Create"})
    known = held.put("suspended_tickets/71/recover.json").json()["ticket"]
    stranger = held.put("suspended_tickets/72/recover.json").json()["ticket"]

    assert (known["requester_id"], known["subject"], known["status"]) == (LENA, "Where is my refund?", "new")
    assert (known["via"]["channel"], known["tags"]) == ("email", ["let_in"])
    assert comments_of(held.world, known["id"])[0]["author_id"] == LENA
    assert held.get(f"users/{stranger['requester_id']}")["user"]["email"] == "nico@frey.ch"
    assert held.get("suspended_tickets")["suspended_tickets"] == []
    assert held.put("suspended_tickets/71/recover.json").status_code == 404


def test_the_vendors_client_recovers_and_throws_away(held: Account, zenpy: Zenpy) -> None:
    first, second = zenpy.suspended_tickets()
    zenpy.suspended_tickets.recover(first)
    zenpy.suspended_tickets.delete(second)

    with pytest.raises(RecordNotFoundException):
        zenpy.suspended_tickets(id=72)
    assert held.get("search/count", query="type:ticket subject:refund")["count"] == 1


@pytest.fixture
def shelves(account: Account) -> Account:
    furnish_help(account.world)
    return account


def furnish_help(world: World) -> None:
    def put(table, key: int, **body) -> None:
        world.save(table, {"id": key, "created_at": NOW, "updated_at": NOW, "body": body}, "planted")

    for key, locale, place in ((ENGLISH, "en-us", 1), (GERMAN, "de", 2)):
        put(help_categories, key, name="Help", description="", position=place, locale=locale)
    for key, category, locale, name in ((BILLING, ENGLISH, "en-us", "Billing"), (RECHNUNG, GERMAN, "de", "Rechnung")):
        put(help_sections, key, name=name, description="", position=key, locale=locale, category_id=category)
    for key, section, locale, title, text, segment, draft in (
        (
            REFUNDS,
            BILLING,
            "en-us",
            "Refund policy",
            "Refunds are paid within <b>30 days</b> of the charge.",
            None,
            False,
        ),
        (LIMITS, BILLING, "en-us", "Limits for agents", "A goodwill refund above 200 needs a lead.", 1, False),
        (RUECK, RECHNUNG, "de", "Rückzahlung", "Rückzahlungen dauern 30 Tage.", None, False),
        (DRAFT, BILLING, "en-us", "Refund ideas", "Refund everything.", None, True),
        (
            DUNNING,
            BILLING,
            "en-us",
            "Failed payments",
            "We try again on days 3, 5 and 7; a refund is not a payment.",
            None,
            False,
        ),
    ):
        labels = ["money", "internal"] if segment else ["money"]
        put(
            help_articles, key, title=title, name=title, body=f"<p>{text}</p>", locale=locale, source_locale=locale,
            section_id=section, position=key, draft=draft, promoted=False, outdated=False, label_names=labels,
            html_url=f"https://help.tessavik.io/{key}", user_segment_id=segment, permission_group_id=1, author_id=None,
            vote_sum=0, vote_count=0, comments_disabled=True,
        )  # fmt: skip


def test_articles_are_found_by_words_the_title_first(shelves: Account, zenpy: Zenpy) -> None:
    found = shelves.get("help_center/articles/search", query="refund")

    assert [one["id"] for one in found["results"]] == [REFUNDS, LIMITS, DUNNING]
    assert (found["count"], found["results"][0]["result_type"]) == (3, "article")
    assert "30 days" in found["results"][0]["snippet"]
    assert [one.id for one in zenpy.help_center.articles.search(query="goodwill")] == [LIMITS]


def test_a_whole_question_finds_the_page_that_has_most_of_it(shelves: Account) -> None:
    found = shelves.get("help_center/articles/search", query="how long until goodwill money comes back?")

    assert found["results"][0]["id"] == LIMITS


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"query": "rückz", "locale": "de"}, [RUECK]),
        ({"query": "30", "locale": "en-us"}, [REFUNDS]),
        ({"query": "refund", "label_names": "internal"}, [LIMITS]),
        ({"query": "30", "category": str(GERMAN)}, [RUECK]),
        ({"query": "30", "section": str(BILLING)}, [REFUNDS]),
        ({"query": "zeppelin"}, []),
        ({"query": '"*('}, []),
    ],
)
def test_a_search_is_narrowed_by_language_shelf_and_label(shelves: Account, query: dict, expected: list) -> None:
    assert [one["id"] for one in shelves.get("help_center/articles/search", **query)["results"]] == expected


def test_customers_read_what_is_public_and_staff_all_but_drafts(shelves: Account) -> None:
    status, found = shelves.as_customer(LENA, "GET", "help_center/articles/search", query="refund")

    assert (status, [one["id"] for one in found["results"]]) == (200, [REFUNDS, DUNNING])
    assert shelves.as_customer(LENA, "GET", f"help_center/articles/{LIMITS}")[0] == 404
    assert shelves.get(f"help_center/articles/{LIMITS}")["article"]["title"] == "Limits for agents"
    assert shelves.http.get(f"/api/v2/help_center/articles/{DRAFT}.json").status_code == 404


def test_the_help_centre_is_read_shelf_by_shelf(shelves: Account, zenpy: Zenpy) -> None:
    def ids(path: str, key: str) -> list[int]:
        return [one["id"] for one in shelves.get(f"help_center/{path}")[key]]

    assert [one.id for one in zenpy.help_center.categories()] == [ENGLISH, GERMAN]
    assert [one.id for one in zenpy.help_center.sections()] == [BILLING, RECHNUNG]
    assert [one.id for one in zenpy.help_center.articles()] == [REFUNDS, LIMITS, RUECK, DUNNING]
    assert [one.id for one in zenpy.help_center.sections.articles(RECHNUNG, locale="de")] == [RUECK]
    assert [one.id for one in zenpy.help_center.categories.sections(GERMAN)] == [RECHNUNG]
    assert [one.id for one in zenpy.help_center.categories.articles(GERMAN)] == [RUECK]
    assert zenpy.help_center.articles(id=REFUNDS).title == "Refund policy"
    assert ids("de/articles", "articles") == [RUECK]
    assert ids("en-us/sections", "sections") == [BILLING]
    assert ids("de/categories", "categories") == [GERMAN]
    assert shelves.get(f"help_center/sections/{BILLING}")["section"]["name"] == "Billing"
    assert shelves.get(f"help_center/categories/{GERMAN}")["category"]["locale"] == "de"
    assert shelves.get(f"help_center/de/articles/{RUECK}")["article"]["id"] == RUECK
    assert shelves.http.get(f"/api/v2/help_center/en-us/articles/{RUECK}.json").status_code == 404
    assert shelves.http.get("/api/v2/help_center/sections/99/articles.json").status_code == 404
