"""The types of the CRM's rows and ids, and of the documents that rows hold as JSON."""

from typing import Any, Literal, NewType, NotRequired, TypedDict

# A request's or an answer's body, as it goes over the wire.
Body = dict[str, Any]

# The plural name of a standard object type (contacts, line_items), or the id of a custom one (2-44200001).
ObjectTypeName = NewType("ObjectTypeName", str)
RecordId = NewType("RecordId", int)
AssociationId = NewType("AssociationId", str)
AssociationTypeId = NewType("AssociationTypeId", int)
# "<object type>.<name>": tables.property_key() and its neighbours make them.
PropertyKey = NewType("PropertyKey", str)
PropertyGroupKey = NewType("PropertyGroupKey", str)
PipelineKey = NewType("PipelineKey", str)
StageKey = NewType("StageKey", str)
OwnerId = NewType("OwnerId", int)
ListId = NewType("ListId", int)
MembershipId = NewType("MembershipId", str)
ImportId = NewType("ImportId", int)
ImportErrorId = NewType("ImportErrorId", int)

AssociationCategory = Literal["HUBSPOT_DEFINED", "USER_DEFINED", "INTEGRATOR_DEFINED"]
# Between two object types there is one unlabelled type, perhaps a primary one, and any number of labels.
AssociationRank = Literal["unlabelled", "primary", "label"]
PropertyType = Literal["string", "number", "date", "datetime", "enumeration", "bool"]
ProcessingType = Literal["MANUAL", "DYNAMIC", "SNAPSHOT"]
ImportState = Literal["STARTED", "PROCESSING", "DONE", "FAILED", "CANCELED", "DEFERRED", "REVERTED"]
Operator = Literal[
    "EQ", "NEQ", "LT", "LTE", "GT", "GTE", "BETWEEN", "IN", "NOT_IN", "HAS_PROPERTY", "NOT_HAS_PROPERTY",
    "CONTAINS_TOKEN", "NOT_CONTAINS_TOKEN",
]  # fmt: skip

# Property name to value; the API knows texts only.
PropertyValues = dict[str, str]


class RecordRow(TypedDict):
    """A contact, company, deal, ticket, activity … or a record of a custom object type."""

    id: RecordId
    kind: ObjectTypeName
    created_at: int
    updated_at: int
    archived_at: int | None
    properties: PropertyValues


class MergeRow(TypedDict):
    """A record that was merged into another."""

    loser_id: RecordId
    winner_id: RecordId
    merged_at: int


class AssociationRow(TypedDict):
    """One direction of one type of association between two records."""

    id: AssociationId
    from_id: RecordId
    from_kind: ObjectTypeName
    to_id: RecordId
    to_kind: ObjectTypeName
    type_id: AssociationTypeId
    created_at: int


class AssociationTypeRow(TypedDict):
    """One direction of a type of association; `inverse_id` is the other."""

    id: AssociationTypeId
    category: AssociationCategory
    from_kind: ObjectTypeName
    to_kind: ObjectTypeName
    name: str
    label: str | None
    inverse_id: AssociationTypeId
    rank: AssociationRank


class PropertyOption(TypedDict):
    """A choice of an enumeration."""

    label: str
    value: str
    displayOrder: int
    hidden: bool
    description: str


class PropertyDocument(TypedDict):
    """What a property is, in the vendor's words."""

    label: str
    type: PropertyType
    fieldType: str
    description: str
    groupName: str
    options: list[PropertyOption]
    displayOrder: int
    hasUniqueValue: bool
    hidden: bool
    formField: bool
    calculated: bool
    externalOptions: bool
    hubspotDefined: bool
    readOnlyValue: bool
    referencedObjectType: NotRequired[str]
    calculationFormula: NotRequired[str]


class PropertyRow(TypedDict):
    """The definition of a property of an object type."""

    id: PropertyKey
    kind: ObjectTypeName
    name: str
    definition: PropertyDocument
    created_at: int
    updated_at: int
    archived_at: int | None


class PropertyGroupRow(TypedDict):
    """A heading under which properties of an object type stand."""

    id: PropertyGroupKey
    kind: ObjectTypeName
    name: str
    label: str
    display_order: int
    archived_at: int | None


class PipelineRow(TypedDict):
    """A pipeline that records of an object type go through."""

    id: PipelineKey
    kind: ObjectTypeName
    pipeline_id: str
    label: str
    display_order: int
    created_at: int
    updated_at: int
    archived_at: int | None


class StageRow(TypedDict):
    """A stage of a pipeline."""

    id: StageKey
    kind: ObjectTypeName
    pipeline_id: str
    stage_id: str
    label: str
    display_order: int
    metadata: dict[str, str]
    created_at: int
    updated_at: int
    archived_at: int | None


class Team(TypedDict):
    """A team that an owner belongs to."""

    id: str
    name: str
    primary: bool


class OwnerRow(TypedDict):
    """A person that records can be assigned to."""

    id: OwnerId
    user_id: int
    email: str
    first_name: str
    last_name: str
    teams: list[Team]
    created_at: int
    updated_at: int
    archived_at: int | None


class ListFilter(TypedDict):
    """One condition of a list, as the request wrote it: a list's filters are checked when they are compiled."""

    filterType: str
    property: NotRequired[object]
    operation: NotRequired[object]
    operator: NotRequired[object]
    listId: NotRequired[object]


class FilterBranch(TypedDict):
    """A branch of a list's filters, as the request wrote it."""

    filterBranchType: str
    filterBranches: NotRequired[list["FilterBranch"]]
    filters: NotRequired[list[ListFilter]]
    objectTypeId: NotRequired[object]
    associationTypeId: NotRequired[object]


class ListRow(TypedDict):
    """A list of records of one object type."""

    id: ListId
    name: str
    kind: ObjectTypeName
    processing_type: ProcessingType
    filter_branch: FilterBranch | None
    version: int
    created_at: int
    updated_at: int
    filters_updated_at: int
    deleted_at: int | None


class MembershipRow(TypedDict):
    """A record on a list whose members are kept."""

    id: MembershipId
    list_id: ListId
    record_id: RecordId
    added_at: int


class ImportFile(TypedDict):
    """A file of an import."""

    name: str
    content: str


class ImportRow(TypedDict):
    """An import of files; `request` is the importRequest as it came."""

    id: ImportId
    name: str
    state: ImportState
    request: Body
    files: list[ImportFile]
    counters: dict[str, int]
    created_at: int
    updated_at: int
    due_at: int


class ImportSource(TypedDict):
    """Where in which file a row stood that could not be imported."""

    rowData: list[str]
    lineNumber: int
    containsEncryptedProperties: bool
    fileId: int


class ImportErrorDocument(TypedDict):
    """Why a row of a file could not be imported, in the vendor's words."""

    createdAt: int
    errorType: str
    errorMessage: str
    objectType: str
    objectTypeId: str
    sourceData: ImportSource
    invalidValue: NotRequired[str]
    knownColumnNumber: NotRequired[int]


class ImportErrorRow(TypedDict):
    """A row of a file that could not be imported."""

    id: ImportErrorId
    import_id: ImportId
    error: ImportErrorDocument


class Labels(TypedDict):
    """What records of an object type are called."""

    singular: str | None
    plural: str | None


class ObjectTypeDocument(TypedDict):
    """What an object type is, in the vendor's words."""

    labels: Labels
    description: str | None
    requiredProperties: list[str]
    searchableProperties: list[str]
    primaryDisplayProperty: str
    secondaryDisplayProperties: list[str]


class ObjectTypeRow(TypedDict):
    """An object type that the account defined."""

    id: ObjectTypeName
    name: str
    definition: ObjectTypeDocument
    created_at: int
    updated_at: int
    archived_at: int | None
