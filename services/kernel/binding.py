"""Binds a request to the parameters of a route's endpoint, and of the functions that the endpoint depends on.

FastAPI works out with every request what a route declares. Our routes declare little (path, query, one body, the world,
and functions of these), so all of it is worked out once, when the service starts.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from copy import copy
from typing import Any, get_args
from urllib.parse import parse_qsl

from fastapi import Request, Response, params
from fastapi._compat import ModelField, field_annotation_is_sequence
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_body_to_args, request_params_to_args
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import QueryParams
from starlette.types import Scope

from services.kernel.answers import Answer
from services.kernel.asgi import find_header, replay_body, without_length
from services.kernel.encoding import Encoding
from services.kernel.world import World

_NO_BODY: Any = None


async def current_world(request: Request) -> World:
    world: World = request.scope["world"]
    return world


class QueryParameter:
    """One query parameter, and what FastAPI would find out about it anew with every request."""

    __slots__ = ("_default", "_field", "_is_optional", "_is_repeated", "_name")

    def __init__(self, field: ModelField) -> None:
        self._field = field
        alias = field.field_info.validation_alias
        self._name = alias if isinstance(alias, str) else field.alias
        self._is_repeated = field_annotation_is_sequence(field.field_info.annotation)
        self._is_optional = not field.field_info.is_required() and not field.field_info.validate_default
        self._default = field.get_default() if self._is_optional else None

    def bind(self, query: Mapping[str, list[str]], values: dict[str, Any], errors: list[Any]) -> None:
        texts = query.get(self._name)
        if texts is None and self._is_optional:
            values[self._field.name] = copy(self._default)
            return
        if texts is None:
            errors += request_params_to_args([self._field], QueryParams())[1]
            return
        value, problems = self._field.validate(
            texts if self._is_repeated else texts[-1], values, loc=("query", self._name)
        )
        if problems:
            errors += problems
        else:
            values[self._field.name] = value


class Parameters:
    """What one function, an endpoint or a dependency, takes from the path, the query, the request and the world."""

    __slots__ = (
        "_defaults",
        "_encoding",
        "_may_be_blank",
        "_model",
        "_path",
        "_query",
        "_request",
        "_simple_query",
        "_whole_query",
        "_world",
    )

    def __init__(self, dependant: Dependant, encoding: Encoding) -> None:
        self._encoding = encoding
        self._path = [(field.alias, field) for field in dependant.path_params]
        query = self._query = dependant.query_params
        is_optional = all(not field.field_info.is_required() for field in query)
        self._defaults = {field.name: field.get_default() for field in query} if is_optional else None
        self._model = query[0] if len(query) == 1 and _is_model(query[0].field_info.annotation) else None
        self._whole_query = self._model if encoding.query is not None else None
        # Found out when it is first needed: it costs more than all the rest here.
        self._may_be_blank: bool | None = None
        self._simple_query = [QueryParameter(field) for field in query] if all(map(_is_simple, query)) else None
        self._request = dependant.request_param_name
        self._world = next((sub.name for sub in dependant.dependencies if sub.call is current_world), None)

    @property
    def needs_request(self) -> bool:
        return self._request is not None

    def bind(self, scope: Scope, values: dict[str, Any], errors: list[Any]) -> None:
        for alias, field in self._path:
            values[field.name], problems = field.validate(scope["path_params"][alias], values, loc=("path", alias))
            errors += problems or ()
        if self._query:
            self.bind_query(scope, values, errors)
        if self._world is not None:
            values[self._world] = scope["world"]

    def add_request(self, values: dict[str, Any], request: Request) -> None:
        if self._request is not None:
            values[self._request] = request

    def bind_query(self, scope: Scope, values: dict[str, Any], errors: list[Any]) -> None:
        if not scope["query_string"] and self._defaults is not None:
            values.update(self._defaults)
            return
        if not scope["query_string"] and self._model is not None and self._is_blank(self._model):
            values[self._model.name], _ = self._model.validate({}, {}, loc=("query",))
            return
        if self._whole_query is not None and self._encoding.query is not None:
            field, decoded = self._whole_query, self._encoding.query(scope["query_string"])
            values[field.name], problems = field.validate(decoded, {}, loc=("query",))
            errors += problems or ()
            return
        if self._simple_query is None:
            bound, problems = request_params_to_args(self._query, QueryParams(scope["query_string"]))
            values.update(bound)
            errors += problems
            return
        query: dict[str, list[str]] = {}
        for name, value in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
            query.setdefault(name, []).append(value)
        for parameter in self._simple_query:
            parameter.bind(query, values, errors)

    def _is_blank(self, field: ModelField) -> bool:
        """Whether the query may be left out as a whole, and FastAPI would make of that what the model does."""
        if self._may_be_blank is None:
            bound, problems = request_params_to_args([field], QueryParams())
            value, refused = field.validate({}, {}, loc=("query",))
            self._may_be_blank = not problems and not refused and bool(bound[field.name] == value)
        return self._may_be_blank


class Dependency:
    """One function that an endpoint, or another dependency, declares with `Depends`."""

    __slots__ = ("_call", "_inputs", "is_async", "parameters")

    def __init__(self, dependant: Dependant, inputs: list[tuple[str, int]], encoding: Encoding) -> None:
        assert dependant.call is not None, "a dependency has a function"
        self._call: Callable[..., Any] = dependant.call
        self.is_async = inspect.iscoroutinefunction(dependant.call)
        # Its own dependencies: the parameter's name, and where the result stands among those computed before.
        self._inputs = inputs
        self.parameters = Parameters(dependant, encoding)

    def call(self, values: dict[str, Any], results: list[Any]) -> Any:
        """Returns what the function returns: an awaitable, if it is async."""
        for name, index in self._inputs:
            values[name] = results[index]
        return self._call(**values)


class BoundRoute:
    """One route, ready to be called with what its endpoint declares.

    All parameters are validated before any dependency runs, so that a malformed request is refused as such; then the
    dependencies run in the order of their declaration, each function once.
    """

    __slots__ = (
        "_body_fields",
        "_dependencies",
        "_embed",
        "_encoding",
        "_endpoint",
        "_inputs",
        "_needs_request",
        "_only_body",
        "parameters",
    )

    def __init__(self, route: APIRoute, encoding: Encoding) -> None:
        dependant = route.dependant
        self._encoding = encoding
        self._endpoint: Callable[..., Awaitable[Response]] = route.endpoint
        self.parameters = Parameters(dependant, encoding)
        self._dependencies: list[Dependency] = []
        self._inputs = self._compile(dependant, {})
        self._body_fields = dependant.body_params
        self._embed = bool(route._embed_body_fields)  # noqa: SLF001 - FastAPI keeps it to itself
        is_single = len(self._body_fields) == 1 and not self._embed
        self._only_body = self._body_fields[0] if is_single else None
        self._needs_request = any(
            parameters.needs_request
            for parameters in (self.parameters, *(each.parameters for each in self._dependencies))
        )

    async def __call__(self, scope: Scope, body: bytes) -> Answer:
        values: dict[str, Any] = {}
        errors: list[Any] = []
        self.parameters.bind(scope, values, errors)
        if self._body_fields:
            await self._bind_body(scope, body, values, errors)
        inner: list[tuple[Dependency, dict[str, Any]]] = []
        for dependency in self._dependencies:
            own_values: dict[str, Any] = {}
            dependency.parameters.bind(scope, own_values, errors)
            inner.append((dependency, own_values))
        if errors:
            raise RequestValidationError(errors)
        if self._needs_request:
            request = Request(scope, replay_body(body))
            self.parameters.add_request(values, request)
            for dependency, own_values in inner:
                dependency.parameters.add_request(own_values, request)
        if inner:
            await self._resolve(values, inner)
        return _as_answer(await self._endpoint(**values))

    async def _resolve(self, values: dict[str, Any], inner: list[tuple[Dependency, dict[str, Any]]]) -> None:
        results: list[Any] = []
        for dependency, own_values in inner:
            result = dependency.call(own_values, results)
            results.append(await result if dependency.is_async else result)
        for name, index in self._inputs:
            values[name] = results[index]

    def _compile(self, dependant: Dependant, compiled: dict[Callable[..., Any], int]) -> list[tuple[str, int]]:
        """Appends the functions that this one needs, inner ones first; returns where the result of each stands."""
        inputs: list[tuple[str, int]] = []
        for inner in dependant.dependencies:
            if inner.call is None or inner.call is current_world:
                continue
            if inner.call not in compiled:
                dependency = Dependency(inner, self._compile(inner, compiled), self._encoding)
                compiled[inner.call] = len(self._dependencies)
                self._dependencies.append(dependency)
            if inner.name is not None:
                inputs.append((inner.name, compiled[inner.call]))
        return inputs

    async def _bind_body(self, scope: Scope, body: bytes, values: dict[str, Any], errors: list[Any]) -> None:
        received = self._encoding.body(find_header(scope, b"content-type") or b"", body) if body else _NO_BODY
        if self._only_body is not None and body:
            values[self._only_body.name], problems = self._only_body.validate(received, {}, loc=("body",))
            errors += problems or ()
            return
        bound, missing = await request_body_to_args(self._body_fields, received, self._embed)
        values.update(bound)
        errors += missing


def can_bind(route: APIRoute) -> bool:
    """Whether the route declares only what this module binds; all others go through FastAPI."""
    has_form = route.body_field is not None and isinstance(route.body_field.field_info, params.Form)
    inner = list(_inner(route.dependant))
    takes_body = any(dependency.body_params for dependency in inner)
    return not (has_form or takes_body) and all(map(_is_bindable, (route.dependant, *inner)))


def _inner(dependant: Dependant) -> Iterator[Dependant]:
    for inner in dependant.dependencies:
        if inner.call is not current_world:
            yield inner
            yield from _inner(inner)


def _is_bindable(dependant: Dependant) -> bool:
    is_generator = inspect.isgeneratorfunction(dependant.call) or inspect.isasyncgenfunction(dependant.call)
    return not (
        is_generator
        or dependant.header_params
        or dependant.cookie_params
        or dependant.response_param_name
        or dependant.background_tasks_param_name
        or dependant.security_scopes_param_name
        or dependant.websocket_param_name
        or dependant.http_connection_param_name
    )


def _is_simple(field: ModelField) -> bool:
    """One name, and values as they come: not a model spread over several parameters, not a choice of names."""
    annotations = (field.field_info.annotation, *get_args(field.field_info.annotation))
    return isinstance(field.field_info.validation_alias, str | None) and not any(map(_is_model, annotations))


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _as_answer(response: Response) -> Answer:
    return Answer(response.status_code, bytes(response.body), without_length(response.raw_headers))
