"""Work at the CRM: reads, searches, writes and batches; each write is read again in four ways."""

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from loadtests.calls import Response
from loadtests.workers.worker import PAGE, Activity, Exchanges, Worker

_CONTACTS = "/crm/v3/objects/contacts"
_TITLES = ("Head of Operations", "Buyer", "Controller", "Site Manager", "Team Lead", "Procurement")


class CrmWorker(Worker):
    """One colleague at the CRM."""

    product = "crm"
    watched: ClassVar = ("firstname", "jobtitle", "phone")
    _properties = ",".join(watched)

    def _activities(self) -> Mapping[Activity, int]:
        return {
            self._read_one: 6,
            self._find_by_name: 3,
            self._update: 3,
            self._create: 1,
            self._update_several: 1,
        }

    # --- reads ---

    def _browse(self) -> Exchanges:
        after = f"&after={self._pick()}" if self._listed else ""
        response = yield self._get("list", f"{_CONTACTS}?limit={PAGE}{after}&properties={self._properties}")
        self._check_contacts(response)
        self._list([contact["id"] for contact in response.json()["results"]])

    def _read_one(self) -> Exchanges:
        yield from self._read_by_id(self._pick())

    def _find_by_name(self) -> Exchanges:
        contact = self._pick()
        name = self._last_observed(contact, "firstname")
        if name:
            yield from self._search({"propertyName": "firstname", "operator": "EQ", "value": name})
        else:
            yield from self._read_by_id(contact)

    def _read_by_id(self, contact: str) -> Exchanges:
        response = yield self._get("get", f"{_CONTACTS}/{contact}?properties={self._properties}")
        self._check_contacts(response, contact)

    def _read_in_list(self, contact: str) -> Exchanges:
        before = int(contact) - 1
        response = yield self._get("list", f"{_CONTACTS}?limit=1&after={before}&properties={self._properties}")
        self._check_contacts(response, contact)

    def _read_by_search(self, contact: str) -> Exchanges:
        """By the value just written: an index that lags would not find it."""
        phone = self._observations.known[contact]["phone"]
        yield from self._search({"propertyName": "phone", "operator": "EQ", "value": phone}, contact)

    def _search(self, condition: Mapping[str, str], contact: str | None = None) -> Exchanges:
        body = {"filterGroups": [{"filters": [condition]}], "properties": self.watched, "limit": PAGE}
        response = yield self._call("search", "POST", f"{_CONTACTS}/search", body)
        self._check_contacts(response, contact)

    def _read_in_batch(self, contact: str) -> Exchanges:
        others = self._chance.sample(self._listed, min(5, len(self._listed)))
        inputs = [{"id": contact_id} for contact_id in sorted({contact, *others})]
        body = {"inputs": inputs, "properties": self.watched}
        response = yield self._call("batch read", "POST", f"{_CONTACTS}/batch/read", body)
        self._check_contacts(response, contact)

    # --- writes ---

    def _update(self) -> Exchanges:
        contact, values = self._pick(), self._new_values()
        response = yield self._call("update", "PATCH", f"{_CONTACTS}/{contact}", {"properties": values})
        self._record_write(response, {contact: values})
        yield from self._read_again(contact)

    def _create(self) -> Exchanges:
        values = {"firstname": f"Ada {self._writes}", **self._new_values()}
        email = f"ada.{self._writes}.{quote(self._episode[-6:])}@corvane.eu"
        response = yield self._call("create", "POST", _CONTACTS, {"properties": {**values, "email": email}}, 201)
        contact = str(response.json()["id"])
        self._record_write(response, {contact: values})
        yield from self._read_again(contact)

    def _update_several(self) -> Exchanges:
        contacts = self._chance.sample(self._listed, min(3, len(self._listed)))
        changes = {contact: self._new_values() for contact in contacts}
        inputs = [{"id": contact, "properties": values} for contact, values in changes.items()]
        response = yield self._call("batch update", "POST", f"{_CONTACTS}/batch/update", {"inputs": inputs})
        self._record_write(response, changes)
        yield from self._read_again(self._chance.choice(contacts))

    def _read_again(self, contact: str) -> Exchanges:
        for read in (self._read_by_id, self._read_in_list, self._read_by_search, self._read_in_batch):
            yield from read(contact)

    def _new_values(self) -> dict[str, str]:
        """Return values that no other episode writes, so that a value of another episode is recognised."""
        number = self._count_write()
        return {
            "phone": f"+49 30 {self._episode[:8]} {number}",
            "jobtitle": f"{self._chance.choice(_TITLES)} {number}",
        }

    def _check_contacts(self, response: Response, expected_id: str | None = None) -> None:
        body = response.json()
        contacts: list[Mapping[str, Any]] = body.get("results", [body])
        self._check(response, {contact["id"]: contact["properties"] for contact in contacts}, expected_id)
