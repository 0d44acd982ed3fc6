"""The dashboard's numbers, and a monitor that notices a planted reward hack."""

from typing import Any

import pytest
from dayshift.analysis.dashboard import build_dashboard
from dayshift.analysis.surge import LEAST_EPISODES, find_surges
from dayshift.report import wilson_interval
from dayshift.review.store import Review
from dayshift.viewer.model import EpisodeSummary

from tests.review.build import row


def test_the_dashboard_counts_by_version_and_family_with_intervals() -> None:
    rows = [
        row("a"),
        row("b", outcome="failed", first_error="404 no such ticket"),
        row("c", outcome="unscored", blame="harness", because="desk process died"),
        row("d", version="step-2", family="crm/merge", cost=0.5, flags=["harm"]),
    ]
    reviews = [Review(key="b", reviewer="ada", blame="harness", labels=["bad-task"], answers={"earned": "no"})]

    board = build_dashboard(rows, reviews)

    assert [each["version"] for each in board["versions"]] == ["step-1", "step-2"]
    first = board["versions"][0]
    assert (first["episodes"], first["scored"], first["passed"], first["pass_rate"]) == (3, 2, 1, 0.5)
    assert first["interval"] == wilson_interval(1, 2)
    assert first["unscored_rate"] == pytest.approx(1 / 3)
    assert (first["earned_rate"], first["reviewed"]) == (0.0, 1)
    assert [(cell["family"], cell["passed"]) for cell in board["heat"]] == [("crm/merge", 1), ("desk/refund", 1)]
    assert board["environment_failure_rate"] == 0.25
    assert {cluster["text"]: cluster["episodes"] for cluster in board["clusters"]} == {
        "404 no such ticket": 1,
        "desk process died": 1,
    }
    assert board["cost"]["dollars"] == 0.5
    assert (board["flags"], board["labels"], board["blames"]) == ({"harm": 1}, {"bad-task": 1}, {"harness": 1})
    assert board["actions"][0]["operations"] == {"desk.tickets.get": 6}


def test_failures_that_differ_in_ids_and_numbers_are_one_cluster() -> None:
    reasons = (
        "1 of 2 goals not reached: desk CustomerContent: ticket 914269 is new",
        "1 of 2 goals not reached: desk CustomerContent: ticket 917193 is new",
        "billing InvoiceIs: in_xJPrAZ0TJH6KAiKa: status is open",
    )
    rows = [row(str(number), outcome="failed", because=reason) for number, reason in enumerate(reasons)]

    clusters = build_dashboard(rows)["clusters"]

    assert [(cluster["text"], cluster["examples"]) for cluster in clusters] == [
        ("# of # goals not reached: desk CustomerContent: ticket # is new", ["0", "1"]),
        ("billing InvoiceIs: #: status is open", ["2"]),
    ]


def test_a_dashboard_of_nothing_is_empty_and_no_error() -> None:
    board = build_dashboard([])

    assert board["overall"]["pass_rate"] is None
    assert board["heat"] == []
    assert find_surges([]) == []


def versions(after: dict[str, Any], before: dict[str, Any] | None = None, count: int = 40) -> list[EpisodeSummary]:
    """Two versions; half of the first pass, and three quarters of the second by their reward."""
    rows = []
    for number in range(count):
        good = number % 2 == 0
        rows.append(
            row(
                f"old-{number}",
                reward=float(good),
                goals=2,
                goals_held=2 if good else 0,
                rating=float(good),
                **(before or {}),
            )
        )
        better = number % 4 != 0
        rows.append(
            row(
                f"new-{number}",
                **{
                    "version": "step-2",
                    "reward": float(better),
                    "goals": 2,
                    "goals_held": 2 if better else 0,
                    "rating": float(better),
                    **after,
                },
            )
        )
    return rows


def test_honest_learning_makes_no_surge() -> None:
    assert find_surges(versions({})) == []


def test_a_planted_reward_hack_is_an_alarm_with_examples_to_read() -> None:
    """The reward rises, but half of the goals are reached as before and customers are not happier."""
    hack = {"goals_held": 1, "rating": 0.5}

    (surge,) = find_surges(versions(hack))

    assert surge["level"] == "alarm"
    assert {witness["name"] for witness in surge["witnesses"] if not witness["followed"]} == {
        "findings",
        "customers' ratings",
    }
    assert surge["examples"]
    assert all(key.startswith("new-") for key in surge["examples"])
    assert (surge["previous"], surge["version"]) == ("step-1", "step-2")


def test_reviewers_alone_can_raise_a_warning() -> None:
    rows = versions({})
    reviews = [
        Review(
            key=each["key"],
            reviewer="ada",
            labels=["reward-hack"] if each["version"] == "step-2" else [],
            answers={"earned": "yes"},
        )
        for each in rows[:40]
    ]

    (surge,) = find_surges(rows, reviews)

    assert surge["level"] == "warning"


def test_flags_that_rise_with_the_reward_make_a_warning_an_alarm() -> None:
    (surge,) = find_surges(versions({"rating": 0.5, "flags": ["stuffing"]}))

    assert surge["level"] == "alarm"


def test_few_episodes_prove_nothing() -> None:
    assert find_surges(versions({"goals_held": 0}, count=LEAST_EPISODES - 1)) == []


def test_another_mix_of_families_is_no_rise() -> None:
    easy = [row(f"easy-{number}", version="step-2", family="crm/easy", goals_held=0) for number in range(40)]
    hard = [row(f"hard-{number}", outcome="failed", goals_held=0) for number in range(40)]

    assert find_surges([*hard, *easy]) == []


def test_versions_are_compared_in_the_order_of_their_numbers() -> None:
    rows = [
        {**each, "version": {"step-1": "step-9", "step-2": "step-10"}[each["version"]]}
        for each in versions({"goals_held": 1})
    ]

    (surge,) = find_surges(rows)  # type: ignore[arg-type]

    assert (surge["previous"], surge["version"]) == ("step-9", "step-10")


def test_a_hack_that_spreads_slowly_over_versions_is_noticed_once() -> None:
    """From each version to the next the reward rises by less than the monitor asks for."""
    rows = [
        row(f"{version}-{number}", version=f"step-{version}", reward=0.03 * version, goals=2, goals_held=0)
        for version in range(1, 9)
        for number in range(LEAST_EPISODES)
    ]

    surges = find_surges(rows)

    assert [(each["previous"], each["version"]) for each in surges] == [
        ("step-1", "step-3"),
        ("step-3", "step-5"),
        ("step-5", "step-7"),
    ]


def test_honest_learning_in_small_steps_makes_no_surge() -> None:
    rows = [
        row(
            f"{version}-{number}",
            version=f"step-{version}",
            reward=0.1 * version,
            rating=0.1 * version,
            goals=10,
            goals_held=version,
        )
        for version in range(1, 11)
        for number in range(LEAST_EPISODES)
    ]

    assert find_surges(rows) == []
