"""The arithmetic of a verdict: exact, ordered, never clipped."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fixtures.tasks.family import Allowed, AnswerEquals, Asked, BadFamily, Budget, Constraint, Goal, Instance
from services.control.verdicts import Seen, changed_fields, reckon, strays

ASKED = Asked("crm", "RecordHasValues", {"record_id": 1, "values": {"phone": "1"}})
PHONE = Allowed("crm", "objects", frozenset({"properties.phone", "updated_at"}), row=1)


def instance(*weights: Fraction, constraints: int = 0, allowed: tuple[Allowed, ...] = (PHONE,)) -> Instance:
    return Instance(
        family="crm/some",
        brief="",
        budget=Budget(steps=10),
        goals=tuple(Goal(ASKED, weight) for weight in weights or (Fraction(1),)),
        constraints=(Constraint(ASKED),) * constraints,
        allowed=allowed,
    )


def seen(*scores: Fraction, history: tuple[dict[str, Any], ...] = (), steps: int = 3) -> Seen:
    answers = [{"check": "RecordHasValues", "score": str(score), "because": "so"} for score in scores]
    return Seen({"crm": answers}, {"crm": history}, [], steps, "2026-09-21T14:13:20.000Z")


def change(row: int, before: Any, after: Any, actor: str = "agent") -> dict[str, Any]:
    return {"table": "objects", "id": row, "before": before, "after": after, "actor": actor}


def contact(**properties: Any) -> dict[str, Any]:
    return {"id": 1, "updated_at": properties.pop("at", 1), "properties": properties}


ONE, NONE = Fraction(1), Fraction(0)
STRAY = tuple(change(row, contact(city="a"), contact(city="b")) for row in range(100, 200))


def test_all_held_and_nothing_else_touched_is_exactly_one() -> None:
    third = Fraction(1, 3)
    reckoned = reckon(instance(third, third, third), seen(ONE, ONE, ONE), None)

    assert (reckoned.exact, reckoned.verdict.outcome, reckoned.verdict.reward) == (1, "passed", 1.0)


def test_nothing_held_and_nothing_touched_is_exactly_zero() -> None:
    assert reckon(instance(), seen(NONE), None).exact == 0


def test_partial_work_earns_exactly_its_share() -> None:
    tenth = Fraction(1, 10)

    exact = reckon(instance(*[tenth] * 10), seen(*[ONE] * 3, *[NONE] * 7), None).exact

    assert exact == Fraction(3, 10)


@given(some.integers(0, 99), some.fractions(0, 1))
def test_one_more_stray_change_is_always_worse_and_never_reaches_minus_one(strays_made: int, score: Fraction) -> None:
    fewer = reckon(instance(), seen(score, history=STRAY[:strays_made]), None)
    more = reckon(instance(), seen(score, history=STRAY[: strays_made + 1]), None)

    assert -1 < more.exact < fewer.exact <= 1
    assert more.verdict.outcome == "failed"


@given(some.fractions(0, 1), some.fractions(0, 1), some.integers(0, 5))
def test_a_better_score_is_always_paid_more(one: Fraction, other: Fraction, strays_made: int) -> None:
    first, second = (reckon(instance(), seen(score, history=STRAY[:strays_made]), None).exact for score in (one, other))

    assert (first > second) == (one > other)


def test_a_broken_constraint_is_harm() -> None:
    assert reckon(instance(constraints=1), seen(NONE, NONE), None).exact < 0
    assert reckon(instance(constraints=1), seen(ONE, ONE), None).exact == 1


def test_what_was_put_back_is_no_collateral() -> None:
    there_and_back = (
        change(2, contact(city="a"), contact(city="b")),
        change(2, contact(city="b"), contact(city="a")),
    )

    assert list(strays("crm", there_and_back, instance())) == []


def test_what_time_did_is_not_held_against_the_agent() -> None:
    history = (change(2, contact(city="a"), contact(city="b"), actor="time"),)

    assert list(strays("crm", history, instance())) == []


def test_only_the_allowed_fields_of_the_allowed_row_may_change() -> None:
    allowed = change(1, contact(phone="1"), contact(phone="2", at=2))
    more = change(1, contact(phone="1", city="a"), contact(phone="2", city="b", at=2))
    created = change(9, None, contact(phone="2"))

    assert list(strays("crm", [allowed], instance())) == []
    assert [found.fields for found in strays("crm", [more], instance())] == [["properties.city"]]
    assert [found.id for found in strays("crm", [created], instance())] == [9]
    anything = (Allowed("crm", "objects", frozenset({"*"})),)
    assert list(strays("crm", [created], instance(allowed=anything))) == []


def test_fields_are_named_by_their_path() -> None:
    before = {"id": 1, "properties": {"a": 1, "b": {"c": 1, "d": 2}}, "gone": None}
    after = {"id": 1, "properties": {"a": 1, "b": {"c": 2, "d": 2}, "e": None}}

    assert list(changed_fields(before, after)) == ["gone", "properties.b.c", "properties.e"]


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [({"n": 1}, True), ({"n": 1.0}, True), ({"n": True}, False), ({"n": "1"}, False), ({}, False), (None, False)],
)
def test_a_typed_answer_is_compared_by_kind_and_value(answer: Any, is_right: bool) -> None:
    asked = Instance("crm/some", "", Budget(5), (Goal(AnswerEquals({"n": 1}, {"type": "object"}), Fraction(1)),))

    assert reckon(asked, seen(), answer).exact == int(is_right)


def test_more_steps_than_the_budget_are_flagged() -> None:
    assert [flag.tag for flag in reckon(instance(), seen(ONE, steps=11), None).verdict.flags] == ["over-budget"]
    assert reckon(instance(), seen(ONE, steps=10), None).verdict.flags == []


def test_a_task_without_checks_does_not_load() -> None:
    with pytest.raises(BadFamily, match="no checks"):
        Instance("crm/empty", "Do something.", Budget(5), ())


@pytest.mark.parametrize("weights", [(Fraction(1, 2),), (Fraction(2), Fraction(-1)), (Fraction(1), Fraction(0))])
def test_weights_that_do_not_sum_to_one_do_not_load(weights: tuple[Fraction, ...]) -> None:
    with pytest.raises(BadFamily, match="sum to exactly 1"):
        instance(*weights)


def test_a_task_that_asks_what_no_product_can_answer_does_not_load() -> None:
    with pytest.raises(ValueError, match="no check is called"):
        Instance("crm/odd", "", Budget(5), (Goal(Asked("crm", "SkyIsBlue", {}), Fraction(1)),))
