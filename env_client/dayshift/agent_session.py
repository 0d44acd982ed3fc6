"""AgentSession: what `dayshift run --model python:module.function` gives to an agent of one's own."""

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dayshift.episode import AsyncEpisode
from dayshift.errors import UsageError
from dayshift.operations import OpenAiTool
from dayshift.tool_surface import Surface


class AgentSession:
    """One piece of work: its brief, the tools, and `call`."""

    def __init__(self, episode: AsyncEpisode, surface: Surface) -> None:
        self._episode, self._surface = episode, surface

    @property
    def brief(self) -> str:
        return self._episode.brief

    @property
    def clock(self) -> str:
        return self._episode.clock

    @property
    def tools(self) -> list[OpenAiTool]:
        """The tools in the format of OpenAI's chat API."""
        return self._surface.openai_tools()

    @property
    def steps_left(self) -> int | None:
        return self._episode.steps_left

    @property
    def over(self) -> bool:
        return self._episode.over

    async def call(self, tool: str, arguments: str | dict[str, Any] | None = None) -> str:
        """Makes one call and returns the answer's text; a refusal starts with its status."""
        return await self._surface.call(self._episode, tool, arguments)


class BlockingSession:
    """The same for an agent that is an ordinary function; it runs in a thread of its own."""

    def __init__(self, session: AgentSession, loop: asyncio.AbstractEventLoop) -> None:
        self._session, self._loop = session, loop
        self.brief = session.brief
        self.clock = session.clock
        self.tools = session.tools

    @property
    def steps_left(self) -> int | None:
        return self._session.steps_left

    @property
    def over(self) -> bool:
        return self._session.over

    def call(self, tool: str, arguments: str | dict[str, Any] | None = None) -> str:
        return asyncio.run_coroutine_threadsafe(self._session.call(tool, arguments), self._loop).result()


# Returns the answer to hand in, or None.
Agent = Callable[[Any], Any]


def load_agent(name: str) -> Agent:
    """Imports `module.function`, also from the current folder."""
    module_name, _, function_name = name.rpartition(".")
    if not module_name:
        raise UsageError(f"an agent of your own is python:MODULE.FUNCTION, not python:{name}")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"python:{name} cannot be imported: {error}") from error
    except Exception as error:
        # The module is the caller's: whatever it raises, a syntax error among them, is theirs to read in one line.
        raise UsageError(f"python:{name} cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise UsageError(f"python:{name} is not a function")
    agent: Agent = function
    return agent


async def run_agent(agent: Agent, session: AgentSession) -> Any:
    if inspect.iscoroutinefunction(agent):
        return await agent(session)
    return await asyncio.to_thread(agent, BlockingSession(session, asyncio.get_running_loop()))
