"""What somebody wrote, as text and as HTML."""

import html
import re

from services.desk.errors import RecordInvalid
from services.desk.operations.records import Body, Given

_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->", re.DOTALL)
_BREAKS = re.compile(r"<br\s*/?>|</p>|</div>|</li>", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n{3,}")


def comment_of(given: Given, author_is_staff: bool, public: bool = True) -> Body:
    """A comment as it is kept: HTML in `body` is stripped, `html_body` wins where both came."""
    if given.get("html_body"):
        marked = str(given["html_body"])
        body = plain(marked)
        shown = f'<div class="zd-comment" dir="auto">{marked}</div>'
    else:
        body = _MARKUP.sub("", str(given.get("body") or ""))
        shown = as_html(body)
    if not body.strip():
        raise RecordInvalid("comment", "Comment: cannot be blank", "BlankValue")
    says = given.get("public")
    # What an end user writes is always public.
    is_public = True if not author_is_staff else (public if says is None else bool(says))
    return {"body": body, "html_body": shown, "plain_body": body, "public": is_public}


def plain(marked: str) -> str:
    """HTML as text with its lines."""
    lines = html.unescape(_MARKUP.sub("", _BREAKS.sub("\n", marked))).split("\n")
    return _BLANK_LINES.sub("\n\n", "\n".join(line.strip() for line in lines)).strip()


def as_html(text: str) -> str:
    paragraphs = [html.escape(part, quote=False).replace("\n", "<br>") for part in text.split("\n\n")]
    inner = "".join(f"<p>{part}</p>" for part in paragraphs)
    return f'<div class="zd-comment" dir="auto">{inner}</div>'


def tags_of(given: list[str]) -> list[str]:
    """Lower case, no spaces, each once, in order."""
    parts = {part for tag in given for part in re.split(r"[\s,]+", tag.casefold()) if part}
    return sorted(parts)
