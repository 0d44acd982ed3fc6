"""DayshiftEnv: an episode as a Gymnasium environment."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, cast

import gymnasium

from dayshift.calls import Action, Call
from dayshift.curriculum import Curriculum
from dayshift.episode import Episode
from dayshift.episode_opener import EpisodeOpener
from dayshift.errors import HarnessFault
from dayshift.http_flow import ANSWER_SECONDS
from dayshift.intervention import Supervisor
from dayshift.observation import Info, Observation, build_info, build_observation
from dayshift.open_request import open_request
from dayshift.operations import Catalogue
from dayshift.recorder import EpisodeRecorder
from dayshift.rendering import render_opening, render_step, render_verdict
from dayshift.spaces import MAX_BODY_CHARS, CallSpace, EncodedAction, observation_space
from dayshift.step import Step
from dayshift.task_sampling import sample_seed
from dayshift.tool_surface import Surface
from dayshift.wire import Split, Verdict

OnFault = Literal["raise", "quarantine"]


class DayshiftEnv(gymnasium.Env[Observation, Action]):
    """Plays one episode at a time.

    task        a family's id; None samples one at each reset, from the products and the split of the environment
    families    what is sampled: a prefix of ids such as "office/", or a sequence of ids
    split       "train", "validation" or "test"
    world       the world template: "standard", "small", "large"
    faults      the fault plan: "none", "rough", "storm", "lagging-search"
    control_url the URL of control; default DAYSHIFT_CONTROL_URL, else the default port of this machine
    on_fault    "raise", or "quarantine": truncate the episode and say why in info["quarantined"]
    recorder    records every finished episode, also one that a TimeLimit cut
    curriculum  samples the families in place of the seed, and learns from every finished episode
    supervisor  may pause the episode, replace or veto a call, or take over
    max_steps   bounds the steps of an episode below the task's own budget; the episode is then judged and truncated
    surface     the tools that a model is given: "core", "search", "task", "full", or `dayshift.only(…)`
    max_body_chars  the longest answer; a longer one is shortened at a JSON boundary
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": ["ansi"],
        "render_fps": 4,
    }

    def __init__(
        self,
        *,
        products: tuple[str, ...] = (),
        task: str | None = None,
        split: Split = "train",
        world: str = "standard",
        faults: str = "none",
        control_url: str | None = None,
        on_fault: OnFault = "raise",
        render_mode: str | None = None,
        recorder: EpisodeRecorder | None = None,
        max_body_chars: int = MAX_BODY_CHARS,
        timeout: float = ANSWER_SECONDS,
        menu: bool = False,
        families: str | Sequence[str] = "",
        surface: str | None = None,
        max_steps: int | None = None,
        curriculum: Curriculum | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        self.render_mode = render_mode
        self.episode: Episode | None = None
        self._on_fault = on_fault
        self._recorder = recorder
        self._max_body_chars = max_body_chars
        self._max_steps = max_steps
        defaults = open_request(task=task, split=split, world=world, faults=faults, menu=menu)
        self._curriculum = curriculum
        self._opener = EpisodeOpener(
            defaults,
            products,
            control_url,
            timeout,
            families,
            surface,
            max_body_chars,
            curriculum=curriculum,
            supervisor=supervisor,
        )
        self._all_operations = self._opener.operations
        self._calls = CallSpace(self._all_operations)
        self.action_space = self._calls
        self.observation_space = cast(gymnasium.Space[Observation], observation_space(max_body_chars))

    def request_menus(self) -> None:
        """Asks control for the task's candidate calls with every episode from now on."""
        self._opener.defaults = self._opener.defaults.model_copy(update={"menu": True})

    @property
    def operations(self) -> Catalogue:
        """The operations with their JSON schemas, in the order of the action space, whatever the task.

        A task of fewer products answers calls of the others as malformed; `episode.operations` lists its own.
        """
        return self._calls.operations

    @property
    def surface(self) -> Surface:
        """The tools that a model is given in the running episode."""
        return self._require_episode().surface

    def encode(self, call: Call) -> EncodedAction:
        """Returns a call as a member of the action space; `step` takes either."""
        return self._calls.encode(call)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:  # type: ignore[override]  # Info is the dict of Gymnasium with named keys
        super().reset(seed=seed)
        self._close_episode()
        seed = sample_seed(self.np_random) if seed is None else seed
        self.episode = self._opener.open(seed, options or {}, self._max_steps)
        self._calls.operations = self._all_operations.with_answer_schema(self.episode.protocol.opened.answer_schema)
        return self._observation(None), self._info(None)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:  # type: ignore[override]  # as above
        episode = self._require_running()
        try:
            step = episode.act(self._calls.decode(action))
            submitted = episode.verdict is not None
            budget_spent = not submitted and episode.steps_left == 0
            if budget_spent:
                episode.submit()
        except HarnessFault as fault:
            return self._handle_fault(fault)
        if episode.verdict is None:
            return self._observation(step), 0.0, False, False, self._info(step)
        self._record()
        assert episode.verdict.reward is not None, "an unscored verdict raises"
        info = self._info(step, verdict=episode.verdict)
        return self._observation(step), episode.verdict.reward, submitted, budget_spent, info

    def render(self) -> str | None:
        if self.render_mode != "ansi" or self.episode is None:
            return None
        steps = self.episode.steps
        text = render_step(steps[-1]) if steps else render_opening(self.episode.protocol.opened)
        return text + (render_verdict(self.episode.verdict) if self.episode.verdict else "")

    def close(self) -> None:
        self._close_episode()
        self._opener.close()

    def _require_running(self) -> Episode:
        if self.episode is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        if self.episode.over:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset")
        return self.episode

    def _handle_fault(self, fault: HarnessFault) -> tuple[Observation, float, bool, bool, Info]:
        self._record()
        if self._on_fault == "raise":
            raise fault
        return self._observation(None), 0.0, False, True, self._info(None, quarantined=f"{fault.kind}: {fault}")

    def _record(self) -> None:
        if self.episode is None:
            return
        if self._curriculum is not None:
            self._curriculum.record(self.episode.trajectory())
        if self._recorder is not None:
            self.episode.fetch_diff()
            self._recorder.record(self.episode.trajectory())

    def _close_episode(self) -> None:
        if self.episode is not None:
            self._judge_cut_episode(self.episode)
            self.episode.close()
            self.episode = None

    def _judge_cut_episode(self, episode: Episode) -> None:
        """Judges and records an episode that a wrapper cut, such as TimeLimit; its reward comes too late for a step."""
        if self._recorder is not None and episode.steps and not episode.over:
            with suppress(HarnessFault):
                episode.submit()
            self._record()

    def _observation(self, step: Step | None) -> Observation:
        episode = self._require_episode()
        return build_observation(
            episode.protocol.opened.brief,
            step,
            episode.clock,
            episode.steps_left,
            self._max_body_chars,
            None if step is None else episode.operations.find(step.call.operation),
        )

    def _info(self, step: Step | None, *, verdict: Verdict | None = None, quarantined: str | None = None) -> Info:
        protocol = self._require_episode().protocol
        return build_info(protocol, step, self._max_body_chars, verdict, quarantined)

    def _require_episode(self) -> Episode:
        assert self.episode is not None, "reset opens an episode"
        return self.episode
