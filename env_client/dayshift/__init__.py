"""Dayshift: an honest workplace for agents to train in.

    import dayshift, gymnasium
    env = gymnasium.make("dayshift/Crm-v0", task="crm/correct-contact")
    observation, info = env.reset(seed=7)

Names are loaded on first use, so that `import dayshift` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dayshift.registration import register_with_gymnasium

if TYPE_CHECKING:
    from dayshift.calls import Call, call
    from dayshift.env import DayshiftEnv, Info, Observation
    from dayshift.episode import AsyncEpisode, Episode
    from dayshift.errors import (
        AtCapacity,
        BadArguments,
        ControlRefused,
        DayshiftError,
        EpisodeLost,
        EpisodeOver,
        HarnessFault,
        Misuse,
        NotNow,
        Refusal,
        ServiceBroke,
        StaleRead,
        StepTimeout,
        UnknownOperation,
        Unreachable,
        Unscored,
        WireMismatch,
    )
    from dayshift.exchange import Exchange
    from dayshift.menu import Menu
    from dayshift.operations import Catalogue, Operation
    from dayshift.orchestrator import OrchestratorEnv, SpecialistEnv
    from dayshift.recorder import Recorder
    from dayshift.recordings import load, read
    from dayshift.replay import grade, verify
    from dayshift.rollout import Situation, rollouts, tasks
    from dayshift.specialists import orchestrator_model, scripted, specialist_model
    from dayshift.stage import TeamInfo
    from dayshift.team import Assignment, Overview
    from dayshift.trajectory import Trajectory
    from dayshift.vector import DayshiftVectorEnv
    from dayshift.wire import OpenRequest, Verdict

__version__ = "0.1.0"

_HOMES = {
    "calls": ("Call", "call"),
    "env": ("DayshiftEnv", "Info", "Observation"),
    "episode": ("AsyncEpisode", "Episode"),
    "errors": (
        "AtCapacity",
        "BadArguments",
        "ControlRefused",
        "DayshiftError",
        "EpisodeLost",
        "EpisodeOver",
        "HarnessFault",
        "Misuse",
        "NotNow",
        "Refusal",
        "ServiceBroke",
        "StaleRead",
        "StepTimeout",
        "UnknownOperation",
        "Unreachable",
        "Unscored",
        "WireMismatch",
    ),
    "exchange": ("Exchange",),
    "menu": ("Menu",),
    "operations": ("Catalogue", "Operation"),
    "orchestrator": ("OrchestratorEnv", "SpecialistEnv"),
    "recorder": ("Recorder",),
    "recordings": ("load", "read"),
    "replay": ("grade", "verify"),
    "rollout": ("Situation", "rollouts", "tasks"),
    "specialists": ("orchestrator_model", "scripted", "specialist_model"),
    "stage": ("TeamInfo",),
    "team": ("Assignment", "Overview"),
    "trajectory": ("Trajectory",),
    "vector": ("DayshiftVectorEnv",),
    "wire": ("OpenRequest", "Verdict"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Assignment",
    "AsyncEpisode",
    "AtCapacity",
    "BadArguments",
    "Call",
    "Catalogue",
    "ControlRefused",
    "DayshiftEnv",
    "DayshiftError",
    "DayshiftVectorEnv",
    "Episode",
    "EpisodeLost",
    "EpisodeOver",
    "Exchange",
    "HarnessFault",
    "Info",
    "Menu",
    "Misuse",
    "NotNow",
    "Observation",
    "OpenRequest",
    "Operation",
    "OrchestratorEnv",
    "Overview",
    "Recorder",
    "Refusal",
    "ServiceBroke",
    "Situation",
    "SpecialistEnv",
    "StaleRead",
    "StepTimeout",
    "TeamInfo",
    "Trajectory",
    "UnknownOperation",
    "Unreachable",
    "Unscored",
    "Verdict",
    "WireMismatch",
    "call",
    "grade",
    "load",
    "orchestrator_model",
    "read",
    "rollouts",
    "scripted",
    "specialist_model",
    "tasks",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dayshift' has no attribute {name!r}")
    return getattr(import_module(f"dayshift.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


register_with_gymnasium()
