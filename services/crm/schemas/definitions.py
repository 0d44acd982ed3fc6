"""Bodies of owners, properties and object types."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from services.crm.rows import PropertyType
from services.crm.schemas.shared import BatchOut, Flag, In, Label, ListOf, Moment, Name, Order, Out, PageOf

PropertyName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-z][a-z0-9_]*$")]
FieldType = Literal[
    "textarea", "text", "date", "file", "number", "select", "radio", "checkbox", "booleancheckbox",
    "calculation_equation", "html", "phonenumber",
]  # fmt: skip
_Description = Annotated[str, Field(max_length=2000)]


class TeamOut(Out):
    """A team of an owner."""

    id: str
    name: str
    primary: bool


class OwnerOut(Out):
    """A person that records can be assigned to."""

    id: str
    email: str
    type: Literal["PERSON", "QUEUE"]
    firstName: str
    lastName: str
    userId: int | None = None
    userIdIncludingInactive: int
    teams: list[TeamOut] | None = None
    createdAt: Moment
    updatedAt: Moment
    archived: bool


class OptionIn(In):
    """A choice of an enumeration."""

    label: Label
    value: Annotated[str, StringConstraints(min_length=1, max_length=250)]
    hidden: Flag
    displayOrder: Order | None = None
    description: _Description | None = None


class PropertyIn(In):
    """A property to create."""

    name: PropertyName = Field(description="The internal name; lower case, digits and underscores.", examples=["tier"])
    label: Label = Field(examples=["Service tier"])
    type: PropertyType
    fieldType: FieldType = Field(description="How a form asks for it; enumerations that take several are checkbox.")
    groupName: Name = Field(examples=["contactinformation"])
    description: _Description = ""
    options: list[OptionIn] = Field(default=[], max_length=1000)
    displayOrder: Order = -1
    hasUniqueValue: Flag = False
    hidden: Flag = False
    formField: Flag = True
    externalOptions: Flag = False
    referencedObjectType: Name | None = None
    calculationFormula: Annotated[str, Field(max_length=2000)] | None = None


class PropertyChangeIn(In):
    """What to change of a property."""

    label: Label | None = None
    type: PropertyType | None = None
    fieldType: FieldType | None = None
    groupName: Name | None = None
    description: _Description | None = None
    options: list[OptionIn] | None = Field(default=None, max_length=1000)
    displayOrder: Order | None = None
    hidden: Flag | None = None
    formField: Flag | None = None
    calculationFormula: Annotated[str, Field(max_length=2000)] | None = None


class NamedIn(In):
    """A property, by name."""

    name: Name


class PropertyNamesIn(In):
    """Properties, by name."""

    inputs: list[NamedIn] = Field(min_length=1, max_length=100)


class PropertiesReadIn(PropertyNamesIn):
    """Properties to read, by name."""

    archived: Flag = False


class PropertiesCreateIn(In):
    """Properties to create."""

    inputs: list[PropertyIn] = Field(min_length=1, max_length=100)


class GroupIn(In):
    """A group to create."""

    name: PropertyName
    label: Label
    displayOrder: Order = -1


class GroupChangeIn(In):
    """What to change of a group."""

    label: Label | None = None
    displayOrder: Order | None = None


class OptionOut(Out):
    """A choice of an enumeration."""

    label: str
    value: str
    hidden: bool
    displayOrder: int
    description: str


class ModificationOut(Out):
    """What about a property may be changed."""

    archivable: bool
    readOnlyDefinition: bool
    readOnlyOptions: bool
    readOnlyValue: bool


class PropertyOut(Out):
    """The definition of a property."""

    name: str
    label: str
    type: PropertyType
    fieldType: str
    groupName: str
    description: str
    options: list[OptionOut]
    displayOrder: int
    hasUniqueValue: bool
    hidden: bool
    formField: bool
    calculated: bool
    externalOptions: bool
    hubspotDefined: bool
    referencedObjectType: str | None = None
    calculationFormula: str | None = None
    modificationMetadata: ModificationOut
    createdAt: Moment
    updatedAt: Moment
    archived: bool
    archivedAt: Moment | None = None


class GroupOut(Out):
    """A group of properties."""

    name: str
    label: str
    displayOrder: int
    archived: bool


class LabelsIn(In):
    """What records of a type are called."""

    singular: Label | None = None
    plural: Label | None = None


class TypePropertyIn(In):
    """A property of a new object type."""

    name: PropertyName
    label: Label
    type: PropertyType
    fieldType: FieldType
    groupName: Name | None = None
    description: _Description = ""
    options: list[OptionIn] = Field(default=[], max_length=1000)
    displayOrder: Order = -1
    hasUniqueValue: Flag = False
    hidden: Flag = False
    formField: Flag = True
    referencedObjectType: Name | None = None


class ObjectTypeIn(In):
    """An object type to create."""

    name: PropertyName = Field(examples=["site"])
    labels: LabelsIn
    description: _Description | None = None
    properties: list[TypePropertyIn] = Field(min_length=1, max_length=200)
    requiredProperties: list[PropertyName] = Field(max_length=50)
    searchableProperties: list[PropertyName] = Field(default=[], max_length=20)
    primaryDisplayProperty: PropertyName | None = None
    secondaryDisplayProperties: list[PropertyName] = Field(default=[], max_length=20)
    associatedObjects: list[Name] = Field(max_length=30, examples=[["CONTACT"]])


class LabelsOut(Out):
    """What records of a type are called."""

    singular: str | None = None
    plural: str | None = None


class TieTypeOut(Out):
    """A type of association that an object type takes part in."""

    id: str
    name: str
    fromObjectTypeId: str
    toObjectTypeId: str


class ObjectTypeOut(Out):
    """An object type."""

    id: str
    objectTypeId: str
    fullyQualifiedName: str
    name: str
    labels: LabelsOut
    description: str | None = None
    requiredProperties: list[str]
    searchableProperties: list[str]
    primaryDisplayProperty: str | None = None
    secondaryDisplayProperties: list[str]
    properties: list[PropertyOut]
    associations: list[TieTypeOut]
    archived: bool
    createdAt: Moment | None = None
    updatedAt: Moment | None = None


OwnerPage = PageOf[OwnerOut]
PropertyList = ListOf[PropertyOut]
PropertyBatch = BatchOut[PropertyOut]
GroupList = ListOf[GroupOut]
ObjectTypeList = ListOf[ObjectTypeOut]
