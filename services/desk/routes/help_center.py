"""The help centre: the company's policies and how-tos."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Query, Response

from services.desk.documents import PageNumbering, Sort
from services.desk.operations import help_center
from services.desk.operations.help_center import ArticleFilter
from services.desk.routes import endpoints as serve
from services.desk.routes.base import AnyCall, Call, noun_router, page_links, read_paging, read_sort
from services.desk.routes.endpoints import MakeWhere, Resource, add_operations, resource
from services.desk.rows import CategoryId, SectionId
from services.desk.rows.settings import ArticleRow
from services.desk.schemas import help_center as schemas
from services.desk.schemas.base import ArticleKey
from services.desk.shapes.base import Shape
from services.desk.tables import help_articles, help_categories, help_sections
from services.kernel.answers import Json
from services.kernel.documents import Where, equal
from services.kernel.operations import Endpoint, Operation
from services.kernel.world import World

router = noun_router("help centre")
_ARTICLES = resource(help_articles, "articles")
_SECTIONS, _CATEGORIES = resource(help_sections, "sections"), resource(help_categories, "categories")
_SORT_COLUMNS = {
    "position": "position",
    "title": "title_text",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "edited_at": "updated_at",
}
Labels = tuple[str, ...]


async def search(params: Annotated[schemas.ArticleSearch, Query()], call: AnyCall) -> Response:
    """Search the help centre: the company's policies, limits and how-tos, the best match first."""
    selection = ArticleFilter(
        params.locale,
        None if params.section is None else SectionId(params.section),
        None if params.category is None else CategoryId(params.category),
        _read_labels(params.label_names),
    )
    paging = PageNumbering(params.page or 1, params.per_page or 25)
    result = help_center.search_articles(call.world, params.query, selection, call.user, paging)
    results = [_render_result(row, call, params.query) for row in result.rows]
    pages = {"page": paging.page, "per_page": paging.size, "page_count": -(-(result.count or 0) // paging.size)}
    return Json({"results": results, **page_links(call, result), **pages})


async def show(article_id: ArticleKey, call: AnyCall) -> Response:
    """Read one article of the help centre."""
    return _ARTICLES.answer(call, help_center.get_article(call.world, article_id, call.user))


async def show_in_locale(locale: serve.Locale, article_id: ArticleKey, call: AnyCall) -> Response:
    """Read one article of the help centre in one language."""
    return _ARTICLES.answer(call, help_center.get_article(call.world, article_id, call.user, locale))


def _list_articles(choose: Callable[..., ArticleFilter]) -> Endpoint:
    """Serves a page of articles; `choose` takes the world, the labels, and the language or the ids of the path."""

    async def serve_page(*keys: Any, params: schemas.ArticleList, call: Call) -> Response:
        chosen = choose(call.world, _read_labels(params.label_names), *keys)
        sort = read_sort(params, _SORT_COLUMNS, Sort("position"))
        page = help_center.list_articles(call.world, chosen, call.user, read_paging(params), sort)
        return _ARTICLES.answer_page(call, page)

    return Endpoint(serve_page, serve.query(schemas.ArticleList, serve.ANYBODY))


def _all(_: World, labels: Labels, locale: str | None = None) -> ArticleFilter:
    return ArticleFilter(locale, labels=labels)


def _in_section(world: World, labels: Labels, section_id: SectionId) -> ArticleFilter:
    help_sections.need(world, section_id)
    return ArticleFilter(section=section_id, labels=labels)


def _in_section_and_locale(world: World, labels: Labels, locale: str, section_id: SectionId) -> ArticleFilter:
    help_sections.need(world, section_id)
    return ArticleFilter(locale, section_id, labels=labels)


def _in_category(world: World, labels: Labels, category_id: CategoryId) -> ArticleFilter:
    help_categories.need(world, category_id)
    return ArticleFilter(category=category_id, labels=labels)


def _list_by_position(rows: Resource, where: MakeWhere = serve.everything) -> Endpoint:
    return serve.list_rows(rows, where=where, default=Sort("position"), for_anybody=True)


def _in_locale(_: World, locale: str, __: Any) -> Where:
    return help_center.in_locale(locale)


def _sections_of(world: World, category_id: CategoryId, _: Any) -> Where:
    help_categories.need(world, category_id)
    return equal(category_id=category_id)


def _render_result(row: ArticleRow, call: Call, query: str) -> Shape:
    shape = _ARTICLES.render(row, call.base)
    return {**shape, "snippet": help_center.make_snippet(row, query), "result_type": "article"}


def _read_labels(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


# fmt: off
add_operations(router, (
    Operation("desk.articles.search", "GET", "/api/v2/help_center/articles/search", "Search", schemas.ArticlesFound,
              search),
    Operation("desk.articles.list", "GET", "/api/v2/help_center/articles", "Page", schemas.ArticlesOut,
              _list_articles(_all), "List the articles of the help centre, in all languages."),
    Operation("desk.articles.show", "GET", "/api/v2/help_center/articles/{article_id}", "Show", schemas.ArticleShown,
              show),
    Operation("desk.sections.list", "GET", "/api/v2/help_center/sections", "Sections", schemas.SectionsOut,
              _list_by_position(_SECTIONS), "List the sections of the help centre."),
    Operation("desk.sections.show", "GET", "/api/v2/help_center/sections/{section_id}", "Section", schemas.SectionShown,
              serve.show(_SECTIONS, for_anybody=True), "Read one section of the help centre."),
    Operation("desk.sections.articles", "GET", "/api/v2/help_center/sections/{section_id}/articles", "Section Articles",
              schemas.ArticlesOut, _list_articles(_in_section), "List the articles of one section."),
    Operation("desk.categories.list", "GET", "/api/v2/help_center/categories", "Categories", schemas.CategoriesOut,
              _list_by_position(_CATEGORIES), "List the categories of the help centre, one per language."),
    Operation("desk.categories.show", "GET", "/api/v2/help_center/categories/{category_id}", "Category",
              schemas.CategoryShown, serve.show(_CATEGORIES, for_anybody=True),
              "Read one category of the help centre."),
    Operation("desk.categories.sections", "GET", "/api/v2/help_center/categories/{category_id}/sections",
              "Category Sections", schemas.SectionsOut, _list_by_position(_SECTIONS, _sections_of),
              "List the sections of one category."),
    Operation("desk.categories.articles", "GET", "/api/v2/help_center/categories/{category_id}/articles",
              "Category Articles", schemas.ArticlesOut, _list_articles(_in_category),
              "List the articles of one category."),
    Operation("desk.articles.list_in_locale", "GET", "/api/v2/help_center/{locale}/articles", "Page In",
              schemas.ArticlesOut, _list_articles(_all), "List the articles of the help centre in one language."),
    Operation("desk.articles.show_in_locale", "GET", "/api/v2/help_center/{locale}/articles/{article_id}", "Show In",
              schemas.ArticleShown, show_in_locale),
    Operation("desk.sections.list_in_locale", "GET", "/api/v2/help_center/{locale}/sections", "Sections In",
              schemas.SectionsOut, _list_by_position(_SECTIONS, _in_locale),
              "List the sections of the help centre in one language."),
    Operation("desk.sections.articles_in_locale", "GET", "/api/v2/help_center/{locale}/sections/{section_id}/articles",
              "Section Articles In", schemas.ArticlesOut, _list_articles(_in_section_and_locale),
              "List the articles of one section in one language."),
    Operation("desk.categories.list_in_locale", "GET", "/api/v2/help_center/{locale}/categories", "Categories In",
              schemas.CategoriesOut, _list_by_position(_CATEGORIES, _in_locale),
              "List the categories of the help centre in one language."),
))
# fmt: on
