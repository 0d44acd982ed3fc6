"""The JSON endpoints of the pages."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dayshift.analysis.dashboard import build_dashboard
from dayshift.analysis.surge import find_surges
from dayshift.errors import UsageError
from dayshift.exports.atif import to_atif
from dayshift.exports.otel import to_otel
from dayshift.redacted_trajectory import redact_trajectory
from dayshift.redaction import Redactor
from dayshift.review.agreement import agreement
from dayshift.review.exporting import redact_reviews
from dayshift.review.sampling import sample
from dayshift.review.store import Review, ReviewStore, by_episode
from dayshift.review.taxonomy import parse_taxonomy
from dayshift.trajectory import Trajectory
from dayshift.viewer.compare import compare
from dayshift.viewer.groups import build_groups
from dayshift.viewer.model import EpisodeQuery, EpisodeSummary
from dayshift.viewer.parameters import parse_query, read_int
from dayshift.viewer.share import MAX_SHARED, render_share
from dayshift.viewer.source import ViewerSource
from dayshift.viewer.summarise import as_record

MAX_BODY = 1_000_000
_MOST_SAMPLED = 1_000
_EXPORTS = {"otel": to_otel, "atif": to_atif}


class NotThere(Exception):
    """There is no such episode or step."""


class Api:
    """The endpoints over one source and one store of reviews."""

    def __init__(
        self,
        source: ViewerSource,
        reviews: ReviewStore,
        capabilities: Sequence[str],
        csrf_of: Callable[[Request], str],
        reviewer_of: Callable[[Request], str],
    ) -> None:
        self._source = source
        self._reviews = reviews
        self._capabilities = list(capabilities)
        self._csrf_of = csrf_of
        self._reviewer_of = reviewer_of

    def routes(self) -> list[Route]:
        return [
            Route("/api/session", self.session),
            Route("/api/runs", self.runs),
            Route("/api/episodes", self.episodes),
            Route("/api/groups", self.groups),
            Route("/api/compare", self.compare),
            Route("/api/dashboard", self.dashboard),
            Route("/api/sample", self.sample),
            Route("/api/reviews", self.reviews),
            Route("/api/reviews", self.save_review, methods=["POST"]),
            Route("/api/taxonomy", self.save_taxonomy, methods=["PUT"]),
            Route("/api/share", self.share, methods=["POST"]),
            Route("/api/episodes/{key}", self.episode),
            Route("/api/episodes/{key}/steps", self.steps),
            Route("/api/episodes/{key}/steps/{number:int}/{part}", self.step_text),
            Route("/api/episodes/{key}/changes", self.changes),
            Route("/api/episodes/{key}/export/{form}", self.export),
        ]

    async def session(self, request: Request) -> Response:
        return respond(
            {
                "title": self._source.title,
                "kind": self._source.kind,
                "csrf": self._csrf_of(request),
                "reviewer": self._reviewer_of(request),
                "capabilities": self._capabilities,
                "progress": await self._source.progress(),
            }
        )

    async def runs(self, request: Request) -> Response:
        return respond(await self._source.runs(await self._query(request)))

    async def episodes(self, request: Request) -> Response:
        page = await self._source.episodes(await self._query(request))
        reviewed = by_episode(await self._load_reviews({row["key"] for row in page["rows"]}))
        for row in page["rows"]:
            row["labels"] = _labels(reviewed.get(row["key"], []))
        return respond(page)

    async def groups(self, request: Request) -> Response:
        rows = await self._source.summaries(await self._query(request))
        return respond(await asyncio.to_thread(build_groups, rows))

    async def episode(self, request: Request) -> Response:
        view = await self._source.episode(request.path_params["key"], await self._query(request))
        if view is None:
            raise NotThere("there is no such episode")
        return respond(view)

    async def steps(self, request: Request) -> Response:
        first, last = read_int(request, "first", 1), read_int(request, "last", 1)
        return respond(await self._source.steps(request.path_params["key"], first, last))

    async def step_text(self, request: Request) -> Response:
        number, part = request.path_params["number"], request.path_params["part"]
        if part not in {"request", "answer"}:
            raise NotThere("a step has a request and an answer")
        content = await self._source.step_text(request.path_params["key"], number, part)
        if content is None:
            raise NotThere("there is no such step")
        headers = {"content-disposition": f'attachment; filename="step-{number}-{part}.txt"'}
        return Response(content, media_type="text/plain; charset=utf-8", headers=headers)

    async def changes(self, request: Request) -> Response:
        first, last = read_int(request, "first", 0), read_int(request, "last", 0)
        return respond(await self._source.changes(request.path_params["key"], first, last))

    async def compare(self, request: Request) -> Response:
        trajectories = [await self._trajectory(request.query_params.get(side, "")) for side in ("left", "right")]
        summaries = [await self._summary(request.query_params.get(side, "")) for side in ("left", "right")]
        left, right = (as_record(trajectory) for trajectory in trajectories)
        return respond(await asyncio.to_thread(compare, left, right, (summaries[0], summaries[1])))

    async def dashboard(self, request: Request) -> Response:
        rows = await self._source.summaries(await self._query(request))
        reviews = await self._load_reviews(None)
        dashboard = await asyncio.to_thread(build_dashboard, rows, reviews)
        return respond({"dashboard": dashboard, "surges": await asyncio.to_thread(find_surges, rows, reviews)})

    async def sample(self, request: Request) -> Response:
        size = min(read_int(request, "size", 10), _MOST_SAMPLED)
        rows = await self._source.summaries(await self._query(request))
        reviewer = self._reviewer_of(request)
        done = {review.key for review in await self._load_reviews(None) if review.reviewer == reviewer}
        left = [row for row in rows if row["key"] not in done]
        keys = await asyncio.to_thread(sample, cast(Any, left), size, read_int(request, "seed", 0))
        return respond({"keys": keys, "reviewed": len(rows) - len(left)})

    async def reviews(self, request: Request) -> Response:
        keys = request.query_params.getlist("key")
        taxonomy = await asyncio.to_thread(self._reviews.taxonomy)
        reviews = await self._load_reviews(set(keys) if keys else None)
        return respond(
            {
                "taxonomy": taxonomy.model_dump(),
                "reviews": [review.model_dump() for review in reviews],
                "agreement": agreement(reviews),
            }
        )

    async def save_review(self, request: Request) -> Response:
        body = await read_json(request)
        try:
            review = Review.model_validate({**body, "reviewer": self._reviewer_of(request)})
        except ValidationError as error:
            raise UsageError(f"the review is not valid: {error.errors()[0]['msg']}") from error
        # Exports know an episode by its id.
        episode_id = (await self._summary(review.key))["episode_id"]
        named = review.model_copy(update={"episode_id": "" if episode_id == review.key else episode_id})
        return respond((await asyncio.to_thread(self._reviews.save, named)).model_dump())

    async def save_taxonomy(self, request: Request) -> Response:
        taxonomy = parse_taxonomy(await read_json(request))
        await asyncio.to_thread(self._reviews.save_taxonomy, taxonomy)
        return respond(taxonomy.model_dump())

    async def share(self, request: Request) -> Response:
        body = await read_json(request)
        keys = body.get("keys")
        if not isinstance(keys, list) or not keys or len(keys) > MAX_SHARED:
            raise UsageError(f"name between one and {MAX_SHARED} episodes")
        pairs = [(await self._summary(str(key)), await self._trajectory(str(key))) for key in keys]
        reviews = await self._load_reviews({summary["key"] for summary, _ in pairs})
        taxonomy = await asyncio.to_thread(self._reviews.taxonomy)
        page = await asyncio.to_thread(
            render_share, pairs, reviews, taxonomy, title=self._source.title, redact=bool(body.get("redact", True))
        )
        headers = {"content-disposition": 'attachment; filename="dayshift-share.html"'}
        return Response(page, media_type="text/html; charset=utf-8", headers=headers)

    async def export(self, request: Request) -> Response:
        form = request.path_params["form"]
        if form not in _EXPORTS:
            raise NotThere(f"there is no export called {form}: there are {', '.join(_EXPORTS)}")
        trajectory = await self._trajectory(request.path_params["key"])
        reviews = await self._load_reviews({request.path_params["key"]})
        if request.query_params.get("redact", "1") != "0":
            redactor = Redactor()
            trajectory = await asyncio.to_thread(redact_trajectory, trajectory, redactor)
            reviews = redact_reviews(reviews, redactor)
        return respond(await asyncio.to_thread(_EXPORTS[form], trajectory, reviews))

    async def _query(self, request: Request) -> EpisodeQuery:
        query = parse_query(request)
        if labels := query.pop("label", None):
            reviewed = await self._load_reviews(None)
            query["keys"] = sorted({review.key for review in reviewed if {*review.labels, review.blame} & {*labels}})
        return query

    async def _load_reviews(self, keys: set[str] | None) -> list[Review]:
        return await asyncio.to_thread(self._reviews.reviews, keys)

    async def _summary(self, key: str) -> EpisodeSummary:
        page = await self._source.summaries({"keys": [key]})
        if not page:
            raise NotThere(f"there is no episode {key[:100]}")
        return page[0]

    async def _trajectory(self, key: str) -> Trajectory:
        trajectory = await self._source.trajectory(key)
        if trajectory is None:
            raise NotThere(f"there is no episode {key[:100]}")
        return trajectory


def respond(value: Any) -> Response:
    """JSON of plain ASCII: halves of characters that broken UTF-8 leaves are escaped."""
    return Response(json.dumps(value, separators=(",", ":")), media_type="application/json")


async def read_json(request: Request) -> dict[str, Any]:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > MAX_BODY:
            raise UsageError(f"the body is longer than {MAX_BODY} bytes")
    try:
        body = json.loads(content)
    except ValueError as error:
        raise UsageError("the body is not JSON") from error
    if not isinstance(body, dict):
        raise UsageError("the body is not a JSON object")
    return body


def _labels(reviews: Sequence[Review]) -> list[str]:
    return sorted({label for review in reviews for label in [*review.labels, *filter(None, [review.blame])]})
