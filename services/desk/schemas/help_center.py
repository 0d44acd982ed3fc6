"""The help centre."""

from typing import Annotated

from pydantic import Field, StringConstraints

from services.desk.rows.settings import ArticleBody, CategoryBody
from services.desk.schemas.base import Id, Paged, Short, envelope, page_of, record

Locale = Annotated[str, StringConstraints(min_length=2, max_length=12)]


class ArticleList(Paged):
    """Which articles."""

    label_names: Annotated[Short | None, Field(description="Only articles with all of these labels, by commas")] = None


class ArticleSearch(Paged):
    """Articles by their words."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=500), Field(description="Words or a question")]
    locale: Annotated[Locale | None, Field(description="Only this language, such as en-us")] = None
    section: Annotated[Id | None, Field(description="Only this section")] = None
    category: Annotated[Id | None, Field(description="Only this category")] = None
    label_names: Annotated[Short | None, Field(description="Only articles with all of these labels, by commas")] = None


ShelfOut = record("ShelfOut", "What categories and sections have.", CategoryBody, "name locale position")


CategoryShown = envelope("CategoryShown", "One category.", category=ShelfOut)
CategoriesOut = page_of("CategoriesOut", "Categories in their order.", categories=ShelfOut)
SectionShown = envelope("SectionShown", "One section.", section=ShelfOut)
SectionsOut = page_of("SectionsOut", "Sections in their order.", sections=ShelfOut)


ArticleOut = record(
    "ArticleOut", "An article; its body is HTML.", ArticleBody, "title body locale section_id label_names"
)


ArticleShown = envelope("ArticleShown", "One article.", article=ArticleOut)
ArticlesOut = page_of("ArticlesOut", "Articles in their order.", articles=ArticleOut)
ArticlesFound = page_of("ArticlesFound", "Articles that were found, the best first.", results=ArticleOut)
