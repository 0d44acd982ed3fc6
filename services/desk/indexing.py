"""Derived columns: what of a row lists are sorted by and searches look for."""

import html
import re
from typing import Any

import orjson

from services.desk.rows.people import OrganizationRow, UserRow
from services.desk.rows.settings import ArticleRow
from services.desk.rows.tickets import CommentRow, Priority, Status, TicketRow

STATUSES: tuple[Status, ...] = ("new", "open", "pending", "hold", "solved", "closed")
PRIORITIES: tuple[Priority, ...] = ("low", "normal", "high", "urgent")
_TAG = re.compile(r"<[^>]*>")


def status_rank(row: TicketRow) -> int:
    """Returns the status's place in its order: `status<solved` and sorting compare it."""
    return STATUSES.index(row["body"]["status"])


def priority_rank(row: TicketRow) -> int | None:
    priority = row["body"].get("priority")
    return None if priority is None else PRIORITIES.index(priority)


def channel(row: TicketRow) -> str | None:
    via = row["body"].get("via")
    return via["channel"] if via else None


def read_solved_at(row: TicketRow) -> int | None:
    metrics = row["body"].get("metrics")
    return metrics.get("solved_at") if metrics else None


def subject_text(row: TicketRow) -> str:
    return row["body"].get("subject") or ""


def description_text(row: TicketRow) -> str:
    return row["body"].get("description") or ""


def comment_text(row: CommentRow) -> str:
    return row["body"].get("plain_body") or ""


def files(row: CommentRow) -> int | None:
    """Returns how many files are attached; None where there are none, so that the index skips the row."""
    return len(row["body"].get("attachments") or ()) or None


def user_name_text(row: UserRow) -> str:
    return _join(row["body"].get("name"), row["body"].get("alias"))


def user_text(row: UserRow) -> str:
    body = row["body"]
    known = (body.get("email"), body.get("phone"), body.get("external_id"), body.get("notes"), body.get("details"))
    return f"{_join(*known)} {' '.join(body.get('tags') or [])}".strip()


def name_text(row: OrganizationRow) -> str:
    return row["body"].get("name") or ""


def organization_text(row: OrganizationRow) -> str:
    body = row["body"]
    domains = " ".join(body.get("domain_names") or [])
    known = _join(body.get("external_id"), body.get("notes"), body.get("details"))
    return f"{known} {domains} {' '.join(body.get('tags') or [])}".strip()


def title_text(row: ArticleRow) -> str:
    return row["body"].get("title") or ""


def article_text(row: ArticleRow) -> str:
    return f"{plain(row['body'].get('body') or '')} {' '.join(row['body'].get('label_names') or [])}".strip()


def ticket_links(row: TicketRow) -> str | None:
    body = row["body"]
    links: list[tuple[str, Any]] = [("tag", tag) for tag in body.get("tags") or []]
    links += [("cc", str(user)) for user in body.get("email_cc_ids") or []]
    links += [("follower", str(user)) for user in body.get("follower_ids") or []]
    for field, value in (body.get("custom_fields") or {}).items():
        several = value if isinstance(value, list) else [value]
        links += [(f"field:{field}", _spell(item)) for item in several if item is not None]
    return orjson.dumps(links).decode() if links else None


def tag_links(row: UserRow) -> str | None:
    links = [("tag", tag) for tag in row["body"].get("tags") or []]
    return orjson.dumps(links).decode() if links else None


def organization_links(row: OrganizationRow) -> str | None:
    body = row["body"]
    links = [("tag", tag) for tag in body.get("tags") or []]
    links += [("domain", domain.casefold()) for domain in body.get("domain_names") or []]
    return orjson.dumps(links).decode() if links else None


def plain(markup: str) -> str:
    """Returns the words of an HTML text."""
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())


def _join(*values: str | None) -> str:
    return " ".join(value for value in values if value)


def _spell(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
