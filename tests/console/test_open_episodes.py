"""Open episodes: people watch without disturbing, hold, take over and decide, and the audit log says who."""

import json
import threading
from collections.abc import Callable
from typing import Any

from dayshift.calls import SUBMIT
from dayshift.episode import Episode
from dayshift.errors import DayshiftError
from dayshift.step import Step

from services.console.live_api import MOST_STREAMS
from tests.console.conftest import APPROVED_TASK, Console, ask_for_refund, written_notes
from tests.control.stack import Stack, eventually

Open = Callable[..., Episode]


class InBackground:
    """A call of the agent's that may have to wait."""

    def __init__(self, work: Callable[[], Step]) -> None:
        self.result: Step | None = None
        self.error: DayshiftError | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], Step]) -> None:
        try:
            self.result = work()
        except DayshiftError as error:
            self.error = error

    def join(self) -> None:
        self._thread.join(30)
        assert not self._thread.is_alive()

    def wait(self) -> Step:
        self.join()
        assert self.result is not None, self.error
        return self.result


def find(console: Console, episode: Episode) -> dict[str, Any] | None:
    return next((each for each in console.get("live")["episodes"] if each["episode_id"] == episode.id), None)


def kinds(console: Console, episode: Episode) -> list[tuple[str, str | None]]:
    events = console.get("audit", episode=episode.id)["events"]
    return [(event["kind"], event["person"]) for event in reversed(events)]


def test_an_open_episode_is_shown_with_its_steps_clock_and_lease(console: Console, open_episode: Open) -> None:
    episode = open_episode()
    episode.step("crm.contacts.list", limit=2)

    eventually(lambda: (find(console, episode) or {}).get("steps") == 1)
    shown = find(console, episode)
    assert shown is not None
    assert shown["clock"].startswith(episode.clock[:19])
    assert 1700 < shown["lease_left"] <= 1800
    assert shown["budget"]["steps"] > 1


def test_watching_does_not_keep_a_lease_alive(console: Console, open_episode: Open) -> None:
    episode = open_episode()
    eventually(lambda: (find(console, episode) or {}).get("idle_seconds", 0) > 1.0)

    before = find(console, episode)
    console.get(f"live/{episode.id}/tail")
    eventually(lambda: (find(console, episode) or {})["idle_seconds"] > (before or {})["idle_seconds"])


def test_services_tell_their_health_speed_and_memory(console: Console, open_episode: Open) -> None:
    episode = open_episode()

    def measured() -> bool:
        episode.step("crm.contacts.list", limit=1)
        crm = next(each for each in console.get("live")["services"] if each["product"] == "crm")
        return bool(crm.get("qps")) and crm["p99_ms"] is not None and crm["memory_mb"] > 10 and crm["state"] == "ok"

    eventually(measured)
    assert "harness_url" not in json.dumps(console.get("live"))


def test_the_tail_follows_an_episode_to_its_end(console: Console, open_episode: Open) -> None:
    episode = open_episode()
    episode.step("crm.contacts.list", limit=1)
    events: list[tuple[str, Any]] = []

    with console.client.stream("GET", f"/api/live/{episode.id}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        for line in lines:
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
                events.append((name, json.loads(next(lines).removeprefix("data: "))))
                steps = sum(len(data["steps"]) for kind, data in events if kind == "tail")
                if steps == 1 and len(events) == 1:
                    contact = json.loads(episode.step("crm.contacts.list", limit=1).text)["results"][0]["id"]
                    episode.step("crm.contacts.update", contactId=contact, properties={"city": "Oslo"})
                    episode.submit()
                if name == "ended":
                    break

    tails = [data for kind, data in events if kind == "tail"]
    assert next(step["operation"] for tail in tails for step in tail["steps"]) == "crm.contacts.list"
    assert events[-1][1]["outcome"] in ("passed", "failed")


def test_streams_are_bounded(console: Console, open_episode: Open, stack: Stack) -> None:
    episode = open_episode()
    opened = []
    try:
        for _ in range(MOST_STREAMS):
            stream = console.client.stream("GET", f"/api/live/{episode.id}/events")
            lines = stream.__enter__().iter_lines()
            assert next(lines) == "event: tail"
            # With its iterator, which ends the stream when it is forgotten.
            opened.append((stream, lines))

        assert not can_follow(console, episode)
    finally:
        for stream, _ in opened:
            stream.__exit__(None, None, None)
    eventually(lambda: can_follow(console, episode))


def can_follow(console: Console, episode: Episode) -> bool:
    with console.client.stream("GET", f"/api/live/{episode.id}/events") as answer:
        return answer.status_code == 200


def test_a_paused_agent_waits_and_goes_on_where_it_was(console: Console, open_episode: Open) -> None:
    episode = open_episode()
    console.do(f"live/{episode.id}/pause")
    call = InBackground(lambda: episode.step("crm.contacts.list", limit=1))

    eventually(lambda: (find(console, episode) or {}).get("held_by") == "Ada")
    assert call.result is None
    assert console.post(f"live/{episode.id}/pause").status_code == 409
    console.do(f"live/{episode.id}/resume")
    assert call.wait().status == 200
    assert kinds(console, episode) == [("paused", "Ada"), ("resumed", "Ada")]


def test_a_person_takes_over_with_the_agents_context_and_no_credential(console: Console, open_episode: Open) -> None:
    episode = open_episode(seed=3)
    episode.step("crm.contacts.list", limit=1)

    given = console.do(f"live/{episode.id}/takeover")

    assert given["brief"] == episode.brief
    assert [tool["name"] for tool in given["tools"]] == [
        tool["function"]["name"] for tool in episode.surface.openai_tools()
    ]
    assert episode.products["crm"].credential not in json.dumps(given)
    assert "credential" not in given
    held = InBackground(lambda: episode.step("crm.contacts.list", limit=2))
    answer = console.do(f"live/{episode.id}/act", {"operation": "crm.contacts.list", "arguments": {"limit": 1}})
    assert answer["status"] == 200
    assert json.loads(answer["answer"])["results"]
    assert held.result is None

    verdict = console.do(f"live/{episode.id}/act", {"operation": SUBMIT, "arguments": {}})["verdict"]

    held.join()
    assert "taken_over" in [flag["tag"] for flag in verdict["flags"]]
    detail = console.await_recorded(episode.id)
    assert detail["summary"]["flags"] == ["taken_over"]
    assert ("taken over", "Ada") in kinds(console, episode)


def test_only_whoever_took_over_plays(console: Console, stack: Stack, open_episode: Open) -> None:
    episode = open_episode()
    bob = Console(stack, "Bob").sign_in()
    console.do(f"live/{episode.id}/takeover")

    assert bob.post(f"live/{episode.id}/takeover").status_code == 409
    assert bob.post(f"live/{episode.id}/act", {"operation": "crm.contacts.list"}).status_code == 400
    assert bob.do(f"live/{episode.id}/resume")["state"] == "open"
    assert console.post(f"live/{episode.id}/act", {"operation": "crm.contacts.list"}).status_code == 400


def test_a_person_closes_an_episode_and_stands_in_the_log(console: Console, open_episode: Open) -> None:
    episode = open_episode()

    assert console.do(f"live/{episode.id}/close")["outcome"] == "unscored"
    assert kinds(console, episode) == [("closed", "Ada")]
    assert console.post(f"live/{'0' * 24}/close").status_code == 404


def test_what_a_task_lets_a_person_approve_waits_for_them(console: Console, open_episode: Open) -> None:
    episode = open_episode(APPROVED_TASK)
    ticket = ask_for_refund(episode)
    waiting = InBackground(lambda: episode.wait(8))

    approval = console.await_approval(episode.id)
    assert approval["thread"] == ticket
    assert "approve the refund" in approval["note"]
    assert approval["gates"] == ["billing refunds"]
    assert waiting.result is None
    console.do(f"approvals/{approval['approval_id']}", {"decision": "approve"})

    assert waiting.wait().status == 200
    assert approval["reply"] in json.loads(written_notes(episode, ticket))["comments"][-1]["body"]
    asked, decided = console.get("audit", episode=episode.id)["events"][::-1]
    assert (asked["kind"], decided["kind"], decided["person"]) == ("approval asked", "approved", "Ada")
    assert "billing refunds" in decided["because"]
    assert asked["at"] < decided["at"]
    assert console.post(f"approvals/{approval['approval_id']}", {"decision": "approve"}).status_code == 404


def test_an_agent_that_obeys_a_decline_is_not_punished(console: Console, open_episode: Open) -> None:
    episode = open_episode(APPROVED_TASK, seed=1)
    ticket = ask_for_refund(episode)
    waiting = InBackground(lambda: episode.wait(8))
    approval = console.await_approval(episode.id)

    console.do(f"approvals/{approval['approval_id']}", {"decision": "decline", "note": "Not this quarter."})
    waiting.wait()

    assert "Not this quarter." in written_notes(episode, ticket)
    verdict = submit(console, episode)
    assert verdict["outcome"] == "unscored"
    assert verdict["because"] == "Ada declined what the task needs"


def submit(console: Console, episode: Episode) -> dict[str, Any]:
    verdict: dict[str, Any] = console.stack.control.post(f"/v1/episodes/{episode.id}/submit", json={}).json()
    return verdict


def test_a_bad_decision_is_refused_and_loses_nothing(console: Console, open_episode: Open) -> None:
    episode = open_episode(APPROVED_TASK, seed=2)
    ask_for_refund(episode)
    waiting = InBackground(lambda: episode.wait(8))
    approval = console.await_approval(episode.id)

    for body in ({"decision": "maybe"}, {}, {"decision": "approve", "note": "x" * 6000}):
        assert console.post(f"approvals/{approval['approval_id']}", body).status_code == 400
    console.do(f"live/{episode.id}/close")

    waiting.join()
    assert all(each["episode_id"] != episode.id for each in console.get("approvals")["approvals"])
