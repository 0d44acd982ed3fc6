"""DayshiftVectorEnv: many episodes behind Gymnasium's vector API, on one event loop."""

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from dayshift.connection import Address, AsyncConnection
from dayshift.curriculum import Curriculum
from dayshift.discovery import discover_operations
from dayshift.env import OnFault
from dayshift.episode import AsyncEpisode
from dayshift.errors import HarnessFault
from dayshift.http_flow import ANSWER_SECONDS
from dayshift.intervention import Supervisor
from dayshift.observation import Info, build_info, build_observation
from dayshift.open_request import open_request
from dayshift.operations import Catalogue
from dayshift.recorder import EpisodeRecorder
from dayshift.spaces import MAX_BODY_CHARS, CallSpace, observation_space
from dayshift.step import Step
from dayshift.task_sampling import list_eligible_tasks, sample_seed, sample_task
from dayshift.wire import Split, Verdict

T = TypeVar("T")
StepResult = tuple[Any, float, bool, bool, Info]


class DayshiftVectorEnv(VectorEnv[Any, Any, Any]):
    """`gymnasium.make_vec("dayshift/Crm-v0", num_envs=64)`; the options are those of `DayshiftEnv`."""

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
        recorder: EpisodeRecorder | None = None,
        max_body_chars: int = MAX_BODY_CHARS,
        timeout: float = ANSWER_SECONDS,
        connections: int = 64,
        render_mode: str | None = None,
        families: str | Sequence[str] = "",
        surface: str | None = None,
        max_steps: int | None = None,
        max_episode_steps: int | None = None,
        curriculum: Curriculum | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self._defaults = open_request(task=task, split=split, world=world, faults=faults)
        self._products = products
        self._families = families
        self._surface = surface
        self._on_fault = on_fault
        self._curriculum = curriculum
        self._supervisor = supervisor
        self._recorder = recorder
        self._max_body_chars = max_body_chars
        # Gymnasium gives a vector the second name, where its specification bounds the steps.
        self._max_steps = min((bound for bound in (max_steps, max_episode_steps) if bound is not None), default=None)
        self._slots = [Slot() for _ in range(num_envs)]
        self._tasks_by_split: dict[Split, list[str]] = {}
        self._loop = _LoopThread()
        self._connection = self._loop.run(_connect(Address.find(control_url), timeout, connections))
        self._calls = CallSpace(self._discover_operations())
        self.single_action_space: gymnasium.Space[Any] = self._build_action_space()
        self.single_observation_space: gymnasium.Space[Any] = self._build_observation_space()
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)

    def _build_action_space(self) -> gymnasium.Space[Any]:
        return self._calls

    def _build_observation_space(self) -> gymnasium.Space[Any]:
        return observation_space(self._max_body_chars)

    def _decode(self, _slot: "Slot", action: Any) -> object:
        return self._calls.decode(action)

    def _observe(self, _slot: "Slot", episode: AsyncEpisode, step: Step | None) -> Any:
        """Returns what a slot's agent sees after a step, or at the start."""
        operation = None if step is None else episode.operations.find(step.call.operation)
        brief = episode.protocol.opened.brief
        return build_observation(brief, step, episode.clock, episode.steps_left, self._max_body_chars, operation)

    def _discover_operations(self) -> Catalogue:
        flow = discover_operations(self._connection.address.control, self._defaults.world, self._products)
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
        """Resets all episodes, or with `options["reset_mask"]` some, as Gymnasium's disabled autoreset needs it."""
        options = dict(options or {})
        mask = options.pop("reset_mask", np.ones(self.num_envs, dtype=bool))
        for slot, slot_seed in zip(self._slots, self._expand_seed(seed), strict=True):
            if slot_seed is not None:
                slot.chance = np.random.default_rng(slot_seed)
            slot.next_seed = slot_seed
        resets = [self._reset(slot, options) for slot, selected in zip(self._slots, mask, strict=True) if selected]
        self._gather(resets)
        observations = self._batch([slot.require_observation() for slot in self._slots])
        return observations, self._pack_infos([slot.require_info() for slot in self._slots])

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        pairs = zip(self._slots, self._split_actions(actions), strict=True)
        results = self._gather([self._step_slot(slot, action) for slot, action in pairs])
        rewards = np.array([result[1] for result in results], dtype=np.float64)
        terminated = np.array([result[2] for result in results], dtype=np.bool_)
        truncated = np.array([result[3] for result in results], dtype=np.bool_)
        over = terminated | truncated
        if self.autoreset_mode is AutoresetMode.SAME_STEP and over.any():
            infos = self._reset_in_same_step(results, over)
        else:
            infos = self._pack_infos([result[4] for result in results])
            for slot, is_over in zip(self._slots, over, strict=True):
                slot.over = bool(is_over)
        observations = self._batch([slot.require_observation() for slot in self._slots])
        return observations, rewards, terminated, truncated, infos

    def close_extras(self, **_kwargs: Any) -> None:
        self._gather([self._close_episode(slot) for slot in self._slots])
        self._loop.run(self._connection.close())
        self._loop.stop()

    def _expand_seed(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        return [seed + index for index in range(self.num_envs)] if isinstance(seed, int) else list(seed)

    def _split_actions(self, actions: Any) -> Sequence[Any]:
        """Splits a batch of the action space, or a list of calls, into one action for each slot."""
        if isinstance(actions, Mapping):
            return list(iterate(self.action_space, actions))
        return list(actions)

    def _gather(self, work: list[Coroutine[Any, Any, T]]) -> list[T]:
        return self._loop.run(_gather_all(work))

    async def _reset(self, slot: "Slot", options: Mapping[str, Any]) -> None:
        await self._close_episode(slot)
        seed = sample_seed(slot.chance) if slot.next_seed is None else slot.next_seed
        slot.next_seed = None
        request = open_request(**{**self._defaults.model_dump(), **options, "seed": seed})
        if request.task is None:
            request = request.model_copy(update={"task": await self._sample_task(request.split, seed)})
        slot.episode = await AsyncEpisode.open(
            request,
            connection=self._connection,
            surface=self._surface,
            max_answer_chars=self._max_body_chars,
            max_steps=self._max_steps,
            supervisor=self._supervisor,
        )
        slot.over = False
        self._update(slot, None)

    async def _close_episode(self, slot: "Slot") -> None:
        """Closes the slot's episode; one that is cut in the middle is judged first, where episodes are recorded."""
        if slot.episode is None:
            return
        if self._recorder is not None and slot.episode.steps and not slot.episode.over:
            with suppress(HarnessFault):
                await slot.episode.submit()
            await self._record(slot.episode)
        await slot.episode.close()
        slot.episode = None

    async def _sample_task(self, split: Split, seed: int) -> str:
        if self._curriculum is not None:
            return self._curriculum.sample()
        return sample_task(await self._list_tasks(split), seed)

    async def _list_tasks(self, split: Split) -> list[str]:
        if split not in self._tasks_by_split:
            families = await self._connection.run(self._connection.address.control.families())
            self._tasks_by_split[split] = list_eligible_tasks(families, self._products, split, self._families)
        return self._tasks_by_split[split]

    async def _step_slot(self, slot: "Slot", action: object) -> StepResult:
        if slot.over and self.autoreset_mode is AutoresetMode.NEXT_STEP:
            await self._reset(slot, {})
            return slot.require_observation(), 0.0, False, False, slot.require_info()
        if slot.over or slot.episode is None:
            raise gymnasium.error.ResetNeeded("an episode is over; reset it with options={'reset_mask': …}")
        return await self._act(slot, slot.episode, self._decode(slot, action))

    async def _act(self, slot: "Slot", episode: AsyncEpisode, action: object) -> StepResult:
        try:
            step = await episode.act(action)
            submitted = episode.verdict is not None
            if budget_spent := not submitted and episode.steps_left == 0:
                await episode.submit()
        except HarnessFault as fault:
            return await self._handle_fault(slot, episode, fault)
        if episode.verdict is not None:
            await self._record(episode)
        self._update(slot, step, verdict=episode.verdict)
        reward = 0.0 if episode.verdict is None else episode.verdict.reward
        assert reward is not None, "an unscored verdict raises"
        return slot.require_observation(), reward, submitted, budget_spent, slot.require_info()

    async def _handle_fault(self, slot: "Slot", episode: AsyncEpisode, fault: HarnessFault) -> StepResult:
        await self._record(episode)
        if self._on_fault == "raise":
            raise fault
        self._update(slot, None, quarantined=f"{fault.kind}: {fault}")
        return slot.require_observation(), 0.0, False, True, slot.require_info()

    async def _record(self, episode: AsyncEpisode) -> None:
        if self._curriculum is not None:
            self._curriculum.record(episode.trajectory())
        if self._recorder is not None:
            await episode.fetch_diff()
            self._recorder.record(episode.trajectory())

    def _update(
        self,
        slot: "Slot",
        step: Step | None,
        *,
        verdict: Verdict | None = None,
        quarantined: str | None = None,
    ) -> None:
        assert slot.episode is not None, "a slot is updated while it has an episode"
        episode = slot.episode
        slot.observation = self._observe(slot, episode, step)
        slot.info = build_info(episode.protocol, step, self._max_body_chars, verdict, quarantined)

    def _reset_in_same_step(self, results: list[StepResult], over: Any) -> dict[str, Any]:
        """Resets what is over, and returns the infos with the last observation and info of the episodes that ended."""
        ended = np.flatnonzero(over)
        last = {int(index): {"final_obs": results[index][0], "final_info": results[index][4]} for index in ended}
        self._gather([self._reset(self._slots[index], {}) for index in last])
        return self._pack_infos([{**last.get(n, {}), **slot.require_info()} for n, slot in enumerate(self._slots)])

    def _pack_infos(self, infos: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Packs infos as Gymnasium's own vectors do: an array for each key, and a mask of the slots that have it."""
        packed: dict[str, Any] = {}
        for index, info in enumerate(infos):
            packed = self._add_info(packed, dict(info), index)
        return packed

    def _batch(self, observations: Sequence[Any]) -> Any:
        empty: Any = create_empty_array(self.single_observation_space, self.num_envs)
        return concatenate(self.single_observation_space, list(observations), empty)


def unpack_infos(infos: Mapping[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Returns the infos of a vector as one dictionary for each slot."""
    unpacked: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for key, values in infos.items():
        if f"_{key}" not in infos:
            continue
        # A dictionary was packed key by key, and `final_obs` slot by slot.
        columns = unpack_infos(values, num_envs) if isinstance(values, dict) else values
        for index in np.flatnonzero(infos[f"_{key}"]):
            value = columns[index]
            unpacked[index][key] = value.item() if isinstance(value, np.generic) else value
    return unpacked


class Slot:
    """One environment of the vector: its episode, its random generator, and its last observation and info."""

    def __init__(self) -> None:
        self.episode: AsyncEpisode | None = None
        self.chance = np.random.default_rng()
        self.next_seed: int | None = None
        self.observation: Any = None
        self.info: Info | None = None
        self.over = False

    def require_observation(self) -> Any:
        if self.observation is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self.observation

    def require_info(self) -> Info:
        if self.info is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self.info


class _LoopThread:
    """Runs an event loop in a thread of its own, because a notebook already runs one in the caller's."""

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


async def _connect(address: Address, timeout: float, connections: int) -> AsyncConnection:
    return AsyncConnection(address, timeout=timeout, connections=connections)


async def _gather_all(work: list[Coroutine[Any, Any, T]]) -> list[T]:
    """Returns all results, or raises the first failure after all have ended, so that none is interrupted."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]
