"""Request and response bodies."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

PropertyName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-z0-9_]+$")]
PropertyText = Annotated[str, StringConstraints(max_length=65536)]


class PropertiesIn(BaseModel):
    """The properties to write."""

    model_config = ConfigDict(extra="forbid")

    properties: dict[PropertyName, PropertyText | None]


class ObjectOut(BaseModel):
    """One CRM record."""

    id: str
    properties: dict[str, str | None]
    createdAt: str
    updatedAt: str
    archived: bool
    archivedAt: str | None = None


class NextPage(BaseModel):
    """Where the next page starts."""

    after: str
    link: str | None = None


class Paging(BaseModel):
    """Present only if there is a next page."""

    next: NextPage


class ObjectPage(BaseModel):
    """One page of CRM records."""

    results: list[ObjectOut]
    paging: Paging | None = None
