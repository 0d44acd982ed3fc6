"""Redaction: replaces names, addresses, card numbers and secrets by rule, before data leaves the team.

Each value gets one placeholder throughout a document, such as `[person 2]`, so that a reader can still follow who is
who. The rules are conservative: ids, amounts, times and words of the products stay.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote_plus

# Values of these fields of JSON objects are personal whatever they look like. Compared in lower case without "_"
# and "-", so that firstName and first_name are one.
NAME_FIELDS = frozenset(
    {
        "firstname",
        "lastname",
        "fullname",
        "displayname",
        "cardholder",
        "contactname",
        "author",
        "authorname",
        "login",
        "reviewer",
    }
)
ADDRESS_FIELDS = frozenset(
    {"address", "address1", "address2", "line1", "line2", "street", "streetaddress", "zip", "zipcode", "postalcode"}
)
# A "name" is a person's only beside one of these.
_PERSON_MARKS = frozenset({"email", "phone", "mobilephone", "role", "timezone", "organizationid"})
_PHONE_FIELDS = frozenset({"phone", "mobilephone", "mobile", "fax", "phonenumber"})
_SECRET_FIELDS = frozenset(
    {"password", "secret", "clientsecret", "apikey", "accesstoken", "token", "credential", "authorization", "cvc"}
)
_SHORTEST_NAME = 3

_EMAIL = re.compile(r"[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}")
_CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w.-])")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?!\w)")
_PHONE = re.compile(r"(?<![\w+])(?:\+|00)\d{1,3}[ /.()-]{0,2}\d(?:[ /.()-]{0,2}\d){5,13}(?!\w)")
_STREET = re.compile(
    r"(?<!\w)(?:\d{1,5}[a-z]? (?:[A-Z][\w'’.-]{1,30} ){1,3}"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Boulevard|Blvd|Drive|Dr)"
    r"|[A-ZÄÖÜ][\wäöüß.-]{1,30}(?:straße|strasse|weg|platz|allee) \d{1,4}[a-z]?)(?!\w)"
)
_TOKEN = re.compile(
    r"(?<![\w-])(?:(?:sk|pk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{8,}|pat-[a-z]{2}\d-[\w-]{8,}|gh[opsur]_[A-Za-z0-9]{20,}"
    r"|github_pat_\w{20,}|dtn_\w{16,}|xox[abprs]-[\w-]{10,}|AKIA[A-Z0-9]{16}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
)
_AUTHORIZATION = re.compile(r"(?i)\b(bearer|basic|token) ([A-Za-z0-9._~+/=-]{8,})")


class Redactor:
    """Redacts one document or several that belong together; the same value always gets the same placeholder."""

    def __init__(self, extra_patterns: Mapping[str, str] | None = None) -> None:
        """`extra_patterns` are a team's own rules: what the value is called → a regular expression."""
        self._placeholders: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._known: dict[str, str] = {}
        self._known_pattern: re.Pattern[str] | None = None
        self._extra = [(kind, re.compile(pattern)) for kind, pattern in (extra_patterns or {}).items()]

    def learn(self, value: Any) -> None:
        """Notes the names and addresses that stand in fields of their own, so that they are found in prose too."""
        for kind, text in _find_personal(value):
            stripped = text.strip()
            if len(stripped) >= _SHORTEST_NAME and not stripped.isdigit() and stripped not in self._known:
                self._known[stripped] = self._placeholder(kind, stripped)
                self._known_pattern = None

    def text(self, text: str) -> str:
        """Redacts prose, or JSON where the text is a JSON object or array; its form stays as it is."""
        parsed = _parse_container(text)
        if parsed is not None:
            self.learn(parsed)
            return json.dumps(self.value(parsed), ensure_ascii=False, separators=_separators(text))
        return self._prose(text)

    def value(self, value: Any) -> Any:
        """Redacts a JSON value, with the fields that are personal by name."""
        self.learn(value)
        return self._value(value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self._value(item) for item in value]
        if isinstance(value, Mapping):
            is_person = _is_person(value)
            return {key: self._field(str(key), item, is_person=is_person) for key, item in value.items()}
        return value

    def _field(self, name: str, value: Any, *, is_person: bool) -> Any:
        kind = _kind_of_field(name, is_person=is_person)
        if kind is None or not isinstance(value, str) or not value:
            return self._value(value)
        # A body or a template in such a field is not a name: what is personal in it is found as in any prose.
        return self._placeholder(kind, value.strip()) if _is_single(value) else self._value(value)

    def target(self, target: str) -> str:
        """Redacts a path and its query, in which values are percent-encoded."""
        path, mark, query = target.partition("?")
        return self._prose(path) + mark + self.form(query)

    def form(self, text: str) -> str:
        """Redacts `name=value&…`, percent-encoded as forms and queries are; what is nothing personal stays as it is."""
        pairs = parse_qsl(text, keep_blank_values=True, errors="replace")
        redacted = [
            (name, self._field(name.rpartition("[")[2].rstrip("]"), value, is_person=True)) for name, value in pairs
        ]
        return text if redacted == pairs else "&".join(f"{_quote(name)}={_quote(value)}" for name, value in redacted)

    def _prose(self, text: str) -> str:
        for kind, pattern, accepts in _RULES:
            text = pattern.sub(partial(self._replace, kind, accepts), text)
        text = _AUTHORIZATION.sub(lambda match: f"{match[1]} {self._placeholder('secret', match[2])}", text)
        for kind, pattern in self._extra:
            text = pattern.sub(partial(self._replace, kind, _always), text)
        return self._replace_known(text)

    def _replace(self, kind: str, accepts: Callable[[str], bool], match: re.Match[str]) -> str:
        return self._placeholder(kind, match[0]) if accepts(match[0]) else match[0]

    def _replace_known(self, text: str) -> str:
        if not self._known:
            return text
        if self._known_pattern is None:
            # The longest first: of "Ann-Kathrin Smith" no "Smith" is left over.
            names = sorted(self._known, key=len, reverse=True)
            self._known_pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
        return self._known_pattern.sub(lambda match: self._known[match[0]], text)

    def _placeholder(self, kind: str, value: str) -> str:
        placeholder = self._placeholders.get((kind, value))
        if placeholder is None:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            placeholder = self._placeholders[kind, value] = f"[{kind} {self._counts[kind]}]"
        return placeholder


def is_card_number(text: str) -> bool:
    """Whether the digits pass Luhn's test; other long numbers are ids or amounts."""
    digits = [int(digit) for digit in text if digit.isdigit()]
    doubled = [digit if place % 2 == 0 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(reversed(digits))]
    return 13 <= len(digits) <= 19 and sum(doubled) % 10 == 0 and len(set(digits)) > 1


def _quote(text: str) -> str:
    """Placeholders stay readable."""
    return quote_plus(text, safe="[]")


def _always(_: str) -> bool:
    return True


_RULES: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("secret", _TOKEN, _always),
    ("email", _EMAIL, _always),
    ("card", _CARD, is_card_number),
    ("account", _IBAN, _always),
    ("phone", _PHONE, _always),
    ("address", _STREET, _always),
)


def _find_personal(value: Any) -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        is_person = _is_person(value)
        for name, item in value.items():
            kind = _kind_of_field(str(name), is_person=is_person)
            if kind in ("person", "address", "phone") and isinstance(item, str) and _is_single(item):
                yield kind, item
            else:
                yield from _find_personal(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _find_personal(item)
    elif isinstance(value, str) and (parsed := _parse_container(value)) is not None:
        yield from _find_personal(parsed)


def _kind_of_field(name: str, *, is_person: bool) -> str | None:
    folded = name.lower().replace("_", "").replace("-", "")
    if folded in NAME_FIELDS or (folded == "name" and is_person):
        return "person"
    if folded in ADDRESS_FIELDS:
        return "address"
    # A national number has no sign of its own, so that only its field tells what it is.
    if folded in _PHONE_FIELDS:
        return "phone"
    return "secret" if folded in _SECRET_FIELDS else None


def _is_person(value: Mapping[Any, Any]) -> bool:
    return any(str(name).lower().replace("_", "") in _PERSON_MARKS for name in value)


def _is_single(text: str) -> bool:
    return len(text) <= 200 and "\n" not in text and _parse_container(text) is None


def _parse_container(text: str) -> Any:
    if not text or text[0] not in "{[" or text[-1] not in "}]\n":
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _separators(text: str) -> tuple[str, str]:
    """Compact JSON stays compact."""
    return (",", ":") if '": ' not in text[:200] else (", ", ": ")
