"""`come_back_later` and `finish_work`, which no product serves: messages to control, and texts for a model."""

import json
from typing import Any

from pydantic import ValidationError

from dayshift.calls import WAIT, Call
from dayshift.errors import BadArguments
from dayshift.wire import SubmitRequest, Waited, WaitRequest

_NOTHING_NEW = "Nothing new came in."


def render_news(waited: Waited) -> bytes:
    """Returns what a model reads when it comes back."""
    return json.dumps({"time": waited.clock, "news": waited.news or [_NOTHING_NEW]}, ensure_ascii=False).encode()


def parse_hours(call: Call) -> float:
    try:
        return WaitRequest.model_validate(dict(call.arguments)).hours
    except ValidationError as error:
        raise BadArguments(f"{WAIT} takes hours, more than 0 and at most a year: {error.errors()[0]['msg']}") from error


def build_submission(answer: Any) -> SubmitRequest:
    try:
        submission = SubmitRequest(answer=answer)
        submission.model_dump_json()
    except ValidationError as error:
        raise BadArguments(f"an answer is a JSON value: {error.errors()[0]['msg']}") from error
    except ValueError as error:
        # A model may write half of a surrogate pair, which JSON text in UTF-8 cannot carry.
        raise BadArguments(f"an answer is a JSON value: {error}") from error
    return submission
