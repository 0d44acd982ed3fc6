"""Service level policies."""

from typing import Annotated

from pydantic import Field

from services.desk.rows.rules import SlaPolicyBody
from services.desk.rows.tickets import Metric, Priority
from services.desk.schemas.base import RequestBody, Short, envelope, page_of, record
from services.desk.schemas.rules import ConditionsIn, ConditionsOut, Text


class PolicyMetricIn(RequestBody):
    """One promise, such as 60 minutes to the first reply on urgent tickets."""

    priority: Annotated[Priority, Field(description="Which tickets")]
    metric: Annotated[Metric, Field(description="What is measured")]
    target: Annotated[int, Field(ge=1, le=10_000_000, description="Minutes")]
    business_hours: Annotated[bool, Field(description="Whether only office hours count")] = False


class PolicyIn(RequestBody):
    """What is promised to the tickets that the filter lets in."""

    title: Short | None = None
    description: Text | None = None
    position: Annotated[int | None, Field(ge=0, le=1_000_000, description="The first policy that fits counts")] = None
    filter: Annotated[ConditionsIn | None, Field(description="Which tickets; none lets all in")] = None
    policy_metrics: Annotated[list[PolicyMetricIn] | None, Field(max_length=100)] = None


class PolicyBody(RequestBody):
    """A policy to be made or changed."""

    sla_policy: PolicyIn


PolicyOut = record(
    "PolicyOut",
    "A policy.",
    SlaPolicyBody,
    "title description position filter policy_metrics",
    filter=ConditionsOut,
)


PolicyShown = envelope("PolicyShown", "One policy.", sla_policy=PolicyOut)
PoliciesOut = page_of("PoliciesOut", "Policies in the order in which they are tried.", sla_policies=PolicyOut)
