"""What all routes share: the caller, the page of a list, and how lists are answered."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Request, Response

from services.desk.documents import BY_ID, CursorPaging, Page, PageNumbering, Paging, Sort
from services.desk.errors import Forbidden, InvalidParameter, TooManyValues
from services.desk.language.context import id_in, match_text
from services.desk.records.people import identify_caller, is_staff
from services.desk.records.times import format_time
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import TicketRow
from services.desk.schemas.base import ErrorOut, Paged
from services.desk.shapes.base import render_all
from services.desk.shapes.tickets import render_tickets
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.documents import Where
from services.kernel.world import World

_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorOut, "description": "A parameter or the body could not be read"},
    401: {"model": ErrorOut, "description": "The credential is not known"},
    403: {"model": ErrorOut, "description": "Not for this user"},
    404: {"model": ErrorOut, "description": "Not found"},
    409: {"model": ErrorOut, "description": "Somebody changed it meanwhile"},
    413: {"model": ErrorOut, "description": "The body is larger than the desk reads"},
    422: {"model": ErrorOut, "description": "The rules of the desk do not allow it"},
    429: {"description": "Too many requests; try again after Retry-After seconds"},
}
MOST_IDS = 100
_WORD = re.compile(r"\w+", re.UNICODE)


def noun_router(noun: str) -> APIRouter:
    return product_router(tags=[noun], responses=_REFUSALS)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its world, its caller, and the address under which the desk was reached."""

    world: World
    user: UserRow
    base: str
    path: str
    query: str

    def link(self, **changed: Any) -> str:
        """Returns the address of this request with other parameters."""
        parameters = [
            (name, value) for name, value in parse_qsl(self.query, keep_blank_values=True) if name not in changed
        ]
        parameters += [(name, value) for name, value in changed.items() if value is not None]
        return f"{self.base}{self.path}?{urlencode(parameters)}" if parameters else f"{self.base}{self.path}"


def identify(request: Request, world: CurrentWorld) -> Call:
    """Identifies the caller of an operation that end users may call too."""
    scope = request.scope
    headers = dict(scope["headers"])
    base = f"{scope.get('scheme', 'http')}://{headers.get(b'host', b'localhost').decode('latin-1')}"
    user = identify_caller(world, _read_email(headers.get(b"authorization", b"")))
    return Call(world, user, base, scope["path"], scope["query_string"].decode("latin-1"))


def require_staff(request: Request, world: CurrentWorld) -> Call:
    """Identifies the caller of an operation that only agents and administrators may call."""
    call = identify(request, world)
    if not is_staff(call.user):
        raise Forbidden
    return call


AnyCall = Annotated[Call, Depends(identify)]
StaffCall = Annotated[Call, Depends(require_staff)]


def _read_email(authorization: bytes) -> str | None:
    """Reads the address in `email/token:TOKEN` or `email:TOKEN`; a bearer token has none."""
    scheme, _, encoded = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        name = base64.b64decode(encoded.strip()).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return None
    return name.removesuffix("/token") or None


def read_paging(params: Paged) -> Paging:
    if params.page_size is not None or params.page_after is not None or params.page_before is not None:
        if params.page_after is not None and params.page_before is not None:
            raise InvalidParameter("page", "Give page[after] or page[before], not both")
        return CursorPaging(params.page_size or 100, params.page_after, params.page_before)
    return read_numbered(params)


def read_numbered(params: Paged) -> PageNumbering:
    return PageNumbering(params.page or 1, params.per_page or 100)


def read_single_page(params: Paged) -> PageNumbering:
    """Reads the page of a search, whose pages have numbers even where a client sends `page[size]`."""
    paging = read_paging(params)
    return paging if isinstance(paging, PageNumbering) else PageNumbering(1, paging.size)


def read_sort(params: Paged, columns: Mapping[str, str], default: Sort = BY_ID) -> Sort:
    """Reads `sort=-updated_at`, or `sort_by` and `sort_order`; `columns` are ours by the vendor's names."""
    if params.sort is not None:
        name = params.sort.removeprefix("-")
        if name not in columns:
            raise InvalidParameter("sort", f"Sort by one of {', '.join(columns)}")
        return Sort(columns[name], params.sort.startswith("-"))
    if params.sort_by is not None and params.sort_by in columns:
        return Sort(columns[params.sort_by], params.sort_order == "desc")
    return Sort(default.column, params.sort_order == "desc") if params.sort_order is not None else default


def answer_page(call: Call, key: str, page: Page[Any], shapes: Sequence[Any], **related: Any) -> Response:
    """Answers the list under its key, with the records sent along and links to the pages around it."""
    return Json({key: shapes, **related, **page_links(call, page)})


def answer_rows(call: Call, kind: str, key: str, page: Page[Any]) -> Response:
    """Answers a page of records of one kind."""
    return answer_page(call, key, page, render_all(kind, page.rows, call.base))


def answer_tickets(call: Call, params: Paged, page: Page[TicketRow]) -> Response:
    """Answers a page of tickets with what `include` names."""
    shapes, related = render_tickets(call.world, page.rows, read_include(params.include), call.base)
    return answer_page(call, "tickets", page, shapes, **related)


def answer_list(key: str, shapes: Sequence[Any], **related: Any) -> Response:
    """Answers a list that has one page."""
    return Json({key: shapes, **related, "count": len(shapes), "next_page": None, "previous_page": None})


def answer_count(world: World, value: int) -> Response:
    return Json({"count": {"value": value, "refreshed_at": format_time(world.clock.now_ms())}})


def page_links(call: Call, page: Page[Any]) -> dict[str, Any]:
    return _make_numbered_links(call, page) if page.count is not None else _cursor_links(call, page)


def _make_numbered_links(call: Call, page: Page[Any]) -> dict[str, Any]:
    # `page=2.0` is a whole number to whoever validated it.
    number = int(float(dict(parse_qsl(call.query)).get("page", 1)))
    return {
        "count": page.count,
        "next_page": call.link(page=number + 1) if page.has_more else None,
        "previous_page": call.link(page=number - 1) if number > 1 else None,
    }


def _cursor_links(call: Call, page: Page[Any]) -> dict[str, Any]:
    after, before = {"page[after]": page.after_cursor}, {"page[before]": page.before_cursor}
    sent = dict(parse_qsl(call.query))
    has_previous = ("page[after]" in sent or "page[before]" in sent) and page.before_cursor is not None
    return {
        "meta": {"has_more": page.has_more, "after_cursor": page.after_cursor, "before_cursor": page.before_cursor},
        "links": {
            "next": call.link(**{"page[before]": None}, **after) if page.has_more else None,
            "prev": call.link(**{"page[after]": None}, **before) if has_previous else None,
        },
    }


def name_starts_with(table: sa.Table, text: str) -> Where:
    """Makes the condition that every word of the text begins a word of the name."""
    words = _WORD.findall(text)
    if not words:
        return Where("0")
    match = " AND ".join(f'name_text : "{word}" *' for word in words[:10])
    return Where(id_in(match_text(f"{table.name}_texts", ":beginning")), {"beginning": match})


def read_ids(text: str, name: str = "ids", most: int = MOST_IDS) -> list[int]:
    """Reads `35,36`; at most a hundred."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) > most:
        raise TooManyValues(name, most)
    if not parts or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
        raise InvalidParameter(name, "Give ids separated by commas")
    return [int(part) for part in parts]


def read_include(text: str | None) -> frozenset[str]:
    """Reads `users,groups`; `tickets(users)` of searches means users."""
    if text is None:
        return frozenset()
    return frozenset(text.replace("tickets(", "").replace(")", "").replace(" ", "").split(","))
