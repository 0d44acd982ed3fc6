"""Every failure of the environment becomes a typed fault and never a reward."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dayshift
import gymnasium
import pytest
from dayshift.connection import AsyncConnection, Connection
from dayshift.env import DayshiftEnv
from dayshift.recordings import load
from dayshift.wire import Flag, Verdict

from tests.client.conftest import Stack
from tests.client.faulty_server import DROP, HANG, FaultyServer, answer

LIST = dayshift.call("crm.contacts.list")
WRONGS: dict[str, tuple[list[bytes], type[dayshift.HarnessFault]]] = {
    "a stale answer": ([answer(revision=5), answer(revision=4)], dayshift.StaleRead),
    "a dropped connection": ([DROP], dayshift.Unreachable),
    "a timeout": ([HANG], dayshift.StepTimeout),
    "a 500": ([answer(500, revision=None)], dayshift.ServiceError),
    "a 502 from something in between": ([answer(502, revision=None, body=b"<html>")], dayshift.ServiceError),
    "an unplanned 503": ([answer(503, revision=None)], dayshift.ServiceError),
    "a forgotten credential": ([answer(401, revision=None)], dayshift.EpisodeLost),
    "an answer without a revision": ([answer(revision=None)], dayshift.WireMismatch),
    "a revision that is no number": ([answer(revision=None, **{"x-data-revision": "x"})], dayshift.WireMismatch),
    "half an answer": ([answer(body=b"{}")[:-1] + DROP], dayshift.WireMismatch),
    "something that is not HTTP": ([b"SSH-2.0-nothing\r\n\r\n"], dayshift.HarnessFault),
}
SYNC_DIFFERS = {"half an answer"}


def open_sync(server: FaultyServer) -> dayshift.Episode:
    return dayshift.Episode.open("crm/any", connection=Connection(server.address, timeout=0.5))


def step_three_times(episode: dayshift.Episode) -> None:
    for _ in range(3):
        episode.step(LIST)


async def three_steps(episode: dayshift.AsyncEpisode) -> None:
    for _ in range(3):
        await episode.step(LIST)


@pytest.mark.parametrize("wrong", [name for name in WRONGS if name not in SYNC_DIFFERS])
def test_each_failure_has_its_own_type(faulty_server: FaultyServer, wrong: str) -> None:
    faulty_server.script, expected = list(WRONGS[wrong][0]), WRONGS[wrong][1]
    episode = open_sync(faulty_server)

    with pytest.raises(expected):
        step_three_times(episode)

    with pytest.raises(dayshift.EpisodeOver):
        episode.submit()
    assert episode.trajectory().reward is None
    episode.close()
    episode._connection.close()


@pytest.mark.parametrize("wrong", WRONGS)
def test_each_failure_has_the_same_type_for_async_episodes(faulty_server: FaultyServer, wrong: str) -> None:
    faulty_server.script, expected = list(WRONGS[wrong][0]), WRONGS[wrong][1]

    async def play() -> None:
        async with AsyncConnection(faulty_server.address, timeout=0.5) as connection:
            episode = await dayshift.AsyncEpisode.open("crm/any", connection=connection)
            with pytest.raises(expected):
                await three_steps(episode)
            assert episode.trajectory().reward is None

    asyncio.run(play())


def test_no_request_is_sent_twice_by_default(faulty_server: FaultyServer) -> None:
    faulty_server.script = [DROP, answer()]
    episode = open_sync(faulty_server)

    with pytest.raises(dayshift.Unreachable):
        episode.step(LIST)

    assert len(faulty_server.product_calls()) == 1
    episode._connection.close()


def test_a_retry_carries_the_same_key(faulty_server: FaultyServer) -> None:
    faulty_server.script = [DROP, answer()]
    connection = Connection(faulty_server.address, timeout=0.5)
    episode = dayshift.Episode.open("crm/any", connection=connection, retries=1)

    episode.step(LIST)
    episode.step(LIST)

    keys = [headers["idempotency-key"] for headers in faulty_server.product_calls()]
    assert keys[0] == keys[1] != keys[2]
    connection.close()


def test_a_timeout_is_never_retried(faulty_server: FaultyServer) -> None:
    faulty_server.script = [HANG, answer()]
    connection = Connection(faulty_server.address, timeout=0.3)
    episode = dayshift.Episode.open("crm/any", connection=connection, retries=3)

    with pytest.raises(dayshift.StepTimeout):
        episode.step(LIST)

    assert len(faulty_server.product_calls()) == 1
    connection.close()


def test_a_refusal_is_an_ordinary_answer(faulty_server: FaultyServer) -> None:
    faulty_server.script = [answer(404, body=b'{"message":"no such contact"}'), answer()]
    episode = open_sync(faulty_server)

    refused = episode.step("crm.contacts.get", contactId="9")

    assert refused.refused
    assert refused.json() == {"message": "no such contact"}
    with pytest.raises(dayshift.Refusal, match="no such contact"):
        refused.raise_for_refusal()
    assert episode.submit().reward == 1.0
    episode._connection.close()


def test_a_planned_cut_is_a_step_with_status_0(faulty_server: FaultyServer) -> None:
    faulty_server.script, faulty_server.planned = [DROP, answer()], {1: "timeout_after_commit"}
    episode = dayshift.Episode.open("crm/any", faults="rough", connection=Connection(faulty_server.address))

    cut = episode.step(LIST)

    assert (cut.status, cut.fault, cut.refused) == (0, "timeout_after_commit", True)
    assert episode.step(LIST).status == 200
    episode._connection.close()


def test_an_unplanned_cut_is_a_fault_even_under_a_fault_plan(faulty_server: FaultyServer) -> None:
    faulty_server.script, faulty_server.planned = [answer(), DROP], {1: "timeout_after_commit"}
    episode = dayshift.Episode.open("crm/any", faults="rough", connection=Connection(faulty_server.address))
    episode.step(LIST)

    with pytest.raises(dayshift.Unreachable):
        episode.step(LIST)
    episode._connection.close()


def test_an_outage_that_the_verdict_does_not_name_leaves_no_reward(faulty_server: FaultyServer) -> None:
    faulty_server.script = [answer(503, revision=None), answer()]
    episode = dayshift.Episode.open("crm/any", faults="rough", connection=Connection(faulty_server.address))
    assert episode.step(LIST).refused

    with pytest.raises(dayshift.ServiceError, match="1 outages were met, 0 were planned"):
        episode.submit()
    episode._connection.close()


@pytest.mark.parametrize(
    ("verdict", "fault"),
    [
        ('{"outcome":"unscored","reward":null,"because":"crm died"}', dayshift.Unscored),
        ('{"outcome":"passed","reward":null}', dayshift.WireMismatch),
        ('{"outcome":"passed","reward":NaN}', dayshift.WireMismatch),
        ('{"outcome":"passed","reward":"Infinity"}', dayshift.WireMismatch),
        ('{"outcome":"passed"}', dayshift.WireMismatch),
        ('{"outcome":"splendid","reward":1}', dayshift.WireMismatch),
        ("1", dayshift.WireMismatch),
    ],
)
def test_an_invalid_verdict_gives_no_reward(
    faulty_server: FaultyServer, verdict: str, fault: type[dayshift.HarnessFault]
) -> None:
    faulty_server.raw_submit = answer(body=verdict.encode())
    episode = open_sync(faulty_server)

    with pytest.raises(fault):
        episode.submit()

    assert episode.trajectory().ending == "quarantined"
    episode._connection.close()


def test_an_agent_that_broke_a_product_after_harm_gets_its_verdict(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = Flag(tag="broke_service", evidence="crm: KeyError")
    faulty_server.script = [answer(500, revision=None)]
    faulty_server.verdict = Verdict(outcome="failed", reward=-0.2, because="crm: KeyError", flags=[flag])
    env = environment(faulty_server, monkeypatch)
    env.reset(seed=1)

    observation, reward, terminated, truncated, info = env.step(LIST)

    assert (observation["status"], reward, terminated, truncated) == (500, -0.2, True, False)
    assert info["verdict"]["because"] == "crm: KeyError"
    env.close()


def environment(server: FaultyServer, monkeypatch: pytest.MonkeyPatch, **options: Any) -> gymnasium.Env[Any, Any]:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "any")
    return gymnasium.make("dayshift/Crm-v0", task="crm/any", control_url=server.address.url, timeout=0.5, **options)


def test_by_default_the_environment_raises(faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty_server.script = [answer(500, revision=None)]
    env = environment(faulty_server, monkeypatch)
    env.reset(seed=1)

    with pytest.raises(dayshift.ServiceError):
        env.step(LIST)

    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(LIST)
    env.close()


@pytest.mark.parametrize("wrong", [name for name in WRONGS if name not in SYNC_DIFFERS])
def test_quarantine_truncates_gives_the_reason_and_records_apart(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str
) -> None:
    faulty_server.script, expected = list(WRONGS[wrong][0]), WRONGS[wrong][1]
    with dayshift.Recorder(tmp_path) as recorder:
        env = environment(faulty_server, monkeypatch, on_fault="quarantine", recorder=recorder)
        env.reset(seed=1)
        for _ in range(3):
            observation, reward, terminated, truncated, info = env.step(LIST)
            if truncated:
                break
        env.close()

    assert (reward, terminated, truncated) == (0.0, False, True)
    assert observation in env.observation_space
    kind = info["quarantined"].split(":")[0]
    assert issubclass(getattr(dayshift, kind), expected)
    assert list(load(tmp_path)) == []
    filed = list(load(tmp_path, quarantined=True))
    assert [(trajectory.reward, trajectory.ending) for trajectory in filed] == [(None, "quarantined")]
    assert filed[0].quarantine is not None
    assert filed[0].quarantine.kind == kind


def test_a_killed_service_ends_as_a_fault(tmp_path: Path, eventually_killed: Callable[[Stack], None]) -> None:
    stack = Stack(tmp_path).start()
    try:
        from dayshift.connection import Address

        from tests.control.stack import TASK, TOKEN

        with Connection(Address(f"http://127.0.0.1:{stack.base}", TOKEN)) as connection:
            working, waiting = (dayshift.Episode.open(TASK, seed=n, connection=connection) for n in (1, 2))
            working.step(LIST)
            eventually_killed(stack)

            with pytest.raises(dayshift.Unreachable):
                working.step(LIST)
            with pytest.raises((dayshift.Unscored, dayshift.ServiceError, dayshift.RetryLater)):
                waiting.submit()

            assert [trajectory.trajectory().reward for trajectory in (working, waiting)] == [None, None]
    finally:
        stack.stop()


@pytest.fixture
def eventually_killed() -> Callable[[Stack], None]:
    import os
    import signal
    import time

    def kill(stack: Stack) -> None:
        pid = stack.children()["crm"]
        os.kill(pid, signal.SIGKILL)
        while stack.children().get("crm") == pid:
            time.sleep(0.05)

    return kill


def test_the_unwrapped_environment_is_a_dayshift_env(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment(faulty_server, monkeypatch)

    assert isinstance(env.unwrapped, DayshiftEnv)
    env.close()
