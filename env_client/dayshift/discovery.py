"""What the products offer: their OpenAPI documents, each read once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dayshift.control import Control
from dayshift.errors import ServiceBroke, WireMismatch
from dayshift.flow import Flow, Outgoing
from dayshift.openapi import read_operations
from dayshift.operations import Catalogue, Operation
from dayshift.wire import Opened, OpenRequest, ProductAccess


@dataclass(frozen=True, slots=True)
class Offer:
    """One product's operations and the document that describes them."""

    operations: list[Operation]
    document: Mapping[str, Any]


# By address and world: another world may be another version of the house.
_offers: dict[tuple[str, str], Offer] = {}
_catalogues: dict[tuple[tuple[str, str], ...], Catalogue] = {}


def offers(opened: Opened) -> Flow[dict[str, Offer]]:
    found: dict[str, Offer] = {}
    for name, access in opened.products.items():
        found[name] = yield from _offer(name, access, opened.fingerprint)
    return found


def catalogue_of(opened: Opened, found: Mapping[str, Offer]) -> Catalogue:
    key = tuple((access.openapi_url, opened.fingerprint) for access in opened.products.values())
    if key not in _catalogues:
        _catalogues[key] = Catalogue([one for offer in found.values() for one in offer.operations])
    return _catalogues[key].asking(opened.answer_schema)


def discover(control: Control, world: str, products: tuple[str, ...]) -> Flow[Catalogue]:
    """The operations of these products (all, if none is named), learnt from a short free play."""
    opened = yield from control.open(OpenRequest(task=None, world=world))
    try:
        wanted = {name: access for name, access in opened.products.items() if not products or name in products}
        narrowed = opened.model_copy(update={"products": wanted})
        return catalogue_of(narrowed, (yield from offers(narrowed)))
    finally:
        yield from control.close(opened.episode_id)


def _offer(product: str, access: ProductAccess, fingerprint: str) -> Flow[Offer]:
    key = (access.openapi_url, fingerprint)
    if key not in _offers:
        incoming = yield Outgoing("GET", access.openapi_url, {})
        if incoming.status != 200:
            raise ServiceBroke(f"{product}'s OpenAPI document", incoming.status, "")
        try:
            document = json.loads(incoming.content)
        except ValueError as error:
            raise WireMismatch(f"{product}'s OpenAPI document is not JSON") from error
        _offers[key] = Offer(read_operations(product, document), document)
    return _offers[key]
