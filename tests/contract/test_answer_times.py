"""A client waits longer for an answer than any call may take: an agent's slow command is no fault of the environment."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from dayshift.connection import AsyncConnection, Connection
from dayshift.env import DayshiftEnv
from dayshift.episode_opener import EpisodeOpener
from dayshift.http_flow import ANSWER_SECONDS
from dayshift.team_runner import TeamRunner
from dayshift.vector import DayshiftVectorEnv

from services.ide.operations import check_runs
from services.ide.sandbox import containers, sandbox
from services.ide.sandbox.limits import Limits

_COMMAND = containers._START_SECONDS + Limits().wall_seconds + 2 * sandbox._GRACE_SECONDS
# A commit is unpacked, and its workflow runs.
_CHECK_RUN = 2 * (check_runs._SECONDS + sandbox._GRACE_SECONDS)


@pytest.mark.parametrize(
    "waiting", [Connection, AsyncConnection, EpisodeOpener, DayshiftEnv, DayshiftVectorEnv, TeamRunner]
)
def test_the_client_waits_longer_than_any_call_may_take(waiting: Callable[..., Any]) -> None:
    assert inspect.signature(waiting).parameters["timeout"].default == ANSWER_SECONDS > max(_COMMAND, _CHECK_RUN)
