"""Where the parts of a recorded line are, in bytes, so that one step of a long episode can be read alone."""

from array import array
from dataclasses import dataclass, field
from json import JSONDecoder
from json.decoder import JSONDecodeError
from typing import Any

_DECODER = JSONDecoder()
_SPACE = " \t\r\n"


@dataclass(slots=True)
class Layout:
    """Byte offsets within a line: of top-level values, of steps and of changes."""

    values: dict[str, tuple[int, int]] = field(default_factory=dict)
    # start, end of each step; step, start, end of each change.
    steps: "array[int]" = field(default_factory=lambda: array("Q"))
    changes: "array[int]" = field(default_factory=lambda: array("Q"))


def scan(line: bytes) -> tuple[dict[str, Any], Layout]:
    """Parses a line and notes where everything is; raises ValueError for a line that is not an object."""
    # Bytes that are not UTF-8 keep their number, so that offsets stay right.
    text = line.decode("utf-8", "surrogateescape")
    scanner = _Scanner(text, is_ascii=text.isascii())
    return scanner.read_object(), scanner.layout


class _Scanner:
    def __init__(self, text: str, *, is_ascii: bool) -> None:
        self._text = text
        self._is_ascii = is_ascii
        self._at = 0
        # The byte offset of the character `_counted`.
        self._counted = 0
        self._bytes = 0
        self.layout = Layout()

    def read_object(self) -> dict[str, Any]:
        record: dict[str, Any] = {}
        self._expect("{")
        if self._peek() == "}":
            return record
        while True:
            name = self._value()
            self._expect(":")
            start = self._offset()
            if name in {"steps", "changes"} and self._peek() == "[":
                record[name] = self._read_list(name)
            else:
                record[name] = self._value()
            self.layout.values[name] = (start, self._offset())
            if self._next() == "}":
                return record

    def _read_list(self, name: str) -> list[Any]:
        items: list[Any] = []
        self._expect("[")
        if self._peek() == "]":
            self._next()
            return items
        while True:
            start = self._offset()
            item = self._value()
            place = (start, self._offset())
            if name == "steps":
                self.layout.steps.extend(place)
            else:
                self.layout.changes.extend((item["step"], *place))
            items.append(item)
            if self._next() == "]":
                return items

    def _value(self) -> Any:
        self._skip()
        try:
            value, self._at = _DECODER.raw_decode(self._text, self._at)
        except JSONDecodeError as error:
            raise ValueError(str(error)) from error
        return value

    def _offset(self) -> int:
        """The byte offset of the next character that is not a space."""
        self._skip()
        if self._is_ascii:
            return self._at
        self._bytes += len(self._text[self._counted : self._at].encode("utf-8", "surrogateescape"))
        self._counted = self._at
        return self._bytes

    def _peek(self) -> str:
        self._skip()
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        if character not in {",", "]", "}"}:
            raise ValueError(f"unexpected {character!r} at {self._at}")
        self._at += 1
        return character

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise ValueError(f"expected {character!r} at {self._at}")
        self._at += 1

    def _skip(self) -> None:
        while self._text[self._at : self._at + 1] in _SPACE and self._at < len(self._text):
            self._at += 1
