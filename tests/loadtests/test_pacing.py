"""The offered load follows its shape, whatever the server does."""

import pytest

from loadtests.pacing import SHAPES, Schedule, constant, ramp, spike


def offered(shape: str, qps: float, seconds: float) -> list[float]:
    schedule = Schedule(SHAPES[shape](qps, seconds))
    return list(iter(schedule.take, None))


@pytest.mark.parametrize("shape", ["constant", "soak"])
def test_a_constant_rate_offers_exactly_that_many(shape: str) -> None:
    dues = offered(shape, 200, 10)

    assert len(dues) == pytest.approx(2000, abs=1)
    assert dues[1000] == pytest.approx(5.0)


def test_due_times_do_not_wait_for_answers() -> None:
    schedule = Schedule(constant(100, 1))
    first = schedule.take()
    # Nobody answered anything in between.
    second = schedule.take()

    assert (first, second) == (0.0, pytest.approx(0.01))


def test_a_ramp_ends_at_its_full_rate() -> None:
    dues = list(iter(Schedule(ramp(500, 20)).take, None))

    assert sum(due < 5 for due in dues) < sum(due >= 15 for due in dues) / 4
    assert sum(due >= 19 for due in dues) == pytest.approx(494, rel=0.03)


def test_a_spike_is_several_times_the_usual_for_moments() -> None:
    dues = list(iter(Schedule(spike(100, 30)).take, None))

    assert sum(12 <= due < 15 for due in dues) == pytest.approx(1200, rel=0.02)
    assert sum(5 <= due < 8 for due in dues) == pytest.approx(300, rel=0.02)
