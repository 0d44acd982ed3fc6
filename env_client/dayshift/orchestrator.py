"""OrchestratorEnv and SpecialistEnv: the two levels of a team, each as a Gymnasium environment."""

from collections.abc import Mapping
from typing import Any, Unpack, cast

import gymnasium

from dayshift.calls import ORCHESTRATOR, Action
from dayshift.errors import UsageError
from dayshift.observation import Observation
from dayshift.operations import Catalogue
from dayshift.rendering import render_opening, render_turn, render_verdict
from dayshift.spaces import CallSpace, observation_space
from dayshift.task_sampling import sample_seed
from dayshift.team import OrchestratorInput, SpecialistInput
from dayshift.team_runner import Orchestrator, Specialist, TeamInfo, TeamOptions, TeamRunner


class _TeamMemberEnv(gymnasium.Env[Observation, Action]):
    """The environment of one agent of a team; the policies of the others are given."""

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": ["ansi"],
        "render_fps": 4,
    }

    def __init__(
        self,
        agent: str,
        orchestrator: Orchestrator | None,
        specialists: Mapping[str, Specialist],
        render_mode: str | None,
        **options: Unpack[TeamOptions],
    ) -> None:
        self.render_mode = render_mode
        self.runner = TeamRunner(**options)
        self._agent = agent
        self._orchestrator = orchestrator
        self._specialists = specialists
        if agent not in (ORCHESTRATOR, *self.runner.products):
            self.runner.close()
            raise UsageError(f"there is no {agent!r} here; this stack serves {', '.join(self.runner.products)}")
        self._calls = CallSpace(self.runner.operations(agent))
        self.action_space = self._calls
        self.observation_space = cast(gymnasium.Space[Observation], observation_space(self.runner.max_body_chars))
        self._needs_reset = True

    @property
    def operations(self) -> Catalogue:
        """The operations with their JSON schemas, which also serve as tool definitions."""
        return self._calls.operations

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, TeamInfo]:  # type: ignore[override]  # TeamInfo is the dict of Gymnasium with named keys
        super().reset(seed=seed)
        self.runner.open_episode(sample_seed(self.np_random) if seed is None else seed, options or {})
        self._needs_reset = False
        self._play_others()
        return self.runner.observation(self._agent), self.runner.info(self._agent)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, TeamInfo]:  # type: ignore[override]  # as above
        if self._needs_reset:
            raise gymnasium.error.ResetNeeded("call reset before step")
        # An agent that was never asked only gets the end of the episode.
        if not self.runner.over:
            self.runner.act(self._calls.decode(action))
            self._play_others()
        self._needs_reset = self.runner.over
        runner, agent, submitted = self.runner, self._agent, self.runner.submitted
        truncated = runner.over and not submitted
        return runner.observation(agent), runner.reward(agent), submitted, truncated, runner.info(agent)

    def render(self) -> str | None:
        if self.render_mode != "ansi":
            return None
        team = self.runner.team
        text = render_turn(team.turns[-1]) if team.turns else render_opening(team.episode.protocol.opened)
        return text + (render_verdict(team.episode.verdict) if team.episode.verdict else "")

    def close(self) -> None:
        self.runner.close()

    def _play_others(self) -> None:
        self.runner.play_until(self._agent, self._orchestrator, self._specialists)


class OrchestratorEnv(_TeamMemberEnv):
    """`gymnasium.make("dayshift/Orchestrator-v0", specialists={"crm": …, "desk": …})`.

    specialists  by product: a function from a `SpecialistInput` to a call
    turns        how often the orchestrator may act; the other options are those of `DayshiftEnv`
    """

    def __init__(
        self, *, specialists: Mapping[str, Specialist], render_mode: str | None = None, **options: Unpack[TeamOptions]
    ) -> None:
        super().__init__(ORCHESTRATOR, None, specialists, render_mode, **options)

    @property
    def orchestrator_input(self) -> OrchestratorInput:
        """The input of an orchestrator that is a function."""
        return self.runner.team.orchestrator_input()


class SpecialistEnv(_TeamMemberEnv):
    """`gymnasium.make("dayshift/Specialist-v0", product="billing", orchestrator=…)`.

    product       its operations are the action space, followed by `report`
    orchestrator  a function from an `OrchestratorInput` to a call, which delegates the work
    specialists   the other specialists, where the orchestrator asks them too
    """

    def __init__(
        self,
        *,
        product: str,
        orchestrator: Orchestrator,
        specialists: Mapping[str, Specialist] | None = None,
        render_mode: str | None = None,
        **options: Unpack[TeamOptions],
    ) -> None:
        super().__init__(product, orchestrator, specialists or {}, render_mode, **options)

    @property
    def specialist_input(self) -> SpecialistInput:
        """The input of a specialist that is a function."""
        return self.runner.team.specialist_input(self._agent)
