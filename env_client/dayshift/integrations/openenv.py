"""OpenEnv: a server that OpenEnv's clients, validator and trainers take for one of their own.

    python -m dayshift.integrations.openenv --task crm/correct-contact --port 8000

A WebSocket at `/ws` is one session. Over plain HTTP a session is named by the `episode_id` that `/reset` returns.
An environment error is an error frame (over HTTP, status 500): it has no reward.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import ValidationError

from dayshift.episode import AsyncEpisode
from dayshift.errors import DayshiftError, HarnessFault, MissingExtra, UsageError
from dayshift.integrations.openenv_messages import (
    NAME,
    CallToolAction,
    CallToolObservation,
    Frame,
    ResetObservation,
    State,
    StepBody,
    decode,
    describe_failure,
    describe_tool,
    encode,
    error_frame,
    is_plain_call,
    list_errors,
    rpc_error,
)
from dayshift.integrations.serving import build_parser, run_server
from dayshift.integrations.sessions import (
    CHOICES,
    NoSuchSession,
    ServerFull,
    ServerOptions,
    Session,
    SessionPool,
    parse_server_options,
)
from dayshift.job_description import first_message
from dayshift.version import VERSION

try:
    from fastapi import FastAPI, HTTPException, Request, Response, WebSocket, WebSocketDisconnect
    from starlette.routing import Route
except ImportError as error:
    raise MissingExtra("FastAPI and uvicorn", "openenv") from error

from dayshift.integrations.http_bodies import read_body, read_json, respond
from dayshift.integrations.openenv_tasks import add_task_routes

DESCRIPTION = "Office work in the systems of a software company: CRM, support desk, billing and IDE."
# The version of OpenEnv's HTTP interface, which its validator reads.
_INTERFACE_VERSION = "1.0.0"
_RESET_KEYS = CHOICES | {"episode_id"}
_FREE_PLACE_SECONDS = "5"


class OpenEnvServer:
    """Translates between OpenEnv's messages and the sessions of a pool."""

    def __init__(self, pool: SessionPool) -> None:
        self.pool = pool
        # By episode: the last request id and its answer, which may still be on its way.
        self._answers: WeakKeyDictionary[AsyncEpisode, tuple[str, asyncio.Task[bytes]]] = WeakKeyDictionary()

    async def reset(self, session: Session, choices: Mapping[str, Any]) -> dict[str, Any]:
        if unknown := choices.keys() - _RESET_KEYS:
            raise UsageError(f"reset takes {', '.join(sorted(_RESET_KEYS))}, not {', '.join(sorted(unknown))}")
        episode = await self.pool.reset(session, choices)
        opened, request = episode.protocol.opened, episode.protocol.request
        metadata = {"episode_id": session.id, "task": opened.task, "seed": opened.seed, "split": request.split}
        # The trainer reads the metadata; the observation is what a model may see.
        observation = {"metadata": {}, "brief": first_message(opened.brief, opened.clock)}
        return {"observation": observation, "reward": None, "done": False, "metadata": metadata}

    async def step(self, session: Session, action: Mapping[str, Any], timeout: float | None = None) -> dict[str, Any]:
        parsed = action if is_plain_call(action) else CallToolAction.model_validate(action).model_dump()
        if parsed.get("type") == "list_tools":
            return {"observation": {"metadata": {}, "tools": self.list_tools(session)}, "reward": None, "done": False}
        turn = await session.call(parsed["tool_name"], parsed.get("arguments"), timeout)
        error = None
        if not turn.step.sent and turn.step.status == 0:
            known = session.require_episode().operations.find(turn.step.call.operation) is not None
            error = {"error_type": "invalid_args" if known else "tool_not_found", "message": turn.text}
        observation = {
            "metadata": {},
            "tool_name": parsed["tool_name"],
            "result": None if error else turn.text,
            "error": error,
        }
        if turn.verdict is None:
            return {"observation": observation, "reward": 0.0, "done": False}
        verdict = turn.verdict
        metadata = {"outcome": verdict.outcome, "because": verdict.because, "flags": [f.tag for f in verdict.flags]}
        return {"observation": observation, "reward": verdict.reward, "done": True, "metadata": metadata}

    def list_tools(self, session: Session | None) -> list[dict[str, Any]]:
        """The tools of the session's episode; before `reset`, those of all work that the server offers."""
        episode = None if session is None else session.episode
        surface = self.pool.surface if episode is None else episode.surface
        return [describe_tool(tool) for tool in surface.tools]

    def read_state(self, session: Session | None) -> dict[str, Any]:
        if session is None or session.episode is None:
            return State().model_dump()
        return {"episode_id": session.label or session.id, "step_count": session.step_count}

    async def serve_socket(self, websocket: "WebSocket") -> None:
        await websocket.accept()
        session, is_own = None, True
        try:
            wanted = websocket.query_params.get("session_id")
            session, is_own = (self.pool.find(wanted), False) if wanted else (self.pool.attach(), True)
            async with asyncio.timeout(None) as lease:
                end = partial(lease.reschedule, 0)
                session.on_expiry.append(end)
                try:
                    await self._answer_frames(websocket, session)
                finally:
                    session.on_expiry.remove(end)
        except WebSocketDisconnect:
            pass
        except TimeoutError:
            text = f"nobody used this session for {self.pool.options.lease_seconds:g} s"
            await _send_last(websocket, error_frame(text, "SESSION_ERROR"))
        except DayshiftError as refused:
            await _send_last(websocket, describe_failure(refused, "SESSION_ERROR"))
        finally:
            if session is not None and is_own:
                self.pool.close_soon(session)

    async def _answer_frames(self, websocket: "WebSocket", session: Session) -> None:
        while True:
            text = await websocket.receive_text()
            # Raises where the reaper has closed the session.
            self.pool.find(session.id)
            try:
                answer = await self._answer_frame(text, session)
            except ValidationError as invalid:
                answer = error_frame("Invalid message", "VALIDATION_ERROR", errors=list_errors(invalid))
            except DayshiftError as failure:
                answer = describe_failure(failure, "VALIDATION_ERROR")
            if answer is None:
                await websocket.close()
                return
            await websocket.send_text(encode(answer).decode())

    async def _answer_frame(self, text: str, session: Session) -> dict[str, Any] | None:
        try:
            message = decode(text)
        except ValueError as invalid:
            return error_frame(f"Invalid JSON: {invalid}", "INVALID_JSON")
        frame = Frame.model_validate(message)
        match frame.type:
            case "step":
                return {"type": "observation", "data": await self.step(session, frame.data)}
            case "reset":
                return {"type": "observation", "data": await self.reset(session, frame.data)}
            case "state":
                return {"type": "state", "data": self.read_state(session)}
            case "mcp":
                return {"type": "mcp", "data": await self.answer_rpc(frame.data, session)}
            case "close":
                return None
            case other:
                return error_frame(f"Unknown message type: {other[:100]}", "UNKNOWN_TYPE")

    async def answer_rpc(self, message: object, session: Session | None = None) -> dict[str, Any]:
        """OpenEnv's JSON-RPC beside `step`: the tools, and sessions that outlive a connection."""
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return rpc_error(None, -32600, "Invalid request: a method is missing")
        number, params = message.get("id"), message.get("params") or {}
        if not isinstance(params, dict):
            return rpc_error(number, -32602, "Params must be an object")
        try:
            return {"jsonrpc": "2.0", "result": await self._call_rpc(message["method"], params, session), "id": number}
        except LookupError as unknown:
            return rpc_error(number, -32601, str(unknown.args[0]))
        except ServerFull as full:
            numbers = {"active_sessions": full.active, "max_sessions": full.most}
            return rpc_error(number, -32000, str(full), numbers)
        except HarnessFault as fault:
            return rpc_error(number, -32000, str(fault), {"code": "EXECUTION_ERROR"})
        except (UsageError, ValidationError) as refused:
            return rpc_error(number, -32602, str(refused))

    async def _call_rpc(self, method: str, params: dict[str, Any], session: Session | None) -> dict[str, Any]:
        named = params.get("session_id")
        target = self.pool.find(str(named)) if named and session is None else session
        match method:
            case "openenv/session/create":
                return {"session_id": (target or self.pool.attach()).id}
            case "openenv/session/close":
                if target is None or target is session:
                    raise UsageError("name another session than this connection's own: 'session_id' is required")
                await self.pool.close(target)
                return {"session_id": target.id, "closed": True}
            case "tools/list":
                return {"tools": self.list_tools(target)}
            case "tools/call":
                if target is None:
                    raise UsageError("'session_id' is required: create a session, then reset it at /ws or /reset")
                arguments = {"tool_name": params.get("name", ""), "arguments": params.get("arguments") or {}}
                stepped = await self.step(target, arguments)
                return {**stepped["observation"], "reward": stepped["reward"], "done": stepped["done"]}
            case _:
                raise LookupError(f"Method not found: {method[:100]}")

    async def reset_over_http(self, choices: dict[str, Any]) -> dict[str, Any]:
        episode_id = choices.get("episode_id")
        session = self.pool.sessions.get(str(episode_id)) if episode_id else None
        is_new = session is None
        session = session or self.pool.attach(str(episode_id)[:200] if episode_id else None)
        try:
            return await self.reset(session, choices)
        except BaseException:
            if is_new:
                await self.pool.close(session)
            raise

    async def step_over_http(self, body: StepBody, session_id: str | None) -> bytes:
        if session_id is None:
            if body.action.get("type") == "list_tools":
                observation = {"metadata": {}, "tools": self.list_tools(None)}
                return encode({"observation": observation, "reward": None, "done": False})
            raise UsageError("send back the episode_id of /reset's metadata: plain HTTP has no connection to know by")
        session = self.pool.find(session_id)
        if body.request_id is None:
            return await self._encode_step(session, body)
        episode = session.require_episode()
        last = self._answers.get(episode)
        if last is None or last[0] != body.request_id:
            last = body.request_id, asyncio.create_task(self._encode_step(session, body))
            self._answers[episode] = last
        # The call goes on when the client that waits for it leaves: it may ask again.
        return await asyncio.shield(last[1])

    async def _encode_step(self, session: Session, body: StepBody) -> bytes:
        return encode(await self.step(session, body.action, body.timeout_s))


def create_app(options: ServerOptions | None = None) -> "FastAPI":
    """Builds the application; it connects to the stack when it starts."""
    server = OpenEnvServer(SessionPool(options or ServerOptions()))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await server.pool.start()
        yield
        await server.pool.stop()

    app = FastAPI(title=f"OpenEnv: {NAME}", version=_INTERFACE_VERSION, lifespan=lifespan)
    app.state.server = server
    app.add_api_websocket_route("/ws", server.serve_socket)
    _add_control_routes(app, server)
    _add_description_routes(app)
    add_task_routes(app, server.pool)
    return app


def _add_control_routes(app: "FastAPI", server: OpenEnvServer) -> None:
    @app.post("/reset", openapi_extra=_body_of({"type": "object"}))
    async def reset(request: Request) -> Response:
        choices = await read_json(request)
        return respond(encode(await _guard(server.reset_over_http(choices))))

    @app.post("/step", openapi_extra=_body_of(StepBody.model_json_schema()))
    async def step(request: Request) -> Response:
        message = await read_json(request)
        try:
            body = StepBody.model_validate(message)
        except ValidationError as invalid:
            raise HTTPException(422, list_errors(invalid)) from invalid
        return respond(await _guard(server.step_over_http(body, body.episode_id)))

    # FastAPI documents the route and Starlette serves it, which takes a third less of the CPU of a step.
    app.router.routes.insert(0, Route("/step", step, methods=["POST"]))

    @app.get("/state")
    async def state(episode_id: str | None = None) -> State:
        session = None if episode_id is None else server.pool.sessions.get(episode_id)
        return State.model_validate(server.read_state(session))

    @app.post("/mcp", openapi_extra=_body_of({"type": "object"}))
    async def mcp(request: Request) -> Response:
        try:
            message = decode(await read_body(request))
        except ValueError:
            return respond(encode(rpc_error(None, -32700, "Parse error")))
        return respond(encode(await server.answer_rpc(message)))


def _add_description_routes(app: "FastAPI") -> None:
    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "healthy"}

    @app.get("/metadata")
    async def metadata() -> dict[str, str]:
        return {"name": NAME, "description": DESCRIPTION, "version": VERSION}

    @app.get("/schema")
    async def schema() -> dict[str, Any]:
        return {
            "action": CallToolAction.model_json_schema(),
            "observation": CallToolObservation.model_json_schema(),
            "reset_observation": ResetObservation.model_json_schema(),
            "state": State.model_json_schema(),
        }


async def _guard(work: Any) -> Any:
    """Waits for work and says in HTTP's words how it failed."""
    try:
        return await work
    except ValidationError as invalid:
        raise HTTPException(422, list_errors(invalid)) from invalid
    except NoSuchSession as missing:
        raise HTTPException(404, str(missing)) from missing
    except DayshiftError as failure:
        detail = describe_failure(failure, "VALIDATION_ERROR")["data"]
        status = {"CAPACITY_REACHED": 503, "EXECUTION_ERROR": 500}.get(detail["code"], 422)
        headers = {"retry-after": _FREE_PLACE_SECONDS} if status == 503 else None
        raise HTTPException(status, detail, headers) from failure


async def _send_last(websocket: "WebSocket", answer: dict[str, Any]) -> None:
    try:
        await websocket.send_text(encode(answer).decode())
        await websocket.close()
    except (RuntimeError, WebSocketDisconnect):
        # The client has left: there is nobody to tell.
        return


def _body_of(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


def main(arguments: Sequence[str] | None = None) -> None:
    options = build_parser("openenv", 8000).parse_args(arguments)
    run_server(create_app(parse_server_options(vars(options))), options.host, options.port)


if __name__ == "__main__":
    main()
