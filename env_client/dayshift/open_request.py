"""Builds the request that opens an episode, and refuses in one sentence what cannot be opened."""

from pydantic import ValidationError

from dayshift.errors import UsageError
from dayshift.wire import OpenRequest


def open_request(**values: object) -> OpenRequest:
    try:
        return OpenRequest.model_validate(values)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, problem['loc']))}={problem['input']!r:.80} cannot be: {problem['msg']}"
            for problem in error.errors(include_url=False)
        ]
        raise UsageError("no episode opens so: " + "; ".join(problems)) from None
