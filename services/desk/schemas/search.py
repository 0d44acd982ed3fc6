"""Searches."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from services.desk.schemas.base import Included, PageOut, envelope

_LANGUAGE = (
    "Words and conditions, such as: type:ticket status<solved tags:billing created>2026-10-01 "
    'requester:anna@corvane.eu "first invoice" -refund. '
    "Keys: type (ticket, user, organization, group), status, priority, ticket_type, assignee "
    "(me, none, a name or an address), requester, submitter, group, organization, tags, subject, description, comment, "
    "created, updated, solved (2026-10-01, 4hours, 3days), via, external_id, email, name, role; "
    "order_by:created sort:asc"
)
Kind = Literal["ticket", "user", "organization", "group"]


class SearchQuery(Included):
    """What to look for."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=4_000), Field(description=_LANGUAGE)]
    kind: Annotated[Kind | None, Field(alias="filter[type]", description="Only things of this kind")] = None


class SearchPage(SearchQuery):
    """Which page of what was found."""

    sort_by: Annotated[
        Literal["updated_at", "created_at", "priority", "status", "ticket_type", "relevance"] | None,
        Field(description="What to sort by; relevance if left out"),
    ] = None
    sort_order: Annotated[Literal["asc", "desc"] | None, Field(description="desc if left out")] = None
    page: Annotated[int, Field(ge=1, le=100_000, description="Number of the page; only 1,000 results are shown")] = 1
    per_page: Annotated[int, Field(ge=1, le=100)] = 100


class SearchExport(SearchQuery):
    """Which part of an export."""

    page_size: Annotated[int, Field(alias="page[size]", ge=1, le=1000, description="At most 1,000")] = 100
    page_after: Annotated[
        Annotated[str, StringConstraints(min_length=1, max_length=200)] | None,
        Field(alias="page[after]", description="From meta.after_cursor of the page before"),
    ] = None


class SearchOut(PageOut):
    """What was found; `result_type` tells what each result is."""

    results: list[dict[str, Any]]
    facets: None = None


SearchCount = envelope("SearchCount", "How many were found.", count=int)
