"""OfficeTaskset: the instances of some families as tasks, with their tools over MCP."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import verifiers.v1 as vf
from dayshift.connection import Connection
from dayshift.episode import AsyncEpisode, Episode
from dayshift.errors import EpisodeLost, HarnessFault, UsageError
from dayshift.job_description import first_message, system_prompt
from dayshift.open_request import open_request
from dayshift.patient_opening import open_when_ready
from dayshift.rollout import tasks
from dayshift.tool_surface import DEFAULT_SURFACE
from dayshift.wire import Split, Verdict
from pydantic import Field
from verifiers.v1.mcp import SharedToolsetConfig, Toolset

# It passes the tools of an MCP endpoint on that each rollout has of its own, which is what is needed here.
from verifiers.v1.tasksets.nemo_gym.toolset import NeMoGymState, NeMoGymToolset

# By trace: the rollout's episode. The trace itself is written to disk, and a credential does not belong there.
_episodes: dict[str, AsyncEpisode] = {}


class OfficeConfig(vf.TasksetConfig):
    families: list[str] = Field(default_factory=lambda: ["crm/correct-contact"])
    """Ids of task families; `dayshift tasks` lists them."""

    seeds: int = Field(10, ge=1)
    """Instances of each family."""

    first_seed: int = Field(0, ge=0)
    split: Split = "train"
    world: str = "standard"
    faults: str = "none"
    surface: str = DEFAULT_SURFACE
    """The tools that the model is given: core, search, task(N), full."""

    tools: SharedToolsetConfig = SharedToolsetConfig()


class OfficeData(vf.TaskData):
    request: dict[str, Any]
    """What control is asked to open."""

    surface: str


class OfficeTask(vf.Task[OfficeData, NeMoGymState, vf.TaskConfig]):
    async def setup(self, trace: Any, runtime: Any) -> None:  # noqa: ARG002 - the signature is verifiers'
        """Opens the rollout's own episode; a failure of the stack is raised, and the rollout is an error."""
        episode = await open_when_ready(open_request(**self.data.request), surface=self.data.surface)
        if episode.mcp is None:
            await episode.close()
            raise UsageError("this stack serves no MCP: start it with its port for MCP")
        _episodes[trace.id] = episode
        state = trace.state
        state.mcp_url = f"{episode.mcp.url}?surface={quote(self.data.surface, safe='()*,.')}"
        state.mcp_headers = {"authorization": f"Bearer {episode.mcp.credential}"}

    @vf.reward(weight=1.0)
    async def verdict(self, trace: Any) -> float:
        """The verdict's reward; work that was not handed in is judged as it stands."""
        episode = _episodes.pop(trace.id, None)
        if episode is None:
            raise EpisodeLost("the episode of this rollout was not opened here")
        try:
            result = await episode.submit()
        finally:
            with suppress(HarnessFault):
                await episode.close()
        _record(trace, result)
        assert result.reward is not None, "an unscored verdict raises"
        return result.reward


class OfficeTaskset(vf.Taskset[OfficeTask, OfficeConfig]):
    @classmethod
    def toolsets(cls, config: OfficeConfig) -> list[Toolset]:
        return [NeMoGymToolset(config.tools)]

    def load(self) -> Iterator[OfficeTask]:
        """Opens each instance for a moment to read its brief."""
        config = self.config
        seeds = range(config.first_seed, config.first_seed + config.seeds)
        options = {"split": config.split, "world": config.world, "faults": config.faults}
        with Connection() as connection:
            for request in tasks(*config.families, seeds=seeds, **options):
                with Episode.open(request, connection=connection) as episode:
                    brief = first_message(episode.brief, episode.clock)
                name = f"{request.task}#{request.seed}"
                data = OfficeData(
                    id=f"{name}@{request.split}/{request.world}",
                    name=name,
                    prompt=brief,
                    system_prompt=system_prompt(),
                    request=request.model_dump(),
                    surface=config.surface,
                )
                yield OfficeTask(data, config.task)


def _record(trace: Any, result: Verdict) -> None:
    trace.record_metric("passed", float(result.outcome == "passed"))
    trace.record_metric("steps", float(result.steps))
    trace.record_metric("flags", float(len(result.flags)))
    trace.info["dayshift"] = {"outcome": result.outcome, "because": result.because}
