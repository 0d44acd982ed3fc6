"""Call resolution: from what a model wrote to the operation that it means."""

from collections.abc import Mapping

from dayshift.calls import Call
from dayshift.lookup import CALL, LOOKUPS, unwrap_call
from dayshift.operations import Catalogue
from dayshift.public_links import is_link, read_link


def resolve_call(call: Call, operations: Catalogue, public_urls: Mapping[str, str]) -> Call:
    """Returns the call under its operation's own names; a link of a product's answer becomes the call behind it."""
    if call.operation == CALL:
        call = unwrap_call(call)
    if is_link(call.operation):
        call = read_link(call, operations, public_urls)
    if call.operation in LOOKUPS:
        return call
    operation = operations[call.operation]
    return Call(operation.name, operation.rename_from_model(call.arguments))
