"""Products that die, trainers that leave, a control that restarts: every episode still ends, with its cause."""

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.control.stack import TASK, TOKEN, Stack, eventually

Start = Callable[..., Stack]


def test_a_killed_product_ends_its_episodes_unscored_and_is_back_after_a_restart(start: Start) -> None:
    stack = start("--restart")
    judged = stack.open()
    judged.solve()
    verdict = judged.submit()
    hit = stack.open()
    hit.solve()

    os.kill(stack.children()["crm"], signal.SIGKILL)

    eventually(lambda: hit.get().get("outcome") == "unscored")
    assert hit.get()["because"] == "crm process died"
    assert hit.submit() == hit.submit()
    assert hit.submit()["reward"] is None
    eventually(lambda: stack.control.get("/health").status_code == 200)
    fresh = stack.open()
    fresh.solve()
    assert fresh.submit()["reward"] == 1.0
    assert judged.submit() == verdict
    assert judged.get("/trajectory")["steps"]
    with stack.playground() as play:
        eventually(lambda: play.get("/crm/v3/objects/contacts").status_code == 200)
    report = stack.control.get("/v1/report").json()
    assert report["causes"] == {"crm process died": 1}
    assert report["failure_rate"] == pytest.approx(1 / 3)
    assert "DIED (SIGKILL)" in stack.output()


def test_without_restart_health_names_what_is_down_and_nothing_can_be_opened(start: Start) -> None:
    stack = start()

    os.kill(stack.children()["crm"], signal.SIGKILL)

    eventually(lambda: stack.control.get("/health").status_code == 503)
    assert stack.control.get("/health").json()["products"]["crm"] != "ok"
    refused = stack.control.post("/v1/episodes", json={"task": TASK, "seed": 1})
    assert refused.status_code == 503
    assert "crm is down" in refused.json()["message"]
    assert refused.headers["retry-after"]


def test_a_submit_right_after_the_kill_is_unscored_never_a_reward(start: Start) -> None:
    stack = start()
    attempt = stack.open()
    attempt.solve()

    os.kill(stack.children()["crm"], signal.SIGKILL)
    verdict = attempt.submit()

    assert (verdict["outcome"], verdict["reward"], verdict["because"]) == ("unscored", None, "crm process died")


def test_an_episode_left_alone_is_abandoned_and_one_that_is_worked_on_is_not(start: Start) -> None:
    stack = start(DAYSHIFT_LEASE="2", DAYSHIFT_MAX_EPISODES="2")
    left, worked_on = stack.open(), stack.open(task=None)
    full = stack.control.post("/v1/episodes", json={"task": TASK, "seed": 1})
    assert full.status_code == 429
    assert full.headers["retry-after"] == str(full.json()["retry_after"])
    assert (full.json()["open_episodes"], full.json()["max_episodes"]) == (2, 2)

    def is_over() -> bool:
        worked_on.contacts()
        return stack.control.get("/v1/report").json()["open"] == 1

    eventually(is_over)

    assert (left.get()["outcome"], left.get()["because"]) == ("unscored", "abandoned")
    assert left.agent.get("/crm/v3/objects/contacts").status_code == 401
    assert worked_on.get()["state"] == "open"
    assert stack.control.get("/v1/report").json()["failure_rate"] == 0
    assert stack.open().id


def test_after_control_restarts_open_episodes_are_unscored_and_their_forks_are_closed(start: Start) -> None:
    stack = start("--restart")
    done = stack.open()
    done.submit()
    hit = stack.open()
    with stack.playground() as play:
        made = play.post("/crm/v3/objects/contacts", json={"properties": {"email": "ida@corvane.eu"}}).json()["id"]

    os.kill(stack.children()["control"], signal.SIGKILL)
    eventually(lambda: "DIED" in stack.output())
    eventually(lambda: _answers(stack))

    assert (hit.get()["outcome"], hit.get()["because"]) == ("unscored", "control restarted")
    assert done.get()["outcome"] == "failed"
    eventually(lambda: hit.agent.get("/crm/v3/objects/contacts").status_code == 401)
    with stack.playground() as play:
        assert play.get(f"/crm/v3/objects/contacts/{made}").status_code == 200


def test_a_request_that_breaks_a_product_takes_the_gains_and_leaves_the_harm(start: Start, tmp_path: Path) -> None:
    """A bug of ours, planted from outside: the module that the CRM imports first raises on one path."""
    (tmp_path / "sitecustomize.py").write_text(_BUG)
    stack = start(PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    harmless, harmful = stack.open(), stack.open()
    bystander = next(one for one in harmful.contacts() if one["id"] != harmful.contact()["id"])
    assert harmful.update(bystander["id"], phone="+49 30 1").status_code == 200

    for attempt in (harmless, harmful):
        assert attempt.agent.get("/crm/v3/objects/contacts/666").status_code == 500
        attempt.solve()
    # Longer than the watchdog takes to see it.
    time.sleep(2.5)
    states = [attempt.get() for attempt in (harmless, harmful)]
    unscored, failed = harmless.submit(), harmful.submit()

    assert [state["state"] for state in states] == ["open", "open"]
    assert all("crm: ZeroDivisionError" in state["because"] for state in states)
    assert (unscored["outcome"], unscored["reward"]) == ("unscored", None)
    assert failed["outcome"] == "failed"
    assert failed["reward"] < 0
    assert [one["id"] for one in failed["collateral"]] == [int(bystander["id"])]
    assert "broke_service" in {flag["tag"] for flag in failed["flags"]}
    assert failed["because"] == unscored["because"] == states[0]["because"]
    report = stack.control.get("/v1/report").json()
    assert report["causes"] == {failed["because"]: 2}
    assert report["failure_rate"] == 1


def test_a_ledger_that_cannot_be_written_opens_nothing_and_loses_no_verdict(start: Start, tmp_path: Path) -> None:
    stack = start()
    attempt = stack.open()
    attempt.solve()
    holder = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    refused = stack.control.post("/v1/episodes", json={"task": TASK, "seed": 1})
    unwritten = attempt.post("submit")
    holder.execute("ROLLBACK")
    holder.close()

    assert (refused.status_code, refused.json()["error"]) == (503, "ledger_down")
    assert (unwritten.status_code, unwritten.json()["error"]) == (503, "ledger_down")
    assert attempt.submit()["reward"] == 1.0
    assert stack.control.get("/v1/report").json()["outcomes"] == {"passed": 1}


def _answers(stack: Stack) -> bool:
    try:
        answer = httpx.get(f"http://127.0.0.1:{stack.base}/v1/report", headers={"authorization": f"Bearer {TOKEN}"})
    except httpx.TransportError:
        return False
    return answer.status_code == 200


_BUG = """
import sys
if sys.argv[-1:] == ["crm"] or "crm" in sys.orig_argv[-1:]:
    from services.kernel import world

    whole = world.World.get

    def get(self, table, key):
        return 1 // 0 if key == 666 else whole(self, table, key)

    world.World.get = get
"""
