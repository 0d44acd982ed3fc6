"""Texts that people send: plain text, HTML and tags."""

import html
import re
from collections.abc import Iterable

from services.desk.errors import RecordInvalid
from services.desk.records.payload import Payload
from services.desk.rows.tickets import CommentDraft

_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->", re.DOTALL)
_BREAKS = re.compile(r"<br\s*/?>|</p>|</div>|</li>", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n{3,}")


def draft_comment(payload: Payload, author_is_staff: bool, public: bool = True) -> CommentDraft:
    """Makes a comment of what was sent: HTML in `body` is stripped, `html_body` wins where both came."""
    if payload.get("html_body"):
        marked = str(payload["html_body"])
        body = to_plain_text(marked)
        html_body = f'<div class="zd-comment" dir="auto">{marked}</div>'
    else:
        body = _MARKUP.sub("", str(payload.get("body") or ""))
        html_body = to_html(body)
    if not body.strip():
        raise RecordInvalid("comment", "Comment: cannot be blank", "BlankValue")
    wanted = payload.get("public")
    # What an end user writes is always public.
    is_public = True if not author_is_staff else (public if wanted is None else bool(wanted))
    return {"body": body, "html_body": html_body, "plain_body": body, "public": is_public}


def to_plain_text(marked: str) -> str:
    """Returns the text of HTML with its lines."""
    lines = html.unescape(_MARKUP.sub("", _BREAKS.sub("\n", marked))).split("\n")
    return _BLANK_LINES.sub("\n\n", "\n".join(line.strip() for line in lines)).strip()


def to_html(text: str) -> str:
    paragraphs = [html.escape(part, quote=False).replace("\n", "<br>") for part in text.split("\n\n")]
    inner = "".join(f"<p>{part}</p>" for part in paragraphs)
    return f'<div class="zd-comment" dir="auto">{inner}</div>'


def normalize_tags(tags: Iterable[str]) -> list[str]:
    """Returns them in lower case, without spaces, each once, in order."""
    return sorted({part for tag in tags for part in re.split(r"[\s,]+", tag.casefold()) if part})
