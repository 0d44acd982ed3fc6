"""TeamEnv: an orchestrator and its specialists as a PettingZoo AEC environment, to be trained together."""

from typing import Any, Unpack

import gymnasium
import numpy as np

from dayshift.calls import ORCHESTRATOR, Action
from dayshift.errors import MissingExtra
from dayshift.observation import Observation
from dayshift.rendering import render_opening, render_turn
from dayshift.spaces import CallSpace, observation_space
from dayshift.task_sampling import sample_seed
from dayshift.team_runner import TeamOptions, TeamRunner
from dayshift.wire import OpenRequest

try:
    from pettingzoo import AECEnv
except ImportError as error:
    raise MissingExtra("pettingzoo", "teams") from error


class TeamEnv(AECEnv):  # type: ignore[misc]  # PettingZoo carries no types
    """The agents are `orchestrator` and one for each product; the options are those of `dayshift/Orchestrator-v0`.

    The orchestrator acts first; a specialist that it asks acts until it reports or its budget is spent.
    The rewards come at the end: the orchestrator gets the verdict's, a specialist that of its product.
    """

    def __init__(self, *, render_mode: str | None = None, **options: Unpack[TeamOptions]) -> None:
        super().__init__()
        self.metadata = {"name": "dayshift_team_v0", "render_modes": ["ansi"], "is_parallelizable": False}
        self.render_mode = render_mode
        self.runner = TeamRunner(**options)
        self.possible_agents = [ORCHESTRATOR, *self.runner.products]
        self.agents: list[str] = []
        self.observation_spaces = {agent: self._build_observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: CallSpace(self.runner.operations(agent)) for agent in self.possible_agents}
        self._chance = np.random.default_rng()

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Takes the options of an episode (task, split, world, faults); PettingZoo's own tools add others."""
        if seed is not None:
            self._chance = np.random.default_rng(seed)
        known = {name: value for name, value in (options or {}).items() if name in OpenRequest.model_fields}
        self.runner.open_episode(sample_seed(self._chance) if seed is None else seed, known)
        self.agents = [ORCHESTRATOR, *self.runner.team.specialists]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._update_agents()

    def step(self, action: Action | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self.runner.act(self.action_spaces[agent].decode(action))
        for name in self.agents:
            self.rewards[name] = self.runner.reward(name)
            self.terminations[name] = self.runner.submitted
            self.truncations[name] = self.runner.over and not self.runner.submitted
        self._update_agents()
        self._accumulate_rewards()
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        return self.runner.observation(agent)

    def render(self) -> str | None:
        if self.render_mode != "ansi":
            return None
        team = self.runner.team
        return render_turn(team.turns[-1]) if team.turns else render_opening(team.episode.protocol.opened)

    def close(self) -> None:
        self.runner.close()

    def _update_agents(self) -> None:
        self.infos = {agent: dict(self.runner.info(agent)) for agent in self.agents}
        self.agent_selection = self.runner.team.current_agent if not self.runner.over else self.agents[0]

    def _build_observation_space(self) -> gymnasium.Space[Any]:
        return observation_space(self.runner.max_body_chars)
