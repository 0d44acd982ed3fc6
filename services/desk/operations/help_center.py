"""The help centre: articles by words, by section and by language."""

from dataclasses import dataclass

from services.desk.documents import Page, Paging, Sort, cut_page
from services.desk.errors import RecordNotFound
from services.desk.indexing import plain
from services.desk.language.full_text import build_match
from services.desk.language.syntax import Text
from services.desk.records.people import is_staff
from services.desk.rows import ArticleId, CategoryId, SectionId
from services.desk.rows.people import UserRow
from services.desk.rows.settings import ArticleRow
from services.desk.tables import help_articles, tables
from services.kernel.documents import EVERYTHING, Where, equal, read_rows
from services.kernel.world import World

_SNIPPET = 160
_MATCHING = """SELECT a.id, a.created_at, a.updated_at, a.body FROM help_articles_texts t
    JOIN help_articles a ON a.id = t.rowid
    WHERE help_articles_texts MATCH :words AND {where}
    ORDER BY bm25(help_articles_texts, 8.0, 1.0), a.id"""
# Articles for staff carry a segment; drafts are shown to nobody.
_PUBLISHED = "ifnull(body ->> '$.draft', 0) = 0"
_PUBLIC = "body ->> '$.user_segment_id' IS NULL"
_IN_CATEGORY = "section_id IN (SELECT id FROM help_sections WHERE category_id = :inside_category)"
_HAS_LABEL = "EXISTS (SELECT 1 FROM json_each(body, '$.label_names') WHERE value = :{name})"


@dataclass(frozen=True, slots=True)
class ArticleFilter:
    """Which part of the help centre."""

    locale: str | None = None
    section: SectionId | None = None
    category: CategoryId | None = None
    labels: tuple[str, ...] = ()


def list_articles(
    world: World, selection: ArticleFilter, reader: UserRow, paging: Paging, sort: Sort
) -> Page[ArticleRow]:
    return help_articles.page(world, paging, _visible_to(reader) & _inside(selection), sort)


def get_article(world: World, key: ArticleId, reader: UserRow, locale: str | None = None) -> ArticleRow:
    row = help_articles.need(world, key)
    body = row["body"]
    hidden = body.get("draft") or (body.get("user_segment_id") and not is_staff(reader))
    if hidden or (locale is not None and body["locale"] != locale.lower()):
        raise RecordNotFound
    return row


def search_articles(
    world: World, query: str, selection: ArticleFilter, reader: UserRow, paging: Paging
) -> Page[ArticleRow]:
    """Finds articles with any of the words, as people ask whole questions; those with all of them come first."""
    with world.lag_search(tables.tables.__getitem__):
        where = _visible_to(reader) & _inside(selection)
        found = [*_match(world, query, " AND ", where), *_match(world, query, " OR ", where)]
    return cut_page(list({row["id"]: row for row in found}.values()), paging)


def make_snippet(row: ArticleRow, query: str) -> str:
    """Returns the text around the first word of the query."""
    text = plain(row["body"].get("body") or "")
    folded = text.casefold()
    places = [place for word in query.casefold().split() if (place := folded.find(word)) >= 0]
    start = max(0, min(places, default=0) - _SNIPPET // 4)
    return text[start : start + _SNIPPET].strip()


def _match(world: World, query: str, joint: str, where: Where) -> list[ArticleRow]:
    matches = [match for word in query.split()[:32] if (match := build_match([Text(word)])) is not None]
    if not matches:
        return []
    parameters = {**where.parameters, "words": joint.join(matches)}
    return read_rows(world, help_articles, _MATCHING.format(where=where.sql), parameters)


def _visible_to(reader: UserRow) -> Where:
    return Where(_PUBLISHED if is_staff(reader) else f"{_PUBLISHED} AND {_PUBLIC}")


def in_locale(locale: str | None) -> Where:
    return EVERYTHING if locale is None else equal(locale=locale.lower())


def _inside(selection: ArticleFilter) -> Where:
    where = in_locale(selection.locale)
    if selection.section is not None:
        where = where & equal(section_id=selection.section)
    if selection.category is not None:
        where = where & Where(_IN_CATEGORY, {"inside_category": selection.category})
    for index, label in enumerate(selection.labels):
        name = f"label_{index}"
        where = where & Where(_HAS_LABEL.format(name=name), {name: label})
    return where
