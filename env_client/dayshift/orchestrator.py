"""OrchestratorEnv and SpecialistEnv: the two levels of a team, each behind Gymnasium's contract."""

from collections.abc import Mapping
from typing import Any, cast

import gymnasium

from dayshift.calls import ORCHESTRATOR
from dayshift.env import Action, Observation
from dayshift.errors import Misuse
from dayshift.lots import draw_seed
from dayshift.operations import Catalogue
from dayshift.rendering import render_opening, render_turn, render_verdict
from dayshift.spaces import CallSpace, observation_space
from dayshift.stage import Orchestrator, Specialist, Stage, TeamInfo
from dayshift.team import Assignment, Overview


class _OneLevel(gymnasium.Env[Observation, Action]):
    """One agent of a team learns, the others are given."""

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
        **options: Any,
    ) -> None:
        self.render_mode = render_mode
        self.stage = Stage(**options)
        self._agent = agent
        self._orchestrator = orchestrator
        self._specialists = specialists
        if agent not in (ORCHESTRATOR, *self.stage.products):
            self.stage.close()
            raise Misuse(f"there is no {agent!r} here; this stack serves {', '.join(self.stage.products)}")
        self._calls = CallSpace(self.stage.operations(agent))
        self.action_space = self._calls
        self.observation_space = cast(gymnasium.Space[Observation], observation_space(self.stage.longest_body))
        self._told = True

    @property
    def operations(self) -> Catalogue:
        """Everything that can be called, with JSON schemas, ready as tool definitions."""
        return self._calls.operations

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, TeamInfo]:  # type: ignore[override]  # TeamInfo is the dict that Gymnasium asks for, with its keys named
        super().reset(seed=seed)
        self.stage.begin(draw_seed(self.np_random) if seed is None else seed, options or {})
        self._told = False
        self._go_on()
        return self.stage.observation(self._agent), self.stage.info(self._agent)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, TeamInfo]:  # type: ignore[override]  # as above
        if self._told:
            raise gymnasium.error.ResetNeeded("call reset before step")
        # Whoever was never asked has nothing left to do but to hear how it ended.
        if not self.stage.over:
            self.stage.act(self._calls.decode(action))
            self._go_on()
        self._told = self.stage.over
        stage, agent, submitted = self.stage, self._agent, self.stage.submitted
        cut = stage.over and not submitted
        return stage.observation(agent), stage.reward(agent), submitted, cut, stage.info(agent)

    def render(self) -> str | None:
        if self.render_mode != "ansi":
            return None
        team = self.stage.team
        shown = render_turn(team.turns[-1]) if team.turns else render_opening(team.episode.dialogue.opened)
        return shown + (render_verdict(team.episode.verdict) if team.episode.verdict else "")

    def close(self) -> None:
        self.stage.close()

    def _go_on(self) -> None:
        self.stage.play(self._agent, self._orchestrator, self._specialists)


class OrchestratorEnv(_OneLevel):
    """`gymnasium.make("dayshift/Orchestrator-v0", specialists={"crm": …, "desk": …})`.

    specialists  by product, whoever works with it: a function from an `Assignment` to a call
    turns        how often the orchestrator may act; otherwise the options of `DayshiftEnv`
    """

    def __init__(
        self, *, specialists: Mapping[str, Specialist], render_mode: str | None = None, **options: Any
    ) -> None:
        super().__init__(ORCHESTRATOR, None, specialists, render_mode, **options)

    @property
    def overview(self) -> Overview:
        """What an orchestrator that is a function may know now."""
        return self.stage.team.overview()


class SpecialistEnv(_OneLevel):
    """`gymnasium.make("dayshift/Specialist-v0", product="billing", orchestrator=…)`.

    product       whose operations are the action space, followed by `report`
    orchestrator  a function from an `Overview` to a call, which hands out the work
    specialists   the other ones, where the orchestrator asks them too
    """

    def __init__(
        self,
        *,
        product: str,
        orchestrator: Orchestrator,
        specialists: Mapping[str, Specialist] | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(product, orchestrator, specialists or {}, render_mode, **options)

    @property
    def assignment(self) -> Assignment:
        """What a specialist that is a function may know now."""
        return self.stage.team.assignment(self._agent)
