"""inspect_ai: office work as a task, with tools and a scorer.

    inspect eval dayshift/office_work -T task=crm/correct-contact -T seeds=20 --model openai/gpt-5

A sample that the environment failed gets `Score.unscored()`, which metrics leave out.
"""

from typing import Any

from dayshift.episode import AsyncEpisode
from dayshift.errors import DayshiftError, EpisodeOver, HarnessFault, MissingExtra
from dayshift.job_description import CONTINUE, first_message, system_prompt
from dayshift.open_request import open_request
from dayshift.operations import Operation
from dayshift.patient_opening import open_when_ready
from dayshift.tool_surface import DEFAULT_SURFACE, Surface
from dayshift.wire import Split

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser
    from inspect_ai.scorer import Score, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.tool import Tool, ToolDef, ToolParams
except ImportError as error:
    raise MissingExtra("inspect_ai", "inspect") from error

# Replies without a call before the work is taken as it is.
_MAX_SILENT_REPLIES = 3

# By sample: the running episode, or why there is none. Neither belongs into the sample's log.
_episodes: dict[str, AsyncEpisode] = {}
_faults: dict[str, DayshiftError] = {}


@task
def office_work(
    task: str = "crm/correct-contact",
    seeds: int = 10,
    first_seed: int = 0,
    split: Split = "test",
    world: str = "standard",
    faults: str = "none",
    surface: str = DEFAULT_SURFACE,
) -> Task:
    """`seeds` instances of each family; `task` names one family or several, separated by spaces."""
    requests = [
        open_request(task=family, seed=seed, split=split, world=world, faults=faults)
        for family in task.split()
        for seed in range(first_seed, first_seed + seeds)
    ]
    samples = [
        # The brief is known when the episode opens; until then the log shows the instance.
        Sample(
            input=f"{request.task} {request.seed}", id=f"{request.task}#{request.seed}", metadata=request.model_dump()
        )
        for request in requests
    ]
    return Task(
        dataset=MemoryDataset(samples, name="dayshift"),
        setup=open_episode(surface),
        solver=work(),
        scorer=verdict(),
        cleanup=close_episode,
    )


@solver
def open_episode(surface: str = DEFAULT_SURFACE) -> "Solver":
    """Opens the sample's episode and gives the model its brief and tools; runs whatever solver is chosen."""

    async def solve(state: "TaskState", generate: "Generate") -> "TaskState":  # noqa: ARG001 - inspect's signature
        try:
            episode = await open_when_ready(open_request(**state.metadata), surface=surface)
        except HarnessFault as fault:
            _faults[state.uuid] = fault
            state.completed = True
            return state
        _episodes[state.uuid] = episode
        brief = first_message(episode.brief, episode.clock)
        state.messages = [ChatMessageSystem(content=system_prompt()), ChatMessageUser(content=brief)]
        state.tools = [_build_tool(episode, episode.surface, operation) for operation in episode.surface.tools]
        return state

    return solve


@solver
def work() -> "Solver":
    """Lets the model call tools until it finishes its work, has no steps left or stops calling."""

    async def solve(state: "TaskState", generate: "Generate") -> "TaskState":
        silent = 0
        while silent < _MAX_SILENT_REPLIES and not state.completed and not _is_over(state):
            before = len(state.messages)
            state = await generate(state, tool_calls="single")
            if any(message.role == "tool" for message in state.messages[before:]):
                silent = 0
            else:
                silent += 1
                state.messages.append(ChatMessageUser(content=CONTINUE))
        return state

    return solve


def _is_over(state: "TaskState") -> bool:
    episode = _episodes.get(state.uuid)
    return episode is None or episode.over or episode.steps_left == 0


@scorer(metrics=[mean(), stderr()], name="dayshift")
def verdict() -> Any:
    """The reward of the episode; work that was not handed in is judged as it stands."""

    async def score(state: "TaskState", target: "Target") -> "Score":  # noqa: ARG001 - inspect's signature
        episode = _episodes.get(state.uuid)
        try:
            if episode is None:
                raise _faults.get(state.uuid) or EpisodeOver("no episode was opened")
            if episode.protocol.fault is not None:
                raise episode.protocol.fault
            result = await episode.submit()
        except DayshiftError as fault:
            return Score.unscored(reason="environment_error", explanation=f"{type(fault).__name__}: {fault}")
        metadata = result.model_dump(include={"outcome", "findings", "collateral", "flags", "steps"})
        assert result.reward is not None, "an unscored verdict raises"
        return Score(value=result.reward, answer=result.outcome, explanation=result.because, metadata=metadata)

    return score


async def close_episode(state: "TaskState") -> None:
    _faults.pop(state.uuid, None)
    episode = _episodes.pop(state.uuid, None)
    if episode is not None:
        await episode.close()


def _build_tool(episode: AsyncEpisode, surface: Surface, operation: Operation) -> "Tool":
    async def execute(**arguments: Any) -> str:
        try:
            return await surface.call(episode, operation.tool_name, arguments)
        except EpisodeOver:
            return "Nothing can be changed any more."
        except HarnessFault:
            # The scorer finds it in the episode; an exception here would fail the whole evaluation.
            return "The service does not answer."

    schema = operation.lean_schema
    parameters = ToolParams(properties=schema.get("properties", {}), required=schema.get("required", []))
    definition = ToolDef(
        execute, name=operation.tool_name, description=operation.description, parameters=parameters, parallel=False
    )
    return definition.as_tool()
