"""Which rows a finding is about: those that its words name, changed or not, and otherwise those that broke a rule."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dayshift.viewer.model import RowLink

_LINKS_SHOWN = 6
# Of an answer, what is searched for a row that nobody changed.
_SEARCHED_CHARS = 32_768
# Shorter numbers are counts, unless a noun or a # stands before them.
_TOKEN = re.compile(r"[A-Za-z0-9_\-]{4,}")
_PREFIXED = re.compile(r"\b[a-z]{2,12}_[A-Za-z0-9]{10,}\b")
_NUMBERED = re.compile(
    r"(?:\b(?:ticket|record|user|list|to-do|issue|organization|group|pull request)s? (?:\[)?|#)(\d+(?:, ?\d+)*)"
)

Change = Mapping[str, Any]
Place = tuple[str, str, str]


def find_ids(text: str) -> list[str]:
    """The ids in a text: `ch_0cQljrieBfQAfxEP`, `ticket 5`, `records [7, 8]`, `#147`; amounts and counts are none."""
    numbers = [number.strip() for match in _NUMBERED.finditer(text) for number in match[1].split(",")]
    return list(dict.fromkeys([*_PREFIXED.findall(text), *numbers]))


def find_mentions(verdict: Mapping[str, Any] | None, steps: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """For each id that a finding or a flag names, the last step that asked for it, or else that read it."""
    if verdict is None:
        return {}
    texts = [item["because"] for item in verdict.get("findings", [])]
    texts += [item["evidence"] for item in verdict.get("flags", [])]
    ids = dict.fromkeys(name for text in texts for name in find_ids(text))
    if not ids:
        return {}
    calls, answers = (
        [(int(step["number"]), read(step)) for step in reversed(steps)] for read in (_read_call, _read_answer)
    )
    found = {name: _find_step(name, calls) or _find_step(name, answers) for name in ids}
    return {name: step for name, step in found.items() if step is not None}


def _find_step(name: str, texts: Sequence[tuple[int, str]]) -> int | None:
    whole = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])")
    return next((number for number, text in texts if name in text and whole.search(text)), None)


def _read_call(step: Mapping[str, Any]) -> str:
    return f"{step['target']} {json.dumps(step['arguments'])[:_SEARCHED_CHARS]}"


def _read_answer(step: Mapping[str, Any]) -> str:
    return str(step["answer"][:_SEARCHED_CHARS])


class RowFinder:
    """The rows of one episode, by what a text may call them."""

    def __init__(self, changes: Sequence[Change], mentions: Mapping[str, int]) -> None:
        self._mentions = mentions
        self._links: dict[Place, RowLink] = {}
        self._by_agent: set[Place] = set()
        self._by_name: dict[str, list[Place]] = {}
        for change in changes:
            self._add(change)

    def _add(self, change: Change) -> None:
        """The agent's last change of a row counts; another's where the agent made none."""
        place = (change["product"], change["table"], str(change["id"]))
        by_agent = change["actor"].startswith("agent")
        for name in {str(change["id"]), *_numbers(change["before"]), *_numbers(change["after"])}:
            places = self._by_name.setdefault(name, [])
            if place not in places:
                places.append(place)
        if by_agent or place not in self._by_agent:
            self._links[place] = RowLink(
                product=place[0], table=place[1], id=change["id"], step=change["step"], changed=True
            )
        if by_agent:
            self._by_agent.add(place)

    def find_named(self, text: str, product: str | None) -> list[RowLink]:
        """The rows that a text names: changed ones where they changed, others where the agent met them."""
        ids = find_ids(text)
        links: list[RowLink] = []
        for name in dict.fromkeys([*_TOKEN.findall(text), *ids]):
            changed = [
                self._links[place]
                for place in self._by_name.get(name, [])
                if product in {None, place[0], "answer"} and (place[2] == name or name in ids)
            ]
            links += changed or ([self._link_unchanged(name, product)] if name in ids else [])
        return links[:_LINKS_SHOWN]

    def of_agent(self, text: str, product: str) -> list[RowLink]:
        """The rows that the agent changed in a product: of the tables that the text speaks of, if there are some."""
        own = [place for place in self._links if place in self._by_agent and place[0] == product]
        spoken = [place for place in own if _stem(place[1]) in text.lower().replace("_", " ")]
        return [self._links[place] for place in spoken or own][:_LINKS_SHOWN]

    def _link_unchanged(self, name: str, product: str | None) -> RowLink:
        return RowLink(product=product or "", table="", id=name, step=self._mentions.get(name), changed=False)


def _numbers(image: Mapping[str, Any] | None) -> Iterable[str]:
    """Numbers by which people call a row beside its id: that of an issue, of an invoice."""
    holders = [image, (image or {}).get("body")]
    values = [holder.get("number") for holder in holders if isinstance(holder, Mapping)]
    return [str(value) for value in values if isinstance(value, int | str) and value != ""]


def _stem(table: str) -> str:
    """The table's name as a text may have it: `refund` of `refunds`, `credit note` of `credit_notes`."""
    return table.removesuffix("s").replace("_", " ")
