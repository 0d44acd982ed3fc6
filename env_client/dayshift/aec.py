"""TeamEnv: an orchestrator and its specialists behind PettingZoo's AEC interface, to be trained together."""

from typing import Any

import gymnasium
import numpy as np

from dayshift.calls import ORCHESTRATOR
from dayshift.env import Action, Observation
from dayshift.errors import MissingExtra
from dayshift.lots import draw_seed
from dayshift.rendering import render_opening, render_turn
from dayshift.spaces import CallSpace, observation_space
from dayshift.stage import Stage
from dayshift.wire import OpenRequest

try:
    from pettingzoo import AECEnv
except ImportError as error:
    raise MissingExtra("pettingzoo", "teams") from error


class TeamEnv(AECEnv):  # type: ignore[misc]  # PettingZoo carries no types
    """Agents `orchestrator`, then one per product; options as those of `dayshift/Orchestrator-v0`, without specialists.

    The orchestrator acts first; whoever it asks acts until it reports or its budget is spent.
    Each is paid at the end: the orchestrator the verdict's reward, a specialist that of its own product.
    """

    def __init__(self, *, render_mode: str | None = None, **options: Any) -> None:
        super().__init__()
        self.metadata = {"name": "dayshift_team_v0", "render_modes": ["ansi"], "is_parallelizable": False}
        self.render_mode = render_mode
        self.stage = Stage(**options)
        self.possible_agents = [ORCHESTRATOR, *self.stage.products]
        self.agents: list[str] = []
        self.observation_spaces = {one: self._seen() for one in self.possible_agents}
        self.action_spaces = {one: CallSpace(self.stage.operations(one)) for one in self.possible_agents}
        self._chance = np.random.default_rng()

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Options are those of an episode (task, split, world, faults); PettingZoo's own tools send others along."""
        if seed is not None:
            self._chance = np.random.default_rng(seed)
        known = {name: value for name, value in (options or {}).items() if name in OpenRequest.model_fields}
        self.stage.begin(draw_seed(self._chance) if seed is None else seed, known)
        self.agents = [ORCHESTRATOR, *self.stage.team.specialists]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._look()

    def step(self, action: Action | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self.stage.act(self.action_spaces[agent].decode(action))
        for one in self.agents:
            self.rewards[one] = self.stage.reward(one)
            self.terminations[one] = self.stage.submitted
            self.truncations[one] = self.stage.over and not self.stage.submitted
        self._look()
        self._accumulate_rewards()
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        return self.stage.observation(agent)

    def render(self) -> str | None:
        if self.render_mode != "ansi":
            return None
        team = self.stage.team
        return render_turn(team.turns[-1]) if team.turns else render_opening(team.episode.dialogue.opened)

    def close(self) -> None:
        self.stage.close()

    def _look(self) -> None:
        self.infos = {one: dict(self.stage.info(one)) for one in self.agents}
        self.agent_selection = self.stage.team.whose if not self.stage.over else self.agents[0]

    def _seen(self) -> gymnasium.Space[Any]:
        return observation_space(self.stage.longest_body)
