"""The help centre: found by words, read by shelf and language."""

from dataclasses import dataclass

from services.desk.errors import RecordNotFound
from services.desk.indexing import plain
from services.desk.language import words
from services.desk.language.syntax import Text
from services.desk.operations import callers, listing, records
from services.desk.operations.listing import Order, Page, Paging, Where
from services.desk.tables import help_articles, help_sections, tables
from services.kernel.statements import Row
from services.kernel.world import World

_SNIPPET = 160
_FOUND = """SELECT a.id, a.created_at, a.updated_at, a.body FROM help_articles_texts t
    JOIN help_articles a ON a.id = t.rowid
    WHERE help_articles_texts MATCH :words AND {where}
    ORDER BY bm25(help_articles_texts, 8.0, 1.0), a.id"""
# Pages for staff carry a segment; drafts are for nobody.
_PUBLISHED = "ifnull(body ->> '$.draft', 0) = 0"
_PUBLIC = "body ->> '$.user_segment_id' IS NULL"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which part of the help centre."""

    locale: str | None = None
    section: int | None = None
    category: int | None = None
    labels: tuple[str, ...] = ()


def visible(reader: Row) -> Where:
    return Where(_PUBLISHED if callers.is_staff(reader) else f"{_PUBLISHED} AND {_PUBLIC}")


def page(world: World, wanted: Wanted, reader: Row, paging: Paging, order: Order) -> Page:
    return listing.page(world, help_articles, paging, visible(reader) & _inside(wanted), order)


def read(world: World, key: int, reader: Row, locale: str | None = None) -> Row:
    row = records.need(world, help_articles, key)
    hidden = row["body"].get("draft") or (row["body"].get("user_segment_id") and not callers.is_staff(reader))
    if hidden or (locale is not None and row["body"]["locale"] != locale.lower()):
        raise RecordNotFound
    return row


def search(world: World, query: str, wanted: Wanted, reader: Row, paging: Paging) -> Page:
    """All words first; where no page has them all, any of them, as people ask whole questions."""
    with world.searched(tables.tables.__getitem__):
        where = visible(reader) & _inside(wanted)
        found = _matching(world, query, " AND ", where) or _matching(world, query, " OR ", where)
    return listing.paged(found, paging)


def _matching(world: World, query: str, joint: str, where: Where) -> list[Row]:
    asked = [match for word in query.split()[:32] if (match := words.expression([Text(word)])) is not None]
    if not asked:
        return []
    return listing.read(world, _FOUND.format(where=where.sql), {**where.parameters, "words": joint.join(asked)})


def _inside(wanted: Wanted) -> Where:
    where = listing.EVERYTHING
    if wanted.locale is not None:
        where = where & listing.equal(locale=wanted.locale.lower())
    if wanted.section is not None:
        where = where & listing.equal(section_id=wanted.section)
    if wanted.category is not None:
        inside = "section_id IN (SELECT id FROM help_sections WHERE category_id = :inside_category)"
        where = where & Where(inside, {"inside_category": wanted.category})
    for at, label in enumerate(wanted.labels):
        named = f"EXISTS (SELECT 1 FROM json_each(body, '$.label_names') WHERE value = :label_{at})"  # noqa: S608 - bound
        where = where & Where(named, {f"label_{at}": label})
    return where


def snippet(row: Row, query: str) -> str:
    """The stretch of text around the first word that was asked for."""
    text = plain(row["body"].get("body") or "")
    folded = text.casefold()
    places = [at for word in query.casefold().split() if (at := folded.find(word)) >= 0]
    start = max(0, min(places, default=0) - _SNIPPET // 4)
    return text[start : start + _SNIPPET].strip()


def sections(world: World, paging: Paging, locale: str | None, category: int | None) -> Page:
    where = listing.EVERYTHING if locale is None else listing.equal(locale=locale.lower())
    if category is not None:
        where = where & listing.equal(category_id=category)
    return listing.page(world, help_sections, paging, where, Order("position"))
