"""SkyRL: office work as a text environment of skyrl-gym.

    register(id="dayshift", entry_point="dayshift.integrations.skyrl:OfficeTextEnv")
    env = skyrl_gym.make("dayshift", extras={"task": "crm/correct-contact", "seed": 7})

The model writes calls as `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, as Qwen's and Hermes' templates do.
An environment error raises out of `init` or `step`: SkyRL must not learn a reward that nobody gave.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from dayshift.episode import Episode
from dayshift.errors import MissingExtra
from dayshift.job_description import CONTINUE, first_message, system_prompt
from dayshift.open_request import open_request
from dayshift.patient_opening import open_when_ready_blocking
from dayshift.tool_surface import DEFAULT_SURFACE
from dayshift.wire import OpenRequest

try:
    from skyrl_gym.envs.base_text_env import BaseTextEnv
except ImportError as error:
    raise MissingExtra("skyrl-gym", "skyrl") from error

_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_MAX_SILENT_REPLIES = 3
_HOW_TO_CALL = (
    "These are your tools:\n<tools>\n{tools}\n</tools>\n\n"
    'Write each call as <tool_call>{{"name": …, "arguments": {{…}}}}</tool_call>.'
)


class OfficeTextEnv(BaseTextEnv):
    """One episode; `extras` is the dataset's row, of which it takes the fields of an `OpenRequest` and `surface`."""

    def __init__(self, env_config: object = None, extras: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - SkyRL's signature
        super().__init__()
        row = extras or {}
        names = OpenRequest.model_fields.keys() - {"menu"}
        self._request = open_request(**{name: row[name] for name in names if row.get(name) is not None})
        self._surface = str(row.get("surface", DEFAULT_SURFACE))
        self._episode: Episode | None = None
        self._silent = 0

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Opens the episode; the tools and the brief follow whatever the row's prompt says."""
        self._episode = episode = open_when_ready_blocking(self._request, surface=self._surface)
        tools = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in episode.surface.openai_tools())
        system = f"{system_prompt()}\n\n{_HOW_TO_CALL.format(tools=tools)}"
        brief = first_message(episode.brief, episode.clock)
        return [*prompt, {"role": "system", "content": system}, {"role": "user", "content": brief}], {}

    def step(self, action: str) -> dict[str, Any]:
        """Makes the calls of one reply; the reward comes with the verdict, at the end."""
        assert self._episode is not None, "init opens the episode"
        episode, calls = self._episode, _CALL.findall(action)
        self._silent = 0 if calls else self._silent + 1
        observations = [{"role": "user", "content": CONTINUE}] if not calls else []
        for call in calls:
            if episode.over or episode.steps_left == 0:
                break
            observations.append({"role": "user", "content": f"<tool_response>{self._call(call)}</tool_response>"})
        if episode.verdict is None and (episode.steps_left == 0 or self._silent >= _MAX_SILENT_REPLIES):
            episode.submit()
        if episode.verdict is None:
            return {"observations": observations, "reward": 0.0, "done": False, "metadata": {}}
        metadata = {"outcome": episode.verdict.outcome, "because": episode.verdict.because}
        return {"observations": [], "reward": episode.verdict.reward, "done": True, "metadata": metadata}

    def get_metrics(self) -> dict[str, Any]:
        verdict = None if self._episode is None else self._episode.verdict
        return {} if verdict is None else {"passed": float(verdict.outcome == "passed"), "steps": float(verdict.steps)}

    def close(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            episode.close()

    def _call(self, text: str) -> str:
        assert self._episode is not None, "init opens the episode"
        try:
            call = json.loads(text)
            tool, arguments = str(call["name"]), call.get("arguments")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            # Handed on as it is: the episode answers what is wrong with it, and it costs a step.
            tool, arguments = "", text
        return self._episode.surface.call_blocking(self._episode, tool, arguments)
