"""A shift at billing: customers, their invoices and charges, each write looked at again in three ways."""

import random  # noqa: TID251 - a load generator, not a world; seeded
from collections.abc import Generator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from dayshift.wire import ProductAccess

from loadtests.asking import Answer, Ask
from loadtests.memory import Memory

Look = Generator[Ask, Answer, None]
_CUSTOMERS = "/v1/customers"
_WATCHED = ("name", "email", "phone", "description")
_PAGE = 25


def billing_shift(access: ProductAccess, chance: random.Random, episode: str) -> Look:
    yield from _Desk(access, chance, episode).work()


class _Desk:
    """One colleague at billing."""

    def __init__(self, access: ProductAccess, chance: random.Random, episode: str) -> None:
        self._base = access.base_url.rstrip("/")
        self._headers = {
            "authorization": f"Bearer {access.credential}",
            "content-type": "application/x-www-form-urlencoded",
        }
        self._chance = chance
        self._episode = episode
        self._memory = Memory(_WATCHED)
        self._customers: list[str] = []
        self._written = 0

    def work(self) -> Look:
        while True:
            yield from self._browse()
            for _ in range(3):
                yield from self._chance.choices(
                    (self._read_one, self._invoices, self._charges, self._change, self._add), (5, 2, 1, 3, 1)
                )[0]()

    def _browse(self) -> Look:
        after = f"&starting_after={self._chance.choice(self._customers)}" if self._customers else ""
        answer = yield self._get("list", f"{_CUSTOMERS}?limit={_PAGE}{after}")
        self._look_at(answer)
        self._customers = [found["id"] for found in answer.json()["data"]] or self._customers

    def _read_one(self) -> Look:
        yield from self._by_id(self._chance.choice(self._customers))

    def _invoices(self) -> Look:
        customer = self._chance.choice(self._customers)
        answer = yield self._get("invoices", f"/v1/invoices?customer={customer}&limit=10")
        self._memory.saw(answer.revision)

    def _charges(self) -> Look:
        answer = yield self._get("charges", f"/v1/charges?limit={_PAGE}")
        self._memory.saw(answer.revision)

    def _change(self) -> Look:
        customer = self._chance.choice(self._customers)
        values = self._values()
        answer = yield self._post("update", f"{_CUSTOMERS}/{customer}", values)
        self._memory.wrote(answer.revision, {customer: values})
        yield from self._look_again(customer)

    def _add(self) -> Look:
        values = {"name": f"Ada {self._written}", **self._values()}
        answer = yield self._post("create", _CUSTOMERS, values)
        customer = str(answer.json()["id"])
        self._memory.wrote(answer.revision, {customer: values})
        yield from self._look_again(customer)

    def _look_again(self, customer: str) -> Look:
        for way in (self._by_id, self._in_list, self._by_search):
            yield from way(customer)

    def _by_id(self, customer: str) -> Look:
        answer = yield self._get("get", f"{_CUSTOMERS}/{customer}")
        self._look_at(answer, customer)

    def _in_list(self, customer: str) -> Look:
        answer = yield self._get("list", f"{_CUSTOMERS}?email={quote(self._memory.known[customer]['email'])}")
        self._look_at(answer, customer)

    def _by_search(self, customer: str) -> Look:
        query = quote(f"phone:'{self._memory.known[customer]['phone']}'")
        answer = yield self._get("search", f"{_CUSTOMERS}/search?query={query}")
        self._look_at(answer, customer)

    def _values(self) -> dict[str, str]:
        self._written += 1
        return {
            "phone": f"+49 30 {self._episode[:8]} {self._written}",
            "email": f"billing.{self._written}.{self._episode[-6:]}@corvane.eu",
            "description": f"Reached on line {self._written}",
        }

    def _look_at(self, answer: Answer, customer: str | None = None) -> None:
        found: list[Mapping[str, Any]] = answer.json().get("data", [answer.json()])
        self._memory.look_at(answer.revision, {one["id"]: one for one in found}, customer)

    def _get(self, name: str, path: str) -> Ask:
        return Ask(f"billing {name}", "GET", self._base + path, self._headers, None, episode=self._episode)

    def _post(self, name: str, path: str, values: Mapping[str, str]) -> Ask:
        body = urlencode(values).encode()
        return Ask(f"billing {name}", "POST", self._base + path, self._headers, body, episode=self._episode)
