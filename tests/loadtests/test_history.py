"""Which histories have an order that explains them."""

import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from loadtests.history import Event, ListEvent, check_list, check_register, check_registers


def read(value: str | None, sent_at: float, answered_at: float) -> Event:
    return Event("read", "k", value, sent_at, answered_at)


def write(value: str, sent_at: float, answered_at: float = math.inf) -> Event:
    return Event("write", "k", value, sent_at, answered_at)


def test_reads_that_overlap_a_write_may_see_either_value() -> None:
    history = [write("a", 0, 10), read(None, 1, 2), read("a", 3, 4)]

    assert check_register("k", history, None) is None


def test_a_read_after_a_write_must_see_it() -> None:
    found = check_register("k", [write("a", 0, 1), read(None, 2, 3)], None)

    assert found is not None
    assert "fits no order, though 'a' had been written" in found.because


def test_a_value_cannot_be_new_and_then_old_again() -> None:
    history = [write("a", 0, 10), read("a", 1, 2), read(None, 3, 4)]

    assert check_register("k", history, None) is not None


def test_a_write_without_an_answer_may_take_effect_late_or_never() -> None:
    assert check_register("k", [write("a", 0), read(None, 1, 2), read("a", 5, 6)], None) is None
    assert check_register("k", [write("a", 0), read(None, 1, 2)], None) is None


def test_a_value_that_nobody_wrote_is_named() -> None:
    found = check_register("k", [read("x", 0, 1)], None)

    assert found is not None
    assert "'x' was read, which nobody wrote here" in found.because


def test_each_register_is_judged_on_its_own() -> None:
    events = [Event("write", "one", "a", 0, 1), Event("read", "two", None, 2, 3), Event("read", "one", None, 2, 3)]

    assert [found.where for found in check_registers(events, {})] == ["one"]


@st.composite
def honest_histories(draw: st.DrawFn) -> list[Event]:
    """Operations that took effect at one moment each, somewhere between question and answer."""
    value: str | None = None
    events = []
    for number in range(draw(st.integers(0, 30))):
        moment = float(number)
        before, after = draw(st.floats(0, 4)), draw(st.floats(0, 4))
        if draw(st.booleans()):
            value = f"v{number}"
            events.append(write(value, moment - before, moment + after))
        else:
            events.append(read(value, moment - before, moment + after))
    return events


@given(honest_histories())
@settings(max_examples=200, deadline=None)
def test_what_really_happened_in_one_order_is_never_contradicted(history: list[Event]) -> None:
    assert check_register("k", history, None) is None


_event = st.builds(
    lambda is_write, value, sent_at, length: (write if is_write else read)(value, sent_at, sent_at + length),
    st.booleans(),
    st.sampled_from("ab"),
    st.integers(0, 6),
    st.integers(0, 4),
)


@given(st.lists(_event, max_size=6))
@settings(max_examples=400, deadline=None)
def test_the_search_agrees_with_trying_every_order(history: list[Event]) -> None:
    assert (check_register("k", history, "a") is None) == any(
        _explains(order, "a") for order in itertools.permutations(history)
    )


def _explains(order: tuple[Event, ...], value: str | None) -> bool:
    for at, event in enumerate(order):
        if any(later.answered_at < event.sent_at for later in order[at + 1 :]):
            return False
        if event.kind == "write":
            value = event.value
        elif event.value != value:
            return False
    return True


def appended(element: str, sent_at: float, answered_at: float = math.inf) -> ListEvent:
    return ListEvent("append", element, (), sent_at, answered_at)


def seen(*elements: str, sent_at: float, answered_at: float) -> ListEvent:
    return ListEvent("read", "", elements, sent_at, answered_at)


def test_a_list_that_only_grows_is_believed() -> None:
    history = [
        appended("a", 0, 1),
        seen("a", sent_at=2, answered_at=3),
        appended("b", 2, 5),
        seen("a", "b", sent_at=4, answered_at=6),
    ]

    assert check_list("l", history) is None


def test_two_reads_may_not_disagree_about_the_order() -> None:
    history = [appended("a", 0, 9), appended("b", 0, 9)]

    found = check_list("l", [*history, seen("a", "b", sent_at=1, answered_at=2), seen("b", sent_at=1, answered_at=2)])

    assert found is not None
    assert "disagree about the order" in found.because


def test_an_element_that_was_there_may_not_be_missing_later() -> None:
    history = [appended("a", 0, 1), seen("a", sent_at=2, answered_at=3), seen(sent_at=4, answered_at=5)]

    assert check_list("l", history) is not None


def test_an_append_that_was_answered_may_not_be_lost() -> None:
    found = check_list("l", [appended("a", 0, 1), appended("b", 0, 1), seen("a", sent_at=2, answered_at=3)])

    assert found is not None
    assert "'b' was appended and never seen again" in found.because


def test_an_element_may_not_stand_before_one_that_was_there_before_it_was_asked_for() -> None:
    history = [appended("a", 0, 1), appended("b", 2, 3), seen("b", "a", sent_at=4, answered_at=5)]

    assert check_list("l", history) is not None
