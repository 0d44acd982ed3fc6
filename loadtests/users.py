"""Locust users. Importing Locust patches the process for gevent: threads and sleep are then greenlets' own."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from locust import FastHttpUser, constant, task
from locust.exception import StopUser

from loadtests.asking import Answer, Ask, Failed, Life, WrongAnswer
from loadtests.measurements import Recorder, Sample, Trouble
from loadtests.pacing import Schedule

_TIMEOUT_SECONDS = 30.0


class RunOver(Exception):
    """The schedule is empty: give the episode back."""


@dataclass
class Run:
    """What the users of one run share."""

    schedule: Schedule
    recorder: Recorder
    # A new life from its number.
    birth: Callable[[int], Life]
    episodes_each: int
    # So many calls of every first life, before the clock starts: forks that were never used are not yet themselves.
    warm_calls: int = 0
    began: float = 0.0
    born: int = 0
    ready: int = 0
    gate: threading.Event = field(default_factory=threading.Event)
    # Users who found the schedule empty, and their leave to give the episodes back, which is not measured.
    finished: int = 0
    may_leave: threading.Event = field(default_factory=threading.Event)

    def now(self) -> float:
        return time.perf_counter() - self.began

    def start_clock(self) -> None:
        self.began = time.perf_counter()
        self.gate.set()

    def next_life(self) -> Life:
        self.born += 1
        return self.birth(self.born)


class ShiftUser(FastHttpUser):
    """A worker who lives several episodes at once, one request at a time, each when it is due."""

    abstract = True
    wait_time = constant(0)
    network_timeout = _TIMEOUT_SECONDS
    connection_timeout = _TIMEOUT_SECONDS
    max_retries = 0
    run_: Run

    def on_start(self) -> None:
        """The first episodes are open before the clock starts: a run is measured in its stride."""
        self._lives: list[tuple[Life, Ask]] = [self._begin() for _ in range(self.run_.episodes_each)]
        for _ in range(1 + self.run_.warm_calls):
            self._lives = [self._go_on(life, ask, self._exchange(ask)) for life, ask in self._lives]
        self._turn = 0
        self.run_.ready += 1
        self.run_.gate.wait()

    def on_stop(self) -> None:
        """What the stack has open after a run is then its own: a connection that we kept would look like its leak."""
        self.client.client.close()

    @task
    def take_turn(self) -> None:
        due = self.run_.schedule.take()
        if due is None:
            self.run_.finished += 1
            self.run_.may_leave.wait()
            self._leave()
            raise StopUser
        if (ahead := due - self.run_.now()) > 0:
            time.sleep(ahead)
        self._turn = (self._turn + 1) % len(self._lives)
        life, ask = self._lives[self._turn]
        self._lives[self._turn] = self._go_on(life, ask, self._sent(ask, due))

    def _begin(self) -> tuple[Life, Ask]:
        life = self.run_.next_life()
        return life, next(life)

    def _sent(self, ask: Ask, due: float) -> Answer:
        sent = self.run_.now()
        answer = self._exchange(ask)
        is_error = answer.status not in ask.expected
        self.run_.recorder.samples.append(Sample(ask.name, due, sent, self.run_.now(), is_error))
        return answer

    def _exchange(self, ask: Ask) -> Answer:
        body: Any = ask.body  # Locust's annotation says text; its client takes bytes as they are
        with self.client.request(
            ask.method, ask.url, name=ask.name, data=body, headers=dict(ask.headers), catch_response=True
        ) as response:
            if response.status_code in ask.expected:
                response.success()
                return Answer(response.status_code, _headers(response), response.content)
            response.failure(f"{response.status_code} {response.error or ''}")
            return Answer(response.status_code or 0, {}, response.content or b"", str(response.error or ""))

    def _go_on(self, life: Life, ask: Ask, answer: Answer) -> tuple[Life, Ask]:
        recorder = self.run_.recorder
        try:
            return life, life.send(answer)
        except StopIteration:
            recorder.lives += 1
        except Failed as failed:
            recorder.troubles.append(Trouble(self.run_.now(), ask.episode, str(failed)))
        except WrongAnswer as wrong:
            recorder.wrong.append(Trouble(self.run_.now(), ask.episode, str(wrong)))
        return self._begin()

    def _leave(self) -> None:
        """Past the end nothing is measured, but every episode is given back."""
        for life, _ in self._lives:
            try:
                answer = self._exchange(life.throw(RunOver()))
                life.send(answer)
            except (RunOver, StopIteration, Failed, WrongAnswer):
                continue


def _headers(response: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}
