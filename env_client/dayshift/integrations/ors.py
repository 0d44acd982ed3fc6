"""ORS, the Open Reward Standard: office work as an environment of the `openreward` package.

    python -m dayshift.integrations.ors --task crm/correct-contact --port 8080

A session of ORS is an episode. The reward comes with the call that ends it; an environment error is an error event,
because a trainer would read an empty reward as 0.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dayshift.argument_types import parse_port, parse_positive
from dayshift.connection import Connection
from dayshift.errors import MissingExtra
from dayshift.job_description import first_message, system_prompt
from dayshift.open_request import open_request
from dayshift.patient_opening import open_when_ready_blocking
from dayshift.task_sampling import list_eligible_tasks
from dayshift.tool_surface import DEFAULT_SURFACE

try:
    from openreward.environments import (
        Environment,
        ListToolsOutput,
        RunToolOutput,
        RunToolSuccess,
        Server,
        Split,
        TextBlock,
        ToolOutput,
        ToolSpec,
    )
except ImportError as error:
    raise MissingExtra("openreward", "ors") from error

_SPLITS = ("train", "validation", "test")


class OfficeWork(Environment):  # type: ignore[misc]  # its types are not installed where this file is checked
    """One episode. A task is `{"task": …, "seed": …, "split": …}` and takes the other fields of an opening too."""

    families: ClassVar[tuple[str, ...]] = ()
    seeds: ClassVar[int] = 100
    world: ClassVar[str] = "standard"
    surface: ClassVar[str] = DEFAULT_SURFACE
    # The base class's: no call is made any more.
    _episode_finished: bool = False

    def __init__(self, task_spec: Mapping[str, Any] | None = None, secrets: Mapping[str, str] | None = None) -> None:
        super().__init__(task_spec or {}, dict(secrets or {}))
        # The server makes its environments in a thread, and asks for tools and prompt at once.
        self._episode = open_when_ready_blocking(
            open_request(**{"world": self.world, **self.task_spec}), surface=self.surface
        )

    @classmethod
    def list_splits(cls) -> Sequence[Any]:
        return [Split(name=split, type=split) for split in _SPLITS]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Mapping[str, Any]]:
        if split not in _SPLITS:
            raise ValueError(f"there is no split {split!r}; there are {', '.join(_SPLITS)}")
        return [{"task": family, "seed": seed, "split": split} for family in cls.families for seed in range(cls.seeds)]

    @classmethod
    def list_tools(cls) -> Any:
        """The tool that every task has; the others depend on the products of the task."""
        finish = ToolSpec(name="finish_work", description="Ends the work.", input_schema={"type": "object"})
        return ListToolsOutput(tools=[finish])

    def list_task_tools(self) -> Any:
        tools = [tool["function"] for tool in self._episode.surface.openai_tools()]
        return ListToolsOutput(
            tools=[
                ToolSpec(name=tool["name"], description=tool["description"], input_schema=tool["parameters"])
                for tool in tools
                if tool["name"] != "finish_work"
            ]
        )

    def get_prompt(self) -> Sequence[Any]:
        brief = first_message(self._episode.brief, self._episode.clock)
        return [TextBlock(text=f"{system_prompt()}\n\n{brief}")]

    async def teardown(self) -> None:
        await asyncio.to_thread(self._episode.close)

    async def _call_tool(self, name: str, input: Mapping[str, Any]) -> Any:  # noqa: A002 - ORS's signature
        if self._episode_finished:
            return self._episode_finished_error(name)
        output = await asyncio.to_thread(self._act, name, input)
        self._episode_finished = output.finished
        return RunToolOutput(RunToolSuccess(output=output))

    def _act(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Makes one call. The last call that the budget allows is followed by the verdict, as `finish_work` is."""
        episode = self._episode
        text = episode.surface.call_blocking(episode, name, arguments)
        if episode.verdict is None and episode.steps_left == 0:
            episode.submit()
        if episode.verdict is None:
            return ToolOutput(blocks=[TextBlock(text=text)])
        metadata = {"outcome": episode.verdict.outcome, "because": episode.verdict.because}
        return ToolOutput(
            blocks=[TextBlock(text=text)], reward=episode.verdict.reward, finished=True, metadata=metadata
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m dayshift.integrations.ors", description="serve ORS")
    # Whoever reaches the port opens episodes with this process's token, so it is not open to the network by default.
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=parse_port, default=8080)
    parser.add_argument("--task", help="the only family; without it those that --families names")
    parser.add_argument("--families", default="", help="families whose ids start so, such as crm/")
    parser.add_argument(
        "--seeds", type=parse_positive, default=100, help="instances of each family and split (default 100)"
    )
    parser.add_argument("--world", default="standard")
    parser.add_argument("--surface", default=DEFAULT_SURFACE)
    options = parser.parse_args(arguments)
    with Connection() as connection:
        listed = connection.run(connection.address.control.families())
    families = (options.task,) if options.task else tuple(list_eligible_tasks(listed, (), "train", options.families))
    OfficeWork.families, OfficeWork.seeds = families, options.seeds
    OfficeWork.world, OfficeWork.surface = options.world, options.surface
    Server([OfficeWork]).run(host=options.host, port=options.port)


if __name__ == "__main__":
    main()
