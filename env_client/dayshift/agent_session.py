"""AgentSession: what `dayshift run --model python:module.function` gives to an agent of one's own."""

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from threading import Thread
from typing import Any

from dayshift.episode import AsyncEpisode
from dayshift.errors import DayshiftError, UsageError
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


class AgentExit(DayshiftError):
    """An agent asked the process to end; only its own episode does."""


async def run_agent(agent: Agent, session: AgentSession) -> Any:
    if inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(type(agent).__call__):
        try:
            return await agent(session)
        except SystemExit as error:
            raise _explain_exit(error) from error
    return await _run_in_thread(agent, BlockingSession(session, asyncio.get_running_loop()))


async def _run_in_thread(agent: Agent, session: BlockingSession) -> Any:
    """A thread for each agent: asyncio's own pool has a few, and as many agents as were asked for play at once.

    It is no reason to stay: a run that is stopped does not wait for an agent that waits for something else.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Any] = loop.create_future()

    def work() -> None:
        try:
            answer, failure = agent(session), None
        except Exception as error:  # noqa: BLE001 - it is raised where the agent is waited for
            # A future cannot raise it.
            answer, failure = None, RuntimeError("StopIteration") if isinstance(error, StopIteration) else error
        except SystemExit as error:
            answer, failure = None, _explain_exit(error)
        # The run may have been stopped meanwhile, and its loop with it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, result, answer, failure)

    Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return await result


def _settle(result: "asyncio.Future[Any]", answer: Any, failure: Exception | None) -> None:
    if result.done():
        return
    if failure is None:
        result.set_result(answer)
    else:
        result.set_exception(failure)


def _explain_exit(error: SystemExit) -> AgentExit:
    return AgentExit(f"the agent called sys.exit({'' if error.code is None else repr(error.code)})")
