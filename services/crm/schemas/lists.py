"""Bodies of lists and imports."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from services.crm.rows import ImportState, ProcessingType
from services.crm.schemas.shared import In, Moment, Name, Out, PageOf, Paging, RecordId

ListName = Annotated[str, Field(min_length=1, max_length=250, pattern=r"\S")]
RecordIds = Annotated[list[RecordId], Field(max_length=1000, description="Record ids.", examples=[["51204", "51377"]])]


class ListFilterIn(In):
    """One condition of a list."""

    model_config = ConfigDict(extra="allow")

    filterType: str = Field(description="PROPERTY or IN_LIST.", examples=["PROPERTY"])
    property: str | None = Field(default=None, max_length=120)
    operation: dict[str, Any] | None = Field(
        default=None,
        description="operationType, operator and value or values.",
        examples=[{"operationType": "ENUMERATION", "operator": "IS_ANY_OF", "values": ["customer"]}],
    )


class FilterBranchIn(In):
    """A branch of a list's filters: an OR of ANDs."""

    model_config = ConfigDict(extra="allow")

    filterBranchType: Literal["OR", "AND", "NOT_ALL", "NOT_ANY", "ASSOCIATION"]
    filterBranches: list["FilterBranchIn"] = Field(default=[], max_length=60)
    filters: list[ListFilterIn] = Field(default=[], max_length=60)


class ListIn(In):
    """A list to create."""

    name: ListName = Field(examples=["Renewals this quarter"])
    objectTypeId: Name = Field(examples=["0-1"])
    processingType: ProcessingType = Field(description="MANUAL lists take no filterBranch, the others need one.")
    filterBranch: FilterBranchIn | None = None
    customProperties: dict[str, str] | None = None
    listFolderId: int | None = None


class FiltersIn(In):
    """New filters of a dynamic list."""

    filterBranch: FilterBranchIn


class ListSearchIn(In):
    """A search for lists."""

    query: str | None = Field(default=None, max_length=250, description="A part of the name.")
    listIds: list[RecordId] | None = Field(default=None, max_length=500)
    processingTypes: list[ProcessingType] | None = Field(default=None, max_length=3)
    objectTypeId: Name | None = None
    offset: Annotated[int, Field(strict=True, ge=0, le=10**6)] = 0
    count: Annotated[int, Field(strict=True, ge=1, le=500)] = 20
    additionalProperties: list[str] = Field(default=[], max_length=20, description="Such as hs_list_size.")
    sort: str | None = Field(default=None, max_length=100)


class MembersIn(In):
    """Members to add and to remove."""

    recordIdsToAdd: RecordIds = Field(default=[])
    recordIdsToRemove: RecordIds = Field(default=[])


class ListOut(Out):
    """A list."""

    listId: str
    name: str
    objectTypeId: str
    processingType: ProcessingType
    processingStatus: str
    listVersion: int
    size: int
    createdById: str
    updatedById: str
    createdAt: Moment
    updatedAt: Moment
    filtersUpdatedAt: Moment
    deletedAt: Moment | None = None
    filterBranch: dict[str, Any] | None = None


class OneListOut(Out):
    """One list."""

    list: ListOut


class ChangedListOut(Out):
    """A list after its change."""

    updatedList: ListOut


class ListsOut(Out):
    """Several lists."""

    lists: list[ListOut]


class FoundListOut(Out):
    """A list as a search shows it."""

    listId: str
    name: str
    objectTypeId: str
    processingType: ProcessingType
    processingStatus: str
    listVersion: int
    createdById: str
    updatedById: str
    createdAt: Moment
    updatedAt: Moment
    filtersUpdatedAt: Moment
    additionalProperties: dict[str, str]


class FoundListsOut(Out):
    """One page of what a search for lists found."""

    lists: list[FoundListOut]
    total: int
    offset: int
    hasMore: bool


class MemberOut(Out):
    """A member of a list."""

    recordId: str
    membershipTimestamp: Moment


class MemberPage(Out):
    """One page of the members of a list."""

    total: int
    results: list[MemberOut]
    paging: Paging | None = None


class MembersChangedOut(Out):
    """What became of a change of members."""

    recordsIdsAdded: list[str]
    recordIdsRemoved: list[str]
    recordIdsMissing: list[str]


class MembershipOut(Out):
    """A list that a record belongs to."""

    listId: str
    listVersion: int
    firstAddedTimestamp: Moment
    lastAddedTimestamp: Moment


class MembershipsOut(Out):
    """The lists that a record belongs to."""

    total: int
    results: list[MembershipOut]


class ImportMetadata(Out):
    """How far an import came."""

    counters: dict[str, int]
    fileIds: list[str]
    objectLists: list[dict[str, str]]


class ImportOut(Out):
    """An import."""

    id: str
    importName: str
    state: ImportState
    importSource: str
    optOutImport: bool
    mappedObjectTypeIds: list[str]
    importRequestJson: dict[str, Any]
    metadata: ImportMetadata
    createdAt: Moment
    updatedAt: Moment


class SourceRow(Out):
    """The row of the file that an error is about."""

    rowData: list[str] | None = None
    lineNumber: int
    containsEncryptedProperties: bool
    fileId: int


class ImportErrorOut(Out):
    """A row that could not be imported."""

    id: str
    createdAt: int
    errorType: str
    errorMessage: str | None = None
    objectType: str
    objectTypeId: str
    invalidValue: str | None = None
    knownColumnNumber: int | None = None
    sourceData: SourceRow


class CanceledOut(Out):
    """What became of a cancellation."""

    status: str
    startedAt: Moment
    completedAt: Moment


ImportPage = PageOf[ImportOut]
ImportErrorPage = PageOf[ImportErrorOut]
