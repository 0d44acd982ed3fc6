"""A product that is busy is not a dead one: what control concludes from a health check that is not answered."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import uvloop

from services.control import replicas as replicas_module
from services.control.harness_client import AnswerTimeout, HarnessClient, Unreachable
from services.control.problems import Unavailable
from services.control.relay import RelayManager
from services.control.replicas import Replicas
from services.kernel import catalog
from services.kernel.config import Settings
from services.kernel.registry import RegistryInProcess
from tests.control.stack import TASK, Stack

_HEALTH = {"instance": "first", "episodes": 0, "worlds": {"standard": "abc"}}


class ScriptedClient(HarnessClient):
    """A harness client whose health checks end as the test says."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token)
        self.check: Callable[[], Any] = lambda: _HEALTH

    async def get(self, path: str, timeout: float | None = None) -> Any:
        assert (path, timeout) == ("/health", replicas_module._HEALTH_SECONDS)
        await asyncio.sleep(0)
        return self.check()

    def be_silent(self) -> Any:
        raise AnswerTimeout("did not answer within 5 s")

    def be_busy(self) -> Any:
        self.answered_at = time.monotonic()
        return self.be_silent()

    def refuse(self) -> Any:
        raise Unreachable("nobody listens")


def _run(scenario: Callable[[Replicas, ScriptedClient], Any], tmp_path: Path) -> None:
    async def run() -> None:
        settings, products = Settings(var=tmp_path), {"crm": catalog.product("crm")}
        clients: list[ScriptedClient] = []

        def make_client(url: str, token: str) -> HarnessClient:
            clients.append(ScriptedClient(url, token))
            return clients[-1]

        replicas = Replicas(products, settings, RegistryInProcess(), RelayManager(products, settings), make_client)
        assert await replicas.check_all() == []
        await scenario(replicas, clients[0])

    uvloop.run(run())


def test_a_product_that_answers_openings_while_its_health_check_waits_stays_up(tmp_path: Path) -> None:
    async def scenario(replicas: Replicas, client: ScriptedClient) -> None:
        client.check = client.be_busy

        for _ in range(10):
            assert await replicas.check_all() == []

        assert replicas.health() == {"crm": "ok"}
        assert replicas.choose("crm", "standard", "abc").client is client

    _run(scenario, tmp_path)


def test_one_silent_check_refuses_no_opening_and_lasting_silence_does(tmp_path: Path) -> None:
    async def scenario(replicas: Replicas, client: ScriptedClient) -> None:
        client.check = client.be_silent

        await replicas.check_all()
        assert replicas.choose("crm", "standard", "abc").client is client
        await replicas.check_all()
        with pytest.raises(Unavailable, match="crm is down: did not answer"):
            replicas.choose("crm", "standard", "abc")
        assert await replicas.check_all() == []
        gone = await replicas.check_all()

        assert [watched.owner.replica.instance for watched in gone] == ["first"]

    _run(scenario, tmp_path)


def test_a_product_that_answers_again_is_up_at_once(tmp_path: Path) -> None:
    async def scenario(replicas: Replicas, client: ScriptedClient) -> None:
        client.check = client.be_silent
        await replicas.check_all()
        await replicas.check_all()

        client.check = lambda: _HEALTH
        await replicas.check_all()

        assert replicas.health() == {"crm": "ok"}

    _run(scenario, tmp_path)


def test_a_check_that_control_was_too_late_to_finish_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas_module, "_OWN_DELAY_SECONDS", -replicas_module._HEALTH_SECONDS - 1)

    async def scenario(replicas: Replicas, client: ScriptedClient) -> None:
        client.check = client.be_silent

        for _ in range(10):
            assert await replicas.check_all() == []

        assert replicas.health() == {"crm": "ok"}

    _run(scenario, tmp_path)


def test_a_process_that_refuses_connections_is_gone_after_two_checks(tmp_path: Path) -> None:
    async def scenario(replicas: Replicas, client: ScriptedClient) -> None:
        client.check = client.refuse

        assert await replicas.check_all() == []
        with pytest.raises(Unavailable, match="crm is down: nobody listens"):
            replicas.choose("crm", "standard", "abc")
        gone = await replicas.check_all()

        assert [watched.owner.replica.instance for watched in gone] == ["first"]

    _run(scenario, tmp_path)


def test_openings_wait_for_a_product_that_gets_no_cpu_for_some_seconds(start: Callable[..., Stack]) -> None:
    """One health check of five seconds is missed, and two would be needed to refuse an opening."""
    stack = start()
    before = stack.open()
    crm = stack.children()["crm"]

    os.kill(crm, signal.SIGSTOP)
    try:
        time.sleep(7.5)
        with ThreadPoolExecutor() as pool:
            openings = [
                pool.submit(stack.control.post, "/v1/episodes", json={"task": TASK, "seed": seed}) for seed in range(20)
            ]
            time.sleep(0.5)
            os.kill(crm, signal.SIGCONT)
            statuses = [opening.result().status_code for opening in openings]
    finally:
        os.kill(crm, signal.SIGCONT)

    assert statuses == [201] * 20
    before.solve()
    assert before.submit()["reward"] == 1.0
