"""Small parts of ASGI that the agent API, the harness API and control share."""

from starlette.types import Message, Receive, Scope, Send

from services.kernel.answers import Answer, RawHeaders


class BodyEnded(Exception):
    """The connection ended before the body did."""


class BodyOverLimit(Exception):
    """The body is larger than the limit."""


class CapturedAnswer:
    """Collects what an app sends, because an answer may leave only after its writes are kept."""

    __slots__ = ("_body", "_headers", "_status")

    def __init__(self) -> None:
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")

    def answer(self) -> Answer:
        if not self._status:
            raise RuntimeError("the route sent no response")
        return Answer(self._status, self._body, without_length(self._headers))


def find_header(scope: Scope, name: bytes) -> bytes | None:
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    for key, value in headers:
        if key == name:
            return value
    return None


async def read_body(scope: Scope, receive: Receive, limit: int | None = None) -> bytes:
    length = find_header(scope, b"content-length")
    if limit is not None and length is not None and length.isdigit() and int(length) > limit:
        raise BodyOverLimit
    chunks: list[bytes] = []
    size, has_more = 0, True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BodyEnded
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if limit is not None and size > limit:
            raise BodyOverLimit
        has_more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def replay_body(body: bytes) -> Receive:
    """A `receive` that returns a body which was read already."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def send_answer(answer: Answer, send: Send) -> None:
    length = (b"content-length", b"%d" % len(answer.body))
    headers = answer.headers if answer.status == 204 else (*answer.headers, length)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def without_length(headers: list[tuple[bytes, bytes]]) -> RawHeaders:
    return tuple([pair for pair in headers if pair[0] != b"content-length"])
