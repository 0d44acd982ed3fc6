"""Discovery: reads the OpenAPI documents of the products and builds the catalogue of operations."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dayshift.control_client import ControlClient
from dayshift.errors import ServiceError, WireMismatch
from dayshift.http_flow import HttpFlow, HttpRequest, HttpResponse
from dayshift.openapi import read_operations
from dayshift.operations import Catalogue, Operation
from dayshift.wire import Opened, OpenRequest, ProductAccess


@dataclass(frozen=True, slots=True)
class ProductApi:
    """One product's OpenAPI document and the operations that it describes."""

    operations: list[Operation]
    document: Mapping[str, Any]


# Cached by URL for the life of the process; `discover_operations` fetches the documents again.
_product_apis: dict[str, ProductApi] = {}
_catalogues: dict[tuple[str, ...], Catalogue] = {}


def fetch_product_apis(opened: Opened, *, refresh: bool = False) -> HttpFlow[dict[str, ProductApi]]:
    """Fetches the document of each product of an episode; a cached one is used unless `refresh` is set."""
    apis: dict[str, ProductApi] = {}
    for name, access in opened.products.items():
        apis[name] = yield from _fetch_product_api(name, access, refresh=refresh)
    return apis


def build_catalogue(opened: Opened, apis: Mapping[str, ProductApi]) -> Catalogue:
    key = tuple(access.openapi_url for access in opened.products.values())
    if key not in _catalogues:
        _catalogues[key] = Catalogue([operation for api in apis.values() for operation in api.operations])
    return _catalogues[key].with_answer_schema(opened.answer_schema)


def discover_operations(control: ControlClient, world: str, products: tuple[str, ...]) -> HttpFlow[Catalogue]:
    """Returns the operations of these products (of all, without `products`), read in a short free play."""
    opened = yield from control.open(OpenRequest(task=None, world=world))
    try:
        selected = {name: access for name, access in opened.products.items() if not products or name in products}
        narrowed = opened.model_copy(update={"products": selected})
        return build_catalogue(narrowed, (yield from fetch_product_apis(narrowed, refresh=True)))
    finally:
        yield from control.close(opened.episode_id)


def _fetch_product_api(product: str, access: ProductAccess, *, refresh: bool) -> HttpFlow[ProductApi]:
    if refresh or access.openapi_url not in _product_apis:
        response = yield HttpRequest("GET", access.openapi_url, {})
        _cache(access.openapi_url, _parse_document(product, response))
    return _product_apis[access.openapi_url]


def _parse_document(product: str, response: HttpResponse) -> ProductApi:
    if response.status != 200:
        raise ServiceError(f"{product}'s OpenAPI document", response.status, "")
    try:
        document = json.loads(response.content)
    except ValueError as error:
        raise WireMismatch(f"{product}'s OpenAPI document is not JSON") from error
    return ProductApi(read_operations(product, document), document)


def _cache(url: str, api: ProductApi) -> None:
    """Caches a document; a changed one also removes the catalogues that were built from the old one."""
    if url in _product_apis and _product_apis[url].document != api.document:
        for key in [key for key in _catalogues if url in key]:
            del _catalogues[key]
    _product_apis[url] = api
