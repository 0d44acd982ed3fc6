"""Property values in a normal form: two spellings of the same phone number, amount, day or name are equal in it."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from services.crm.search_index import fold, parse_number, parse_time_ms

_PHONES = frozenset({"phone", "mobilephone", "fax", "lead_phone"})
_URLS = frozenset({"website", "domain", "hs_linkedin_url"})
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?\Z")
# Digits and the signs that people put between them, with an extension at the end; any other word makes it no number.
_PHONE = re.compile(
    r"\(?(?P<international>\+|00)?(?P<number>[0-9 ().\-\u2010\u2011\u2013/]*[0-9])"
    r"(?:[ ,;\-]*(?:ext(?:ension)?\.?|x|durchwahl|#) ?(?P<extension>[0-9]+))?\Z",
    re.IGNORECASE,
)
# What is dialled before a number inside its country.
_TRUNKS = ("", "0")


@dataclass(frozen=True, slots=True)
class Phone:
    """A phone number as it is dialled."""

    digits: str
    is_international: bool
    extension: str | None = None

    def in_full(self, calling_codes: Sequence[str]) -> set[str]:
        """Returns the number with a calling code in front, for each country from which it may be meant."""
        if self.is_international:
            return {self.digits}
        with_codes = {
            code + self.digits.removeprefix(trunk)
            for code in calling_codes
            for trunk in _TRUNKS
            if self.digits.startswith(trunk)
        }
        # The plus sign was left out, as North Americans do.
        return with_codes | {self.digits for code in calling_codes if self.digits.startswith(code)}


def normalize(name: str, value: str, *, case_sensitive: bool = False) -> str:
    """Returns the normal form of a value of the named property."""
    text = " ".join(unicodedata.normalize("NFC", value).split())
    if name in _URLS:
        return re.sub(r"^(https?://)?(www\.)?", "", text.casefold()).rstrip("/")
    if _DATE.match(text) and (time := parse_time_ms(text)) is not None:
        return f"day {int(time // 86_400_000)}"
    return _normalize_number(text) or (text if case_sensitive else text.casefold())


def is_phone_property(name: str) -> bool:
    return name in _PHONES or name.endswith(("_phone", "phone_number"))


def parse_phone(text: str) -> Phone | None:
    """Returns None unless the text is a phone number and nothing else: no words, no invisible characters."""
    match = _PHONE.match(" ".join(text.split()))
    if match is None:
        return None
    number = match["number"]
    is_international = match["international"] is not None
    # Nobody dials a trunk prefix in brackets after the calling code: +49 (0)30 901820.
    if is_international:
        number = number.replace("(0)", "", 1)
    digits = re.sub(r"\D", "", number)
    return Phone(digits, is_international, match["extension"])


def is_same_phone(value: str, expected: str, calling_codes: Sequence[str] = ()) -> bool:
    """Compares the numbers that would be dialled.

    With and without the calling code they are the same where the code is one of these, those that the record's
    country suggests. An extension may be left out; a different one is another number.
    """
    if value == expected:
        return True
    phone, expected_phone = parse_phone(value), parse_phone(expected)
    if phone is None or expected_phone is None:
        return False
    if phone.extension is not None and phone.extension != expected_phone.extension:
        return False
    if phone.digits == expected_phone.digits and (
        not calling_codes or phone.is_international is expected_phone.is_international
    ):
        return True
    return not phone.in_full(calling_codes).isdisjoint(expected_phone.in_full(calling_codes))


def is_same_value(value: str, expected: str) -> bool:
    """Compares numbers by their size, times by their moment, texts by their letters."""
    number, expected_number = parse_number(value.strip()), parse_number(expected.strip())
    if number is not None and expected_number is not None:
        return number == expected_number
    return fold(" ".join(value.split())) == fold(" ".join(expected.split()))


def _normalize_number(text: str) -> str | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return f"number {number.normalize():f}" if number.is_finite() else None
