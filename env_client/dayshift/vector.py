"""DayshiftVectorEnv: many episodes behind Gymnasium's vector API, driven from one event loop."""

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from dayshift.connection import Address, AsyncConnection
from dayshift.discovery import discover
from dayshift.env import Info, Observation, OnFault, describe, observe
from dayshift.episode import AsyncEpisode
from dayshift.errors import HarnessFault
from dayshift.exchange import Exchange
from dayshift.lots import draw_seed, draw_task, eligible
from dayshift.operations import Catalogue
from dayshift.recorder import Recorder
from dayshift.spaces import LONGEST_BODY, CallSpace, observation_space
from dayshift.wire import OpenRequest, Split, Verdict

T = TypeVar("T")
Turn = tuple[Observation, float, bool, bool, Info]


class DayshiftVectorEnv(VectorEnv[Any, Any, Any]):
    """`gymnasium.make_vec("dayshift/Crm-v0", num_envs=64)`; options as in `DayshiftEnv`."""

    def __init__(
        self,
        num_envs: int = 1,
        *,
        products: tuple[str, ...] = (),
        task: str | None = None,
        split: Split = "train",
        world: str = "standard",
        faults: str = "none",
        control_url: str | None = None,
        on_fault: OnFault = "raise",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        recorder: Recorder | None = None,
        longest_body: int = LONGEST_BODY,
        timeout: float = 30.0,
        connections: int = 64,
        render_mode: str | None = None,
        families: str = "",
    ) -> None:
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.asked = OpenRequest(task=task, split=split, world=world, faults=faults)
        self._products = products
        self._families = families
        self._on_fault = on_fault
        self._recorder = recorder
        self._longest_body = longest_body
        self._seats = [_Seat() for _ in range(num_envs)]
        self._drawable: dict[Split, list[str]] = {}
        self._loop = _LoopThread()
        self._connection = self._loop.run(_connected(Address.find(control_url), timeout, connections))
        self._calls = CallSpace(self._discovered())
        self.single_action_space = self._calls
        self.single_observation_space = observation_space(longest_body)
        self.action_space = batch_space(self._calls, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)

    def _discovered(self) -> Catalogue:
        flow = discover(self._connection.address.control, self.asked.world, self._products)
        try:
            return self._loop.run(self._connection.run(flow))
        except BaseException:
            self._loop.run(self._connection.close())
            self._loop.stop()
            raise

    @property
    def operations(self) -> Catalogue:
        return self._calls.operations

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """`options["reset_mask"]` resets some of them, as Gymnasium's disabled autoreset asks for."""
        options = dict(options or {})
        mask = options.pop("reset_mask", np.ones(self.num_envs, dtype=bool))
        for seat, own in zip(self._seats, self._seeds(seed), strict=True):
            if own is not None:
                seat.chance = np.random.default_rng(own)
            seat.next_seed = own
        resets = [self._reset(seat, options) for seat, chosen in zip(self._seats, mask, strict=True) if chosen]
        self._gather(resets)
        return self._batched([seat.shown() for seat in self._seats]), pack([seat.told() for seat in self._seats])

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        moves = [self._move(seat, action) for seat, action in zip(self._seats, self._each(actions), strict=True)]
        turns = self._gather(moves)
        rewards = np.array([turn[1] for turn in turns], dtype=np.float64)
        ended = np.array([turn[2] for turn in turns], dtype=np.bool_)
        cut = np.array([turn[3] for turn in turns], dtype=np.bool_)
        infos = pack([turn[4] for turn in turns])
        if self.autoreset_mode is AutoresetMode.SAME_STEP and (ended | cut).any():
            infos = self._reset_at_once(turns, ended | cut)
        else:
            for seat, over in zip(self._seats, ended | cut, strict=True):
                seat.over = bool(over)
        return self._batched([seat.shown() for seat in self._seats]), rewards, ended, cut, infos

    def close_extras(self, **_kwargs: Any) -> None:
        self._gather([seat.leave() for seat in self._seats])
        self._loop.run(self._connection.close())
        self._loop.stop()

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        return [seed + place for place in range(self.num_envs)] if isinstance(seed, int) else list(seed)

    def _each(self, actions: Any) -> Sequence[Any]:
        """Accepts a batch of the action space, or simply a list of calls."""
        if isinstance(actions, Mapping):
            return list(iterate(self.action_space, actions))
        return list(actions)

    def _gather(self, moves: list[Coroutine[Any, Any, T]]) -> list[T]:
        return self._loop.run(_all(moves))

    async def _reset(self, seat: "_Seat", options: Mapping[str, Any]) -> None:
        await seat.leave()
        seed = draw_seed(seat.chance) if seat.next_seed is None else seat.next_seed
        seat.next_seed = None
        request = OpenRequest.model_validate({**self.asked.model_dump(), **options, "seed": seed})
        if request.task is None:
            request = request.model_copy(update={"task": draw_task(await self._tasks(request.split), seed)})
        seat.episode = await AsyncEpisode.open(request, connection=self._connection)
        seat.over = False
        self._show(seat, None)

    async def _tasks(self, split: Split) -> list[str]:
        if split not in self._drawable:
            families = await self._connection.run(self._connection.address.control.families())
            self._drawable[split] = eligible(families, self._products, split, self._families)
        return self._drawable[split]

    async def _move(self, seat: "_Seat", action: object) -> Turn:
        if seat.over and self.autoreset_mode is AutoresetMode.NEXT_STEP:
            await self._reset(seat, {})
            return seat.shown(), 0.0, False, False, seat.told()
        if seat.over or seat.episode is None:
            raise gymnasium.error.ResetNeeded("an episode is over; reset it with options={'reset_mask': …}")
        return await self._play(seat, seat.episode, self._calls.decode(action))

    async def _play(self, seat: "_Seat", episode: AsyncEpisode, action: object) -> Turn:
        try:
            exchange = await episode.act(action)
            submitted = episode.verdict is not None
            if spent := not submitted and episode.steps_left == 0:
                await episode.submit()
        except HarnessFault as fault:
            return self._faulted(seat, episode, fault)
        if episode.verdict is not None:
            self._record(episode)
        self._show(seat, exchange, verdict=episode.verdict)
        reward = 0.0 if episode.verdict is None else episode.verdict.reward
        assert reward is not None, "an unscored verdict raises"
        return seat.shown(), reward, submitted, spent, seat.told()

    def _faulted(self, seat: "_Seat", episode: AsyncEpisode, fault: HarnessFault) -> Turn:
        self._record(episode)
        if self._on_fault == "raise":
            raise fault
        self._show(seat, None, quarantined=f"{fault.kind}: {fault}")
        return seat.shown(), 0.0, False, True, seat.told()

    def _record(self, episode: AsyncEpisode) -> None:
        if self._recorder is not None:
            self._recorder.record(episode.trajectory())

    def _show(
        self,
        seat: "_Seat",
        exchange: Exchange | None,
        *,
        verdict: Verdict | None = None,
        quarantined: str | None = None,
    ) -> None:
        assert seat.episode is not None, "a seat without an episode has nothing to show"
        episode, longest = seat.episode, self._longest_body
        opened, request = episode.dialogue.opened, episode.dialogue.request
        seat.observation = observe(opened.brief, exchange, episode.clock, episode.steps_left, longest)
        seat.info = describe(request, opened.fingerprint, exchange, longest, verdict, quarantined)

    def _reset_at_once(self, turns: list[Turn], over: Any) -> dict[str, Any]:
        final = np.full(self.num_envs, None, dtype=object)
        for place in np.flatnonzero(over):
            final[place] = turns[place][0]
        last = pack([turn[4] if ended else None for turn, ended in zip(turns, over, strict=True)])
        self._gather([self._reset(seat, {}) for seat, ended in zip(self._seats, over, strict=True) if ended])
        infos = pack([seat.told() for seat in self._seats])
        return {**infos, "final_obs": final, "_final_obs": over, "final_info": last, "_final_info": over}

    def _batched(self, observations: Sequence[Observation]) -> Any:
        empty: Any = create_empty_array(self.single_observation_space, self.num_envs)
        return concatenate(self.single_observation_space, list(observations), empty)


def pack(told: Sequence[Info | None]) -> dict[str, Any]:
    """Gymnasium's form of many infos: an array per key, and beside it which places it speaks of.

    Ours, because Gymnasium's own takes the first value's type for all, and a revision may be None.
    """
    here = np.array([info is not None for info in told])
    packed: dict[str, Any] = {}
    for key in Info.__annotations__:
        values: list[Any] = [None if info is None else dict(info)[key] for info in told]
        plain = all(isinstance(value, bool) for value in values) or all(type(value) is int for value in values)
        column = np.array(values) if plain else np.empty(len(values), dtype=object)
        column[:] = values
        packed[key], packed[f"_{key}"] = column, here.copy()
    return packed


class _Seat:
    """One place of the vector: its episode, its chance, and what it last showed."""

    def __init__(self) -> None:
        self.episode: AsyncEpisode | None = None
        self.chance = np.random.default_rng()
        self.next_seed: int | None = None
        self.observation: Observation | None = None
        self.info: Info | None = None
        self.over = False

    def shown(self) -> Observation:
        if self.observation is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self.observation

    def told(self) -> Info:
        if self.info is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self.info

    async def leave(self) -> None:
        if self.episode is not None:
            await self.episode.close()
            self.episode = None


class _LoopThread:
    """An event loop of our own: the caller may sit in a notebook whose loop is already running."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="dayshift-vector", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _connected(address: Address, timeout: float, connections: int) -> AsyncConnection:
    return AsyncConnection(address, timeout=timeout, connections=connections)


async def _all(moves: list[Coroutine[Any, Any, T]]) -> list[T]:
    """All results, or the first failure once all have come to rest: no move is left half made."""
    results = await asyncio.gather(*moves, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]
