"""Expressions for the full-text indexes, in which nothing that a client sends is an operator."""

from collections.abc import Iterable

from services.desk.language.syntax import Text

_MOST_WORDS = 32
# A quote would end the text that the index reads, and so would a NUL.
_SEPARATORS = {ord('"'): " ", 0: " "}


def build_match(texts: Iterable[Text], column: str | None = None) -> str | None:
    """Matches all of these words, each as a whole word or the beginning of one; None where no words are left."""
    parts = [_match(text) for text in texts if any(letter.isalnum() for letter in text.words)][:_MOST_WORDS]
    if not parts:
        return None
    joined = " AND ".join(parts)
    return joined if column is None else f"{column} : ({joined})"


def _match(text: Text) -> str:
    """Inside quotes the index splits words as it split the texts: `anna@corvane.eu` is a phrase of three words."""
    quoted = f'"{text.words.translate(_SEPARATORS).strip("* ")}"'
    # A phrase is meant as it stands; a star at its end still asks for a beginning.
    return quoted if text.is_phrase and not text.words.rstrip().endswith("*") else f"{quoted} *"
