"""The index finds every episode and every step of it, whatever the recordings hold."""

import asyncio
import gzip
import json
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from dayshift.cli import main
from dayshift.errors import UsageError
from dayshift.recorder import SCORED, Recorder
from dayshift.viewer.compare import compare
from dayshift.viewer.groups import build_groups
from dayshift.viewer.layout import scan
from dayshift.viewer.model import EpisodeQuery, EpisodeSummary
from dayshift.viewer.recordings_source import RecordingsSource
from dayshift.viewer.summarise import as_record, step_body, step_heads, summarise
from dayshift.viewer.verdict_view import build_waterfall

from tests.viewer.samples import long_episode, real_episode, real_episodes, vary

T = TypeVar("T")
_OLD = Path(__file__).parents[1] / "client" / "recorded_by_0_1_0.jsonl.gz"


def run(work: Coroutine[Any, Any, T]) -> T:
    """In a thread of its own: the browser's fixtures keep a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def index(folder: Path) -> RecordingsSource:
    source = RecordingsSource([folder])
    source.update()
    return source


def test_offsets_lead_to_the_same_steps_and_changes_as_the_whole_line() -> None:
    episode = real_episode("desk/double-charge", "stumbling")
    odd = vary(episode, "ünïcode-😀")
    line = (odd.model_dump_json() + "\n").encode()

    record, layout = scan(line)

    assert record["manifest"]["episode_id"] == "ünïcode-😀"
    places = list(zip(layout.steps[::2], layout.steps[1::2], strict=True))
    assert [json.loads(line[start:end]) for start, end in places] == record["steps"]
    spans = zip(layout.changes[::3], layout.changes[1::3], layout.changes[2::3], strict=True)
    changes = [(step, json.loads(line[start:end])) for step, start, end in spans]
    assert changes == [(change["step"], change) for change in record["changes"]]


def test_what_a_run_adds_is_found_and_what_is_no_episode_is_counted(tmp_path: Path) -> None:
    episodes = list(real_episodes())
    with Recorder(tmp_path) as recorder:
        recorder.record(episodes[0])
    source = index(tmp_path)
    with (tmp_path / SCORED).open("ab") as file:
        file.write(b'{"not": "an episode"}\n\xff\xfe broken\n')
        file.write(episodes[1].model_dump_json().encode() + b"\n")
        file.write(episodes[2].model_dump_json().encode()[:500])

    source.update()

    page = run(source.episodes({}))
    assert [row["key"] for row in page["rows"]] == [episode.manifest.episode_id for episode in episodes[:2]]
    (counted,) = run(source.runs({}))
    assert (counted["episodes"], counted["unreadable"]) == (2, 2)
    assert run(source.progress())["searchable"] == 2


def test_a_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    episodes = list(real_episodes())
    with Recorder(tmp_path) as recorder:
        recorder.record(episodes[0])
        recorder.record(episodes[1])
    index(tmp_path)
    (tmp_path / SCORED).write_text(episodes[0].model_dump_json() + "\n")

    assert run(index(tmp_path).episodes({}))["total"] == 1


def test_recordings_from_before_row_changes_and_breakdowns_are_shown(tmp_path: Path) -> None:
    (tmp_path / SCORED).write_bytes(gzip.decompress(_OLD.read_bytes()))

    source = index(tmp_path)

    page = run(source.episodes({}))
    assert page["total"] > 0
    for row in page["rows"]:
        view = run(source.episode(row["key"]))
        assert view is not None
        assert not view["has_changes"]
        if view["waterfall"] is not None:
            assert view["waterfall"]["derived"]
            assert view["waterfall"]["bars"][-1]["end"] == row["reward"]


def test_the_bars_of_a_waterfall_end_at_the_reward() -> None:
    for episode in real_episodes():
        assert episode.verdict is not None
        waterfall = build_waterfall(episode.verdict.model_dump())
        assert waterfall is not None
        *parts, total = waterfall["bars"]
        end = parts[-1]["end"] if parts else 0.0
        assert end == pytest.approx(total["end"])
        assert total["end"] == episode.reward


def test_every_change_belongs_to_the_step_that_made_it() -> None:
    """The first answer of the product whose revision reaches the change's; what the end flushed goes by the clock."""
    for episode in real_episodes():
        for change in episode.changes or []:
            answered = [
                step.number
                for step in episode.steps
                if step.product == change.product and (step.revision or 0) >= change.revision
            ]
            if change.is_by_agent and answered:
                assert change.step == answered[0]
            else:
                assert episode.steps[change.step - 1].clock[:19] >= change.at[:19]


def test_filters_narrow_and_sorting_leaves_the_unscored_last(recordings: Path) -> None:
    source = index(recordings)

    rows = run(source.episodes({"sort": "-reward", "limit": 500}))["rows"]
    rewards = [row["reward"] for row in rows]
    scored = [reward for reward in rewards if reward is not None]
    assert scored == sorted(scored, reverse=True)
    assert rewards[len(scored) :] == [None] * (len(rewards) - len(scored))
    narrow = run(source.episodes({"fault": ["rate_limited"], "product": ["billing"], "min_reward": 0.5}))
    assert {row["family"] for row in narrow["rows"]} == {"office/quote-to-cash"}
    assert run(source.episodes({"q": '"; DROP TABLE episodes; --'}))["total"] == 0
    assert run(source.episodes({"flagged": True}))["counts"]["flagged"] == 7


_VALUES: dict[str, Callable[[EpisodeSummary], list[str]]] = {
    "family": lambda row: [row["family"]],
    "product": lambda row: row["products"],
    "split": lambda row: [row["split"]],
    "seed": lambda row: [str(row["seed"])],
    "policy": lambda row: [row["policy"]],
    "version": lambda row: [row["version"]],
    "outcome": lambda row: [row["outcome"]],
    "flag": lambda row: row["flags"],
    "fault": lambda row: [row["faults"], *row["struck"]],
    "run": lambda row: [row["run"]],
    "group": lambda row: [row["group"]],
}


@pytest.mark.parametrize("name", _VALUES)
def test_every_filter_finds_exactly_the_rows_that_have_one_of_its_values(recordings: Path, name: str) -> None:
    source = index(recordings)
    rows = run(source.summaries({}))
    values = sorted({value for row in rows for value in _VALUES[name](row) if value})
    assert values

    for wanted in [*([value] for value in values), values[:2]]:
        found = run(source.summaries(cast(EpisodeQuery, {name: wanted})))
        expected = [row["key"] for row in rows if {*wanted} & {*_VALUES[name](row)}]
        assert [row["key"] for row in found] == expected, wanted


@pytest.mark.parametrize(
    ("query", "column", "low", "high"),
    [
        ({"min_steps": 8, "max_steps": 12}, "steps", 8, 12),
        ({"min_reward": 0.2, "max_reward": 0.9}, "reward", 0.2, 0.9),
    ],
)
def test_lengths_and_rewards_have_bounds(
    recordings: Path, query: EpisodeQuery, column: str, low: float, high: float
) -> None:
    source = index(recordings)
    rows = [cast(dict[str, Any], row) for row in run(source.summaries({}))]
    expected = [row["key"] for row in rows if row[column] is not None and low <= row[column] <= high]

    assert 0 < len(expected) < len(rows)
    assert [row["key"] for row in run(source.summaries(query))] == expected


@pytest.mark.parametrize(
    ("name", "column"),
    [
        *((name, name) for name in ("family", "policy", "outcome", "reward", "steps", "tokens", "cost")),
        ("time", "wall_seconds"),
        ("rows", "changed_rows"),
    ],
)
def test_every_column_sorts_both_ways(recordings: Path, name: str, column: str) -> None:
    source = index(recordings)

    for sort, is_reversed in ((name, False), (f"-{name}", True)):
        rows = [cast(dict[str, Any], row) for row in run(source.summaries({"sort": sort}))]
        known = [row[column] for row in rows if row[column] is not None]
        assert [row[column] for row in rows][: len(known)] == sorted(known, reverse=is_reversed)


def test_a_group_without_spread_is_marked() -> None:
    oracle = real_episode("crm/correct-contact", "oracle")
    half = real_episode("crm/correct-contact", "half")
    rows = [summarise(as_record(episode), key=str(number), run="r") for number, episode in enumerate((oracle, half))]

    (group,) = build_groups(rows)

    assert (group["passed"], group["pass_power_k"], group["zero_spread"]) == (2, 1.0, True)
    (alone,) = build_groups(rows[:1])
    assert (alone["spread"], alone["zero_spread"]) == (None, False)


def test_a_comparison_pairs_calls_and_finds_the_first_divergence() -> None:
    left, right = real_episode("billing/write-off", "oracle"), real_episode("billing/write-off", "half")
    rows = [summarise(as_record(episode), key="k", run="r") for episode in (left, right)]

    comparison = compare(as_record(left), as_record(right), (rows[0], rows[1]))

    first = comparison["first_divergence"]
    assert first is not None
    assert all(call["kind"] == "same" for call in comparison["calls"][:first])
    assert {row["table"] for row in comparison["rows"]} >= {"invoices"}
    same = compare(as_record(left), as_record(left), (rows[0], rows[0]))
    assert same["first_divergence"] is None
    assert same["rows"] == []


def test_a_long_text_is_cut_and_its_size_told() -> None:
    episode = long_episode(3, 200_000)

    body = step_body(as_record(episode)["steps"][0])

    assert len(body["answer"]) == 65_536
    assert body["answer_bytes"] == len(episode.steps[0].answer)
    assert len(step_heads(as_record(episode))) == 3


def test_a_folder_without_recordings_is_refused_with_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="there are no recordings in"):
        RecordingsSource([tmp_path])

    assert main(["view", str(tmp_path / "nowhere")]) == 2
    assert "does not exist" in capsys.readouterr().err
