"""Answers that fit a model: a longer one is shortened at a JSON boundary, with a note that says how to get the rest."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dayshift.operations import Operation

MAX_ANSWER_CHARS = 16_000

_PAGE_SIZES = ("limit", "per_page", "page_size", "pageSize", "count", "depth")
_NEXT_PAGES = ("after", "starting_after", "page_after", "page", "offset", "cursor", "nextPageToken")
_FIELDS = ("properties", "fields", "include_fields")
_NARROWER = ("query", "q", "filterGroups", "path", "pattern", "since", "status", "created")
_CUT = "… ({} more characters)"
# Below this, a text or a list is not worth keeping a part of.
_SMALLEST_SHARE = 40


def fit_answer(text: str, max_chars: int, operation: Operation | None = None) -> str:
    """Returns the text, or as much of it as fits, with a note; JSON stays JSON up to the note."""
    if len(text) <= max_chars:
        return text
    hint = _hint(operation)
    try:
        value = json.loads(text)
    except ValueError:
        return _cut_text(text, max_chars, hint)
    # The note is written after the cut is known; its longest form is reserved.
    omissions: list[str] = []
    room = max(max_chars - len(_note(["item 000000 of 000000"] * 3, len(text), hint)), _SMALLEST_SHARE)
    fitted = _fit(value, room, "", omissions)
    shortened = json.dumps(fitted, ensure_ascii=False, separators=(",", ":"))
    note = _note(omissions[:3], len(text), hint)
    # Where so little fits that no field is left, or the note takes more than was reserved for it, text is cut.
    return shortened + note if fitted and len(shortened) + len(note) <= max_chars else _cut_text(text, max_chars, hint)


def _note(omissions: Sequence[str], length: int, hint: str) -> str:
    left_out = f" Left out: {'; '.join(omissions)}." if omissions else ""
    return f"\n[Shortened: the whole answer has {length} characters.{left_out}{hint}]"


def _cut_text(text: str, max_chars: int, hint: str) -> str:
    note = _note((), len(text), hint)
    if len(note) >= max_chars:
        return text[:max_chars]
    return text[: max_chars - len(note)] + note


def _hint(operation: Operation | None) -> str:
    """Says which arguments of the operation make its answer smaller or give the rest."""
    if operation is None:
        return ""
    names = operation.rename_for_model(operation.arguments_by_name)
    ways = [
        *(f"fewer at once with {name}" for name in _find_first(_PAGE_SIZES, names)),
        *(f"the rest with {name}" for name in _find_first(_NEXT_PAGES, names)),
        *(f"only some fields with {name}" for name in _find_first(_FIELDS, names)),
    ]
    ways = ways or [f"less with {name}" for name in _find_first(_NARROWER, names)]
    return f" Ask for {', '.join(ways)}." if ways else ""


def _find_first(candidates: Sequence[str], names: Mapping[str, object]) -> Iterator[str]:
    yield from [name for name in candidates if name in names][:1]


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _fit(value: Any, room: int, path: str, omissions: list[str]) -> Any:
    if _size(value) <= room:
        return value
    match value:
        case str():
            kept = max(room - len(_CUT) - 12, 0)
            omissions.append(f"{len(value) - kept} characters of {path or 'the text'}")
            return value[:kept] + _CUT.format(len(value) - kept)
        case list():
            return _fit_list(value, room, path, omissions)
        case dict():
            return _fit_object(value, room, path, omissions)
    return value


def _fit_list(items: list[Any], room: int, path: str, omissions: list[str]) -> list[Any]:
    fitting: list[Any] = []
    room_left = room - 2
    for item in items:
        size = _size(item) + 1
        if size > room_left:
            break
        fitting.append(item)
        room_left -= size
    if not fitting and items and room_left > _SMALLEST_SHARE:
        fitting.append(_fit(items[0], room_left, f"{path}[0]", omissions))
    omissions.append(f"{len(items) - len(fitting)} of {len(items)} in {path or 'the list'}")
    return fitting


def _fit_object(fields: dict[str, Any], room: int, path: str, omissions: list[str]) -> dict[str, Any]:
    """Keeps small fields whole and shares the rest of the room among the large ones."""
    sizes = {name: _size(value) + len(json.dumps(name, ensure_ascii=False)) + 2 for name, value in fields.items()}
    room_left, shares = room - 2, {}
    for position, name in enumerate(sorted(sizes, key=lambda name: sizes[name])):
        share = room_left // (len(sizes) - position)
        shares[name] = min(sizes[name], share)
        room_left -= shares[name]
    fitted: dict[str, Any] = {}
    dropped = []
    for name, value in fields.items():
        own = shares[name] - (sizes[name] - _size(value))
        if sizes[name] > shares[name] and own < _SMALLEST_SHARE:
            dropped.append(name)
        else:
            fitted[name] = _fit(value, own, f"{path}.{name}" if path else name, omissions)
    if dropped:
        omissions.append(f"{len(dropped)} fields of {path or 'the answer'}")
    return fitted
