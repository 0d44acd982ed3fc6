"""The same endpoints again for each object type: by its literal path, its own id name and its own operation ids."""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Response

from services.crm.kinds import Kind

Endpoint = Callable[..., Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One endpoint with what its documentation says; {one} and {many} stand for the object type's names."""

    name: str
    method: str
    suffix: str
    endpoint: Endpoint
    model: Any
    status: int
    told: str


def register(to: APIRouter, kind: Kind | None, operations: Iterable[Operation]) -> None:
    """The generic operations, or the same under the literal path and the names of one object type."""
    for operation in operations:
        path = f"/crm/v3/objects/{{objectType}}{operation.suffix}"
        endpoint, noun = operation.endpoint, "objects"
        if kind is not None:
            path = path.replace("{objectType}", kind.name).replace("objectId", kind.path_id)
            endpoint, noun = _of_kind(operation.endpoint, kind), kind.name
        responses: dict[int | str, dict[str, Any]] = {}
        if operation.name.startswith("batch_") and operation.model is not None:
            responses[207] = {"model": operation.model, "description": "Done in part; `errors` says what was not."}
        to.add_api_route(
            path,
            endpoint,
            methods=[operation.method],
            operation_id=f"crm.{noun}.{operation.name}",
            summary=_spelt(operation.name, kind),
            description=_told(operation, kind),
            status_code=operation.status,
            response_model=operation.model,
            responses=responses,
            tags=[noun],
        )


def _of_kind(endpoint: Endpoint, kind: Kind) -> Endpoint:
    """The endpoint with its object type fixed and its id named as the vendor names it."""

    async def bound(**arguments: Any) -> Response:
        if kind.path_id in arguments:
            arguments["objectId"] = arguments.pop(kind.path_id)
        return await endpoint(objectType=kind.name, **arguments)

    given = inspect.signature(endpoint).parameters.values()
    kept = [
        one.replace(name=kind.path_id) if one.name == "objectId" else one for one in given if one.name != "objectType"
    ]
    bound.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]  # what FastAPI reads
    return bound


def _spelt(name: str, kind: Kind | None) -> str:
    words = name.replace("_", " ").capitalize()
    return f"{words}: {'objects' if kind is None else kind.name.replace('_', ' ')}"


def _told(operation: Operation, kind: Kind | None) -> str:
    one = "record of the given object type" if kind is None else kind.singular.replace("_", " ")
    many = "records of the given object type" if kind is None else kind.name.replace("_", " ")
    required = f" Required: {', '.join(kind.required)}." if kind is not None and kind.required else ""
    return operation.told.format(one=one, many=many, required=required)
