"""Conditions: what each asks, office hours, and that an index answers exactly as a look at every ticket does."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from services.desk.indexing import PRIORITIES, STATUSES
from services.desk.rules.conditions import Author, Subject, holds, meets
from services.desk.rules.office_hours import HOUR_MS, MINUTE_MS, Schedule
from services.desk.rules.selection import Selection
from services.desk.rules.subjects import Viewer, subject_at_rest
from services.desk.rules.vocabulary import CUSTOM_OPERATORS, OPERATORS, TYPES, Condition, Conditions
from services.desk.tables import tickets
from services.kernel.clock import to_milliseconds
from services.kernel.forks import Forks
from services.kernel.world import World
from tests.desk.office import (
    BILLING_GROUP,
    CORVANE,
    HALDEN,
    JONAS,
    LENA,
    MARA,
    NEW,
    NOW,
    OPEN,
    ORDER_FIELD,
    PENDING,
    PROBLEM,
    SOLVED,
    TECH_GROUP,
    TOMAS,
)
from tests.desk.rulebook import ticket, user

OFFICE = Schedule(tuple((day * 1440 + 480, day * 1440 + 1080) for day in range(1, 6)))
DUBLIN = ZoneInfo("Europe/Dublin")
# Minutes of 2026 and 2027, both changes of the clocks among them.
MOMENTS = st.integers(0, 730 * 1440).map(lambda at: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=at))


def counted(start: datetime, minutes: int) -> int:
    """Minute by minute, by the zone's own table."""
    moments = (start + timedelta(minutes=at) for at in range(minutes))
    local = (one.astimezone(DUBLIN) for one in moments)
    return sum(one.weekday() < 5 and 8 <= one.hour < 18 for one in local)


@settings(max_examples=60, deadline=None)
@given(MOMENTS, st.integers(0, 4_000))
def test_open_time_is_what_counting_minutes_says(start: datetime, minutes: int) -> None:
    start_ms = to_milliseconds(start)

    assert OFFICE.open_ms(start_ms, start_ms + minutes * MINUTE_MS) == counted(start, minutes) * MINUTE_MS


@settings(max_examples=200, deadline=None)
@given(MOMENTS, st.integers(1, 10_000))
def test_so_much_open_time_later_is_exactly_so_much_later(start: datetime, minutes: int) -> None:
    start_ms, length = to_milliseconds(start), minutes * MINUTE_MS
    end = OFFICE.after_ms(start_ms, length)

    assert OFFICE.open_ms(start_ms, end) == length
    assert OFFICE.open_ms(start_ms, end - 1) == length - 1


def subject(world: World, key: int, **more) -> Subject:
    row = ticket(world, key)
    seen = subject_at_rest(world, row, world.clock.now_ms(), OFFICE, Viewer.of_user(world, user(world, MARA)))
    return Subject(**{**{name: getattr(seen, name) for name in seen.__dataclass_fields__}, **more})


@pytest.mark.parametrize(
    ("key", "field", "operator", "value", "expected"),
    [
        (OPEN, "status", "is", "open", True),
        (OPEN, "status", "less_than", "open", False),
        (OPEN, "status", "less_than", "solved", True),
        (OPEN, "status", "greater_than", "new", True),
        (NEW, "priority", "is", "", True),
        (NEW, "priority", "less_than", "low", True),
        (OPEN, "priority", "greater_than", "normal", True),
        (OPEN, "type", "is_not", "question", False),
        (OPEN, "group_id", "is", str(BILLING_GROUP), True),
        (OPEN, "group_id", "is", BILLING_GROUP, True),
        (OPEN, "group_id", "is", "current_groups", True),
        (PENDING, "group_id", "is", "current_groups", False),
        (OPEN, "assignee_id", "is", "current_user", True),
        (NEW, "assignee_id", "is", None, True),
        (OPEN, "requester_id", "is", LENA, True),
        (OPEN, "organization_id", "is_not", CORVANE, False),
        (OPEN, "current_tags", "includes", "billing spam", True),
        (OPEN, "current_tags", "not_includes", ["spam"], True),
        (OPEN, "subject_includes_word", "includes", "october rain", True),
        (OPEN, "subject_includes_word", "includes", "octo", False),
        (OPEN, "subject_includes_word", "is", "twice in oct", True),
        (OPEN, "description_includes_word", "not_includes", "card", False),
        (OPEN, "via_id", "is", "4", True),
        (OPEN, "via_id", "is_not", "web", True),
        (OPEN, "requester_role", "is", "end_user", True),
        (OPEN, "satisfaction_score", "is", "unoffered", True),
        (OPEN, "created_at", "greater_than", 24, True),
        (OPEN, "created_at", "greater_than", 24 * 9, False),
        (OPEN, "OPEN", "is", 24 * 9, True),
        (OPEN, "PENDING", "greater_than", 0, False),
        (OPEN, "due_date", "less_than", 5, False),
        (OPEN, "created_at", "greater_than_business_hours", 50, True),
        (OPEN, "created_at", "greater_than_business_hours", 62, False),
        (OPEN, "reopens", "is", 0, True),
        (PROBLEM, "number_of_incidents", "greater_than", 0, True),
        (OPEN, "replies", "less_than", 1, True),
        (OPEN, "in_business_hours", "is", "true", True),
        (OPEN, f"custom_fields_{ORDER_FIELD}", "not_present", None, True),
        (OPEN, f"custom_fields_{ORDER_FIELD}", "is", "A-1", False),
        (OPEN, "status", "changed", None, False),
        (OPEN, "comment_is_public", "is", "not_relevant", False),
        (OPEN, "role", "is", "agent", False),
    ],
)
def test_each_condition_asks_what_it_says(
    world: World, key: int, field: str, operator: str, value: object, expected: bool
) -> None:
    assert holds(subject(world, key), Condition(field, operator, value)) is expected


@pytest.mark.parametrize(
    ("field", "operator", "value", "expected"),
    [
        ("status", "changed", None, True),
        ("status", "value", "open", True),
        ("status", "value", "solved", False),
        ("status", "value_previous", "pending", True),
        ("status", "not_value_previous", "pending", False),
        ("priority", "changed", None, False),
        ("priority", "not_changed", None, True),
        ("update_type", "is", "Change", True),
        ("update_type", "is", "Create", False),
        ("comment_is_public", "is", True, True),
        ("comment_is_public", "is", "false", False),
        ("comment_is_public", "is", "not_relevant", True),
        ("comment_includes_word", "includes", "refund please", True),
        ("role", "is", "end_user", True),
        ("role", "is", "requester_id", True),
        ("role", "is", MARA, False),
        ("role", "is_not", "agent", True),
        ("assignee_id", "is", "current_user", False),
        ("current_via_id", "is", "web", True),
    ],
)
def test_conditions_on_an_update_see_both_sides_of_it(
    world: World, field: str, operator: str, value: object, expected: bool
) -> None:
    before = {**ticket(world, OPEN)["body"], "status": "pending"}
    comment = {"body": "I want a refund.", "public": True}
    seen = subject(
        world,
        OPEN,
        is_update=True,
        before=before,
        comment=comment,
        author=Author(LENA, "end-user"),
        channel="web",
    )

    assert holds(seen, Condition(field, operator, value)) is expected


def test_all_of_some_and_one_of_others(world: World) -> None:
    yes, no = Condition("status", "is", "open"), Condition("status", "is", "new")
    seen = subject(world, OPEN)

    assert [meets(seen, one) for one in (Conditions(), Conditions((yes,)), Conditions((yes,), (no, yes)))] == [True] * 3
    assert [meets(seen, one) for one in (Conditions((yes, no)), Conditions((yes,), (no,)))] == [False] * 2


EMPTY = ("", None, "-")
PEOPLE = (*EMPTY, "current_user", "requester_id", MARA, str(JONAS), LENA, TOMAS)
VALUES: dict[str, tuple[object, ...]] = {
    "status": STATUSES,
    "priority": (*PRIORITIES, *EMPTY),
    "type": (*TYPES, *EMPTY),
    "group_id": (*EMPTY, "current_groups", str(BILLING_GROUP), TECH_GROUP),
    "assignee_id": PEOPLE,
    "requester_id": PEOPLE,
    "organization_id": (*EMPTY, CORVANE, str(HALDEN)),
    "current_tags": ("billing outage", ["export"], "nothing"),
    "via_id": ("email", "4", "web"),
    "satisfaction_score": ("unoffered", "good"),
    "requester_role": ("end_user", "agent"),
    "in_business_hours": ("true", "false"),
}
OTHERS = (0, 24, "100", 200, "late charged", "export", "")
STANDING = {
    name: tuple(one for one in operators if "changed" not in one and "value" not in one)
    for name, operators in OPERATORS.items()
    if name not in ("update_type", "comment_is_public", "comment_includes_word", "role", "current_via_id")
}
CONDITION = st.sampled_from([*STANDING, f"custom_fields_{ORDER_FIELD}"]).flatmap(
    lambda name: st.builds(
        Condition,
        st.just(name),
        st.sampled_from(STANDING.get(name, CUSTOM_OPERATORS)),
        st.sampled_from(VALUES.get(name, OTHERS)),
    )
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(every=st.lists(CONDITION, max_size=2), some=st.lists(CONDITION, max_size=2))
@example(every=[Condition("group_id", "is_not", "current_groups")], some=[])
def test_an_index_finds_what_looking_at_every_ticket_finds(forks: Forks, every: list, some: list) -> None:
    fork = forks.take()
    world = World(fork, seed=7)
    conditions, viewer = Conditions(tuple(every), tuple(some)), Viewer.of_user(world, user(world, MARA))

    selection = Selection(world, conditions, viewer)
    rows = tickets.find(world)
    looked = [
        row["id"]
        for row in rows
        if meets(subject_at_rest(world, row, world.clock.now_ms(), OFFICE, viewer), conditions)
    ]

    assert [row["id"] for row in selection.rows()] == looked
    assert selection.count() == len(looked)
    forks.give_back(fork)


def test_hours_since_solved_begin_when_it_was_solved(world: World) -> None:
    row = ticket(world, SOLVED)
    metrics = {**row["body"]["metrics"], "status_updated_at": NOW - 30 * HOUR_MS}
    world.save(tickets, {**row, "body": {**row["body"], "metrics": metrics}}, "planted")

    assert holds(subject(world, SOLVED), Condition("SOLVED", "is", 30))
    assert not holds(subject(world, SOLVED), Condition("SOLVED", "greater_than", 30))
