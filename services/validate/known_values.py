"""KnownValues: what somebody has read so far, and whether a value stands in it, however it is spelt there."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from services.validate.read_texts import ReadTexts, fold

_NUMBER = re.compile(
    r"(?<![\w.])-?\d{1,3}(?:[ ,.'\u00a0]\d{3})+(?:[.,]\d{1,2})?(?!\d)|(?<![\w.])-?\d+(?:[.,]\d+)?(?!\d)"
)
_GROUPED = re.compile(r"-?\d{1,3}(?:(?:,\d{3})+(?:\.\d+)?|(?:\.\d{3})+(?:,\d+)?)\Z")
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2}).*)?\Z")
_DAY_IN_TEXT = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_DAY_IN_WORDS = re.compile(r"(\d{1,2}) ([A-Z][a-z]{2,8}) (\d{4})\Z")
# Seconds since 1970 from the year 2017 on, as billing writes times.
_EPOCH_SECONDS = range(1_500_000_000, 2_500_000_000)
_PHONE = re.compile(r"\+?[\d ()./-]{7,}\Z")
_PHONE_IN_TEXT = re.compile(r"\+?\d[\d ()./-]{5,}\d")
# A lower-case word may stand anywhere by chance: it counts in prose, or as the value of the field that is asked about.
_WORD = re.compile(r"[a-z][a-z_-]*\Z")
_WORDS_OF_PROSE = 4
# Where lists of stages, groups and options give the value that is to be written.
_NAMES_OF_CHOICES = ("id", "value")
# Fields that hold an amount: minor units in one product are major units in another, and a credit has no sign.
_AMOUNTS = frozenset({"amount", "total", "annualrevenue", "told"})
# The digits of a phone number that are the same with and without a calling code.
_DIGITS_COMPARED = 7
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November")
_MONTH_NAMES = (*_MONTHS, "December")


@dataclass
class KnownValues:
    """Every value of every answer, and all text."""

    # Whole answers, and values with what they are: most are met again and again, and add nothing then.
    _answers: set[str] = field(default_factory=set)
    _read: set[tuple[bool, str]] = field(default_factory=set)
    _joined: set[tuple[bool, str]] = field(default_factory=set)
    _leaves: set[str] = field(default_factory=set)
    _named: set[tuple[str, str]] = field(default_factory=set)
    _names: set[str] = field(default_factory=set)
    _numbers: set[Decimal] = field(default_factory=set)
    _days: set[str] = field(default_factory=set)
    _phones: set[str] = field(default_factory=set)
    # As written, for regular expressions, each text once; and folded, to look words up in.
    _written: dict[str, None] = field(default_factory=dict)
    _texts: ReadTexts = field(default_factory=ReadTexts)
    _prose: ReadTexts = field(default_factory=ReadTexts)

    def read_text(self, text: str) -> None:
        """Adds something that is written for people: a brief, a file, the output of a command."""
        self._add("", text)
        self._join(text, is_prose=True)

    def read_answer(self, body: str) -> None:
        if body in self._answers:
            return
        self._answers.add(body)
        try:
            answer = json.loads(body)
        except ValueError:
            self.read_text(body)
            return
        self.read_value(answer)

    def read_value(self, value: Any) -> None:
        for name, leaf in _leaves(value):
            self._add(name, leaf)
            self._names.add(name)
            if isinstance(leaf, str):
                self._join(leaf, is_prose=len(leaf.split()) >= _WORDS_OF_PROSE)

    def knows_id(self, value: int | str) -> bool:
        """Says whether this id was met, as a whole value or in a text."""
        return str(value).casefold() in self._leaves or self._is_in_text(str(value))

    def knows(self, value: Any, name: str = "") -> bool:
        """Says whether the value was met: a number in any format, a day in any spelling, a phone number by its digits.

        `name` is the field that should have the value.
        """
        if isinstance(value, bool) or value is None or value == "":
            return True
        if isinstance(value, int | float):
            return self._knows_number(Decimal(str(value)), is_amount=name in _AMOUNTS)
        text = str(value)
        if name == "field" and text in self._names:
            return True
        if _WORD.match(text):
            names = (name.rpartition(".")[2], *_NAMES_OF_CHOICES)
            return any((each, text) in self._named for each in names) or self._prose.contain(text)
        return (
            text.casefold() in self._leaves
            or self._is_in_text(text)
            or self._knows_day(text)
            or self._knows_phone(text)
            or self._knows_path(text)
            or ((number := _decimal(text)) is not None and self._knows_number(number, is_amount=name in _AMOUNTS))
        )

    def matches(self, pattern: str) -> bool:
        """Says whether a regular expression fits anywhere in what was read."""
        return re.search(pattern, "\n".join(self._written)) is not None

    def _add(self, name: str, leaf: Any) -> None:
        is_text, text = isinstance(leaf, str), " ".join(str(leaf).split())
        self._named.add((name, text))
        if (is_text, text) in self._read:
            return
        self._read.add((is_text, text))
        self._leaves.add(text.casefold())
        if is_text:
            self._numbers.update(number for found in _NUMBER.findall(text) for number in _readings(found))
            self._phones.update(_digits(found) for found in _PHONE_IN_TEXT.findall(text))
            self._days.update(_DAY_IN_TEXT.findall(text))
        else:
            self._numbers.update(_readings(text))
            if isinstance(leaf, int) and leaf in _EPOCH_SECONDS:
                self._days.add(datetime.fromtimestamp(leaf, UTC).date().isoformat())

    def _join(self, text: str, *, is_prose: bool) -> None:
        if (is_prose, text) in self._joined:
            return
        self._joined.add((is_prose, text))
        # How people write an address that no machine should collect.
        folded = fold(text.replace("(at)", "@"))
        self._written[text] = self._written[folded] = None
        self._texts.add(folded)
        if is_prose:
            self._prose.add(folded)

    def _is_in_text(self, text: str) -> bool:
        return self._texts.contain(text)

    def _knows_number(self, number: Decimal, *, is_amount: bool) -> bool:
        size = abs(number)
        spellings = (size, -size, size / 100, size * 100) if is_amount else (number,)
        return any(each in self._numbers for each in spellings)

    def _knows_path(self, text: str) -> bool:
        """A path from home on, where the folder of the project is the first part; a module goes by its dotted name."""
        _, slash, inside = text.partition("/")
        if not slash or " " in text:
            return False
        dotted = inside.removeprefix("src/").removesuffix(".py").replace("/", ".")
        return any(map(self._is_in_text, (inside, dotted, dotted.rpartition(".")[2])))

    def _knows_day(self, text: str) -> bool:
        match = _DAY.match(_in_digits(text))
        if match is None:
            return False
        year, month, day, hour, minute = match.groups()
        when = date(int(year), int(month), int(day))
        is_known = when.isoformat() in self._days or any(map(self._is_in_text, _spellings_of_day(when)))
        if hour is None or (hour, minute) == ("00", "00"):
            return is_known
        at = datetime(when.year, when.month, when.day, int(hour), int(minute), tzinfo=UTC)
        return is_known and any(self._is_in_text(spelling) for spelling in (f"{hour}:{minute}", f"{at.hour}:{minute}"))

    def _knows_phone(self, text: str) -> bool:
        digits = _digits(text)
        if not _PHONE.match(text) or len(digits) < _DIGITS_COMPARED:
            return False
        return any(met.endswith(digits[-_DIGITS_COMPARED:]) for met in self._phones)


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, name)
    elif value is not None and not isinstance(value, bool):
        yield name, value


def _in_digits(text: str) -> str:
    """12 March 2027 as 2027-03-12."""
    match = _DAY_IN_WORDS.match(text)
    if match is None or match[2] not in _MONTH_NAMES:
        return text
    return f"{match[3]}-{_MONTH_NAMES.index(match[2]) + 1:02d}-{int(match[1]):02d}"


def _readings(text: str) -> set[Decimal]:
    """A number as people on either side of the Channel write it."""
    plain = re.sub(r"[ '\u00a0]", "", text)
    readings = {plain, plain.replace(",", ".")}
    if _GROUPED.match(plain):
        readings |= {plain.replace(",", ""), plain.replace(".", "").replace(",", ".")}
    return {number for each in readings if (number := _decimal(each)) is not None}


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _spellings_of_day(day: date) -> Iterator[str]:
    month = _MONTH_NAMES[day.month - 1]
    yield day.isoformat()
    for name in (month, month[:3]):
        yield f"{day.day} {name}"
        yield f"{name} {day.day}"
        yield f"{day.day}. {name}"
    yield f"{day.day:02d}.{day.month:02d}.{day.year}"
    yield f"{day.month}/{day.day}/{day.year}"
    yield f"{day.day}/{day.month}/{day.year}"
