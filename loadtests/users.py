"""Locust users. Importing Locust patches the process for gevent, so that threads and sleep become greenlets."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from locust import FastHttpUser, constant, task
from locust.exception import StopUser

from loadtests.calls import Call, ConsistencyViolation, EpisodeScript, Response, ScriptMaker, UnexpectedResponse
from loadtests.measurements import Failure, Recorder, Sample
from loadtests.pacing import Schedule

_TIMEOUT_SECONDS = 30.0


class RunOver(Exception):
    """The schedule is empty: the script must close its episode."""


@dataclass
class RunState:
    """What the users of one run share."""

    schedule: Schedule
    recorder: Recorder
    make_script: ScriptMaker
    episodes_each: int
    # Calls of every first script before the clock starts: the first calls on a fork are slower than the rest.
    warm_calls: int = 0
    began: float = 0.0
    scripts_started: int = 0
    ready: int = 0
    gate: threading.Event = field(default_factory=threading.Event)
    # Users whose schedule is empty, and the signal to close their episodes, which is not measured.
    finished: int = 0
    may_leave: threading.Event = field(default_factory=threading.Event)

    def now(self) -> float:
        return time.perf_counter() - self.began

    def start_clock(self) -> None:
        self.began = time.perf_counter()
        self.gate.set()

    def next_script(self) -> EpisodeScript:
        self.scripts_started += 1
        return self.make_script(self.scripts_started)


class EpisodeUser(FastHttpUser):
    """Plays several episodes at once, one request at a time, each when it is due."""

    abstract = True
    wait_time = constant(0)
    network_timeout = _TIMEOUT_SECONDS
    connection_timeout = _TIMEOUT_SECONDS
    max_retries = 0
    run_: RunState

    def on_start(self) -> None:
        """Open the first episodes before the clock starts, so that a run is measured in its steady state."""
        self._scripts: list[tuple[EpisodeScript, Call]] = [self._begin() for _ in range(self.run_.episodes_each)]
        for _ in range(1 + self.run_.warm_calls):
            self._scripts = [self._continue(script, call, self._exchange(call)) for script, call in self._scripts]
        self._turn = 0
        self.run_.ready += 1
        self.run_.gate.wait()

    def on_stop(self) -> None:
        """Close our connections: one that stayed open would look like a leak of the stack."""
        self.client.client.close()

    @task
    def take_turn(self) -> None:
        due = self.run_.schedule.take()
        if due is None:
            self.run_.finished += 1
            self.run_.may_leave.wait()
            self._close_episodes()
            raise StopUser
        if (ahead := due - self.run_.now()) > 0:
            time.sleep(ahead)
        self._turn = (self._turn + 1) % len(self._scripts)
        script, call = self._scripts[self._turn]
        self._scripts[self._turn] = self._continue(script, call, self._send_when_due(call, due))

    def _begin(self) -> tuple[EpisodeScript, Call]:
        script = self.run_.next_script()
        return script, next(script)

    def _send_when_due(self, call: Call, due: float) -> Response:
        sent_at = self.run_.now()
        answer = self._exchange(call)
        is_error = answer.status not in call.expected
        self.run_.recorder.samples.append(Sample(call.name, due, sent_at, self.run_.now(), is_error))
        return answer

    def _exchange(self, call: Call) -> Response:
        body: Any = call.body  # Locust's annotation says text; its client takes bytes as they are
        with self.client.request(
            call.method, call.url, name=call.name, data=body, headers=dict(call.headers), catch_response=True
        ) as response:
            if response.status_code in call.expected:
                response.success()
                return Response(response.status_code, _headers(response), response.content)
            response.failure(f"{response.status_code} {response.error or ''}")
            return Response(response.status_code or 0, {}, response.content or b"", str(response.error or ""))

    def _continue(self, script: EpisodeScript, call: Call, answer: Response) -> tuple[EpisodeScript, Call]:
        recorder = self.run_.recorder
        try:
            return script, script.send(answer)
        except StopIteration:
            recorder.episodes_played += 1
        except UnexpectedResponse as failure:
            recorder.failures.append(Failure(self.run_.now(), call.episode, str(failure)))
        except ConsistencyViolation as violation:
            recorder.violations.append(Failure(self.run_.now(), call.episode, str(violation)))
        return self._begin()

    def _close_episodes(self) -> None:
        """Close every episode; nothing of this is measured."""
        for script, _ in self._scripts:
            try:
                answer = self._exchange(script.throw(RunOver()))
                script.send(answer)
            except (RunOver, StopIteration, UnexpectedResponse, ConsistencyViolation):
                continue


def _headers(response: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}
