"""What all requests share."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints


def _as_list(value: Any) -> Any:
    """`expand=a` and `expand[0]=a` mean the same."""
    return [value] if isinstance(value, str) else value


Text = Annotated[str, StringConstraints(max_length=5000)]
Name = Annotated[str, StringConstraints(max_length=350)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=255)]
Blank = Literal[""]
Minor = Annotated[int, Field(ge=-999_999_999_999, le=999_999_999_999)]
Count = Annotated[int, Field(ge=0, le=999_999)]
Moment = Annotated[int, Field(ge=0, le=4_102_444_800)]
Currency = Annotated[str, StringConstraints(min_length=3, max_length=3, to_lower=True)]
Metadata = dict[Annotated[str, StringConstraints(min_length=1, max_length=500)], Text]
MetadataChange = Metadata | Blank
Paths = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=200)]],
    BeforeValidator(_as_list),
    Field(max_length=20),
]
Keys = Annotated[list[Key], BeforeValidator(_as_list), Field(max_length=20)]


class Parameters(BaseModel):
    """Unknown names are refused, as the vendor refuses them."""

    model_config = ConfigDict(extra="forbid")


class RequestParams(Parameters):
    """Any request: it may ask for ids to be expanded."""

    expand: Paths = []

    def dump_sent(self) -> dict[str, Any]:
        """Returns only what was sent, without what every request may carry."""
        return self.model_dump(exclude_unset=True, exclude={"expand"})


# The name stands in the OpenAPI document, as the body of operations without parameters of their own.
class BareParams(RequestParams):
    """Any request: it may ask for ids to be expanded."""


class Range(Parameters):
    """A stretch of time."""

    gt: Moment | None = None
    gte: Moment | None = None
    lt: Moment | None = None
    lte: Moment | None = None


class ListParams(RequestParams):
    """A page of a list."""

    limit: Annotated[int, Field(ge=1, le=100)] = 10
    starting_after: Key | None = None
    ending_before: Key | None = None


class TimedListParams(ListParams):
    """A page of a list that can be narrowed to when things were created."""

    created: Range | Moment | None = None


class SearchParams(RequestParams):
    """A search in the vendor's language."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    page: Annotated[str, StringConstraints(max_length=200)] | None = None


class MetadataIn(RequestParams):
    """Only metadata can change."""

    metadata: MetadataChange | None = None


class AddressIn(Parameters):
    """A postal address."""

    city: Text | None = None
    country: Annotated[str, StringConstraints(max_length=2)] | None = None
    line1: Text | None = None
    line2: Text | None = None
    postal_code: Text | None = None
    state: Text | None = None


class Period(Parameters):
    """From when to when."""

    start: Moment
    end: Moment


class TaxSwitch(Parameters):
    """Whether tax is worked out by itself."""

    enabled: bool


class DiscountIn(Parameters):
    """A coupon, a promotion code, or a discount that exists."""

    coupon: Key | None = None
    discount: Key | None = None
    promotion_code: Key | None = None
