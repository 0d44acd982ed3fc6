"""Dayshift: reinforcement-learning environments in which an agent works through the APIs of a software company.

    import dayshift, gymnasium
    env = gymnasium.make("dayshift/Crm-v0", task="crm/correct-contact")
    observation, info = env.reset(seed=7)

Importing this package registers its environments with Gymnasium.
"""

from dayshift.calls import Call, call
from dayshift.curriculum import Curriculum
from dayshift.env import DayshiftEnv
from dayshift.episode import AsyncEpisode, Episode
from dayshift.errors import (
    AtCapacity,
    BadArguments,
    ControlRefused,
    DayshiftError,
    EpisodeLost,
    EpisodeOver,
    HarnessFault,
    Refusal,
    RetryLater,
    ServiceError,
    StaleRead,
    StepTimeout,
    UnknownOperation,
    Unreachable,
    Unscored,
    UsageError,
    WireMismatch,
)
from dayshift.experiment import write_experiment
from dayshift.intervention import Allow, Intervention, Proposal, Replace, Supervisor, Veto
from dayshift.menu import Menu
from dayshift.menu_vector import MenuVectorEnv
from dayshift.metrics import EpisodeMetrics
from dayshift.observation import Info, Observation
from dayshift.operations import Catalogue, Operation
from dayshift.orchestrator import OrchestratorEnv, SpecialistEnv
from dayshift.recorder import Recorder
from dayshift.recordings import load, read
from dayshift.registration import register_environments, register_product
from dayshift.replay import grade, grade_messages, verify
from dayshift.rollout import Group, PolicyInput, group_rollouts, rollouts, tasks
from dayshift.specialists import orchestrator_from_model, specialist_from_model, specialist_from_script
from dayshift.step import Step
from dayshift.team import OrchestratorInput, SpecialistInput
from dayshift.team_runner import TeamInfo
from dayshift.tool_surface import Surface, only
from dayshift.trajectory import Trajectory
from dayshift.vector import DayshiftVectorEnv
from dayshift.version import VERSION
from dayshift.wire import OpenRequest, Verdict

__all__ = [
    "Allow",
    "AsyncEpisode",
    "AtCapacity",
    "BadArguments",
    "Call",
    "Catalogue",
    "ControlRefused",
    "Curriculum",
    "DayshiftEnv",
    "DayshiftError",
    "DayshiftVectorEnv",
    "Episode",
    "EpisodeLost",
    "EpisodeMetrics",
    "EpisodeOver",
    "Group",
    "HarnessFault",
    "Info",
    "Intervention",
    "Menu",
    "MenuVectorEnv",
    "Observation",
    "OpenRequest",
    "Operation",
    "OrchestratorEnv",
    "OrchestratorInput",
    "PolicyInput",
    "Proposal",
    "Recorder",
    "Refusal",
    "Replace",
    "RetryLater",
    "ServiceError",
    "SpecialistEnv",
    "SpecialistInput",
    "StaleRead",
    "Step",
    "StepTimeout",
    "Supervisor",
    "Surface",
    "TeamInfo",
    "Trajectory",
    "UnknownOperation",
    "Unreachable",
    "Unscored",
    "UsageError",
    "Verdict",
    "Veto",
    "WireMismatch",
    "call",
    "grade",
    "grade_messages",
    "group_rollouts",
    "load",
    "only",
    "orchestrator_from_model",
    "read",
    "register_product",
    "rollouts",
    "specialist_from_model",
    "specialist_from_script",
    "tasks",
    "verify",
    "write_experiment",
]

__version__ = VERSION

register_environments()
