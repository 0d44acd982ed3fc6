"""`dayshift run` over two hundred episodes at once with a provider that fails in every way, killed once and resumed."""

import json
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from dayshift.calls import SUBMIT
from dayshift.connection import Address
from dayshift.recordings import load
from dayshift.run_summary import summarise_run
from dayshift.trajectory import Trajectory

from tests.control.stack import eventually
from tests.scripted_provider import ScriptedProvider
from tests.scripted_provider.scripts import behaviour_of

TASK = "crm/correct-contact"
EPISODES, CONCURRENCY = 200, 32
KILLED_AFTER = 50
# A model takes a second or more for a turn; the client may take a tenth of the time that a run takes.
SECONDS_PER_ANSWER, MOST_OF_WALL_TIME = 1.0, 0.1
_MEASURED = """
import json, resource, sys, time
from dayshift.cli import main
began, spent = time.perf_counter(), sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
code = main(sys.argv[2:])
wall, own = time.perf_counter() - began, sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - spent
open(sys.argv[1], "w").write(json.dumps({"wall": wall, "own": own}))
sys.exit(code)
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    server = ScriptedProvider(SECONDS_PER_ANSWER).start()
    yield server
    server.stop()


def start_run(provider: ScriptedProvider, folder: Path, *options: str) -> "subprocess.Popen[bytes]":
    run = ["run", "--model", "openai/mixed", "--base-url", provider.url + "/v1", "--tasks", TASK]
    size = ["--seeds", str(EPISODES // 2), "--rollouts", "2", "--concurrency", str(CONCURRENCY)]
    patience = ["--retries", "2", "--timeout", "4"]
    command = [sys.executable, "-c", _MEASURED, str(folder) + ".times", *run, *size, *patience, "--output", str(folder)]
    return subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def assert_ended_as_its_behaviour_says(behaviour: str, trajectory: Trajectory) -> None:
    operations = [step.operation for step in trajectory.steps]
    match behaviour:
        case "solver":
            assert trajectory.ending == "passed"
        case "rate-limited" | "slow-once":
            assert (trajectory.ending, len(operations)) == ("failed", 2), "the provider's trouble leaves no trace"
        case "malformed":
            assert trajectory.scored
            assert [step.status for step in trajectory.steps[:2]] == [0, 0]
        case "silent" | "chatty":
            assert (trajectory.ending, operations) == ("failed", [SUBMIT])
        case "endless":
            assert trajectory.manifest.budget is not None
            assert (trajectory.scored, len(operations)) == (True, trajectory.manifest.budget.steps + 1)
        case "broken" | "garbage":
            assert trajectory.quarantine is not None
            assert trajectory.quarantine.blame == "provider"


def test_two_hundred_episodes_end_as_described_and_a_killed_run_goes_on(
    provider: ScriptedProvider, address: Address, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    first = start_run(provider, folder)
    recorded = folder / "trajectories.jsonl"
    eventually(lambda: recorded.exists() and len(recorded.read_bytes().splitlines()) > KILLED_AFTER, seconds=120)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    kept = {(t.group, t.attempt): t.model_dump_json() for t in load(folder)}

    second = start_run(provider, folder, "--resume")
    _, errors = second.communicate(timeout=240)

    assert second.returncode == 0, errors.decode()
    trajectories = list(load(folder, quarantined=True))
    latest = {(t.group, t.attempt): t for t in trajectories}
    assert len(latest) == EPISODES
    assert {key: latest[key].model_dump_json() for key in kept} == kept, "what had a verdict is not played again"
    by_behaviour = defaultdict(list)
    for trajectory in latest.values():
        assert trajectory.model is not None
        by_behaviour[behaviour_of(trajectory.model.messages[1]["content"])].append(trajectory)
    assert len(by_behaviour) == 9, sorted(by_behaviour)
    for behaviour, played in by_behaviour.items():
        for trajectory in played:
            assert_ended_as_its_behaviour_says(behaviour, trajectory)
    summary = summarise_run(list(latest.values()))
    assert summary.environment_failures == 0
    assert summary.provider_failures == len(by_behaviour["broken"]) + len(by_behaviour["garbage"])

    times = json.loads(Path(f"{folder}.times").read_text())
    print(f"client: {times['own']:.1f} s of {times['wall']:.1f} s for {EPISODES - len(kept)} episodes")
    assert times["own"] / times["wall"] <= MOST_OF_WALL_TIME
