"""create_app(product): the product's routes behind the agent API."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from services.kernel.agent_api import AgentApi
from services.kernel.binding import current_world
from services.kernel.description import describe
from services.kernel.episodes import Episodes
from services.kernel.product import Product
from services.kernel.telemetry import Telemetry
from services.kernel.world import World


def product_router(**kwargs: Any) -> APIRouter:
    return APIRouter(**kwargs)


CurrentWorld = Annotated[World, Depends(current_world)]


def create_api(product: Product) -> FastAPI:
    """The routes alone, as OpenAPI describes them."""
    api = FastAPI(
        title=product.title,
        version=product.version,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        servers=_list_servers(product),
    )
    api.include_router(product.router)
    describe(api, product.encoding, product.core_operations, product.parameter_texts, product.rare_parameters)
    _write_document_once(api, product)
    for kind in (RequestValidationError, HTTPException):
        api.add_exception_handler(kind, _leave_it_to_the_agent_api)
    return api


# By the product's identity: products are not hashable, and each that is described stays for as long as the process.
_documents: dict[int, tuple[Product, bytes]] = {}


def _write_document_once(api: FastAPI, product: Product) -> None:
    """Writes the document once in each process, for it takes a second: later apps of the product read it."""
    write_document = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            if id(product) not in _documents:
                _documents[id(product)] = product, orjson.dumps(write_document())
            # Each app has a copy of its own to change.
            api.openapi_schema = orjson.loads(_documents[id(product)][1])
        return api.openapi_schema

    api.openapi = openapi  # type: ignore[method-assign]  # the way that FastAPI documents


def _list_servers(product: Product) -> list[dict[str, str | Any]] | None:
    """The address that serves the document comes first: tools that read it from here call here."""
    return [{"url": "/"}, {"url": product.public_url}] if product.public_url else None


async def _leave_it_to_the_agent_api(_: Request, error: Exception) -> Response:
    """FastAPI would answer a form it cannot read in words of its own; the product has better ones."""
    raise error


def create_app(product: Product, episodes: Episodes, telemetry: Telemetry, body_limit: int | None = None) -> AgentApi:
    return AgentApi(create_api(product), episodes, telemetry, body_limit or product.body_limit)
