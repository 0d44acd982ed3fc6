"""NeMo Gym: a resources server, and the dataset rows that go with it.

    python -m dayshift.integrations.nemo_gym --port 8010
    python -m dayshift.integrations.nemo_gym_rows --tasks crm/correct-contact --seeds 20 --output rows.jsonl

`/seed_session` opens the episode that a row names, `/{tool}` makes a call, `/verify` judges and closes.
A row that the environment failed is answered with `mask_sample`, or with status 500 where the server was started with
`--unscored error`, for trainers that know no mask.
"""

import argparse
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import fmean
from typing import Any, Literal

from dayshift.errors import DayshiftError, EpisodeOver, HarnessFault, MissingExtra, UsageError
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
from dayshift.wire import Verdict

try:
    from fastapi import FastAPI, HTTPException, Request, Response
    from fastapi.responses import JSONResponse, PlainTextResponse
except ImportError as error:
    raise MissingExtra("FastAPI and uvicorn", "nemo-gym") from error

from dayshift.integrations.http_bodies import read_json

COOKIE = "session"
# Where a row names its instance: NeMo Gym's own field for what a verifier needs.
METADATA = "verifier_metadata"
RESERVED_NAMES = frozenset({"verify", "seed_session", "aggregate_metrics", "mcp"})

Unscored = Literal["mask", "error"]


class NemoGymServer:
    """Keeps one session for each cookie, between `/seed_session` and `/verify`."""

    def __init__(self, pool: SessionPool, unscored: Unscored) -> None:
        self.pool = pool
        self._unscored = unscored

    async def seed_session(self, row: dict[str, Any], cookie: str | None) -> Session:
        """Opens the row's episode; a client that seeds again with its cookie starts anew."""
        metadata = row.get(METADATA) or {}
        if not isinstance(metadata, dict):
            raise UsageError(f"{METADATA} is an object")
        choices = {name: value for name, value in metadata.items() if name in CHOICES}
        session = self.pool.sessions.get(cookie or "")
        is_new = session is None
        session = session or self.pool.attach()
        try:
            await self.pool.reset(session, choices)
        except BaseException:
            if is_new:
                await self.pool.close(session)
            raise
        return session

    async def call(self, session: Session, tool: str, arguments: dict[str, Any]) -> str:
        try:
            return (await session.call(tool, arguments)).text
        except EpisodeOver:
            return "Nothing can be changed any more: the work is finished."

    async def verify(self, row: dict[str, Any], session_id: str) -> dict[str, Any]:
        session = None
        try:
            session = self.pool.find(session_id)
            verdict = await session.judge()
        except (HarnessFault, NoSuchSession) as fault:
            if self._unscored == "error":
                raise
            return {**row, **_mask(fault)}
        finally:
            if session is not None:
                await self.pool.close(session)
        return {**row, **_score(verdict)}


def _score(verdict: Verdict) -> dict[str, Any]:
    """The reward, and as numbers what NeMo Gym turns into metrics."""
    components = {
        f"{index}_{finding.product}_{finding.check}": finding.score for index, finding in enumerate(verdict.findings)
    }
    return {
        "reward": verdict.reward,
        "reward_components": components,
        "mask_sample": False,
        "passed": float(verdict.outcome == "passed"),
        "steps": float(verdict.steps),
        "collateral": float(len(verdict.collateral)),
        "flags": [flag.tag for flag in verdict.flags],
        "because": verdict.because,
    }


def _mask(fault: Exception) -> dict[str, Any]:
    """NeMo Gym has no empty reward; what is masked is not learned from, whatever number stands there."""
    return {
        "reward": 0.0,
        "mask_sample": True,
        # Some of its agents look here.
        "instance_config": {"mask_sample": True},
        "_ng_failure_class": type(fault).__name__,
        "unscored": 1.0,
        "because": str(fault),
    }


def aggregate(responses: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over the rows that have a reward, for each task and for all; masked rows are counted beside them."""
    by_task: dict[Any, list[dict[str, Any]]] = {}
    for response in responses:
        by_task.setdefault(response.get("_ng_task_index", 0), []).append(response)
    groups = [{"_ng_task_index": task, **_average(by_task[task])} for task in sorted(by_task)]
    overall = _average(responses) if responses else {}
    return {"group_level_metrics": groups, "agent_metrics": overall, "key_metrics": overall}


def _average(responses: Sequence[dict[str, Any]]) -> dict[str, float]:
    scored = [response for response in responses if not response.get("mask_sample")]
    averages: dict[str, float] = {"rollouts": len(responses), "unscored_rate": 1 - len(scored) / len(responses)}
    for name in ("reward", "passed", "steps"):
        if values := [float(response[name]) for response in scored if name in response]:
            averages[f"mean/{name}"] = fmean(values)
    return averages


def create_app(options: ServerOptions | None = None, unscored: Unscored = "mask") -> "FastAPI":
    """Builds the application; it connects to the stack when it starts."""
    server = NemoGymServer(SessionPool(options or ServerOptions()), unscored)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await server.pool.start()
        yield
        await server.pool.stop()

    app = FastAPI(title="dayshift", lifespan=lifespan)
    app.state.server = server
    app.add_exception_handler(DayshiftError, _answer_failure)
    _add_routes(app, server)
    return app


def _add_routes(app: "FastAPI", server: NemoGymServer) -> None:
    @app.get("/")
    async def root() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/reverify_mode")
    async def reverify_mode() -> str:
        # A verdict reads the databases of an episode, which a stored rollout does not hold.
        return "unsupported"

    @app.post("/seed_session")
    async def seed_session(request: Request) -> Response:
        session = await server.seed_session(await read_json(request), request.cookies.get(COOKIE))
        return _keep_cookie(JSONResponse({}), session.id)

    @app.post("/verify")
    async def verify(request: Request) -> Response:
        row, session_id = await read_json(request), _require_cookie(request)
        if missing := {"responses_create_params", "response"} - row.keys():
            raise HTTPException(422, f"the body lacks {', '.join(sorted(missing))}")
        return _keep_cookie(JSONResponse(await server.verify(row, session_id)), session_id)

    @app.post("/aggregate_metrics")
    async def aggregate_metrics(request: Request) -> Response:
        responses = (await read_json(request)).get("verify_responses")
        if not isinstance(responses, list) or not all(isinstance(response, dict) for response in responses):
            raise HTTPException(422, "verify_responses is a list of objects")
        return JSONResponse(aggregate(responses))

    @app.post("/{tool}")
    async def call(tool: str, request: Request) -> Response:
        session_id = _require_cookie(request)
        text = await server.call(server.pool.find(session_id), tool, await read_json(request))
        return _keep_cookie(PlainTextResponse(text), session_id)


def _require_cookie(request: "Request") -> str:
    session_id = request.cookies.get(COOKIE)
    if session_id is None:
        raise HTTPException(400, f"send the cookie {COOKIE!r} that /seed_session has set")
    return session_id


def _keep_cookie(response: "Response", session_id: str) -> "Response":
    """NeMo Gym's agents replace their cookies by those of each response."""
    response.set_cookie(COOKIE, session_id, httponly=True, samesite="lax")
    return response


async def _answer_failure(request: "Request", failure: Exception) -> "Response":
    status = 500 if isinstance(failure, HarnessFault) else 404 if isinstance(failure, NoSuchSession) else 422
    body: dict[str, Any] = {"detail": str(failure)}
    headers = None
    if isinstance(failure, ServerFull):
        status, headers = 503, {"retry-after": "5"}
        body |= {"active_sessions": failure.active, "max_sessions": failure.most}
    response = JSONResponse(body, status, headers)
    session_id = request.cookies.get(COOKIE)
    return response if session_id is None else _keep_cookie(response, session_id)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = build_parser("nemo_gym", 8010)
    parser.add_argument(
        "--unscored",
        choices=("mask", "error"),
        default="mask",
        help="how /verify says that an episode has no reward: mask_sample (default), or status 500",
    )
    options: argparse.Namespace = parser.parse_args(arguments)
    run_server(create_app(parse_server_options(vars(options)), options.unscored), options.host, options.port)


if __name__ == "__main__":
    main()
