"""Registers the operations on records: once for any object type, and again for each standard type by its own path.

The vendor serves every standard type under a literal path with an id of its own name (`/crm/v3/objects/contacts/
{contactId}`), and an agent sees each as an operation of its own (`crm.contacts.get`). One endpoint serves them all.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from fastapi.params import Depends

from services.crm.object_types import ObjectType
from services.crm.routes.responses import PARTIAL_SUCCESS

Endpoint = Callable[..., Awaitable[Response]]
ANY_TYPE = "/crm/v3/objects/{objectType}"


@dataclass(frozen=True, slots=True)
class RecordOperation:
    """One operation; in its description {record} and {records} stand for the object type's names.

    The endpoint takes `object_type` and, if the path names a record, `objectId`.
    """

    name: str
    method: str
    path: str
    endpoint: Endpoint
    model: Any
    status: int
    description: str
    dependencies: tuple[Depends, ...] = ()


def register(router: APIRouter, operations: Iterable[RecordOperation]) -> None:
    """Serves the operations for any object type."""
    for operation in operations:
        names = ("record of the given object type", "records of the given object type")
        _add_route(router, operation, operation.path, operation.endpoint, "objects", names)


def register_for_type(router: APIRouter, operations: Iterable[RecordOperation], object_type: ObjectType) -> None:
    """Serves the operations under the path of one object type."""
    for operation in operations:
        path = operation.path.replace(ANY_TYPE, object_type.path).replace("objectId", object_type.id_parameter)
        names = (object_type.singular.replace("_", " "), object_type.name.replace("_", " "))
        endpoint = _bind_type(operation.endpoint, object_type)
        _add_route(router, operation, path, endpoint, object_type.name, names, object_type.required_properties)


def _add_route(
    router: APIRouter,
    operation: RecordOperation,
    path: str,
    endpoint: Endpoint,
    tag: str,
    names: tuple[str, str],
    required: tuple[str, ...] = (),
) -> None:
    record, records = names
    responses: dict[int | str, dict[str, Any]] = {}
    if operation.name.startswith("batch_") and operation.model is not None:
        responses[207] = {"model": operation.model, **PARTIAL_SUCCESS[207]}
    router.add_api_route(
        path,
        endpoint,
        methods=[operation.method],
        operation_id=f"crm.{tag}.{operation.name}",
        summary=f"{operation.name.replace('_', ' ').capitalize()}: {tag.replace('_', ' ')}",
        description=operation.description.format(
            record=record, records=records, required=f" Required: {', '.join(required)}." if required else ""
        ),
        status_code=operation.status,
        response_model=operation.model,
        responses=responses,
        tags=[tag],
        dependencies=operation.dependencies,
    )


def _bind_type(endpoint: Endpoint, object_type: ObjectType) -> Endpoint:
    """Returns the endpoint with its object type fixed, and with the id named as the vendor names it in the path."""

    async def call_endpoint(**arguments: Any) -> Response:
        return await endpoint(object_type=object_type, **arguments)

    parameters = inspect.signature(endpoint).parameters
    record_id = Annotated[str, Path(alias=object_type.id_parameter)]
    call_endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # FastAPI reads it to learn the parameters
        [
            parameter.replace(annotation=record_id) if parameter.name == "objectId" else parameter
            for parameter in parameters.values()
            if parameter.name != "object_type"
        ]
    )
    return call_endpoint
