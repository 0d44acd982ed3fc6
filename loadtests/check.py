"""check: several clients on shared episodes, and a verdict on what they saw together."""

import argparse
import asyncio
import random  # noqa: TID251 - a load generator, not a world; seeded
import time
from dataclasses import dataclass, field
from typing import Any

import httpx
from dayshift.wire import Opened, OpenRequest
from rich.console import Console

from loadtests.calls import REVISION_HEADER
from loadtests.history import Contradiction, Event, ListEvent, Value, check_list, check_registers
from loadtests.targets import Target, open_target

_CONTACTS = "/crm/v3/objects/contacts"
_REGISTERS = ("phone", "jobtitle")
_LIST = "company"
_PEOPLE = 3
_LONGEST_LIST = 90
_EPISODES = 2
_LONGEST_EXTENSION = 60.0


@dataclass(frozen=True, slots=True)
class TimedRevision:
    """One answer: its revision, and when it was asked and given."""

    revision: int
    sent_at: float
    answered_at: float


@dataclass
class SharedEpisode:
    """One episode that several clients share, and all that they were told of it."""

    opened: Opened
    people: list[str]
    initial: dict[str, Value]
    registers: list[Event] = field(default_factory=list)
    elements: list[ListEvent] = field(default_factory=list)
    timed_revisions: list[TimedRevision] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    appended: int = 0
    requests: int = 0

    @property
    def tag(self) -> str:
        return self.opened.episode_id[:8]

    def contradictions(self) -> list[Contradiction]:
        problems = check_registers(self.registers, self.initial)
        in_list = check_list(f"the list of {self.tag}", self.elements)
        backwards = _find_backward_revision(self.timed_revisions)
        return [*problems, *(one for one in (in_list, backwards) if one is not None)]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run of the checker found."""

    requests: int
    events: int
    contradictions: list[str]
    unexpected: list[str]
    seconds: float

    @property
    def is_clean(self) -> bool:
        return not self.contradictions and not self.unexpected


def check(options: argparse.Namespace) -> int:
    console = Console()
    is_clean = True
    with open_target(options) as target:
        for number in range(1, options.runs + 1):
            verdict = asyncio.run(
                observe(target, options.seconds, options.requests, options.clients, options.world, seed=number)
            )
            is_clean = is_clean and verdict.is_clean
            _print(console, number, verdict)
    return 0 if is_clean else 1


def _print(console: Console, number: int, verdict: Verdict) -> None:
    state = "[green]one order explains all[/green]" if verdict.is_clean else "[bold red]CONTRADICTED[/bold red]"
    console.print(
        f"run {number}: {verdict.requests:,} requests, {verdict.events:,} events in {verdict.seconds:.1f} s: {state}"
    )
    for line in (*verdict.contradictions[:10], *verdict.unexpected[:10]):
        console.print(f"  {line}", highlight=False, markup=False)


async def observe(target: Target, seconds: float, least: int, clients: int, world: str, seed: int) -> Verdict:
    """Let the clients work for so long, and longer where a busy machine answered too few requests; then decide."""
    began = time.perf_counter()
    async with httpx.AsyncClient(timeout=30, trust_env=False, limits=httpx.Limits(max_connections=100)) as client:
        episodes = [await _open_episode(client, target, world, seed * 100 + number) for number in range(_EPISODES)]
        until = time.perf_counter() + seconds
        least_of_each = least // _EPISODES
        await asyncio.gather(
            *(
                _Client(client, shared, seed * 1000 + index * 10 + which, index).work(until, least_of_each)
                for which, shared in enumerate(episodes)
                for index in range(clients)
            )
        )
        for shared in episodes:
            await client.post(f"{target.url}/v1/episodes/{shared.opened.episode_id}/close", headers=_control(target))
    problems = [str(one) for shared in episodes for one in shared.contradictions()]
    return Verdict(
        requests=sum(shared.requests for shared in episodes),
        events=sum(len(shared.registers) + len(shared.elements) for shared in episodes),
        contradictions=problems,
        unexpected=[line for shared in episodes for line in shared.unexpected],
        seconds=time.perf_counter() - began,
    )


async def _open_episode(client: httpx.AsyncClient, target: Target, world: str, seed: int) -> SharedEpisode:
    request = OpenRequest(task=None, seed=seed, world=world)
    answer = await client.post(f"{target.url}/v1/episodes", content=request.model_dump_json(), headers=_control(target))
    answer.raise_for_status()
    opened = Opened.model_validate_json(answer.content)
    access = opened.products["crm"]
    page = await client.get(
        f"{access.base_url}{_CONTACTS}?limit={_PEOPLE}&properties={','.join(_REGISTERS)}",
        headers={"authorization": f"Bearer {access.credential}"},
    )
    page.raise_for_status()
    records = page.json()["results"]
    initial = {f"{one['id']}.{name}": one["properties"].get(name) for one in records for name in _REGISTERS}
    return SharedEpisode(opened, [one["id"] for one in records], initial)


class _Client:
    """One of several who work on the same episode without knowing of each other."""

    def __init__(self, client: httpx.AsyncClient, shared: SharedEpisode, seed: int, number: int) -> None:
        access = shared.opened.products["crm"]
        self._client = client
        self._shared = shared
        self._chance = random.Random(seed)  # noqa: S311 - a load generator
        self._number = number
        self._base = access.base_url.rstrip("/")
        self._headers = {"authorization": f"Bearer {access.credential}"}
        self._written = 0

    async def work(self, until: float, least: int) -> None:
        ways = (
            (self._write, 4),
            (self._write_several, 1),
            (self._append, 1),
            (self._get, 4),
            (self._list, 1),
            (self._search, 1),
            (self._batch_read, 1),
            (self._read_list, 1),
        )
        while time.perf_counter() < until or (
            self._shared.requests < least and time.perf_counter() < until + _LONGEST_EXTENSION
        ):
            (way,) = self._chance.choices([one for one, _ in ways], [weight for _, weight in ways])
            await way()

    # --- registers ---

    async def _write(self) -> None:
        person, name = self._chance.choice(self._shared.people), self._chance.choice(_REGISTERS)
        values = {name: self._value()}
        sent_at, answer = await self._ask("PATCH", f"{_CONTACTS}/{person}", {"properties": values})
        self._wrote({person: values}, sent_at, answer)

    async def _write_several(self) -> None:
        name = self._chance.choice(_REGISTERS)
        changes = {person: {name: self._value()} for person in self._chance.sample(self._shared.people, 2)}
        inputs = [{"id": person, "properties": values} for person, values in changes.items()]
        sent_at, answer = await self._ask("POST", f"{_CONTACTS}/batch/update", {"inputs": inputs})
        self._wrote(changes, sent_at, answer)

    async def _get(self) -> None:
        person = self._chance.choice(self._shared.people)
        await self._read("GET", f"{_CONTACTS}/{person}?properties={','.join(_REGISTERS)}")

    async def _list(self) -> None:
        await self._read("GET", f"{_CONTACTS}?limit={_PEOPLE}&properties={','.join(_REGISTERS)}")

    async def _search(self) -> None:
        person = self._chance.choice(self._shared.people)
        condition = {"propertyName": "hs_object_id", "operator": "EQ", "value": person}
        await self._read(
            "POST",
            f"{_CONTACTS}/search",
            {"filterGroups": [{"filters": [condition]}], "properties": _REGISTERS},
        )

    async def _batch_read(self) -> None:
        inputs = [{"id": person} for person in self._shared.people]
        await self._read("POST", f"{_CONTACTS}/batch/read", {"inputs": inputs, "properties": _REGISTERS})

    async def _read(self, method: str, path: str, body: Any = None) -> None:
        sent_at, answer = await self._ask(method, path, body)
        if answer is None:
            return
        said = answer.json()
        for record in said.get("results", [said]):
            for name in _REGISTERS:
                key, value = f"{record['id']}.{name}", record["properties"].get(name)
                self._shared.registers.append(Event("read", key, value, sent_at, self._now()))

    def _wrote(self, changes: dict[str, dict[str, str]], sent_at: float, answer: httpx.Response | None) -> None:
        answered_at = float("inf") if answer is None else self._now()
        for person, values in changes.items():
            for name, value in values.items():
                self._shared.registers.append(Event("write", f"{person}.{name}", value, sent_at, answered_at))

    # --- the list: an append is a new contact, a read shows all of them in the order of their creation ---

    async def _append(self) -> None:
        if self._shared.appended >= _LONGEST_LIST:
            return
        self._shared.appended += 1
        element = self._value()
        sent_at, answer = await self._ask(
            "POST", _CONTACTS, {"properties": {"firstname": element, _LIST: self._shared.tag}}
        )
        answered_at = float("inf") if answer is None else self._now()
        self._shared.elements.append(ListEvent("append", element, (), sent_at, answered_at))

    async def _read_list(self) -> None:
        condition = {"propertyName": _LIST, "operator": "EQ", "value": self._shared.tag}
        body = {"filterGroups": [{"filters": [condition]}], "properties": ["firstname"], "limit": 100}
        sent_at, answer = await self._ask("POST", f"{_CONTACTS}/search", body)
        if answer is not None:
            seen = tuple(record["properties"]["firstname"] for record in answer.json()["results"])
            self._shared.elements.append(ListEvent("read", "", seen, sent_at, self._now()))

    # --- the wire ---

    async def _ask(self, method: str, path: str, body: Any = None) -> tuple[float, httpx.Response | None]:
        sent_at = self._now()
        self._shared.requests += 1
        try:
            answer = await self._client.request(method, self._base + path, headers=self._headers, json=body)
        except httpx.HTTPError as error:
            self._shared.unexpected.append(f"{method} {path}: {type(error).__name__}")
            return sent_at, None
        if answer.status_code not in (200, 201):
            self._shared.unexpected.append(f"{method} {path} answered {answer.status_code}: {answer.text[:200]}")
            return sent_at, None
        self._shared.timed_revisions.append(TimedRevision(int(answer.headers[REVISION_HEADER]), sent_at, self._now()))
        return sent_at, answer

    def _value(self) -> str:
        self._written += 1
        return f"{self._shared.tag} {self._number}.{self._written}"

    @staticmethod
    def _now() -> float:
        return time.perf_counter()


def _find_backward_revision(timed_revisions: list[TimedRevision]) -> Contradiction | None:
    """An answer must be at least as new as any that was given before it was asked for."""
    by_answer = iter(sorted(timed_revisions, key=lambda answer: answer.answered_at))
    earlier = next(by_answer, None)
    newest = 0
    for answer in sorted(timed_revisions, key=lambda answer: answer.sent_at):
        while earlier is not None and earlier.answered_at < answer.sent_at:
            newest = max(newest, earlier.revision)
            earlier = next(by_answer, None)
        if answer.revision < newest:
            return Contradiction("revisions", f"an answer at revision {answer.revision} came after one at {newest}")
    return None


def _control(target: Target) -> dict[str, str]:
    return {"authorization": f"Bearer {target.token}", "content-type": "application/json"}
