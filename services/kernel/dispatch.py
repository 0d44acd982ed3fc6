"""FastAPI declares and documents the routes; this serves them.

FastAPI finds a route by trying one after the other and solves dependencies in general; both grow with the product.
Ours are alike (path, query, one JSON body, the world), so they are indexed once and bound directly: on a product with
five routes a read costs a quarter of what it costs through FastAPI's own stack, and no more with five hundred.
Whatever is not of that kind (forms, uploads, dependencies of its own) still goes through FastAPI.
"""

from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from typing import Any, get_args
from urllib.parse import parse_qsl, unquote

from fastapi import FastAPI, Request, Response, params
from fastapi._compat import ModelField, field_annotation_is_sequence
from fastapi.dependencies.utils import request_body_to_args, request_params_to_args
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import QueryParams
from starlette.routing import BaseRoute
from starlette.types import Message, Receive, Scope

from services.kernel.answers import Answer
from services.kernel.encoding import JSON, Encoding
from services.kernel.errors import MethodNotAllowed, NoSuchRoute
from services.kernel.world import World

Serve = Callable[[Scope, bytes], Awaitable[Answer]]
_NO_BODY: Any = None


async def current_world(request: Request) -> World:
    world: World = request.scope["world"]
    return world


class Asked:
    """One query parameter, and what FastAPI would find out about it anew with every request."""

    __slots__ = ("_default", "_field", "_is_optional", "_many", "_name")

    def __init__(self, field: ModelField) -> None:
        self._field = field
        named = field.field_info.validation_alias
        self._name = named if isinstance(named, str) else field.alias
        self._many = field_annotation_is_sequence(field.field_info.annotation)
        self._is_optional = not field.field_info.is_required() and not field.field_info.validate_default
        self._default = field.get_default() if self._is_optional else None

    def bind(self, given: Mapping[str, list[str]], values: dict[str, Any], errors: list[Any]) -> None:
        found = given.get(self._name)
        if found is None and self._is_optional:
            values[self._field.name] = copy(self._default)
            return
        if found is None:
            errors += request_params_to_args([self._field], QueryParams())[1]
            return
        said = found if self._many else found[-1]
        value, wrong = self._field.validate(said, values, loc=("query", self._name))
        if wrong:
            errors += wrong
        else:
            values[self._field.name] = value


class Bound:
    """One route, ready to be called with what its endpoint asks for."""

    __slots__ = (
        "_asked",
        "_body_fields",
        "_defaults",
        "_embed",
        "_encoding",
        "_endpoint",
        "_may_be_blank",
        "_modelled",
        "_only_body",
        "_path",
        "_query",
        "_request",
        "_whole_query",
        "_world",
    )

    def __init__(self, route: APIRoute, encoding: Encoding) -> None:
        asked = route.dependant
        self._encoding = encoding
        self._endpoint: Callable[..., Awaitable[Response]] = route.endpoint
        self._path = [(field.alias, field) for field in asked.path_params]
        self._query = asked.query_params
        optional = all(not field.field_info.is_required() for field in self._query)
        self._defaults = {field.name: field.get_default() for field in self._query} if optional else None
        modelled = len(self._query) == 1 and _is_model(self._query[0].field_info.annotation)
        self._whole_query = self._query[0] if encoding.query is not None and modelled else None
        self._modelled = self._query[0] if modelled else None
        # Found out when it is first asked for: it costs more than all the rest here.
        self._may_be_blank: bool | None = None
        self._asked = [Asked(field) for field in self._query] if all(map(_is_simple, self._query)) else None
        self._body_fields = asked.body_params
        self._embed = bool(route._embed_body_fields)  # noqa: SLF001 - FastAPI keeps it to itself
        single = len(self._body_fields) == 1 and not self._embed
        self._only_body = self._body_fields[0] if single else None
        self._request = asked.request_param_name
        self._world = next((found.name for found in asked.dependencies if found.call is current_world), None)

    async def __call__(self, scope: Scope, body: bytes) -> Answer:
        values: dict[str, Any] = {}
        errors: list[Any] = []
        for alias, field in self._path:
            values[field.name], wrong = field.validate(scope["path_params"][alias], values, loc=("path", alias))
            errors += wrong or ()
        if self._query:
            self._bind_query(scope, values, errors)
        if self._body_fields:
            await self._bind_body(scope, body, values, errors)
        if errors:
            raise RequestValidationError(errors)
        if self._world is not None:
            values[self._world] = scope["world"]
        if self._request is not None:
            values[self._request] = Request(scope, _replay(body))
        return _answer(await self._endpoint(**values))

    def _bind_query(self, scope: Scope, values: dict[str, Any], errors: list[Any]) -> None:
        if not scope["query_string"] and self._defaults is not None:
            values.update(self._defaults)
            return
        if not scope["query_string"] and self._modelled is not None and self._is_blank(self._modelled):
            values[self._modelled.name], _ = self._modelled.validate({}, {}, loc=("query",))
            return
        if self._whole_query is not None and self._encoding.query is not None:
            field, asked = self._whole_query, self._encoding.query(scope["query_string"])
            values[field.name], found = field.validate(asked, {}, loc=("query",))
            errors += found or ()
            return
        if self._asked is None:
            bound, wrong = request_params_to_args(self._query, QueryParams(scope["query_string"]))
            values.update(bound)
            errors += wrong
            return
        given: dict[str, list[str]] = {}
        for name, value in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
            given.setdefault(name, []).append(value)
        for asked in self._asked:
            asked.bind(given, values, errors)

    def _is_blank(self, field: ModelField) -> bool:
        """Whether the query may be left out as a whole, and FastAPI would make of that what the model does."""
        if self._may_be_blank is None:
            bound, wrong = request_params_to_args([field], QueryParams())
            made, refused = field.validate({}, {}, loc=("query",))
            self._may_be_blank = not wrong and not refused and bool(bound[field.name] == made)
        return self._may_be_blank

    async def _bind_body(self, scope: Scope, body: bytes, values: dict[str, Any], errors: list[Any]) -> None:
        received = self._encoding.body(_media(scope), body) if body else _NO_BODY
        if self._only_body is not None and body:
            values[self._only_body.name], wrong = self._only_body.validate(received, {}, loc=("body",))
            errors += wrong or ()
            return
        bound, missing = await request_body_to_args(self._body_fields, received, self._embed)
        values.update(bound)
        errors += missing


class Node:
    """One segment of the paths served."""

    __slots__ = ("any", "literal", "rest", "served")

    def __init__(self) -> None:
        self.literal: dict[str, Node] = {}
        self.any: Node | None = None
        # `{name:path}`: takes all that is left of a path.
        self.rest: Node | None = None
        # Method → (route, names of its path parameters in order, how to serve it).
        self.served: dict[str, tuple[APIRoute, list[str], Serve]] = {}

    def find(self, segments: list[str], at: int, taken: list[str]) -> "Node | None":
        """A literal segment wins over a parameter; what leads nowhere is tried the other way."""
        if at == len(segments):
            return self if self.served else None
        segment = segments[at]
        if (child := self.literal.get(segment)) is not None and (
            found := child.find(segments, at + 1, taken)
        ) is not None:
            return found
        if self.any is not None and segment:
            taken.append(segment)
            if (found := self.any.find(segments, at + 1, taken)) is not None:
                return found
            taken.pop()
        if self.rest is not None and segment:
            taken.append("/".join(segments[at:]))
            return self.rest
        return None


class Dispatch:
    """Every route of one FastAPI app, found by its segments."""

    def __init__(self, api: FastAPI, encoding: Encoding = JSON, suffix: str = "") -> None:
        self._api = api
        self._encoding = encoding
        self._suffix = suffix
        self._root = Node()
        for route in _flat(api.routes):
            if isinstance(route, APIRoute):
                self._add(route)

    async def answer(self, scope: Scope, body: bytes) -> Answer:
        taken: list[str] = []
        node = self._root.find(self._wanted(scope), 0, taken)
        if node is None:
            raise NoSuchRoute
        if scope["method"] not in node.served:
            raise MethodNotAllowed(", ".join(node.served))
        route, names, serve = node.served[scope["method"]]
        scope["route"] = route
        scope["path_params"] = dict(zip(names, taken, strict=True))
        return await serve(scope, body)

    def _wanted(self, scope: Scope) -> list[str]:
        segments = _segments(scope)
        if self._suffix and segments[-1].endswith(self._suffix):
            segments[-1] = segments[-1][: -len(self._suffix)]
        return segments

    def _add(self, route: APIRoute) -> None:
        node, names = self._root, []
        *before, last = route.path.split("/")[1:]
        if any(":" in part for part in before if part.startswith("{")) or (
            last.startswith("{") and ":" in last and not _is_rest(last)
        ):
            raise ValueError(f"{route.path}: only plain parameters are served, and a `:path` at the end")
        for segment in (*before, last):
            if _is_rest(segment):
                names.append(segment[1:].partition(":")[0])
                node.rest = node.rest or Node()
                node = node.rest
            elif segment.startswith("{") and segment.endswith("}"):
                names.append(segment[1:-1])
                node.any = node.any or Node()
                node = node.any
            else:
                node = node.literal.setdefault(segment, Node())
        serve: Serve = Bound(route, self._encoding) if _plain(route) else self._through_fastapi
        for method in sorted(route.methods or ()):
            if method in node.served:
                raise ValueError(f"{method} {route.path} is declared twice")
            node.served[method] = (route, names, serve)

    async def _through_fastapi(self, scope: Scope, body: bytes) -> Answer:
        captured = Captured()
        await self._api(scope, _replay(body), captured.send)
        return captured.answer()


class Captured:
    """Collects what an app sends: an answer leaves only after its writes are kept."""

    __slots__ = ("body", "headers", "status")

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    def answer(self) -> Answer:
        if not self.status:
            raise RuntimeError("the route gave no answer")
        return Answer(self.status, self.body, _without_length(self.headers))


def _is_rest(segment: str) -> bool:
    return segment.startswith("{") and segment.endswith(":path}")


def _flat(routes: list[BaseRoute]) -> list[BaseRoute]:
    """FastAPI keeps included routers as routes with routes of their own."""
    found: list[BaseRoute] = []
    for route in routes:
        inner = getattr(route, "original_router", None)
        found += [route] if inner is None else _flat(inner.routes)
    return found


def _plain(route: APIRoute) -> bool:
    asked = route.dependant
    form = route.body_field is not None and isinstance(route.body_field.field_info, params.Form)
    others = [found for found in asked.dependencies if found.call is not current_world]
    return not (form or others or asked.header_params or asked.cookie_params or asked.response_param_name)


def _segments(scope: Scope) -> list[str]:
    """Split before decoding: an encoded slash belongs to an id, it does not start a new segment."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%" not in raw:
        return str(scope["path"]).split("/")[1:]
    return [unquote(part) for part in raw.decode("ascii", "replace").partition("?")[0].split("/")[1:]]


def _media(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == b"content-type"), b"")


def _is_simple(field: ModelField) -> bool:
    """One name, and values as they come: not a model spread over several parameters, not a choice of names."""
    asked = (field.field_info.annotation, *get_args(field.field_info.annotation))
    return isinstance(field.field_info.validation_alias, str | None) and not any(map(_is_model, asked))


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _replay(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _answer(response: Response) -> Answer:
    return Answer(response.status_code, bytes(response.body), _without_length(response.raw_headers))


def _without_length(headers: list[tuple[bytes, bytes]]) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((name, value) for name, value in headers if name != b"content-length")
