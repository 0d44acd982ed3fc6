"""What the products offer: their OpenAPI documents, each read once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dayshift.control import Control
from dayshift.errors import ServiceBroke, WireMismatch
from dayshift.flow import Flow, Incoming, Outgoing
from dayshift.openapi import read_operations
from dayshift.operations import Catalogue, Operation
from dayshift.wire import Opened, OpenRequest, ProductAccess


@dataclass(frozen=True, slots=True)
class Offer:
    """One product's operations and the document that describes them."""

    operations: list[Operation]
    document: Mapping[str, Any]


# By address, for the life of this program; whoever builds an action space looks again.
_offers: dict[str, Offer] = {}
_catalogues: dict[tuple[str, ...], Catalogue] = {}


def offers(opened: Opened, *, afresh: bool = False) -> Flow[dict[str, Offer]]:
    found: dict[str, Offer] = {}
    for name, access in opened.products.items():
        found[name] = yield from _offer(name, access, afresh=afresh)
    return found


def catalogue_of(opened: Opened, found: Mapping[str, Offer]) -> Catalogue:
    key = tuple(access.openapi_url for access in opened.products.values())
    if key not in _catalogues:
        _catalogues[key] = Catalogue([one for offer in found.values() for one in offer.operations])
    return _catalogues[key].asking(opened.answer_schema)


def discover(control: Control, world: str, products: tuple[str, ...]) -> Flow[Catalogue]:
    """The operations of these products (all, if none is named), learnt from a short free play."""
    opened = yield from control.open(OpenRequest(task=None, world=world))
    try:
        wanted = {name: access for name, access in opened.products.items() if not products or name in products}
        narrowed = opened.model_copy(update={"products": wanted})
        return catalogue_of(narrowed, (yield from offers(narrowed, afresh=True)))
    finally:
        yield from control.close(opened.episode_id)


def _offer(product: str, access: ProductAccess, *, afresh: bool) -> Flow[Offer]:
    if afresh or access.openapi_url not in _offers:
        incoming = yield Outgoing("GET", access.openapi_url, {})
        _keep(access.openapi_url, _read(product, incoming))
    return _offers[access.openapi_url]


def _read(product: str, incoming: Incoming) -> Offer:
    if incoming.status != 200:
        raise ServiceBroke(f"{product}'s OpenAPI document", incoming.status, "")
    try:
        document = json.loads(incoming.content)
    except ValueError as error:
        raise WireMismatch(f"{product}'s OpenAPI document is not JSON") from error
    return Offer(read_operations(product, document), document)


def _keep(url: str, offer: Offer) -> None:
    """A changed document also ends the catalogues that were drawn from the old one."""
    if url in _offers and _offers[url].document != offer.document:
        for key in [key for key in _catalogues if url in key]:
            del _catalogues[key]
    _offers[url] = offer
