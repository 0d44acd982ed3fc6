"""Delegation: the `ask_…` operations with which an orchestrator hands work to a specialist."""

from collections.abc import Iterable
from dataclasses import dataclass

from dayshift.calls import SUBMIT, WAIT, Call
from dayshift.errors import BadArguments
from dayshift.lean_schema import JsonSchema
from dayshift.operations import Argument, ArgumentLocation, Catalogue, Operation, harness_operation

ASK_PREFIX = "ask_"
DEFAULT_BUDGET = 10
MAX_BUDGET = 200
_REQUEST: JsonSchema = {
    "type": "string",
    "minLength": 1,
    "description": "What to find out or to do, with all it takes.",
}
_BUDGET: JsonSchema = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_BUDGET,
    "default": DEFAULT_BUDGET,
    "description": f"The most calls that it may take; {DEFAULT_BUDGET} if not given.",
}


@dataclass(frozen=True, slots=True)
class Delegation:
    """The request that one specialist works on, and the number of calls that it may make for it."""

    product: str
    request: str
    budget: int


def orchestrator_operations(products: Iterable[str], answer_schema: JsonSchema | None = None) -> Catalogue:
    """Builds an orchestrator's catalogue: one `ask_…` for each product, then `come_back_later` and `finish_work`."""
    return Catalogue([_ask_operation(product) for product in products], answer_schema)


def parse_delegation(call: Call) -> Delegation | None:
    """Returns the delegation that a call asks for, or None for a call that the harness answers."""
    if call.operation in (WAIT, SUBMIT):
        return None
    if unknown := call.arguments.keys() - {"request", "budget"}:
        raise BadArguments(f"{call.operation} takes a request and a budget, not {', '.join(sorted(unknown))}")
    request, budget = call.arguments.get("request"), call.arguments.get("budget", DEFAULT_BUDGET)
    if not isinstance(request, str) or not request:
        raise BadArguments(f"{call.operation} takes a request: text that says what to do")
    if isinstance(budget, bool) or not isinstance(budget, int) or not 1 <= budget <= MAX_BUDGET:
        raise BadArguments(f"a budget is a number of calls between 1 and {MAX_BUDGET}")
    return Delegation(call.operation.removeprefix(ASK_PREFIX), request, budget)


def _ask_operation(product: str) -> Operation:
    arguments = (
        Argument("request", ArgumentLocation.BODY, required=True, schema=_REQUEST),
        Argument("budget", ArgumentLocation.BODY, required=False, schema=_BUDGET),
    )
    return harness_operation(f"{ASK_PREFIX}{product}", f"Ask the colleague who works with {product}.", arguments)
