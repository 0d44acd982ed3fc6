"""Values by what they mean: a phone number is its digits, an amount its number, a name its letters."""

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from pydantic import Field

from services.crm.indexing import moment_ms
from services.crm.tables import objects
from services.kernel.checks import Check, Finding
from services.kernel.statements import Row
from services.kernel.world import World

_PHONES = frozenset({"phone", "mobilephone", "fax", "lead_phone"})
_WEB = frozenset({"website", "domain", "hs_linkedin_url"})
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?\Z")
_EXTENSION = re.compile(r"(?:ext\.?|x|durchwahl)\s*\d+\s*$", re.IGNORECASE)
_OPEN_TASKS = (
    "SELECT DISTINCT a.to_id FROM associations a JOIN objects o ON o.id = a.to_id "
    "WHERE a.from_id = ? AND a.to_kind = 'tasks' AND o.archived_at IS NULL ORDER BY a.to_id"
)


def meaning(name: str, value: str, *, cased: bool = False) -> str:
    """Two spellings of the same value have the same meaning; `cased` tells capitals apart."""
    text = " ".join(unicodedata.normalize("NFC", value).split())
    if name in _PHONES:
        return _dialled(text)
    if name in _WEB:
        return re.sub(r"^(https?://)?(www\.)?", "", text.casefold()).rstrip("/")
    if _DATE.match(text) and (moment := moment_ms(text)) is not None:
        return f"day {int(moment // 86_400_000)}"
    return _counted(text) or (text if cased else text.casefold())


class RecordReads(Check):
    """The record is there and its properties mean this: any of the readings of each; an empty one asks for no value."""

    record_id: int
    readings: dict[str, tuple[str, ...]] = Field(min_length=1)
    # Whether capitals matter: "MEYER" is not "Meyer" where the shouting is the trouble.
    cased: bool = False

    def ask(self, world: World) -> Finding:
        row = world.get(objects, self.record_id)
        if row is None or row["archived_at"] is not None:
            return self.failed(f"record {self.record_id} is gone")
        held = row["properties"]
        wrong = {name: held.get(name) for name in self.readings if not self._reads(name, held.get(name) or "")}
        if not wrong:
            return self.held(f"record {self.record_id} reads {self.readings}")
        right = Fraction(len(self.readings) - len(wrong), len(self.readings))
        return self.partly(right, f"record {self.record_id} has {wrong}, not {self.readings}")

    def _reads(self, name: str, value: str) -> bool:
        meant = meaning(name, value, cased=self.cased)
        # Spaces at the ends are a mess of their own: they are not forgiven where capitals are not.
        tidy = not self.cased or value == value.strip()
        return tidy and any(meant == meaning(name, one, cased=self.cased) for one in self.readings[name])


class HasOpenTask(Check):
    """A new to-do that is not done yet is tied to the record, due between two days, and belongs to somebody."""

    record_id: int
    due_from: str
    due_until: str
    owner_id: str | None = None

    def ask(self, world: World) -> Finding:
        rows = [world.get(objects, found) for (found,) in world.rows(_OPEN_TASKS, (self.record_id,))]
        new = [row for row in rows if row is not None and _is_made_by_agent(world, row["id"])]
        fitting = [row for row in new if self._fits(row)]
        if fitting:
            return self.held(f"to-do {fitting[0]['id']} on record {self.record_id} is open and due in time")
        if new:
            return self.failed(f"no new to-do on record {self.record_id} is open, due in time and in the right hands")
        return self.failed(f"there is no new to-do on record {self.record_id}")

    def _fits(self, row: Row) -> bool:
        told = row["properties"]
        if told.get("hs_task_status") == "COMPLETED" or not (told.get("hs_task_subject") or told.get("hs_task_body")):
            return False
        due = str(told.get("hs_timestamp") or "")[:10]
        return self.due_from <= due <= self.due_until and self.owner_id in (None, told.get("hubspot_owner_id"))


def _is_made_by_agent(world: World, record_id: int) -> bool:
    written = world.history(objects, record_id)
    return bool(written) and written[0].before is None and written[0].actor != "house"


def _dialled(text: str) -> str:
    """Digits; two zeros in front are a plus."""
    digits = re.sub(r"\D", "", re.sub(r"\(0\)", "", _EXTENSION.sub("", text)))
    return digits.removeprefix("00")


def _counted(text: str) -> str | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return f"number {number.normalize():f}" if number.is_finite() else None
