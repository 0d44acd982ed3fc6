"""The operations that all rules have, made from a table: list, active, search, show, create, update, delete."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from services.desk.operations.rule_crud import BY_POSITION, SORT_COLUMNS, RuleKind
from services.desk.routes.base import Call, StaffCall, answer_page, read_paging, read_sort
from services.desk.schemas.base import Id, Paged, RequestBody
from services.desk.schemas.rules import RuleList, RuleSearch
from services.desk.shapes.base import Shape
from services.kernel.answers import Json

# Operation → its method and path, and the line that tells an agent what it does.
Operations = dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Resource:
    """A noun with the operations that all rules have; `schema` is the body, `one` and `many` are the answers."""

    noun: str
    plural: str
    rules: RuleKind[Any, Any]
    schema: type[RequestBody]
    one: type[BaseModel]
    many: type[BaseModel]
    # Renders a row; the second argument is the address of the desk.
    render: Callable[[Any, str], Shape]
    # Whether it can be switched off; lists are narrowed and sorted only then.
    can_be_inactive: bool = True


def add_operations(router: APIRouter, resource: Resource, operations: Operations) -> None:
    """Adds the operations of the table to the router, in its order."""
    for operation, (request, description) in operations.items():
        method, path = request.split()
        endpoint, model, status = _ENDPOINTS[operation](resource, path)
        endpoint.__doc__ = description
        router.add_api_route(
            path,
            endpoint,
            methods=[method],
            operation_id=f"desk.{resource.plural}.{operation}",
            summary="Page" if operation == "list" else operation.title(),
            response_model=model,
            status_code=status,
        )


Endpoint = tuple[Callable[..., Any], type[BaseModel] | None, int | None]


def _list(resource: Resource, _: str) -> Endpoint:
    async def list_all(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
        page = resource.rules.page(call.world, read_paging(params), BY_POSITION)
        return answer_page(call, resource.plural, page, [resource.render(row, call.base) for row in page.rows])

    async def list_rules(params: Annotated[RuleList, Query()], call: StaffCall) -> Response:
        return answer_rules(call, resource, params, params.active)

    return list_rules if resource.can_be_inactive else list_all, resource.many, None


def _active(resource: Resource, _: str) -> Endpoint:
    async def list_active(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
        return answer_rules(call, resource, params, True)

    return list_active, resource.many, None


def _search(resource: Resource, _: str) -> Endpoint:
    async def search(params: Annotated[RuleSearch, Query()], call: StaffCall) -> Response:
        return answer_rules(call, resource, params, params.active, params.query)

    return search, resource.many, None


def _show(resource: Resource, path: str) -> Endpoint:
    async def show(rule_id: Annotated[Id, Path(alias=_id_name(path))], call: StaffCall) -> Response:
        return _answer(resource, resource.rules.table.need(call.world, rule_id), call)

    return show, resource.one, None


def _create(resource: Resource, _: str) -> Endpoint:
    async def create(body: resource.schema, call: StaffCall) -> Response:  # type: ignore[name-defined]  # the table's
        return _answer(resource, resource.rules.create(call.world, _payload(resource, body)), call, 201)

    return create, resource.one, 201


def _update(resource: Resource, path: str) -> Endpoint:
    async def update(
        rule_id: Annotated[Id, Path(alias=_id_name(path))],
        body: resource.schema,  # type: ignore[name-defined]  # the table's
        call: StaffCall,
    ) -> Response:
        return _answer(resource, resource.rules.update(call.world, rule_id, _payload(resource, body)), call)

    return update, resource.one, None


def _delete(resource: Resource, path: str) -> Endpoint:
    async def delete(rule_id: Annotated[Id, Path(alias=_id_name(path))], call: StaffCall) -> Response:
        resource.rules.delete(call.world, rule_id)
        return Response(status_code=204)

    return delete, None, 204


_ENDPOINTS: dict[str, Callable[[Resource, str], Endpoint]] = {
    "list": _list,
    "active": _active,
    "search": _search,
    "show": _show,
    "create": _create,
    "update": _update,
    "delete": _delete,
}


def _id_name(path: str) -> str:
    """Returns the name of the id in `/macros/{macro_id}`."""
    return path.partition("{")[2].partition("}")[0]


def _payload(resource: Resource, body: RequestBody) -> dict[str, Any]:
    inner: RequestBody = getattr(body, resource.noun)
    return inner.dump()


def _answer(resource: Resource, row: Any, call: Call, status: int = 200) -> Response:
    return Json({resource.noun: resource.render(row, call.base)}, status)


def answer_rules(
    call: Call, resource: Resource, params: Paged, active: bool | None, title: str | None = None
) -> Response:
    sort = read_sort(params, SORT_COLUMNS, BY_POSITION)
    page = resource.rules.page(call.world, read_paging(params), sort, active=active, title=title)
    return answer_page(call, resource.plural, page, [resource.render(row, call.base) for row in page.rows])
