"""ask_crm, ask_desk …: the operations with which an orchestrator hands work to a specialist."""

from collections.abc import Iterable
from dataclasses import dataclass

from dayshift.calls import SUBMIT, WAIT, Call
from dayshift.errors import BadArguments
from dayshift.operations import Argument, Catalogue, JsonSchema, Operation, Place, harness_operation

ASK = "ask_"
USUAL_BUDGET = 10
LARGEST_BUDGET = 200
_REQUEST: JsonSchema = {
    "type": "string",
    "minLength": 1,
    "description": "What to find out or to do, with all it takes.",
}
_BUDGET: JsonSchema = {
    "type": "integer",
    "minimum": 1,
    "maximum": LARGEST_BUDGET,
    "default": USUAL_BUDGET,
    "description": f"The most calls that it may take; {USUAL_BUDGET} if not given.",
}


@dataclass(frozen=True, slots=True)
class Order:
    """What one specialist is asked to do, in so many calls at most."""

    product: str
    request: str
    budget: int


def orchestrator_operations(products: Iterable[str], answer_schema: JsonSchema | None = None) -> Catalogue:
    """One `ask_…` for each product, then `wait` and `submit`."""
    return Catalogue([_ask(product) for product in products], answer_schema)


def order_of(call: Call) -> Order | None:
    """The order that a call gives; None for a call that the harness answers itself."""
    if call.operation in (WAIT, SUBMIT):
        return None
    if unknown := call.arguments.keys() - {"request", "budget"}:
        raise BadArguments(f"{call.operation} takes a request and a budget, not {', '.join(sorted(unknown))}")
    request, budget = call.arguments.get("request"), call.arguments.get("budget", USUAL_BUDGET)
    if not isinstance(request, str) or not request:
        raise BadArguments(f"{call.operation} takes a request: text that says what to do")
    if isinstance(budget, bool) or not isinstance(budget, int) or not 1 <= budget <= LARGEST_BUDGET:
        raise BadArguments(f"a budget is a number of calls between 1 and {LARGEST_BUDGET}")
    return Order(call.operation.removeprefix(ASK), request, budget)


def _ask(product: str) -> Operation:
    arguments = (
        Argument("request", Place.BODY, required=True, schema=_REQUEST),
        Argument("budget", Place.BODY, required=False, schema=_BUDGET),
    )
    return harness_operation(f"{ASK}{product}", f"Ask the colleague who works with {product}.", arguments)
