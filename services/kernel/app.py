"""create_app(product): the product's routes behind the agent's door."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from services.kernel.agent_door import AgentDoor
from services.kernel.answers import Answer
from services.kernel.episodes import Episodes
from services.kernel.errors import MalformedRequest, MethodNotAllowed, NoSuchRoute, Refusal, problems_of
from services.kernel.product import Product
from services.kernel.telemetry import Telemetry
from services.kernel.world import World


class StrictJsonRequest(Request):
    """Reads JSON with orjson: no NaN, no infinities, no nesting without end."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            try:
                self._json = orjson.loads(await self.body())
            except orjson.JSONDecodeError as error:
                raise MalformedRequest(f"Invalid input JSON: {error.msg} at character {error.pos}.") from error
        return self._json


class StrictJsonRoute(APIRoute):
    """A route whose request bodies are read strictly."""

    def get_route_handler(self) -> Any:
        inner = super().get_route_handler()

        async def strict(request: Request) -> Response:
            answer: Response = await inner(StrictJsonRequest(request.scope, request.receive))
            return answer

        return strict


def product_router(**kwargs: Any) -> APIRouter:
    return APIRouter(route_class=StrictJsonRoute, **kwargs)


async def current_world(request: Request) -> World:
    world: World = request.scope["world"]
    return world


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
    )
    api.include_router(product.router)

    async def refuse(request: Request, error: Exception) -> Response:
        answer = product.render(_as_refusal(error), request.scope["circumstance"])
        return _response(answer)

    for kind in (Refusal, RequestValidationError, HTTPException):
        api.add_exception_handler(kind, refuse)
    return api


def create_app(product: Product, episodes: Episodes, telemetry: Telemetry, body_limit: int | None = None) -> ASGIApp:
    return AgentDoor(create_api(product), episodes, telemetry, body_limit or product.body_limit)


def _as_refusal(error: Exception) -> Refusal:
    match error:
        case Refusal():
            return error
        case RequestValidationError():
            problems = problems_of(error.errors())
            return MalformedRequest("; ".join(f"{found.where}: {found.message}" for found in problems[:5]), problems)
        case HTTPException(status_code=404):
            return NoSuchRoute()
        case HTTPException(status_code=405):
            return MethodNotAllowed((error.headers or {}).get("allow", ""))
        case HTTPException():
            return MalformedRequest(str(error.detail))
    raise error


def _response(answer: Answer) -> Response:
    response = Response(answer.body, answer.status)
    response.raw_headers = [*answer.headers, (b"content-length", b"%d" % len(answer.body))]
    return response
