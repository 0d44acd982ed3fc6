"""Comments: read, redact, keep inside."""

import html

from services.desk.errors import RecordInvalid, RecordNotFound
from services.desk.operations import audits, listing, records
from services.desk.operations.listing import Order, Page, Paging, equal
from services.desk.operations.records import Body
from services.desk.operations.showing import Shown
from services.desk.operations.tickets import read
from services.desk.tables import comments, tickets
from services.kernel.statements import Row
from services.kernel.world import World

_BLACK = "▇"


def of_ticket(world: World, ticket: int, paging: Paging, order: Order, public_only: bool = False) -> Page:
    where = equal(ticket_id=ticket)
    return listing.page(world, comments, paging, where & equal(public=1) if public_only else where, order)


def shown(world: World, rows: list[Row], base: str) -> list[Shown]:
    return [audits.comment(world, row, base) for row in rows]


def redact(world: World, ticket: int, key: int, text: str) -> Row:
    """Black out every occurrence of a text in a comment, for good."""
    row = _comment(world, ticket, key)
    if not text or text not in row["body"]["body"]:
        raise RecordInvalid("text", "Text: is not in the comment")
    black = _BLACK * len(text)
    blackened = {name: row["body"][name].replace(text, black) for name in ("body", "plain_body")}
    marked = row["body"]["html_body"].replace(html.escape(text, quote=False), black).replace(text, black)
    if text in marked:
        raise RecordInvalid("text", "Text: cannot be redacted in the comment's markup")
    after = records.change(world, comments, row, {**blackened, "html_body": marked}, "redacted")
    _redact_description(world, ticket, row["body"], after["body"])
    return after


def _redact_description(world: World, ticket: int, before: Body, after: Body) -> None:
    row = read(world, ticket)
    if row["body"]["description"] == before["body"]:
        records.change(world, tickets, row, {"description": after["body"]}, "redacted")


def make_private(world: World, ticket: int, key: int) -> Row:
    """A public comment becomes an internal note; never the other way round."""
    row = _comment(world, ticket, key)
    if not row["body"]["public"]:
        raise RecordInvalid("public", "Comment: is private already")
    return records.change(world, comments, row, {"public": False}, "made_private")


def _comment(world: World, ticket: int, key: int) -> Row:
    read(world, ticket)
    row = records.need(world, comments, key)
    if row["body"]["ticket_id"] != ticket:
        raise RecordNotFound
    return row
