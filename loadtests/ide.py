"""A shift at the IDE: issues, files and commands, each write looked at again in another way."""

import random  # noqa: TID251 - a load generator, not a world; seeded
from collections.abc import Generator
from typing import Any

import orjson
from dayshift.wire import ProductAccess

from loadtests.asking import Answer, Ask, WrongAnswer
from loadtests.memory import Memory

Look = Generator[Ask, Answer, None]
_WATCHED = ("title", "state")
_NOTES = "/home/dev/notes.txt"


def ide_shift(access: ProductAccess, chance: random.Random, episode: str) -> Look:
    yield from _Desk(access, chance, episode).work()


class _Desk:
    """One programmer."""

    def __init__(self, access: ProductAccess, chance: random.Random, episode: str) -> None:
        self._base = access.base_url.rstrip("/")
        self._headers = {"authorization": f"Bearer {access.credential}", "content-type": "application/json"}
        self._chance = chance
        self._episode = episode
        self._memory = Memory(_WATCHED)
        self._repositories: list[str] = []
        self._written = 0

    def work(self) -> Look:
        while True:
            yield from self._browse()
            for _ in range(3):
                yield from self._chance.choices(
                    (self._issues, self._change, self._add, self._note, self._run), self._weights()
                )[0]()

    def _weights(self) -> tuple[int, ...]:
        """Commands take a process each; most of a day is reading. An account without repositories has no issues."""
        return (10, 4, 1, 1, 1) if self._repositories else (0, 0, 0, 1, 1)

    def _browse(self) -> Look:
        answer = yield self._ask("repositories", "GET", "/api/v3/user/repos")
        self._repositories = [one["full_name"] for one in answer.json()] or self._repositories

    def _issues(self) -> Look:
        repository = self._chance.choice(self._repositories)
        answer = yield self._ask("issues", "GET", f"/api/v3/repos/{repository}/issues?state=all")
        self._look_at(answer, repository, answer.json())

    def _add(self) -> Look:
        repository = self._chance.choice(self._repositories)
        values = {"title": self._title()}
        answer = yield self._ask("create", "POST", f"/api/v3/repos/{repository}/issues", values, 201)
        yield from self._look_again(answer, repository, {**values, "state": "open"})

    def _change(self) -> Look:
        repository = self._chance.choice(self._repositories)
        listed = yield self._ask("issues", "GET", f"/api/v3/repos/{repository}/issues?state=all")
        if not listed.json():
            return
        number = self._chance.choice(listed.json())["number"]
        values = {"title": self._title(), "state": self._chance.choice(("open", "closed"))}
        answer = yield self._ask("update", "PATCH", f"/api/v3/repos/{repository}/issues/{number}", values)
        yield from self._look_again(answer, repository, values)

    def _look_again(self, answer: Answer, repository: str, values: dict[str, str]) -> Look:
        key = f"{repository}/{answer.json()['number']}"
        self._memory.wrote(answer.revision, {key: values})
        again = yield self._ask("get", "GET", f"/api/v3/repos/{repository}/issues/{answer.json()['number']}")
        self._look_at(again, repository, [again.json()], key)

    def _note(self) -> Look:
        """Written and read again."""
        text = self._title()
        yield self._ask("write", "POST", "/write_file", {"path": _NOTES, "content": text})
        answer = yield self._ask("read", "POST", "/read_file", {"path": _NOTES})
        if answer.json()["content"] != text:
            raise WrongAnswer(f"{_NOTES} holds {answer.json()['content']!r} but {text!r} was written")
        self._memory.saw(answer.revision)

    def _run(self) -> Look:
        answer = yield self._ask("execute", "POST", "/execute", {"command": "ls", "shell": True})
        self._memory.saw(answer.revision)

    def _title(self) -> str:
        self._written += 1
        return f"Look into {self._episode[-6:]} {self._written}"

    def _look_at(self, answer: Answer, repository: str, found: list[Any], wanted: str | None = None) -> None:
        self._memory.look_at(answer.revision, {f"{repository}/{one['number']}": one for one in found}, wanted)

    def _ask(self, name: str, method: str, path: str, body: Any = None, status: int = 200) -> Ask:
        content = None if body is None else orjson.dumps(body)
        expected = frozenset({status})
        return Ask(f"ide {name}", method, self._base + path, self._headers, content, expected, self._episode)
