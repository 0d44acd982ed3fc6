"""DayshiftEnv: Gymnasium's contract, mapped onto an episode."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, cast

import gymnasium
import numpy as np

from dayshift.calls import Call
from dayshift.entrance import Entrance
from dayshift.episode import Episode
from dayshift.errors import HarnessFault
from dayshift.exchange import Exchange
from dayshift.lots import draw_seed
from dayshift.operations import Catalogue
from dayshift.recorder import Recorder
from dayshift.rendering import render_exchange, render_opening, render_verdict
from dayshift.spaces import LONGEST_BODY, LONGEST_BRIEF, UNLIMITED_STEPS, CallSpace, observation_space, shortened
from dayshift.trajectory import Turn
from dayshift.wire import OpenRequest, Split, Verdict

OnFault = Literal["raise", "quarantine"]
Action = Mapping[str, Any] | Call


class Observation(TypedDict):
    """What the agent sees. Status 0: nothing was sent yet, or no answer came."""

    brief: str
    status: np.int64
    body: str
    clock: str
    steps_left: np.ndarray[Any, np.dtype[np.int64]]


class Info(TypedDict):
    """What the trainer sees besides. The same calls in the same episode give the same info."""

    task: str
    seed: int
    split: str
    # Of the worlds this episode started from.
    fingerprint: str
    # Of the call just made; empty after reset.
    operation: str
    revision: int | None
    # The product declined, or the call could not be written: an ordinary answer.
    refused: bool
    # A planned failure that struck this call.
    fault: str | None
    # The body was longer than the observation may be.
    shortened: bool
    # All findings, at the end of a scored episode.
    verdict: dict[str, Any] | None
    # Why the episode has no reward; only with on_fault="quarantine". Do not learn from it.
    quarantined: str | None


class DayshiftEnv(gymnasium.Env[Observation, Action]):
    """One workplace, one episode at a time.

    task        a family's id; None draws one per reset from those of the products and the split
    families    how the ids of those begin that are drawn from, such as "office/"
    split       "train", "validation" or "test"
    world       which world template: "standard", "small", "large"
    faults      which fault plan: "none", "rough", "storm", "lagging-search"
    control_url where control listens; else DAYSHIFT_CONTROL_URL, else the default port of this machine
    on_fault    "raise", or "quarantine": truncate the episode and say why in info["quarantined"]
    recorder    keeps every finished episode
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
        recorder: Recorder | None = None,
        longest_body: int = LONGEST_BODY,
        timeout: float = 30.0,
        menu: bool = False,
        families: str = "",
    ) -> None:
        self.render_mode = render_mode
        self.episode: Episode | None = None
        self._on_fault = on_fault
        self._recorder = recorder
        self._longest_body = longest_body
        asked = OpenRequest(task=task, split=split, world=world, faults=faults, menu=menu)
        self._entrance = Entrance(asked, products, control_url, timeout, families)
        self._calls = CallSpace(self._entrance.operations)
        self.action_space = self._calls
        self.observation_space = cast(gymnasium.Space[Observation], observation_space(longest_body))

    def ask_for_menus(self) -> None:
        self._entrance.asked = self._entrance.asked.model_copy(update={"menu": True})

    @property
    def operations(self) -> Catalogue:
        """Everything that can be called, with JSON schemas, ready as tool definitions."""
        return self.episode.operations if self.episode is not None else self._calls.operations

    def encode(self, call: Call) -> dict[str, Any]:
        """A call as a member of the action space; `step` takes either."""
        return self._calls.encode(call)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:  # type: ignore[override]  # Info is the dict that Gymnasium asks for, with its keys named
        super().reset(seed=seed)
        self._leave()
        self.episode = self._entrance.open(draw_seed(self.np_random) if seed is None else seed, options or {})
        return self._observation(None), self._info(None)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:  # type: ignore[override]  # as above
        episode = self._current()
        try:
            exchange = episode.act(self._calls.decode(action))
            submitted = episode.verdict is not None
            spent = not submitted and episode.steps_left == 0
            if spent:
                episode.submit()
        except HarnessFault as fault:
            return self._faulted(fault)
        if episode.verdict is None:
            return self._observation(exchange), 0.0, False, False, self._info(exchange)
        self._record()
        reward = _paid(episode.verdict)
        return self._observation(exchange), reward, submitted, spent, self._info(exchange, verdict=episode.verdict)

    def render(self) -> str | None:
        if self.render_mode != "ansi" or self.episode is None:
            return None
        exchanges = self.episode.exchanges
        shown = render_exchange(exchanges[-1]) if exchanges else render_opening(self.episode.dialogue.opened)
        return shown + (render_verdict(self.episode.verdict) if self.episode.verdict else "")

    def close(self) -> None:
        self._leave()
        self._entrance.close()

    def _current(self) -> Episode:
        if self.episode is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        if self.episode.over:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset")
        return self.episode

    def _faulted(self, fault: HarnessFault) -> tuple[Observation, float, bool, bool, Info]:
        self._record()
        if self._on_fault == "raise":
            raise fault
        return self._observation(None), 0.0, False, True, self._info(None, quarantined=f"{fault.kind}: {fault}")

    def _record(self) -> None:
        if self._recorder is not None and self.episode is not None:
            self._recorder.record(self.episode.trajectory())

    def _leave(self) -> None:
        if self.episode is not None:
            self.episode.close()
            self.episode = None

    def _observation(self, exchange: Exchange | None) -> Observation:
        episode = self._opened()
        return observe(episode.dialogue.opened.brief, exchange, episode.clock, episode.steps_left, self._longest_body)

    def _info(
        self, exchange: Exchange | None, *, verdict: Verdict | None = None, quarantined: str | None = None
    ) -> Info:
        dialogue = self._opened().dialogue
        return describe(
            dialogue.request, dialogue.opened.fingerprint, exchange, self._longest_body, verdict, quarantined
        )

    def _opened(self) -> Episode:
        assert self.episode is not None, "reset opens an episode"
        return self.episode


def observe(
    brief: str, exchange: Exchange | Turn | None, clock: str, steps_left: int | None, longest: int
) -> Observation:
    return Observation(
        brief=shortened(brief, LONGEST_BRIEF),
        status=np.int64(0 if exchange is None else exchange.status),
        body="" if exchange is None else shortened(exchange.text, longest),
        clock=clock,
        steps_left=np.array(UNLIMITED_STEPS if steps_left is None else steps_left, dtype=np.int64),
    )


def describe(
    request: OpenRequest,
    fingerprint: str,
    exchange: Exchange | None,
    longest: int,
    verdict: Verdict | None = None,
    quarantined: str | None = None,
) -> Info:
    return Info(
        task=request.task or "",
        seed=request.seed,
        split=request.split,
        fingerprint=fingerprint,
        operation="" if exchange is None else exchange.call.operation,
        revision=None if exchange is None else exchange.revision,
        refused=exchange is not None and exchange.refused,
        fault=None if exchange is None else exchange.fault,
        shortened=exchange is not None and len(exchange.text) > longest,
        verdict=None if verdict is None else verdict.model_dump(),
        quarantined=quarantined,
    )


def _paid(verdict: Verdict) -> float:
    """The verdict's reward as it is: an unscored one never gets here."""
    assert verdict.reward is not None, "an unscored verdict raises"
    return verdict.reward
