"""Surface: the tools that a model is given, and the answers as it reads them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from dayshift.answer_text import MAX_ANSWER_CHARS, fit_answer
from dayshift.calls import SUBMIT
from dayshift.errors import UsageError
from dayshift.lookup import call_tool, describe_tool, find_tool
from dayshift.operations import AnthropicTool, Catalogue, OpenAiTool, Operation
from dayshift.step import Step, is_refusal

if TYPE_CHECKING:
    from dayshift.episode import AsyncEpisode, Episode

SurfaceName = Literal["core", "search", "task", "full"]
DEFAULT_SURFACE: SurfaceName = "core"
DISTRACTORS = 8

_ONLY = "only("
_TASK = "task("
_CHARS_PER_TOKEN = 4


class NoSuchSurface(UsageError):
    """There is no surface of that name, or it would hold no tools."""


@dataclass(frozen=True)
class Surface:
    """A list of tools over all operations of an episode. Calls of other operations are understood all the same."""

    name: str
    tools: tuple[Operation, ...]
    operations: Catalogue
    max_answer_chars: int = MAX_ANSWER_CHARS
    # The tools were chosen with knowledge of the solution.
    assisted: bool = False

    @cached_property
    def tokens(self) -> int:
        """The size of the tool list: characters of its JSON divided by four."""
        return len(json.dumps(self.openai_tools(), ensure_ascii=False)) // _CHARS_PER_TOKEN

    def openai_tools(self) -> list[OpenAiTool]:
        return [tool.openai_tool() for tool in self.tools]

    def anthropic_tools(self) -> list[AnthropicTool]:
        return [tool.anthropic_tool() for tool in self.tools]

    async def call(self, episode: "AsyncEpisode", tool: str, arguments: str | Mapping[str, Any] | None = None) -> str:
        """Makes one step by tool name or operation name and returns the text that the model reads."""
        return self.read(await episode.act({"operation": tool, "arguments": arguments}))

    def call_blocking(self, episode: "Episode", tool: str, arguments: str | Mapping[str, Any] | None = None) -> str:
        """`call` for code without an event loop."""
        return self.read(episode.act({"operation": tool, "arguments": arguments}))

    def read(self, step: Step) -> str:
        """Returns the answer of a step as a model reads it."""
        return self.render_answer(step.call.operation, step.status, step.body)

    def render_answer(self, operation: str, status: int, body: bytes) -> str:
        """Returns an answer as a model reads it: shortened, and a refusal with its status first."""
        refused = is_refusal(status)
        if operation == SUBMIT and not refused:
            return "Done."
        prefix = ("error: " if status == 0 else f"{status}: ") if refused else ""
        if not body:
            return f"{prefix or f'{status}: '}no content"
        text = body.decode(errors="replace")
        return prefix + fit_answer(text, self.max_answer_chars - len(prefix), self.operations.find(operation))

    def wrap(self, operation: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Returns the tool and the arguments with which a model that has this surface makes a call."""
        target = self.operations.find(operation)
        name = operation if target is None else target.name
        if target is None:
            return name, dict(arguments)
        renamed = target.rename_for_model(arguments)
        if name in self._names or call_tool().name not in self._names:
            return target.tool_name, renamed
        return call_tool().tool_name, {"operation": name, "arguments": renamed}

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.tools)


def only(*patterns: str) -> str:
    """Returns the name of the surface that holds the operations of these patterns: `only("crm.contacts.*")`."""
    return f"{_ONLY}{','.join(patterns)})"


def is_task_surface(name: str) -> bool:
    """`task`, or `task(20)` for another number of distractors."""
    return name == "task" or (name.startswith(_TASK) and name.endswith(")") and name[len(_TASK) : -1].isdecimal())


def build_surface(
    operations: Catalogue,
    name: str,
    *,
    max_answer_chars: int = MAX_ANSWER_CHARS,
    solution: Iterable[str] = (),
    distractors: int = DISTRACTORS,
    seed: int = 0,
) -> Surface:
    """Builds a surface; `solution` names the operations that a family's known solutions use, for `task`."""
    own = [operation for operation in operations.values() if not operation.belongs_to_harness]
    closing = [operation for operation in operations.values() if operation.belongs_to_harness]
    assisted = False
    if name == "core":
        core = [operation for operation in own if operation.is_core]
        # A product that names no core is given whole.
        without = {operation.product for operation in own} - {operation.product for operation in core}
        core = [operation for operation in own if operation.is_core or operation.product in without]
        tools = [*(operation.core for operation in core), find_tool(describes=True), call_tool(), *closing]
    elif name == "search":
        tools = [find_tool(), describe_tool(), call_tool(), *closing[-1:]]
    elif is_task_surface(name):
        number = int(name[len(_TASK) : -1]) if name != "task" else distractors
        tools, assisted = [*_choose_task_tools(own, solution, number, seed), *closing], True
    elif name == "full":
        tools = [*own, *closing]
    elif name.startswith(_ONLY) and name.endswith(")"):
        tools = [*_match(own, name[len(_ONLY) : -1].split(",")), *closing]
    else:
        raise NoSuchSurface(f"there is no surface {name!r}; there are core, search, task, task(N), full and only(…)")
    return Surface(name, tuple(tools), operations, max_answer_chars, assisted)


def _match(own: Sequence[Operation], patterns: Sequence[str]) -> list[Operation]:
    for pattern in patterns:
        if not any(fnmatchcase(operation.name, pattern.strip()) for operation in own):
            raise NoSuchSurface(f"no operation matches {pattern!r}")
    return [operation for operation in own if any(fnmatchcase(operation.name, pattern.strip()) for pattern in patterns)]


def _choose_task_tools(
    own: Sequence[Operation], solution: Iterable[str], distractors: int, seed: int
) -> list[Operation]:
    """Returns the operations of the solution and as many others as asked for, in the order of the catalogue."""
    needed = set(solution)
    if not needed & {operation.name for operation in own}:
        raise NoSuchSurface("the surface `task` needs a task whose solutions are known")
    others = sorted(
        (operation for operation in own if operation.name not in needed),
        # Not Python's own generator: the same seed chooses the same distractors in every version.
        key=lambda operation: hashlib.sha256(f"{seed} {operation.name}".encode()).digest(),
    )
    names = needed | {operation.name for operation in others[:distractors]}
    return [operation for operation in own if operation.name in names]
