"""The private parts of FastAPI and uvicorn that the kernel uses: a new version breaks here, by name, and not in use.

`services/kernel/binding.py` and `services/kernel/dispatch.py` compile FastAPI's routes, `services/kernel/serve.py`
ends connections. The bounds in pyproject.toml keep other versions out; whoever raises one starts with this file.
"""

import ast
import importlib
import inspect
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Body, Depends, FastAPI, Query
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

from services.kernel.dispatch import flatten_routes

ROOT = Path(__file__).resolve().parents[2]
LOOK = (
    f"FastAPI {version('fastapi')}, uvicorn {version('uvicorn')}: look at services/kernel/binding.py (parameters and "
    "bodies), services/kernel/dispatch.py (flatten_routes) or services/kernel/serve.py (CuttableProtocol), "
    "then at the bounds in pyproject.toml"
)
# Modules without a documented interface, and what is imported from them.
PRIVATE_IMPORTS = {
    "fastapi._compat": {"ModelField", "field_annotation_is_sequence"},
    "fastapi.dependencies.models": {"Dependant"},
    "fastapi.dependencies.utils": {"request_body_to_args", "request_params_to_args"},
    "uvicorn.protocols.http.httptools_impl": {"HttpToolsProtocol"},
}


def is_private(module: str) -> bool:
    package, *rest = module.split(".")
    if package not in ("fastapi", "starlette", "uvicorn"):
        return False
    return any(part.startswith("_") for part in rest) or rest[:1] in (["dependencies"], ["protocols"])


def private_imports() -> dict[str, set[str]]:
    imported: dict[str, set[str]] = {}
    for path in (ROOT / "services").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and is_private(node.module):
                imported.setdefault(node.module, set()).update(alias.name for alias in node.names)
    return imported


async def read_token(token: Annotated[str, Query()] = "none") -> str:
    return token


async def endpoint(
    number: int, token: Annotated[str, Depends(read_token)], body: Annotated[dict[str, Any], Body()], limit: int = 5
) -> None:
    """One parameter of every kind that the kernel binds."""


def route_of(app: FastAPI) -> APIRoute:
    app.post("/things/{number}")(endpoint)
    route = app.routes[-1]
    assert isinstance(route, APIRoute)
    return route


def test_this_file_lists_every_private_import_of_the_services() -> None:
    assert private_imports() == PRIVATE_IMPORTS


@pytest.mark.parametrize("module", PRIVATE_IMPORTS)
def test_every_private_import_exists(module: str) -> None:
    offered = vars(importlib.import_module(module))

    assert PRIVATE_IMPORTS[module] - set(offered) == set(), f"{module} no longer has them. {LOOK}"


def test_a_dependant_lists_the_parameters_of_an_endpoint_by_kind() -> None:
    dependant = route_of(FastAPI()).dependant
    kinds = {
        kind: [field.name for field in getattr(dependant, kind)]
        for kind in ("path_params", "query_params", "body_params", "header_params", "cookie_params")
    }

    assert kinds == {
        "path_params": ["number"],
        "query_params": ["limit"],
        "body_params": ["body"],
        "header_params": [],
        "cookie_params": [],
    }, f"Dependant has other lists of parameters. {LOOK}"
    assert [(inner.name, inner.call) for inner in dependant.dependencies] == [("token", read_token)], LOOK
    names = ("request", "response", "background_tasks", "security_scopes", "websocket", "http_connection")
    assert {name for name in names if not hasattr(dependant, f"{name}_param_name")} == set(), LOOK


def test_a_field_validates_one_value_and_knows_its_default_and_alias() -> None:
    field = route_of(FastAPI()).dependant.query_params[0]

    assert (field.name, field.alias, field.get_default()) == ("limit", "limit", 5), LOOK
    assert (field.field_info.annotation, field.field_info.is_required()) == (int, False), LOOK
    assert field.validate("7", {}, loc=("query", "limit"))[0] == 7, f"ModelField.validate differs. {LOOK}"
    assert field.validate("x", {}, loc=("query", "limit"))[1], f"ModelField.validate reports no error. {LOOK}"


@pytest.mark.anyio
async def test_parameters_and_bodies_are_bound_by_the_functions_that_the_kernel_calls() -> None:
    utils = importlib.import_module("fastapi.dependencies.utils")
    route = route_of(FastAPI())

    values, errors = utils.request_params_to_args(route.dependant.query_params, QueryParams("limit=9"))
    assert (values, errors) == ({"limit": 9}, []), f"request_params_to_args differs. {LOOK}"
    values, errors = await utils.request_body_to_args(route.dependant.body_params, {"a": 1}, False)
    assert (values, errors) == ({"body": {"a": 1}}, []), f"request_body_to_args differs. {LOOK}"


def test_a_route_says_whether_its_body_is_embedded() -> None:
    assert route_of(FastAPI())._embed_body_fields is False, f"APIRoute._embed_body_fields is gone. {LOOK}"


def test_the_routes_of_an_included_router_are_found() -> None:
    app, router = FastAPI(openapi_url=None), APIRouter()
    router.get("/included")(read_token)
    app.include_router(router)
    paths = [route.path for route in flatten_routes(app.routes) if isinstance(route, APIRoute)]

    assert paths == ["/included"], f"FastAPI keeps included routers elsewhere (original_router). {LOOK}"


def test_uvicorns_protocol_has_what_ends_a_connection_without_an_answer() -> None:
    protocol = importlib.import_module("uvicorn.protocols.http.httptools_impl")

    for name in ("on_message_begin", "handle_websocket_upgrade"):
        assert callable(getattr(protocol.HttpToolsProtocol, name, None)), LOOK
    source = inspect.getsource(protocol)
    for name in ("self.scope", "self.cycle", "self.transport", "response_complete", "response_started"):
        assert name in source, f"HttpToolsProtocol no longer has {name}. {LOOK}"
