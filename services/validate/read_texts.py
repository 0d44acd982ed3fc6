"""ReadTexts: everything that was read so far, in which the same words are looked up again and again."""

import re
from dataclasses import dataclass, field


@dataclass
class ReadTexts:
    """Texts that only become more: what was found stays found, and what was not is looked for in the new ones alone."""

    _met: set[str] = field(default_factory=set)
    _new: list[str] = field(default_factory=list)
    # Texts that came between two questions, as one: one search instead of hundreds.
    _chunks: list[str] = field(default_factory=list)
    _found: set[str] = field(default_factory=set)
    _chunks_searched: dict[str, int] = field(default_factory=dict)

    def add(self, folded: str) -> None:
        if folded not in self._met:
            self._met.add(folded)
            self._new.append(folded)

    def contain(self, text: str) -> bool:
        """Says whether the words stand somewhere as they are, in any case and with any spaces between them."""
        words = fold(text)
        if words not in self._found and self._stand_in(words, self._take_unsearched(words)):
            self._found.add(words)
        return words in self._found

    def _take_unsearched(self, words: str) -> list[str]:
        if self._new:
            self._chunks.append("\n".join(self._new))
            self._new.clear()
        first = self._chunks_searched.get(words, 0)
        self._chunks_searched[words] = len(self._chunks)
        return self._chunks[first:]

    def _stand_in(self, words: str, chunks: list[str]) -> bool:
        stand = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")
        return any(words in chunk and stand.search(chunk) for chunk in chunks)


def fold(text: str) -> str:
    return " ".join(text.casefold().split())
