"""InProcess: MCP inside a product's own process; a call is handed to the agent API without a socket between."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from dayshift.connection import Address, AsyncConnection
from dayshift.openapi import credential_headers, host_header, read_operations, read_public_url
from dayshift.operations import Catalogue, Operation
from dayshift.request_encoding import EncodedRequest
from dayshift.wire import AgentAccess
from starlette.types import Scope

from services.kernel.agent_api import AgentApi
from services.kernel.answers import Answer
from services.kernel.config import Settings
from services.kernel.credentials import find_credential
from services.kernel.episodes import Episode
from services.kernel.errors import Refusal, Unauthenticated
from services.mcp.endpoint import McpEndpoint
from services.mcp.session import NO_ANSWER, Session, StatusAndBody, choose_operations
from services.mcp.sessions import Sessions


class InProcess:
    """The endpoint of one product."""

    def __init__(self, api: AgentApi, settings: Settings) -> None:
        product = api.product
        self._api = api
        document = json.loads(api.document().body)
        self._document = document
        self._public_url = read_public_url(document)
        self._catalogue = Catalogue(read_operations(product.name, document))
        for operation in self._catalogue.values():
            # Computed now, in the thread that loads this module, and not while a request waits.
            _ = operation.lean_schema, operation.core.lean_schema
        self._control = AsyncConnection(Address(settings.control_url, settings.control_token))
        self._sessions = Sessions(self._control)
        self.endpoint = McpEndpoint(product.title, product.version, self._find_session, api.body_limit)

    async def start(self) -> None:
        await self.endpoint.start()

    async def close(self) -> None:
        await self.endpoint.close()
        await self._control.close()

    async def _find_session(self, scope: Scope) -> Session | Answer:
        credential = find_credential(scope["headers"], self._api.product.credential_formats) or ""
        try:
            episode = self._authenticate(scope, credential)
            if isinstance(episode, Session):
                return episode

            async def make(access: AgentAccess, control: AsyncConnection) -> Session:
                send = _Sender(self._api, episode, self._headers(credential), scope.get("client"))
                catalogue = choose_operations(self._catalogue, access)
                public_urls = {self._api.product.name: self._public_url}
                return Session(access, catalogue, public_urls, send, control)

            return await self._sessions.find_or_open(credential, make)
        except Refusal as refusal:
            return self._api.refuse(scope, refusal)

    def _authenticate(self, scope: Scope, credential: str) -> Episode | Session:
        """Returns the episode; or the session of an agent whose work is done, who is told so instead of turned away."""
        try:
            return self._api.authenticate(scope)
        except Unauthenticated:
            session = self._sessions.find(credential)
            if session is None or not session.is_finished:
                raise
            return session

    def _headers(self, credential: str) -> dict[str, str]:
        return {**credential_headers(self._document, credential), **host_header(self._public_url)}


@dataclass(frozen=True, slots=True)
class _Sender:
    """Hands requests to the agent API as if they had come over a socket: under the episode's lock, and in order."""

    api: AgentApi
    episode: Episode
    headers: Mapping[str, str]
    client: Any

    async def __call__(self, operation: Operation, request: EncodedRequest, _: int) -> StatusAndBody:
        scope = self._scope(operation.method, request)
        answer = await self.api.answer_in_turn(self.episode, scope, request.content)
        # A fault of the plan that cuts a connection.
        return NO_ANSWER if answer is None else (answer.status, answer.body)

    def _scope(self, method: str, request: EncodedRequest) -> Scope:
        path, _, query = request.target.partition("?")
        headers = {**self.headers, **request.headers, "content-length": str(len(request.content))}
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
            "client": self.client,
            "server": None,
            "extensions": {},
        }
