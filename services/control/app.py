"""The routes of the control API."""

from datetime import UTC, datetime
from typing import Annotated

import orjson
from dayshift.wire import (
    AccessQuery,
    CloseRequest,
    DecisionRequest,
    Families,
    LabelledRequest,
    Message,
    PersonRequest,
    Split,
    SubmitRequest,
    TailRequest,
    WaitRequest,
)
from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import JsonValue
from starlette.exceptions import HTTPException

from services.control.control import Control
from services.control.middleware import render_problem
from services.control.problems import ApiProblem, NotFound, Unprocessable
from services.kernel.answers import Answer
from services.kernel.errors import problems_of

_MOST_ERRORS_SHOWN = 5


def create_api(control: Control) -> FastAPI:
    api = FastAPI(title="Dayshift control", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    router = APIRouter()
    episodes, operators = control.episodes, control.operators

    @router.get("/health")
    async def health() -> Response:
        state = await control.health()
        return _respond(state, 200 if state.status == "ok" else 503)

    @router.get("/metrics")
    async def metrics() -> Response:
        return Response(control.metrics(), media_type="text/plain; version=0.0.4")

    @router.get("/v1/tasks")
    async def tasks(product: str | None = None, family: str | None = None, split: Split | None = None) -> Response:
        return _respond(Families(families=control.families(product, family, split)))

    @router.post("/v1/episodes")
    async def open_episode(request: LabelledRequest) -> Response:
        return _respond(await episodes.open(*request.parts()), 201)

    @router.get("/v1/episodes/{episode_id}")
    async def state(episode_id: str) -> Response:
        return _respond(await episodes.state(episode_id))

    @router.post("/v1/episodes/{episode_id}/wait")
    async def wait(episode_id: str, request: WaitRequest) -> Response:
        return _respond(await episodes.wait(episode_id, request.hours))

    @router.post("/v1/episodes/{episode_id}/submit")
    async def submit(episode_id: str, request: SubmitRequest | None = None) -> Response:
        answer = None if request is None else request.answer
        _require_storable(answer)
        return _respond(await episodes.submit(episode_id, answer))

    @router.post("/v1/episodes/{episode_id}/close")
    async def close(episode_id: str, request: CloseRequest | None = None) -> Response:
        if request is not None and request.person is not None:
            return _respond(await operators.close(episode_id, request.person))
        return _respond(await episodes.close(episode_id))

    @router.get("/v1/live")
    async def overview() -> Response:
        return _respond(operators.overview())

    @router.post("/v1/episodes/{episode_id}/tail")
    async def tail(episode_id: str, request: TailRequest) -> Response:
        return _respond(await operators.tail(episode_id, request.after))

    @router.post("/v1/episodes/{episode_id}/pause")
    async def pause(episode_id: str, request: PersonRequest) -> Response:
        return _respond(await operators.pause(episode_id, request.person))

    @router.post("/v1/episodes/{episode_id}/resume")
    async def resume(episode_id: str, request: PersonRequest) -> Response:
        return _respond(await operators.resume(episode_id, request.person))

    @router.post("/v1/episodes/{episode_id}/take-over")
    async def take_over(episode_id: str, request: PersonRequest) -> Response:
        return _respond(await operators.take_over(episode_id, request.person))

    @router.get("/v1/approvals")
    async def approvals() -> Response:
        return _respond(episodes.approvals.list())

    @router.post("/v1/approvals/{approval_id}")
    async def decide(approval_id: str, request: DecisionRequest) -> Response:
        return _respond(await episodes.approvals.decide(approval_id, request))

    @router.get("/v1/audit")
    async def audit(episode: Annotated[str | None, Query(max_length=100)] = None) -> Response:
        return _respond(await operators.audit(episode))

    @router.get("/v1/reviews")
    async def reviews(after: Annotated[int, Query(ge=0, lt=2**63)] = 0) -> Response:
        return _respond(await operators.reviews(after))

    @router.get("/v1/episodes/{episode_id}/diff")
    async def diff(episode_id: str) -> Response:
        return _respond(await episodes.diff(episode_id))

    @router.get("/v1/episodes/{episode_id}/trajectory")
    async def trajectory(episode_id: str) -> Response:
        return _respond(await episodes.trajectory(episode_id))

    @router.get("/v1/report")
    async def report(since: Annotated[datetime | None, Query()] = None) -> Response:
        aware = since if since is None or since.tzinfo is not None else since.replace(tzinfo=UTC)
        return _respond(await control.ledger.report(aware))

    @router.post("/v1/access")
    async def access(query: AccessQuery) -> Response:
        return _respond(control.access(query.credential))

    @router.get("/v1/playground")
    async def playground() -> Response:
        return _respond(control.playground.describe())

    @router.post("/v1/playground/reset")
    async def reset_playground() -> Response:
        await control.playground.reset()
        return Response(status_code=204)

    api.include_router(router)
    for kind in (ApiProblem, RequestValidationError, HTTPException):
        api.add_exception_handler(kind, _answer_problem)
    return api


def _respond(message: Message, status: int = 200) -> Response:
    return Response(message.model_dump_json(), status, media_type="application/json")


async def _answer_problem(_: Request, error: Exception) -> Response:
    answer = render_problem(_as_problem(error))
    return _response(answer)


def _as_problem(error: Exception) -> ApiProblem:
    match error:
        case ApiProblem():
            return error
        case RequestValidationError():
            errors = problems_of(error.errors())[:_MOST_ERRORS_SHOWN]
            return Unprocessable("; ".join(f"{problem.where}: {problem.message}" for problem in errors))
        case HTTPException(status_code=404):
            return NotFound("nothing is served at this address")
        case HTTPException(status_code=405):
            return _MethodNotAllowed()
    return ApiProblem(str(error))


class _MethodNotAllowed(ApiProblem):
    """This address does not take that method."""

    status = 405
    error = "method_not_allowed"


def _require_storable(answer: JsonValue) -> None:
    """JSON that could be parsed may still be nested too deep to be written."""
    try:
        orjson.dumps(answer)
    except (orjson.JSONEncodeError, RecursionError) as error:
        raise Unprocessable(f"answer: {error}") from error


def _response(answer: Answer) -> Response:
    response = Response(answer.body, answer.status)
    response.raw_headers = [*answer.headers, (b"content-length", b"%d" % len(answer.body))]
    return response
