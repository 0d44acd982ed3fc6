"""FastAPI declares and documents the routes; this module finds and serves them.

FastAPI tries one route after the other and resolves dependencies in general; both costs grow with the product. Here
routes are indexed by their segments and bound once (`binding.py`): on a product with five routes a read costs a quarter
of what it costs through FastAPI's own stack, and no more with five hundred. Routes that declare anything else (forms,
uploads, headers) still go through FastAPI.
"""

from collections.abc import Awaitable, Callable
from urllib.parse import unquote

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import Scope

from services.kernel.answers import Answer
from services.kernel.asgi import CapturedAnswer, replay_body
from services.kernel.binding import BoundRoute, can_bind
from services.kernel.encoding import JSON, Encoding
from services.kernel.errors import MethodNotAllowed, NoSuchRoute

Serve = Callable[[Scope, bytes], Awaitable[Answer]]


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

    def find(self, segments: list[str], index: int, arguments: list[str]) -> "Node | None":
        """A literal segment wins over a parameter; where it leads nowhere, the parameter is tried."""
        if index == len(segments):
            return self if self.served else None
        segment = segments[index]
        if (child := self.literal.get(segment)) is not None and (
            node := child.find(segments, index + 1, arguments)
        ) is not None:
            return node
        if self.any is not None and segment:
            arguments.append(segment)
            if (node := self.any.find(segments, index + 1, arguments)) is not None:
                return node
            arguments.pop()
        if self.rest is not None and segment:
            arguments.append("/".join(segments[index:]))
            return self.rest
        return None


class Dispatch:
    """Every route of one FastAPI app, found by its segments."""

    def __init__(self, api: FastAPI, encoding: Encoding = JSON, suffix: str = "") -> None:
        self._api = api
        self._encoding = encoding
        self._suffix = suffix
        self._root = Node()
        for route in flatten_routes(api.routes):
            if isinstance(route, APIRoute):
                self._add(route)

    async def answer(self, scope: Scope, body: bytes) -> Answer:
        arguments: list[str] = []
        node = self._root.find(self._path_segments(scope), 0, arguments)
        if node is None:
            raise NoSuchRoute
        if scope["method"] not in node.served:
            raise MethodNotAllowed(", ".join(node.served))
        route, names, serve = node.served[scope["method"]]
        scope["route"] = route
        scope["path_params"] = dict(zip(names, arguments, strict=True))
        return await serve(scope, body)

    def _path_segments(self, scope: Scope) -> list[str]:
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
        serve: Serve = BoundRoute(route, self._encoding) if can_bind(route) else self._through_fastapi
        for method in sorted(route.methods or ()):
            if method in node.served:
                raise ValueError(f"{method} {route.path} is declared twice")
            node.served[method] = (route, names, serve)

    async def _through_fastapi(self, scope: Scope, body: bytes) -> Answer:
        captured = CapturedAnswer()
        await self._api(scope, replay_body(body), captured.send)
        return captured.answer()


def _is_rest(segment: str) -> bool:
    return segment.startswith("{") and segment.endswith(":path}")


def flatten_routes(routes: list[BaseRoute]) -> list[BaseRoute]:
    """FastAPI keeps included routers as routes with routes of their own."""
    flat: list[BaseRoute] = []
    for route in routes:
        inner = getattr(route, "original_router", None)
        flat += [route] if inner is None else flatten_routes(inner.routes)
    return flat


def _segments(scope: Scope) -> list[str]:
    """Split before decoding: an encoded slash belongs to an id, it does not start a new segment."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%" not in raw:
        return str(scope["path"]).split("/")[1:]
    return [unquote(part) for part in raw.decode("ascii", "replace").partition("?")[0].split("/")[1:]]
