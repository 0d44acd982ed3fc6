"""People and organizations by the beginning of a name."""

import re

import sqlalchemy as sa

from services.desk.operations.listing import Where

_WORD = re.compile(r"\w+", re.UNICODE)


def beginning(table: sa.Table, text: str) -> Where:
    """Every word of the text begins a word of the name."""
    words = _WORD.findall(text)
    if not words:
        return Where("0")
    asked = " AND ".join(f'name_text : "{word}" *' for word in words[:10])
    found = f"SELECT rowid FROM {table.name}_texts WHERE {table.name}_texts MATCH :beginning"  # noqa: S608 - our own names
    return Where(f"id IN ({found})", {"beginning": asked})
