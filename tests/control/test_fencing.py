"""A replica that control gave up must not go on as if nothing had happened."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

from services.kernel.redis_registry import RegistryInRedis
from services.kernel.registry import Replica
from tests.control.stack import Stack, eventually, free_base


async def _announced(url: str) -> list[Replica]:
    registry = RegistryInRedis(url)
    try:
        return await registry.replicas("crm")
    finally:
        await registry.close()


async def _fence(url: str, replica: Replica) -> None:
    registry = RegistryInRedis(url)
    await registry.fence(replica)
    await registry.close()


def _own(stack: Stack, redis_url: str) -> Replica | None:
    """The replica of this stack: the registry outlives a test."""
    port = str(stack.base + 1)
    return next((one for one in asyncio.run(_announced(redis_url)) if one.url.endswith(port)), None)


def test_a_fenced_replica_lets_its_episodes_go_and_comes_back_as_another(
    start: Callable[..., Stack], redis_url: str
) -> None:
    stack = start(DAYSHIFT_REDIS_URL=redis_url)
    eventually(lambda: _own(stack, redis_url) is not None)
    attempt = stack.open()
    before = _own(stack, redis_url)
    assert before is not None

    asyncio.run(_fence(redis_url, before))

    eventually(lambda: attempt.agent.get("/crm/v3/objects/contacts").status_code == 401)
    eventually(lambda: attempt.get().get("outcome") == "unscored")
    assert attempt.get()["because"]
    eventually(lambda: (after := _own(stack, redis_url)) is not None and after.instance != before.instance)
    eventually(lambda: stack.control.get("/health").status_code == 200)
    again = stack.open()
    again.solve()
    assert again.submit()["outcome"] == "passed"


def test_a_credential_means_nothing_at_another_replica(start: Callable[..., Stack], redis_url: str) -> None:
    stack = start(DAYSHIFT_REDIS_URL=redis_url)
    attempt = stack.open()

    with second_replica(stack) as elsewhere:
        credential = attempt.agent.headers["authorization"]
        answer = httpx.get(f"{elsewhere}/crm/v3/objects/contacts", headers={"authorization": credential})

    assert answer.status_code == 401
    assert answer.json()["category"] == "INVALID_AUTHENTICATION"
    assert attempt.agent.get("/crm/v3/objects/contacts").status_code == 200


@contextmanager
def second_replica(stack: Stack) -> Iterator[str]:
    port = free_base() + 1
    environment = {**stack.environment(), "DAYSHIFT_CRM_PORT": str(port)}
    process = subprocess.Popen([sys.executable, "-m", "services", "crm"], env=environment, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: _answers(f"http://127.0.0.1:{port}"), seconds=60)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/openapi.json").status_code == 200
    except httpx.HTTPError:
        return False


def test_an_episode_closed_before_anybody_noticed_its_product_had_died_still_says_so(
    start: Callable[..., Stack],
) -> None:
    stack = start()
    attempt = stack.open()
    os.kill(stack.children()["crm"], signal.SIGKILL)

    closed = attempt.post("close").json()

    assert (closed["outcome"], closed["because"]) == ("unscored", "crm process died")
