"""Bodies of associations and their labels."""

from pydantic import Field

from services.crm.rows import AssociationCategory
from services.crm.schemas.records import AssociatedOut, SpecIn
from services.crm.schemas.shared import BatchOut, IdIn, In, Label, ListOf, Name, Out, PageOf, Paging, RecordId, TypeId


class PairIn(In):
    """Two records."""

    from_: IdIn = Field(alias="from")
    to: IdIn


class TypedPairIn(PairIn):
    """Two records and how they are tied."""

    types: list[SpecIn] = Field(min_length=1, max_length=20)


class NamedPairIn(PairIn):
    """Two records and the name of their tie."""

    type: Name = Field(description="For example contact_to_company.", examples=["contact_to_company"])


class ArchivedPairsIn(In):
    """One record, and those it is to be untied from."""

    from_: IdIn = Field(alias="from")
    to: list[IdIn] = Field(min_length=1, max_length=1000)


class FromIn(In):
    """A record whose associations to read."""

    id: RecordId
    after: str | None = Field(default=None, max_length=20, pattern=r"^\d*$")


class DefaultPairsIn(In):
    """Pairs of records to tie without a label."""

    inputs: list[PairIn] = Field(min_length=1, max_length=2000)


class TypedPairsIn(In):
    """Pairs of records with the types of their ties."""

    inputs: list[TypedPairIn] = Field(min_length=1, max_length=2000)


class NamedPairsIn(In):
    """Pairs of records with the names of their ties."""

    inputs: list[NamedPairIn] = Field(min_length=1, max_length=2000)


class UntiedIn(In):
    """Ties to cut, with all their labels."""

    inputs: list[ArchivedPairsIn] = Field(min_length=1, max_length=1000)


class ManyFromIn(In):
    """Records whose associations to read."""

    inputs: list[FromIn] = Field(min_length=1, max_length=1000)


class ManyIdsIn(In):
    """Records whose associations to read."""

    inputs: list[IdIn] = Field(min_length=1, max_length=1000)


class LabelIn(In):
    """A label to create."""

    label: Label = Field(examples=["Decision maker"])
    name: Name = Field(description="The label's internal name.", examples=["decision_maker"])
    inverseLabel: Label | None = Field(default=None, description="How the tie reads from the other side.")


class LabelChangeIn(In):
    """A label to rename."""

    associationTypeId: TypeId
    label: Label
    inverseLabel: Label | None = None


class TiedOut(Out):
    """Two records that are now tied."""

    fromObjectTypeId: str
    fromObjectId: str
    toObjectTypeId: str
    toObjectId: str
    labels: list[str]


class IdOut(Out):
    """A record, by its id."""

    id: str


class SpecOut(Out):
    """The type of an association."""

    associationCategory: AssociationCategory
    associationTypeId: int


class DefaultTieOut(Out):
    """Two records tied without a label, in one direction."""

    from_: IdOut = Field(alias="from")
    to: IdOut
    associationSpec: SpecOut


class LabelOut(Out):
    """A type of association between two object types."""

    category: AssociationCategory
    typeId: int
    label: str | None


class EndOut(Out):
    """What a record is tied to."""

    toObjectId: str
    associationTypes: list[LabelOut]


class EndsOut(Out):
    """All that one record is tied to."""

    from_: IdOut = Field(alias="from")
    to: list[EndOut]
    paging: Paging | None = None


class NamedEndsOut(Out):
    """All that one record is tied to, with the names of the ties."""

    from_: IdOut = Field(alias="from")
    to: list[AssociatedOut]


class NamedTieOut(Out):
    """Two records and the name of their tie."""

    from_: IdOut = Field(alias="from")
    to: IdOut
    type: str


class TypeNameOut(Out):
    """The name of a type of association."""

    id: str
    name: str


TiedBatch = BatchOut[TiedOut]
DefaultTieBatch = BatchOut[DefaultTieOut]
EndPage = PageOf[EndOut]
EndsBatch = BatchOut[EndsOut]
NamedEndsBatch = BatchOut[NamedEndsOut]
NamedTieBatch = BatchOut[NamedTieOut]
LabelList = ListOf[LabelOut]
TypeNameList = ListOf[TypeNameOut]
