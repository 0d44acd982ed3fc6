"""Discovery: reads the OpenAPI documents of the products and builds the catalogue of operations."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dayshift.control_client import ControlClient
from dayshift.errors import ServiceError, WireMismatch
from dayshift.http_flow import HttpFlow, HttpRequest, HttpResponse
from dayshift.lean_schema import JsonSchema
from dayshift.openapi import read_operations
from dayshift.operations import Catalogue, Operation
from dayshift.wire import OpenRequest, ProductAccess


@dataclass(frozen=True, slots=True)
class ProductApi:
    """One product's OpenAPI document and the operations that it describes."""

    operations: list[Operation]
    document: Mapping[str, Any]
    # Of the document as it was sent.
    digest: bytes


# Cached by URL for the life of the process; `discover_operations` fetches the documents again.
_product_apis: dict[str, ProductApi] = {}
_catalogues: dict[tuple[str, ...], Catalogue] = {}


def fetch_product_apis(
    products: Mapping[str, ProductAccess], *, refresh: bool = False
) -> HttpFlow[dict[str, ProductApi]]:
    """Fetches the document of each product of an episode; a cached one is used unless `refresh` is set."""
    apis: dict[str, ProductApi] = {}
    for name, access in products.items():
        apis[name] = yield from _fetch_product_api(name, access, refresh=refresh)
    return apis


def build_catalogue(
    products: Mapping[str, ProductAccess], apis: Mapping[str, ProductApi], answer_schema: JsonSchema | None = None
) -> Catalogue:
    key = tuple(access.openapi_url for access in products.values())
    if key not in _catalogues:
        _catalogues[key] = Catalogue([operation for api in apis.values() for operation in api.operations])
    return _catalogues[key].with_answer_schema(answer_schema)


def discover_operations(control: ControlClient, world: str, products: tuple[str, ...]) -> HttpFlow[Catalogue]:
    """Returns the operations of these products (of all, without `products`), read in a short free play."""
    opened = yield from control.open(OpenRequest(task=None, world=world))
    try:
        selected = {name: access for name, access in opened.products.items() if not products or name in products}
        return build_catalogue(selected, (yield from fetch_product_apis(selected, refresh=True)))
    finally:
        yield from control.close(opened.episode_id)


def _fetch_product_api(product: str, access: ProductAccess, *, refresh: bool) -> HttpFlow[ProductApi]:
    if refresh or access.openapi_url not in _product_apis:
        response = yield HttpRequest("GET", access.openapi_url, {})
        digest = hashlib.sha256(response.content).digest()
        known = _product_apis.get(access.openapi_url)
        # Episodes that were opened together have all asked before the first document came: it is read once.
        if known is None or known.digest != digest:
            _cache(access.openapi_url, _parse_document(product, response, digest))
    return _product_apis[access.openapi_url]


def _parse_document(product: str, response: HttpResponse, digest: bytes) -> ProductApi:
    if response.status != 200:
        raise ServiceError(f"{product}'s OpenAPI document", response.status, "")
    try:
        document = json.loads(response.content)
    except ValueError as error:
        raise WireMismatch(f"{product}'s OpenAPI document is not JSON") from error
    return ProductApi(read_operations(product, document), document, digest)


def _cache(url: str, api: ProductApi) -> None:
    """Caches a document; a changed one also removes the catalogues that were built from the old one."""
    if url in _product_apis:
        for key in [key for key in _catalogues if url in key]:
            del _catalogues[key]
    _product_apis[url] = api
