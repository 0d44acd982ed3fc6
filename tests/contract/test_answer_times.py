"""A client waits longer for an answer than any call may take: an agent's slow command is no fault of the environment."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from dayshift.connection import Address, AsyncConnection, Connection
from dayshift.env import DayshiftEnv
from dayshift.episode_opener import EpisodeOpener
from dayshift.http_flow import ANSWER_SECONDS, JUDGING_SECONDS
from dayshift.team_runner import TeamRunner
from dayshift.vector import DayshiftVectorEnv
from dayshift.wire import SubmitRequest

from services.control import open_episode
from services.ide.grading import grader, judged_tree, test_runs
from services.ide.operations import check_runs
from services.ide.sandbox import containers, sandbox
from services.ide.sandbox.limits import Limits

_COMMAND = containers._START_SECONDS + Limits().wall_seconds + 2 * sandbox._GRACE_SECONDS
# A commit is unpacked, and its workflow runs.
_CHECK_RUN = 2 * (check_runs._SECONDS + sandbox._GRACE_SECONDS)
# The agent's tree is read, its tests run beside each other, those of the tree as found too, and then further calls.
_VERDICT = judged_tree._SECONDS + 2 * test_runs._LONGEST_BY_CLOCK + grader._DRAW_SECONDS + 4 * sandbox._GRACE_SECONDS


@pytest.mark.parametrize(
    "waiting", [Connection, AsyncConnection, EpisodeOpener, DayshiftEnv, DayshiftVectorEnv, TeamRunner]
)
def test_the_client_waits_longer_than_any_call_may_take(waiting: Callable[..., Any]) -> None:
    assert inspect.signature(waiting).parameters["timeout"].default == ANSWER_SECONDS > max(_COMMAND, _CHECK_RUN)


def test_control_waits_longer_than_any_verdict_may_take_and_its_client_longer_than_control() -> None:
    assert JUDGING_SECONDS > open_episode.JUDGING_SECONDS > _VERDICT


def test_a_submission_is_waited_for_as_long_as_a_verdict_may_take() -> None:
    control = Address("http://127.0.0.1:1", "token").control
    request = next(control.submit("0" * 24, SubmitRequest()))

    assert request.timeout == JUDGING_SECONDS
