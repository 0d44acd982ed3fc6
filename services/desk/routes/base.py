"""What all routes share: who asks, which page, and how lists are answered."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Request, Response

from services.desk.errors import Forbidden, InvalidParameter, TooManyValues
from services.desk.operations import callers
from services.desk.operations.listing import Cursored, Numbered, Order, Page, Paging
from services.desk.schemas.base import ErrorOut, Paged
from services.kernel.answers import Json
from services.kernel.app import product_router
from services.kernel.statements import Row
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


def noun_router(noun: str) -> APIRouter:
    return product_router(prefix="/api/v2", tags=[noun], responses=_REFUSALS)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: who asks, and under which address the desk was reached."""

    user: Row
    base: str
    path: str
    query: str

    def link(self, **changed: Any) -> str:
        """This request once more, with other parameters."""
        kept = [(name, value) for name, value in parse_qsl(self.query, keep_blank_values=True) if name not in changed]
        kept += [(name, value) for name, value in changed.items() if value is not None]
        return f"{self.base}{self.path}?{urlencode(kept)}" if kept else f"{self.base}{self.path}"


def anyone(request: Request, world: World) -> Call:
    """A call that end users may make too."""
    scope = request.scope
    headers = dict(scope["headers"])
    base = f"{scope.get('scheme', 'http')}://{headers.get(b'host', b'localhost').decode('latin-1')}"
    user = callers.caller(world, _email(headers.get(b"authorization", b"")))
    return Call(user, base, scope["path"], scope["query_string"].decode("latin-1"))


def staff(request: Request, world: World) -> Call:
    """A call that only agents and administrators may make."""
    call = anyone(request, world)
    if not callers.is_staff(call.user):
        raise Forbidden
    return call


def _email(authorization: bytes) -> str | None:
    """`email/token:TOKEN` or `email:TOKEN`; a bearer brings none."""
    scheme, _, encoded = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        name = base64.b64decode(encoded.strip()).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return None
    return name.removesuffix("/token") or None


def paging(asked: Paged) -> Paging:
    if asked.page_size is not None or asked.page_after is not None or asked.page_before is not None:
        if asked.page_after is not None and asked.page_before is not None:
            raise InvalidParameter("page", "Give page[after] or page[before], not both")
        return Cursored(asked.page_size or 100, asked.page_after, asked.page_before)
    return Numbered(asked.page or 1, asked.per_page or 100)


def order(asked: Paged, columns: dict[str, str], first: Order | None = None) -> Order:
    """`sort=-updated_at` with cursors, `sort_by` and `sort_order` with numbers; `columns` by the vendor's names."""
    if asked.sort is not None:
        name = asked.sort.removeprefix("-")
        if name not in columns:
            raise InvalidParameter("sort", f"Sort by one of {', '.join(columns)}")
        return Order(columns[name], asked.sort.startswith("-"))
    if asked.sort_by in columns:
        return Order(columns[asked.sort_by], asked.sort_order == "desc")
    start = first or Order()
    return Order(start.column, asked.sort_order == "desc") if asked.sort_order is not None else start


def listed(call: Call, key: str, page: Page, shown: Sequence[Any], **beside: Any) -> Response:
    """The list under its key, with links to the pages around it; `beside` holds what was side-loaded."""
    return Json({key: shown, **beside, **around(call, page)})


def around(call: Call, page: Page) -> dict[str, Any]:
    return _numbers(call, page) if page.count is not None else _cursors(call, page)


def _numbers(call: Call, page: Page) -> dict[str, Any]:
    # `page=2.0` is a whole number to whoever validated it.
    at = int(float(dict(parse_qsl(call.query)).get("page", 1)))
    return {
        "count": page.count,
        "next_page": call.link(page=at + 1) if page.has_more else None,
        "previous_page": call.link(page=at - 1) if at > 1 else None,
    }


def _cursors(call: Call, page: Page) -> dict[str, Any]:
    after, before = {"page[after]": page.after_cursor}, {"page[before]": page.before_cursor}
    turned = "page[after]" in dict(parse_qsl(call.query)) or "page[before]" in dict(parse_qsl(call.query))
    back = turned and page.before_cursor is not None
    return {
        "meta": {
            "has_more": page.has_more,
            "after_cursor": page.after_cursor,
            "before_cursor": page.before_cursor,
        },
        "links": {
            "next": call.link(**{"page[before]": None}, **after) if page.has_more else None,
            "prev": call.link(**{"page[after]": None}, **before) if back else None,
        },
    }


def ids_of(written: str, name: str = "ids", most: int = MOST_IDS) -> list[int]:
    """`35,36` as numbers; at most a hundred."""
    parts = [part.strip() for part in written.split(",") if part.strip()]
    if len(parts) > most:
        raise TooManyValues(name, most)
    if not parts or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
        raise InvalidParameter(name, "Give ids separated by commas")
    return [int(part) for part in parts]


def included(asked: str | None) -> frozenset[str]:
    """`include=users,groups`; tickets(users) of searches reads as users."""
    if asked is None:
        return frozenset()
    return frozenset(asked.replace("tickets(", "").replace(")", "").replace(" ", "").split(","))
