"""The help centre: the company's policies and how-tos."""

from typing import Annotated

from fastapi import Path, Query, Response

from services.desk.documents import Numbered, Sort
from services.desk.operations import help_center
from services.desk.operations.help_center import ArticleFilter
from services.desk.routes.base import AnyCall, Call, answer_rows, noun_router, page_links, read_paging, read_sort
from services.desk.rows import CategoryId, SectionId
from services.desk.rows.settings import ArticleRow
from services.desk.schemas import help_center as schemas
from services.desk.schemas.base import ArticleKey, CategoryKey, Paged, SectionKey
from services.desk.shapes.base import Shape, render
from services.desk.tables import help_categories, help_sections
from services.kernel.answers import Json

router = noun_router("help centre")
_SORT_COLUMNS = {
    "position": "position",
    "title": "title_text",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "edited_at": "updated_at",
}
LocaleIn = Annotated[str, Path(min_length=2, max_length=12, description="A language, such as en-us")]


@router.get("/help_center/articles/search", operation_id="desk.articles.search", response_model=schemas.ArticlesFound)
async def search(params: Annotated[schemas.ArticleSearch, Query()], call: AnyCall) -> Response:
    """Search the help centre: the company's policies, limits and how-tos, the best match first."""
    chosen = ArticleFilter(
        params.locale,
        None if params.section is None else SectionId(params.section),
        None if params.category is None else CategoryId(params.category),
        _read_labels(params.label_names),
    )
    paging = Numbered(params.page or 1, params.per_page or 25)
    result = help_center.search_articles(call.world, params.query, chosen, call.user, paging)
    results = [_render_result(row, call, params.query) for row in result.rows]
    pages = {"page": paging.page, "per_page": paging.size, "page_count": -(-(result.count or 0) // paging.size)}
    return Json({"results": results, **page_links(call, result), **pages})


@router.get("/help_center/articles", operation_id="desk.articles.list", response_model=schemas.ArticlesOut)
async def page(params: Annotated[schemas.ArticleList, Query()], call: AnyCall) -> Response:
    """List the articles of the help centre, in all languages."""
    return _answer_articles(call, params, ArticleFilter(labels=_read_labels(params.label_names)))


@router.get(
    "/help_center/articles/{article_id}", operation_id="desk.articles.show", response_model=schemas.ArticleShown
)
async def show(article_id: ArticleKey, call: AnyCall) -> Response:
    """Read one article of the help centre."""
    row = help_center.get_article(call.world, article_id, call.user)
    return Json({"article": render("article", row, call.base)})


@router.get("/help_center/sections", operation_id="desk.sections.list", response_model=schemas.SectionsOut)
async def sections(params: Annotated[Paged, Query()], call: AnyCall) -> Response:
    """List the sections of the help centre."""
    return _answer_sections(call, params, None, None)


@router.get(
    "/help_center/sections/{section_id}", operation_id="desk.sections.show", response_model=schemas.SectionShown
)
async def section(section_id: SectionKey, call: AnyCall) -> Response:
    """Read one section of the help centre."""
    return Json({"section": render("section", help_sections.need(call.world, section_id), call.base)})


@router.get(
    "/help_center/sections/{section_id}/articles",
    operation_id="desk.sections.articles",
    response_model=schemas.ArticlesOut,
)
async def section_articles(
    section_id: SectionKey, params: Annotated[schemas.ArticleList, Query()], call: AnyCall
) -> Response:
    """List the articles of one section."""
    help_sections.need(call.world, section_id)
    return _answer_articles(call, params, ArticleFilter(section=section_id, labels=_read_labels(params.label_names)))


@router.get("/help_center/categories", operation_id="desk.categories.list", response_model=schemas.CategoriesOut)
async def categories(params: Annotated[Paged, Query()], call: AnyCall) -> Response:
    """List the categories of the help centre, one per language."""
    return _answer_categories(call, params, None)


@router.get(
    "/help_center/categories/{category_id}", operation_id="desk.categories.show", response_model=schemas.CategoryShown
)
async def category(category_id: CategoryKey, call: AnyCall) -> Response:
    """Read one category of the help centre."""
    return Json({"category": render("category", help_categories.need(call.world, category_id), call.base)})


@router.get(
    "/help_center/categories/{category_id}/sections",
    operation_id="desk.categories.sections",
    response_model=schemas.SectionsOut,
)
async def category_sections(category_id: CategoryKey, params: Annotated[Paged, Query()], call: AnyCall) -> Response:
    """List the sections of one category."""
    help_categories.need(call.world, category_id)
    return _answer_sections(call, params, None, category_id)


@router.get(
    "/help_center/categories/{category_id}/articles",
    operation_id="desk.categories.articles",
    response_model=schemas.ArticlesOut,
)
async def category_articles(
    category_id: CategoryKey, params: Annotated[schemas.ArticleList, Query()], call: AnyCall
) -> Response:
    """List the articles of one category."""
    help_categories.need(call.world, category_id)
    return _answer_articles(call, params, ArticleFilter(category=category_id, labels=_read_labels(params.label_names)))


@router.get(
    "/help_center/{locale}/articles", operation_id="desk.articles.list_in_locale", response_model=schemas.ArticlesOut
)
async def page_in(locale: LocaleIn, params: Annotated[schemas.ArticleList, Query()], call: AnyCall) -> Response:
    """List the articles of the help centre in one language."""
    return _answer_articles(call, params, ArticleFilter(locale=locale, labels=_read_labels(params.label_names)))


@router.get(
    "/help_center/{locale}/articles/{article_id}",
    operation_id="desk.articles.show_in_locale",
    response_model=schemas.ArticleShown,
)
async def show_in(locale: LocaleIn, article_id: ArticleKey, call: AnyCall) -> Response:
    """Read one article of the help centre in one language."""
    row = help_center.get_article(call.world, article_id, call.user, locale)
    return Json({"article": render("article", row, call.base)})


@router.get(
    "/help_center/{locale}/sections", operation_id="desk.sections.list_in_locale", response_model=schemas.SectionsOut
)
async def sections_in(locale: LocaleIn, params: Annotated[Paged, Query()], call: AnyCall) -> Response:
    """List the sections of the help centre in one language."""
    return _answer_sections(call, params, locale, None)


@router.get(
    "/help_center/{locale}/sections/{section_id}/articles",
    operation_id="desk.sections.articles_in_locale",
    response_model=schemas.ArticlesOut,
)
async def section_articles_in(
    locale: LocaleIn, section_id: SectionKey, params: Annotated[schemas.ArticleList, Query()], call: AnyCall
) -> Response:
    """List the articles of one section in one language."""
    help_sections.need(call.world, section_id)
    return _answer_articles(call, params, ArticleFilter(locale, section_id, labels=_read_labels(params.label_names)))


@router.get(
    "/help_center/{locale}/categories",
    operation_id="desk.categories.list_in_locale",
    response_model=schemas.CategoriesOut,
)
async def categories_in(locale: LocaleIn, params: Annotated[Paged, Query()], call: AnyCall) -> Response:
    """List the categories of the help centre in one language."""
    return _answer_categories(call, params, locale)


def _answer_articles(call: Call, params: Paged, chosen: ArticleFilter) -> Response:
    sort = read_sort(params, _SORT_COLUMNS, Sort("position"))
    result = help_center.list_articles(call.world, chosen, call.user, read_paging(params), sort)
    return answer_rows(call, "article", "articles", result)


def _answer_sections(call: Call, params: Paged, locale: str | None, category: CategoryId | None) -> Response:
    result = help_center.list_sections(call.world, read_paging(params), locale, category)
    return answer_rows(call, "section", "sections", result)


def _answer_categories(call: Call, params: Paged, locale: str | None) -> Response:
    result = help_center.list_categories(call.world, read_paging(params), locale)
    return answer_rows(call, "category", "categories", result)


def _render_result(row: ArticleRow, call: Call, query: str) -> Shape:
    shape = render("article", row, call.base)
    return {**shape, "snippet": help_center.make_snippet(row, query), "result_type": "article"}


def _read_labels(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
