"""The gateway: a process with one MCP endpoint for all products of an episode. It reaches products as agents do."""

import uvloop
from dayshift.connection import Address, AsyncConnection
from dayshift.discovery import build_catalogue, fetch_product_apis
from dayshift.errors import HarnessFault
from dayshift.http_flow import HttpFlow, HttpRequest, HttpResponse
from dayshift.openapi import credential_headers, host_header, read_public_url
from dayshift.operations import Operation
from dayshift.request_encoding import EncodedRequest
from dayshift.wire import AgentAccess
from starlette.types import Receive, Scope, Send

from services.kernel.answers import Answer
from services.kernel.asgi import send_answer
from services.kernel.config import MCP_PORT, Settings
from services.kernel.credentials import bearer
from services.kernel.errors import Refusal, Unauthenticated, Unavailable
from services.kernel.file_limit import raise_file_limit
from services.kernel.logs import start_logging
from services.kernel.serve import KEEP_ALIVE_SECONDS, listener, serve_all
from services.kernel.sizes import MIB
from services.mcp.endpoint import PATH, McpEndpoint
from services.mcp.session import NO_ANSWER, Session, StatusAndBody, choose_operations
from services.mcp.sessions import Sessions

NAME = "mcp"
# What the server calls itself to its clients; the company's systems change with its release, not with ours.
_TITLE, _VERSION = "Office", "1.0"
_REQUEST_NUMBER = "x-request-number"
# As much as the largest product takes.
_BODY_LIMIT = 16 * MIB
# Programs of agents in the IDE may hold a connection for minutes.
_CONNECTIONS = 1_024
_RETRY_AFTER_SECONDS = 2


class Gateway:
    """The ASGI app: `/mcp`, and `/health` for whoever watches the process."""

    def __init__(self, settings: Settings) -> None:
        self._products = AsyncConnection(
            Address(settings.control_url, settings.control_token), connections=_CONNECTIONS
        )
        self._sessions = Sessions(self._products)
        self._endpoint = McpEndpoint(_TITLE, _VERSION, self._find_session, settings.body_limit or _BODY_LIMIT)

    async def start(self) -> None:
        await self._endpoint.start()

    async def close(self) -> None:
        await self._endpoint.close()
        await self._products.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == PATH:
            await self._endpoint(scope, receive, send)
        elif scope["path"] == "/health":
            await send_answer(Answer.json(200, {"status": "ok"}), send)
        else:
            await send_answer(Answer.json(404, {"message": "Nothing is served at this address."}), send)

    async def _find_session(self, scope: Scope) -> Session | Answer:
        credential = bearer(scope["headers"])
        try:
            if credential is None:
                raise Unauthenticated
            return await self._sessions.find_or_open(credential, self._make_session)
        except Unauthenticated:
            message = "Send the credential of your systems: Authorization: Bearer …"
            return Answer.json(401, {"message": message}, {"www-authenticate": "Bearer"})
        except Refusal:
            retry = {"retry-after": str(_RETRY_AFTER_SECONDS)}
            return Answer.json(503, {"message": "Not available at the moment. Try again."}, retry)

    async def _make_session(self, access: AgentAccess, control: AsyncConnection) -> Session:
        try:
            apis = await control.run(fetch_product_apis(access.products))
        except HarnessFault as fault:
            raise Unavailable(_RETRY_AFTER_SECONDS) from fault
        public_urls = {name: read_public_url(api.document) for name, api in apis.items()}
        headers = {
            name: {
                **credential_headers(api.document, access.products[name].credential),
                **host_header(public_urls[name]),
            }
            for name, api in apis.items()
        }

        async def send(operation: Operation, request: EncodedRequest, number: int) -> StatusAndBody:
            base = access.products[operation.product].base_url.rstrip("/")
            # One clock for all products: each moves to the time of all the work.
            sent = {**headers[operation.product], _REQUEST_NUMBER: str(number), **request.headers}
            message = HttpRequest(operation.method, base + request.target, sent, request.content)
            try:
                response = await self._products.run(_exchange(message))
            except HarnessFault:
                return NO_ANSWER
            return response.status, response.content

        operations = choose_operations(build_catalogue(access.products, apis), access)
        return Session(access, operations, public_urls, send, control)


def _exchange(request: HttpRequest) -> HttpFlow[HttpResponse]:
    return (yield request)


async def serve(settings: Settings) -> None:
    gateway = Gateway(settings)
    await gateway.start()
    port = settings.port(NAME, MCP_PORT)
    try:
        await serve_all(listener(gateway, settings.host, port, timeout_keep_alive=KEEP_ALIVE_SECONDS))
    finally:
        await gateway.close()


def run_gateway(settings: Settings) -> None:
    start_logging(settings.log_level)
    raise_file_limit()
    uvloop.run(serve(settings))
