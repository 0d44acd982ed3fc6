"""Bodies of records of every type."""

from typing import Annotated, Literal

from pydantic import Field

from services.crm.rows import AssociationCategory, Operator
from services.crm.schemas.shared import (
    BatchOut,
    IdIn,
    In,
    Moment,
    Name,
    Out,
    PageOf,
    Paging,
    PropertyValue,
    RecordId,
    TypeId,
)

Properties = Annotated[
    dict[Name, PropertyValue],
    Field(
        description="Property name to value. Values are text; numbers, dates (ISO 8601) and options are written as "
        "text too. An empty text clears a value.",
        max_length=1000,
    ),
]
Trace = Annotated[str | None, Field(max_length=254, description="Your own mark for this input, echoed in the answer.")]


class SpecIn(In):
    """The type of an association."""

    associationCategory: AssociationCategory = Field(description="HUBSPOT_DEFINED for the types every account has.")
    associationTypeId: TypeId = Field(description="For example 279 for contact to company.", examples=[279])


class TieIn(In):
    """An association to create together with the record."""

    to: IdIn
    types: list[SpecIn] = Field(min_length=1, max_length=20)


class NewIn(In):
    """A record to create."""

    properties: Properties
    associations: list[TieIn] = Field(default=[], max_length=100, description="Records to tie the new one to.")
    objectWriteTraceId: Trace = None


class PropertiesIn(In):
    """The properties to write; those not named stay as they are."""

    properties: Properties
    objectWriteTraceId: Trace = None


class ChangeIn(In):
    """One record of a batch, and what to write into it."""

    id: RecordId = Field(description="The record's id, or its value of the idProperty.", examples=["51204"])
    properties: Properties
    idProperty: Name | None = Field(default=None, description="A unique property to find the record by, such as email.")
    objectWriteTraceId: Trace = None


class BatchReadIn(In):
    """Records to read together."""

    inputs: list[IdIn] = Field(min_length=1, max_length=100)
    properties: list[Name] = Field(default=[], max_length=500, description="Properties to return.")
    propertiesWithHistory: list[Name] = Field(default=[], max_length=50, description="Properties with past values.")
    idProperty: Name | None = Field(default=None, description="A unique property that the ids are values of.")


class BatchCreateIn(In):
    """Records to create together."""

    inputs: list[NewIn] = Field(min_length=1, max_length=100)


class BatchUpdateIn(In):
    """Records to update together."""

    inputs: list[ChangeIn] = Field(min_length=1, max_length=100)


class BatchIdsIn(In):
    """Records, by their ids."""

    inputs: list[IdIn] = Field(min_length=1, max_length=100)


class MergeIn(In):
    """Two records that are one."""

    primaryObjectId: RecordId = Field(description="The record that stays.")
    objectIdToMerge: RecordId = Field(description="The record that is merged into it and archived.")


class ForgetIn(In):
    """A person to forget."""

    objectId: RecordId = Field(description="The contact's id, or its email with idProperty email.")
    idProperty: Name | None = Field(default=None, description="email, if objectId is an email address.")


_Short = Annotated[str, Field(max_length=3000)]


class FilterIn(In):
    """One condition on one property."""

    propertyName: Annotated[str, Field(min_length=1, max_length=120)] = Field(
        description="The property to test, or associations.{objectType} for the ids of associated records.",
        examples=["email"],
    )
    operator: Operator = Field(description="IN and NOT_IN take values, BETWEEN takes value and highValue.")
    value: _Short | None = Field(
        default=None, description="What to compare with. CONTAINS_TOKEN takes * as a wildcard."
    )
    values: list[_Short] | None = Field(default=None, max_length=500, description="For IN and NOT_IN.")
    highValue: _Short | None = Field(default=None, description="The upper bound of BETWEEN.")


class FilterGroupIn(In):
    """Conditions that must all hold."""

    filters: list[FilterIn] = Field(description="At most 6; all of them must hold.")


class SortIn(In):
    """What to order by."""

    propertyName: Annotated[str, Field(min_length=1, max_length=120)]
    direction: Literal["ASCENDING", "DESCENDING"] = "ASCENDING"


# The cursor comes back as it went out, as text; a number is taken too.
_OffsetText = Annotated[str, Field(pattern=r"^[0-9]{0,9}$")]
_OffsetNumber = Annotated[int, Field(strict=True, ge=0, le=999_999_999)]


class SearchIn(In):
    """A search for records."""

    filterGroups: list[FilterGroupIn] = Field(
        default=[], description="At most 5 groups, 18 filters in all. A record matches if any group holds."
    )
    filters: list[FilterIn] | None = Field(default=None, description="Short for a single group of filters.")
    query: _Short | None = Field(default=None, description="Words to look for in the main text properties.")
    sorts: list[str | SortIn] = Field(
        default=[], max_length=1, description='One sort: a property name, "-name" for descending, or an object.'
    )
    properties: list[Name] | None = Field(default=None, max_length=500, description="Properties to return.")
    limit: Annotated[int, Field(strict=True, ge=0, le=200)] = Field(default=10, description="Records on a page.")
    after: _OffsetText | _OffsetNumber | None = Field(default=None, description="paging.next.after of the page before.")


class ValueOut(Out):
    """One past or present value of a property."""

    value: str
    timestamp: Moment
    sourceType: str
    sourceId: str | None = None
    updatedByUserId: int | None = None


class AssociatedOut(Out):
    """A record at the other end of an association."""

    id: str
    type: str


class AssociatedPage(Out):
    """Records of one type that a record is associated with."""

    results: list[AssociatedOut]
    paging: Paging | None = None


class ObjectOut(Out):
    """One record."""

    id: str = Field(examples=["51204"])
    properties: dict[str, str | None]
    createdAt: Moment
    updatedAt: Moment
    archived: bool
    archivedAt: Moment | None = None
    propertiesWithHistory: dict[str, list[ValueOut]] | None = None
    associations: dict[str, AssociatedPage] | None = None
    objectWriteTraceId: str | None = None


class UpsertedOut(ObjectOut):
    """One record, and whether it is new."""

    new: bool


ObjectPage = PageOf[ObjectOut]
ObjectBatch = BatchOut[ObjectOut]
UpsertBatch = BatchOut[UpsertedOut]


class FoundOut(Out):
    """One page of what a search found."""

    total: int
    results: list[ObjectOut]
    paging: Paging | None = None
