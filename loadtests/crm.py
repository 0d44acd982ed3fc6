"""A shift at the CRM: reads, searches, writes and batches, each write looked at again in four ways."""

import json
import random  # noqa: TID251 - a load generator, not a world; seeded
from collections.abc import Generator, Mapping
from typing import Any
from urllib.parse import quote

from dayshift.wire import ProductAccess

from loadtests.asking import Answer, Ask
from loadtests.memory import Memory

Look = Generator[Ask, Answer, None]
_CONTACTS = "/crm/v3/objects/contacts"
_WATCHED = ("firstname", "jobtitle", "phone")
_PAGE = 25
_TITLES = ("Head of Operations", "Buyer", "Controller", "Site Manager", "Team Lead", "Procurement")


def crm_shift(access: ProductAccess, chance: random.Random, episode: str) -> Look:
    yield from _Desk(access, chance, episode).work()


class _Desk:
    """One colleague at the CRM."""

    def __init__(self, access: ProductAccess, chance: random.Random, episode: str) -> None:
        self._base = access.base_url.rstrip("/")
        self._headers = {"authorization": f"Bearer {access.credential}", "content-type": "application/json"}
        self._chance = chance
        self._episode = episode
        self._memory = Memory(_WATCHED)
        self._people: list[str] = []
        self._written = 0

    def work(self) -> Look:
        while True:
            yield from self._browse()
            for _ in range(3):
                yield from self._chance.choices(
                    (self._read_one, self._find_by_name, self._change, self._add, self._change_several),
                    (6, 3, 3, 1, 1),
                )[0]()

    # --- reads ---

    def _browse(self) -> Look:
        after = f"&after={self._chance.choice(self._people)}" if self._people else ""
        answer = yield self._get("list", f"{_CONTACTS}?limit={_PAGE}{after}&properties={','.join(_WATCHED)}")
        self._look_at(answer)
        # The last page has nobody after it.
        self._people = [found["id"] for found in answer.json()["results"]] or self._people

    def _read_one(self) -> Look:
        yield from self._by_id(self._chance.choice(self._people))

    def _find_by_name(self) -> Look:
        person = self._chance.choice(self._people)
        name = self._memory.known.get(person, {}).get("firstname")
        if name:
            yield from self._search({"propertyName": "firstname", "operator": "EQ", "value": name})
        else:
            yield from self._by_id(person)

    def _by_id(self, person: str) -> Look:
        answer = yield self._get("get", f"{_CONTACTS}/{person}?properties={','.join(_WATCHED)}")
        self._look_at(answer, person)

    def _in_list(self, person: str) -> Look:
        before = int(person) - 1
        answer = yield self._get("list", f"{_CONTACTS}?limit=1&after={before}&properties={','.join(_WATCHED)}")
        self._look_at(answer, person)

    def _by_search(self, person: str) -> Look:
        """By the value just written: an index that lags would not find it."""
        phone = self._memory.known[person]["phone"]
        yield from self._search({"propertyName": "phone", "operator": "EQ", "value": phone}, person)

    def _search(self, condition: Mapping[str, str], person: str | None = None) -> Look:
        body = {"filterGroups": [{"filters": [condition]}], "properties": _WATCHED, "limit": _PAGE}
        answer = yield self._post("search", f"{_CONTACTS}/search", body)
        self._look_at(answer, person)

    def _in_batch(self, person: str) -> Look:
        others = self._chance.sample(self._people, min(5, len(self._people)))
        inputs = [{"id": one} for one in sorted({person, *others})]
        answer = yield self._post("batch read", f"{_CONTACTS}/batch/read", {"inputs": inputs, "properties": _WATCHED})
        self._look_at(answer, person)

    # --- writes ---

    def _change(self) -> Look:
        person = self._chance.choice(self._people)
        values = self._values()
        answer = yield self._ask("update", "PATCH", f"{_CONTACTS}/{person}", {"properties": values}, 200)
        self._memory.wrote(answer.revision, {person: values})
        yield from self._look_again(person)

    def _add(self) -> Look:
        values = {"firstname": f"Ada {self._written}", **self._values()}
        email = f"ada.{self._written}.{quote(self._episode[-6:])}@corvane.eu"
        answer = yield self._ask("create", "POST", _CONTACTS, {"properties": {**values, "email": email}}, 201)
        person = str(answer.json()["id"])
        self._memory.wrote(answer.revision, {person: values})
        yield from self._look_again(person)

    def _change_several(self) -> Look:
        people = self._chance.sample(self._people, min(3, len(self._people)))
        changes = {person: self._values() for person in people}
        inputs = [{"id": person, "properties": values} for person, values in changes.items()]
        answer = yield self._post("batch update", f"{_CONTACTS}/batch/update", {"inputs": inputs})
        self._memory.wrote(answer.revision, changes)
        yield from self._look_again(self._chance.choice(people))

    def _look_again(self, person: str) -> Look:
        for way in (self._by_id, self._in_list, self._by_search, self._in_batch):
            yield from way(person)

    def _values(self) -> dict[str, str]:
        """Unique in this episode and unlike any other episode's, so that a foreign value is known as one."""
        self._written += 1
        return {
            "phone": f"+49 30 {self._episode[:8]} {self._written}",
            "jobtitle": f"{self._chance.choice(_TITLES)} {self._written}",
        }

    def _look_at(self, answer: Answer, person: str | None = None) -> None:
        said = answer.json()
        found: list[Mapping[str, Any]] = said.get("results", [said])
        self._memory.look_at(answer.revision, {one["id"]: one["properties"] for one in found}, person)

    def _get(self, name: str, path: str) -> Ask:
        return Ask(f"crm {name}", "GET", self._base + path, self._headers, None, episode=self._episode)

    def _post(self, name: str, path: str, body: object) -> Ask:
        return self._ask(name, "POST", path, body, 200)

    def _ask(self, name: str, method: str, path: str, body: object, status: int) -> Ask:
        content = json.dumps(body).encode()
        expected = frozenset({status})
        return Ask(f"crm {name}", method, self._base + path, self._headers, content, expected, self._episode)
