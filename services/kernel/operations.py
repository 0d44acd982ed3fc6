"""Tables of operations: each row says how one operation is served and documented.

A product makes its endpoints from the functions that do the work, in a module of its routes; `add_operations` gives
each endpoint the signature that FastAPI reads.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, Response
from starlette.routing import compile_path

ServedFunction = Callable[..., Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A function that serves an operation, and the parameters that it declares beside the ids of the path."""

    # Takes the ids of the path first, then the arguments by name, and `url`, the path with its ids, if it is to.
    serve: ServedFunction
    parameters: tuple[inspect.Parameter, ...]
    takes_url: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API."""

    id: str
    method: str
    path: str
    summary: str
    response: Any
    # A function that declares its own parameters serves as it is, and its docstring is the description.
    endpoint: Endpoint | ServedFunction
    description: str | None = None
    status: int | None = field(default=None, kw_only=True)
    responses: dict[int | str, dict[str, Any]] = field(default_factory=dict, kw_only=True)
    openapi_extra: dict[str, Any] = field(default_factory=dict, kw_only=True)


def add_operations(
    router: APIRouter, operations: Iterable[Operation], id_type: Any = str, id_types: Mapping[str, Any] | None = None
) -> None:
    """Adds the operations to the router; `id_types` names the ids of a path that are of another type than the rest."""
    for operation in operations:
        router.add_api_route(
            operation.path,
            _with_signature(operation, id_type, id_types or {}),
            methods=[operation.method],
            operation_id=operation.id,
            summary=operation.summary,
            description=operation.description,
            response_model=operation.response,
            status_code=operation.status,
            responses=operation.responses,
            openapi_extra=operation.openapi_extra or None,
        )


def _with_signature(operation: Operation, id_type: Any, id_types: Mapping[str, Any]) -> ServedFunction:
    made_endpoint = operation.endpoint
    if not isinstance(made_endpoint, Endpoint):
        return made_endpoint
    names = list(compile_path(operation.path)[2])
    serve, takes_url, path = made_endpoint.serve, made_endpoint.takes_url, operation.path

    async def endpoint(**arguments: Any) -> Response:
        if takes_url:
            arguments["url"] = path.format(**arguments)
        keys = [arguments.pop(name) for name in names]
        return await serve(*keys, **arguments)

    ids = [parameter(name, id_types.get(name, id_type)) for name in names]
    endpoint.__signature__ = inspect.Signature([*ids, *made_endpoint.parameters])  # type: ignore[attr-defined]  # what FastAPI reads
    return endpoint


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
