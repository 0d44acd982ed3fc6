"""What is reported is what happened."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from loadtests.measurements import Distribution, Recorder, ResourceUse, Sample, Summary, distributions_by_name, timeline
from loadtests.report import publish


def test_a_request_that_waited_to_be_sent_was_slow() -> None:
    sample = Sample("get", due=1.0, sent=1.5, done=1.6, is_error=False)

    assert sample.milliseconds == pytest.approx(600)
    assert sample.service_milliseconds == pytest.approx(100)


def test_percentiles_are_values_that_were_measured() -> None:
    spread = Distribution.of(float(value) for value in range(1, 1001))

    assert (spread.p50, spread.p95, spread.p99, spread.p999, spread.longest) == (500, 950, 990, 999, 1000)


def test_one_slow_second_is_seen_in_the_timeline() -> None:
    samples = [Sample("get", at / 10, at / 10, at / 10 + (0.5 if 10 <= at < 20 else 0.01), False) for at in range(30)]

    assert [round(point["p99"]) for point in timeline(samples)] == [10, 500, 10]
    assert distributions_by_name(samples)["get"].count == 30


def test_a_verdict_and_an_agents_program_take_as_long_as_what_they_ask_for() -> None:
    names = ["crm get", "ide execute", "control submit", "control open"]

    assert [Sample(name, 0.0, 0.0, 1.0, False).is_short for name in names] == [True, False, False, True]


def _summary(**changes: object) -> Summary:
    spread = Distribution.of([1.0, 2.0])
    resources = ResourceUse(500.0, 100.0, 0.0, 0.2, 40)
    recorder = Recorder()
    summary = Summary(
        "constant", "embedded", "small", 1, 1, 1.0, 2, 2.0, spread, spread, spread, {"get": spread},
        0, 0, 1, 0, {}, [violations.what for violations in recorder.violations], resources, [],
    )  # fmt: skip
    return replace(summary, **changes)  # type: ignore[arg-type]


def test_a_run_is_kept_and_shown_beside_the_one_before(tmp_path: Path) -> None:
    console = Console(width=100, record=True)
    (tmp_path / "embedded-constant-20200101T000000.json").write_text(
        json.dumps({**_summary(qps=123.0).as_json(), "at": "20200101T000000", "machine": "old", "tool": "same"})
    )

    page = publish(_summary(errors=1, error_kinds={"get answered 500: <b>": 1}), tmp_path, console)

    assert "123.0" in console.export_text()
    assert "get answered 500: &lt;b&gt;" in page.read_text()
    assert len(list(tmp_path.glob("*.json"))) == 2
