"""The search language: how a query is read, and what each of its forms finds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.desk.documents import PageNumbering
from services.desk.errors import InvalidSearch
from services.desk.language.dates import Span, parse_span
from services.desk.language.full_text import build_match
from services.desk.language.search import Search, count_results, run_search
from services.desk.language.syntax import LONGEST, Property, Text, parse
from services.desk.operations.help_center import ArticleFilter, search_articles
from services.desk.operations.tickets import create_ticket
from services.desk.tables import tables
from services.desk.tables import tickets as ticket_rows
from services.desk.tables import users as user_rows
from services.kernel.forks import Forks
from services.kernel.world import World
from tests.desk.office import (
    CLOSED,
    CORVANE,
    DAY,
    HALDEN,
    HELD,
    HOUR,
    INCIDENT,
    JONAS,
    LAST,
    LENA,
    MARA,
    NEW,
    NOW,
    OPEN,
    ORDER_FIELD,
    PENDING,
    PRIYA,
    PROBLEM,
    SOLVED,
    SPAM,
    TECH_GROUP,
    TOMAS,
)

EVERY = set(range(NEW, LAST + 1))


def found(world: World, query: str, **more) -> list[tuple[str, int]]:
    hits = run_search(world, Search(query, MARA, **more), 1, 100).hits
    return [(hit.kind, hit.row["id"]) for hit in hits]


def ids(world: World, query: str) -> set[int]:
    return {key for kind, key in found(world, f"type:ticket {query}")}


def test_words_phrases_conditions_and_orders_are_told_apart() -> None:
    query = parse('late "first invoice" -"second one" type:ticket status<solved -tags:spam order_by:created sort:asc')

    assert query.kinds == ("ticket",)
    assert query.texts == (
        Text("late"),
        Text("first invoice", is_phrase=True),
        Text("second one", is_phrase=True, is_negated=True),
    )
    assert query.properties == (
        Property("status", "<", "solved"),
        Property("tags", ":", "spam", is_negated=True),
    )
    assert (query.order_by, query.descending) == ("created", False)


@pytest.mark.parametrize(
    ("written", "start", "end"),
    [
        ("2026-11-10", "2026-11-10", "2026-11-11"),
        ("yesterday", "2026-11-15", "2026-11-16"),
    ],
)
def test_a_day_is_a_stretch_of_time(written: str, start: str, end: str) -> None:
    first, last = parse_span(start, NOW), parse_span(end, NOW)

    assert parse_span(written, NOW) == Span(first.start_ms, last.start_ms)


@pytest.mark.parametrize(("written", "ms"), [("4hours", 4 * HOUR), ("30 minutes", HOUR // 2), ("2weeks", 14 * DAY)])
def test_so_long_ago_is_a_point_in_time(written: str, ms: int) -> None:
    assert parse_span(written, NOW) == Span(NOW - ms, NOW - ms)


@pytest.mark.parametrize("written", ["", "soon", "2026-13-40", "99999-01-01"])
def test_what_is_no_time_is_none(written: str) -> None:
    assert parse_span(written, NOW) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status:open", {OPEN, PROBLEM, LAST}),
        ("status:open status:pending", {OPEN, PROBLEM, LAST, PENDING}),
        ("status<pending", {NEW, OPEN, PROBLEM, INCIDENT, SPAM, LAST}),
        ("status>=solved", {SOLVED, CLOSED}),
        ("-status:open -status:new", {PENDING, HELD, SOLVED, CLOSED}),
        ("priority>normal", {OPEN, PROBLEM, INCIDENT}),
        ("priority:none", {NEW, SPAM, LAST}),
        ("ticket_type:incident", {SOLVED, INCIDENT}),
        ("assignee:me", {OPEN, HELD, LAST}),
        ("assignee:none", {NEW, INCIDENT, SPAM}),
        ("assignee:jonas.abel@tessavik.io", {PENDING, SOLVED, CLOSED, PROBLEM}),
        ('assignee:"Jonas Abel"', {PENDING, SOLVED, CLOSED, PROBLEM}),
        (f"requester:{TOMAS}", {PENDING, HELD, INCIDENT}),
        ("requester:lena", {NEW, OPEN, PROBLEM}),
        ("submitter:oleg", {SPAM}),
        ("group:Billing", {OPEN, HELD, LAST}),
        (f"group_id:{TECH_GROUP}", {NEW, PENDING, SOLVED, CLOSED, PROBLEM, INCIDENT}),
        ("group:none", {SPAM}),
        ('organization:"Halden Marine"', {PENDING, HELD, INCIDENT}),
        ("organization:halden*", {PENDING, HELD, INCIDENT}),
        ("organization:none", {SPAM}),
        ("tags:billing", {OPEN, HELD}),
        ("tags:bill*", {OPEN, HELD}),
        ("tags:billing tags:outage", {OPEN, HELD, PROBLEM, INCIDENT}),
        ('tags:"billing refund"', {OPEN}),
        ("tags:none", {NEW, SPAM}),
        ("-tags:billing", EVERY - {OPEN, HELD}),
        ("created>3days", {INCIDENT, SPAM, LAST}),
        ("created<2026-11-08", {NEW, OPEN}),
        ("created:2026-11-08", {PENDING}),
        ("created>2026-11-08 created<2026-11-10", {HELD}),
        ("created>=2026-11-08 created<=2026-11-09", {PENDING, HELD}),
        ("subject:late", {INCIDENT}),
        ("subject:delayed", {PROBLEM}),
        ("description:late", {PROBLEM, INCIDENT}),
        ("comment:export", {SOLVED}),
        ("commenter:priya", {SOLVED, CLOSED, LAST}),
        ("via:mail", EVERY),
        ("via:web", set()),
        ("via:carrier", set()),
        ("labels", {NEW}),
        ("lab", {NEW}),
        ("abels", set()),
        ("lab*", {NEW}),
        ("uebersicht", set()),
        ("ubersicht", {LAST}),
        ("charged twice", {OPEN}),
        ('"charged twice"', {OPEN}),
        ('"twice charged"', set()),
        ("late -orders", {PROBLEM}),
        ("35", set()),
        (f"{PENDING}", {PENDING}),
        (f"#{PENDING}", {PENDING}),
        ("1044", {HELD}),
        (f"id:{SOLVED}", {SOLVED}),
        ("satisfaction:unoffered", EVERY),
        ("satisfaction:good", set()),
        ("has_attachment:true", set()),
        ("http://nowhere", set()),
        ("*", EVERY),
    ],
)
def test_every_form_of_a_condition_finds_its_tickets(world: World, query: str, expected: set[int]) -> None:
    assert ids(world, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("type:user brandt", [("user", LENA)]),
        ("type:user role:agent name:jonas", [("user", JONAS)]),
        ("type:user email:priya.raman@corvane.eu", [("user", PRIYA)]),
        ("type:user priya.raman@corvane.eu", [("user", PRIYA)]),
        ("type:user role:admin", [("user", 903)]),
        (
            "type:user organization:corvane created<2030-01-01 order_by:created sort:asc",
            [("user", LENA), ("user", PRIYA)],
        ),
        ("type:user group:billing", [("user", MARA)]),
        ("type:organization tags:customer name:hal*", [("organization", HALDEN)]),
        ("type:organization tags:customer name:corv*", []),
        ("type:organization domain:corvane.eu", [("organization", CORVANE)]),
        ("type:organization external_id:acc-701", [("organization", CORVANE)]),
        ("type:group tech", [("group", TECH_GROUP)]),
        ("type:group echnical", []),
        ("type:user status:open", []),
        ("type:spaceship", []),
    ],
)
def test_people_organizations_and_groups_are_found_too(world: World, query: str, expected: list) -> None:
    assert found(world, query) == expected


def test_without_a_type_everything_is_searched_and_tickets_come_last(world: World) -> None:
    assert found(world, "corvane") == [("organization", CORVANE), ("user", PRIYA), ("user", LENA)]
    assert {kind for kind, _ in found(world, "tech created<2030-01-01")} == {"group"}
    assert found(world, "lena late") == []


def test_a_value_of_a_custom_field_is_found_by_its_id_and_by_any(world: World) -> None:
    row = world.get(ticket_rows, OPEN)
    values = {str(ORDER_FIELD): "A-77"}
    world.save(ticket_rows, {**row, "body": {**row["body"], "custom_fields": values}}, "planted")

    assert ids(world, f"custom_field_{ORDER_FIELD}:a-77") == set()
    assert ids(world, f"custom_field_{ORDER_FIELD}:A-77") == {OPEN}
    assert ids(world, "fieldvalue:A-77") == {OPEN}


def test_a_word_in_the_subject_counts_more_than_a_newer_ticket(world: World) -> None:
    mara = world.get(user_rows, MARA)
    newer = create_ticket(world, {"subject": "Rolls", "comment": {"body": "No labels are left"}}, mara).after["id"]

    assert [key for _, key in found(world, "type:ticket labels")] == [NEW, newer]


def test_results_are_sorted_as_asked(world: World) -> None:
    by_priority = [key for _, key in found(world, "type:ticket priority>none order_by:priority", kind="ticket")]
    oldest = [key for _, key in found(world, "type:ticket order_by:created_at sort:asc")]
    newest = [key for _, key in found(world, "type:ticket", sort_by="created_at", descending=True)]

    assert by_priority == [PROBLEM, INCIDENT, OPEN, SOLVED, PENDING, CLOSED, HELD]
    assert oldest == sorted(EVERY)
    assert newest == sorted(EVERY, reverse=True)


def test_deleted_tickets_and_people_are_not_found(world: World) -> None:
    row = world.get(ticket_rows, OPEN)
    world.save(ticket_rows, {**row, "body": {**row["body"], "deleted_at": NOW}}, "planted")
    lena = world.get(user_rows, LENA)
    world.save(user_rows, {**lena, "body": {**lena["body"], "active": False}}, "planted")

    assert OPEN not in ids(world, "tags:billing")
    assert found(world, "type:user brandt") == []


def test_what_was_just_written_is_found_at_once_unless_the_index_lags(world: World) -> None:
    mara = world.get(user_rows, MARA)
    world.actor = "agent"
    world.begin()
    made = create_ticket(world, {"comment": {"body": "zeppelin over the harbour"}}, mara)
    world.keep()

    assert ids(world, "zeppelin") == {made.after["id"]}
    world.search_lag = 3
    assert ids(world, "zeppelin") == set()
    assert count_results(world, Search("zeppelin", MARA)) == 0
    for _ in range(3):
        world.begin()
        world.keep()
    assert ids(world, "zeppelin") == {made.after["id"]}
    assert all(change.table in tables.tables for change in world.changes())


@pytest.mark.parametrize("query", ["created>soon", "status<solvd", "x" * (LONGEST + 1), " ".join(["a"] * 61)])
def test_what_cannot_be_meant_is_refused(world: World, query: str) -> None:
    with pytest.raises(InvalidSearch, match="Invalid search"):
        found(world, query)


@pytest.mark.parametrize(
    "query", ['"', "-", '"" :', "a:b:c", "(((", "NEAR(a b)", "status:", 'subject:"', "\x00", "^x*y", "*:*"]
)
def test_no_query_breaks_the_index(world: World, query: str) -> None:
    assert count_results(world, Search(query, MARA)) >= 0


@settings(max_examples=300, deadline=None)
@given(
    query=st.text(alphabet="ab:<>=-*\"'()#@._ 0123tagscredw\u00fc\n", max_size=40),
    kind=st.sampled_from([None, "ticket", "user"]),
)
def test_whatever_is_typed_is_searched_or_refused(forks: Forks, query: str, kind: str | None) -> None:
    fork = forks.take()
    asked = Search(query, MARA, kind)
    try:
        found = run_search(World(fork, seed=7), asked, 1, 100)
        assert found.count == len(found.hits) == count_results(World(fork, seed=7), asked)
    except InvalidSearch:
        pass
    finally:
        forks.give_back(fork)


@pytest.mark.parametrize("query", ["pri\x00nter", '"pri\x00nter"', "\x00"])
def test_a_nul_parts_words_and_ends_no_search(world: World, query: str) -> None:
    wanted = ArticleFilter()
    reader = world.get(user_rows, MARA)
    assert reader is not None

    assert search_articles(world, query, wanted, reader, PageNumbering()).rows == []
    assert build_match([Text("pri\x00nter")]) == '"pri nter" *'
