"""Query parameters of the pages' requests, checked."""

import math
from typing import Any, cast

from starlette.requests import Request

from dayshift.errors import UsageError
from dayshift.viewer.model import EpisodeQuery

_LISTS = (
    "run",
    "family",
    "product",
    "split",
    "seed",
    "policy",
    "version",
    "outcome",
    "flag",
    "fault",
    "label",
    "group",
)
_MOST_VALUES = 100
_LONGEST = 500


def parse_query(request: Request) -> EpisodeQuery:
    parameters = request.query_params
    query: dict[str, Any] = {}
    for name in _LISTS:
        if values := parameters.getlist(name)[:_MOST_VALUES]:
            query[name] = [value[:_LONGEST] for value in values]
    for name in ("q", "sort"):
        if text := parameters.get(name):
            query[name] = text[:_LONGEST]
    if parameters.get("flagged"):
        query["flagged"] = True
    for name in ("min_steps", "max_steps", "offset", "limit"):
        if parameters.get(name):
            query[name] = read_int(request, name, 0)
    for name in ("min_reward", "max_reward"):
        if parameters.get(name):
            query[name] = _read_float(request, name)
    return cast(EpisodeQuery, query)


def read_int(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UsageError(f"{name} is a number of at most nine digits, not {text[:50]!r}")
    return int(text)


def _read_float(request: Request, name: str) -> float:
    try:
        number = float(request.query_params[name])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{name} is a number, not {request.query_params[name][:50]!r}")
    return number
