"""Words as the full-text index takes them, with the index's own language kept out."""

from collections.abc import Iterable

from services.desk.language.syntax import Text

_MOST_WORDS = 32
# A quote would end the text that the index reads, and so would a NUL.
_APART = {ord('"'): " ", 0: " "}


def expression(texts: Iterable[Text], column: str | None = None) -> str | None:
    """All of these words, each as a whole word or the beginning of one; None where nothing is left to look for."""
    asked = [_match(text) for text in texts if any(letter.isalnum() for letter in text.words)][:_MOST_WORDS]
    if not asked:
        return None
    joined = " AND ".join(asked)
    return joined if column is None else f"{column} : ({joined})"


def _match(text: Text) -> str:
    """Inside quotes the index splits as it split the texts: `anna@corvane.eu` is a phrase of three words."""
    quoted = f'"{text.words.translate(_APART).strip("* ")}"'
    # A phrase is meant as it stands; a star at its end still asks for a beginning.
    return quoted if text.is_phrase and not text.words.rstrip().endswith("*") else f"{quoted} *"
