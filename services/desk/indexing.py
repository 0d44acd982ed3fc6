"""What is derived from a row so that lists and searches find it."""

import html
import re
from typing import Any

import orjson

from services.kernel.statements import Row

STATUSES = ("new", "open", "pending", "hold", "solved", "closed")
PRIORITIES = ("low", "normal", "high", "urgent")
_TAG = re.compile(r"<[^>]*>")


def status_rank(row: Row) -> int:
    """`status<solved` and sorting compare by it."""
    return STATUSES.index(row["body"]["status"])


def priority_rank(row: Row) -> int | None:
    priority = row["body"].get("priority")
    return None if priority is None else PRIORITIES.index(priority)


def channel(row: Row) -> str | None:
    found: str | None = (row["body"].get("via") or {}).get("channel")
    return found


def solved_at(row: Row) -> int | None:
    found: int | None = (row["body"].get("metrics") or {}).get("solved_at")
    return found


def subject_text(row: Row) -> str:
    return row["body"].get("subject") or ""


def description_text(row: Row) -> str:
    return row["body"].get("description") or ""


def comment_text(row: Row) -> str:
    return row["body"].get("plain_body") or ""


def files(row: Row) -> int | None:
    """How many are attached; nothing where there are none."""
    return len(row["body"].get("attachments") or ()) or None


def user_name_text(row: Row) -> str:
    return _joined(row, "name", "alias")


def user_text(row: Row) -> str:
    return f"{_joined(row, 'email', 'phone', 'external_id', 'notes', 'details')} {_tags(row)}".strip()


def name_text(row: Row) -> str:
    return row["body"].get("name") or ""


def organization_text(row: Row) -> str:
    domains = " ".join(row["body"].get("domain_names") or [])
    return f"{_joined(row, 'external_id', 'notes', 'details')} {domains} {_tags(row)}".strip()


def title_text(row: Row) -> str:
    return row["body"].get("title") or ""


def article_text(row: Row) -> str:
    return f"{plain(row['body'].get('body') or '')} {' '.join(row['body'].get('label_names') or [])}".strip()


def ticket_links(row: Row) -> str | None:
    body = row["body"]
    links: list[tuple[str, Any]] = [("tag", tag) for tag in body.get("tags") or []]
    links += [("cc", str(user)) for user in body.get("email_cc_ids") or []]
    links += [("follower", str(user)) for user in body.get("follower_ids") or []]
    for field, value in (body.get("custom_fields") or {}).items():
        several = value if isinstance(value, list) else [value]
        links += [(f"field:{field}", _written(one)) for one in several if one is not None]
    return orjson.dumps(links).decode() if links else None


def tag_links(row: Row) -> str | None:
    links = [("tag", tag) for tag in row["body"].get("tags") or []]
    return orjson.dumps(links).decode() if links else None


def organization_links(row: Row) -> str | None:
    body = row["body"]
    links = [("tag", tag) for tag in body.get("tags") or []]
    links += [("domain", domain.casefold()) for domain in body.get("domain_names") or []]
    return orjson.dumps(links).decode() if links else None


def plain(markup: str) -> str:
    """HTML as the words in it."""
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())


def _joined(row: Row, *names: str) -> str:
    return " ".join(str(value) for name in names if (value := row["body"].get(name)))


def _tags(row: Row) -> str:
    return " ".join(row["body"].get("tags") or [])


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
