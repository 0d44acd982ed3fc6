"""The help centre: the company's policies and how-tos."""

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from services.desk.language import articles
from services.desk.language.articles import Wanted
from services.desk.operations import listing, records, showing
from services.desk.operations.listing import Numbered, Order, Page
from services.desk.routes.base import Call, anyone, around, listed, noun_router, order, paging
from services.desk.schemas import help_center as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.tables import help_categories, help_sections
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.statements import Row
from services.kernel.world import World

router = noun_router("help centre")
_SORTED = {
    "position": "position",
    "title": "title_text",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "edited_at": "updated_at",
}
LocaleIn = Annotated[str, Path(min_length=2, max_length=12, description="A language, such as en-us")]
_PLACES = "/help_center"


@router.get(f"{_PLACES}/articles/search", operation_id="desk.articles.search", response_model=schemas.ArticlesFound)
async def search(asked: Annotated[schemas.ArticleSearch, Query()], request: Request, world: CurrentWorld) -> Response:
    """Search the help centre: the company's policies, limits and how-tos, the best match first."""
    call = anyone(request, world)
    wanted = Wanted(asked.locale, asked.section, asked.category, _labels(asked.label_names))
    pages = Numbered(asked.page or 1, asked.per_page or 25)
    found = articles.search(world, asked.query, wanted, call.user, pages)
    results = [_result(row, call, asked.query) for row in found.rows]
    told = {"page": pages.page, "per_page": pages.size, "page_count": -(-(found.count or 0) // pages.size)}
    return Json({"results": results, **around(call, found), **told})


@router.get(f"{_PLACES}/articles", operation_id="desk.articles.list", response_model=schemas.ArticlesOut)
async def page(asked: Annotated[schemas.ArticleList, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the articles of the help centre, in all languages."""
    return _articles(request, world, asked, Wanted(labels=_labels(asked.label_names)))


@router.get(
    f"{_PLACES}/articles/{{article_id}}", operation_id="desk.articles.show", response_model=schemas.ArticleShown
)
async def show(article_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one article of the help centre."""
    call = anyone(request, world)
    row = articles.read(world, article_id, call.user)
    return Json({"article": showing.shown("article", row, call.base)})


@router.get(f"{_PLACES}/sections", operation_id="desk.sections.list", response_model=schemas.SectionsOut)
async def sections(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the sections of the help centre."""
    return _sections(request, world, asked, None, None)


@router.get(
    f"{_PLACES}/sections/{{section_id}}", operation_id="desk.sections.show", response_model=schemas.SectionShown
)
async def section(section_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one section of the help centre."""
    call = anyone(request, world)
    return Json({"section": showing.shown("section", records.need(world, help_sections, section_id), call.base)})


@router.get(
    f"{_PLACES}/sections/{{section_id}}/articles",
    operation_id="desk.sections.articles",
    response_model=schemas.ArticlesOut,
)
async def section_articles(
    section_id: Id, asked: Annotated[schemas.ArticleList, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List the articles of one section."""
    records.need(world, help_sections, section_id)
    return _articles(request, world, asked, Wanted(section=section_id, labels=_labels(asked.label_names)))


@router.get(f"{_PLACES}/categories", operation_id="desk.categories.list", response_model=schemas.CategoriesOut)
async def categories(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the categories of the help centre, one per language."""
    return _categories(request, world, asked, None)


@router.get(
    f"{_PLACES}/categories/{{category_id}}", operation_id="desk.categories.show", response_model=schemas.CategoryShown
)
async def category(category_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one category of the help centre."""
    call = anyone(request, world)
    return Json({"category": showing.shown("category", records.need(world, help_categories, category_id), call.base)})


@router.get(
    f"{_PLACES}/categories/{{category_id}}/sections",
    operation_id="desk.categories.sections",
    response_model=schemas.SectionsOut,
)
async def category_sections(
    category_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List the sections of one category."""
    records.need(world, help_categories, category_id)
    return _sections(request, world, asked, None, category_id)


@router.get(
    f"{_PLACES}/categories/{{category_id}}/articles",
    operation_id="desk.categories.articles",
    response_model=schemas.ArticlesOut,
)
async def category_articles(
    category_id: Id, asked: Annotated[schemas.ArticleList, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List the articles of one category."""
    records.need(world, help_categories, category_id)
    return _articles(request, world, asked, Wanted(category=category_id, labels=_labels(asked.label_names)))


@router.get(
    f"{_PLACES}/{{locale}}/articles", operation_id="desk.articles.list_in_locale", response_model=schemas.ArticlesOut
)
async def page_in(
    locale: LocaleIn, asked: Annotated[schemas.ArticleList, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List the articles of the help centre in one language."""
    return _articles(request, world, asked, Wanted(locale=locale, labels=_labels(asked.label_names)))


@router.get(
    f"{_PLACES}/{{locale}}/articles/{{article_id}}",
    operation_id="desk.articles.show_in_locale",
    response_model=schemas.ArticleShown,
)
async def show_in(locale: LocaleIn, article_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one article of the help centre in one language."""
    call = anyone(request, world)
    row = articles.read(world, article_id, call.user, locale)
    return Json({"article": showing.shown("article", row, call.base)})


@router.get(
    f"{_PLACES}/{{locale}}/sections", operation_id="desk.sections.list_in_locale", response_model=schemas.SectionsOut
)
async def sections_in(
    locale: LocaleIn, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List the sections of the help centre in one language."""
    return _sections(request, world, asked, locale, None)


@router.get(
    f"{_PLACES}/{{locale}}/sections/{{section_id}}/articles",
    operation_id="desk.sections.articles_in_locale",
    response_model=schemas.ArticlesOut,
)
async def section_articles_in(
    locale: LocaleIn,
    section_id: Id,
    asked: Annotated[schemas.ArticleList, Query()],
    request: Request,
    world: CurrentWorld,
) -> Response:
    """List the articles of one section in one language."""
    records.need(world, help_sections, section_id)
    return _articles(request, world, asked, Wanted(locale, section_id, labels=_labels(asked.label_names)))


@router.get(
    f"{_PLACES}/{{locale}}/categories",
    operation_id="desk.categories.list_in_locale",
    response_model=schemas.CategoriesOut,
)
async def categories_in(
    locale: LocaleIn, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List the categories of the help centre in one language."""
    return _categories(request, world, asked, locale)


def _articles(request: Request, world: World, asked: Paged, wanted: Wanted) -> Response:
    call = anyone(request, world)
    found = articles.page(world, wanted, call.user, paging(asked), order(asked, _SORTED, Order("position")))
    return _listed(call, "article", "articles", found)


def _sections(request: Request, world: World, asked: Paged, locale: str | None, category: int | None) -> Response:
    call = anyone(request, world)
    return _listed(call, "section", "sections", articles.sections(world, paging(asked), locale, category))


def _categories(request: Request, world: World, asked: Paged, locale: str | None) -> Response:
    call = anyone(request, world)
    where = listing.EVERYTHING if locale is None else listing.equal(locale=locale.lower())
    found = listing.page(world, help_categories, paging(asked), where, Order("position"))
    return _listed(call, "category", "categories", found)


def _listed(call: Call, kind: str, key: str, found: Page) -> Response:
    return listed(call, key, found, showing.many(kind, found.rows, call.base))


def _result(row: Row, call: Call, query: str) -> dict[str, Any]:
    shown = showing.shown("article", row, call.base)
    return {**shown, "snippet": articles.snippet(row, query), "result_type": "article"}


def _labels(written: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (written or "").split(",") if part.strip())
