"""play: a person in the agent's place."""

import json
import shlex
from collections.abc import Callable, Iterable
from typing import Any

from dayshift.calls import Call
from dayshift.episode import Episode
from dayshift.errors import DayshiftError, MissingExtra, Misuse
from dayshift.operations import Catalogue, Operation
from dayshift.rendering import render_exchange, render_opening, render_verdict

HELP = """operation name=value …   call it; values are JSON or plain text, body.field=value reaches inside
? [operation]            list operations, or describe one
wait hours=4             let time pass
submit [answer=…]        be judged
quit                     leave without a verdict"""


def play(episode: Episode, read: Callable[[], str], show: Callable[[str], None]) -> None:
    """Read a line, make the call, show the answer, until the verdict."""
    show(render_opening(episode.dialogue.opened))
    show(HELP + "\n")
    while not episode.over:
        try:
            line = read().strip()
        except (EOFError, KeyboardInterrupt):
            return
        if line in {"quit", "exit"}:
            return
        if line:
            show(_answered(episode, line))
    if episode.verdict is not None:
        show(render_verdict(episode.verdict))


def parse_line(line: str, operations: Catalogue) -> Call:
    """`crm.contacts.update contactId=17 properties.phone="+49 30 1"`."""
    try:
        name, *pairs = shlex.split(line)
    except ValueError as error:
        raise Misuse(f"that line cannot be read: {error}") from error
    arguments: dict[str, Any] = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals:
            raise Misuse(f"{pair!r} is not name=value")
        _put(arguments, path.split("."), _value(text, operations[name], path))
    return Call(operations[name].name, arguments)


def describe(operation: Operation) -> str:
    lines = [f"{operation.name}  {operation.method} {operation.path}".rstrip(), f"  {operation.description}"]
    for argument in operation.arguments:
        need = "required" if argument.required else "optional"
        kind = argument.schema.get("type", "any")
        lines.append(f"  {argument.name}: {kind}, {need}, in {argument.place}")
    return "\n".join(lines) + "\n"


def _answered(episode: Episode, line: str) -> str:
    try:
        if line.startswith("?"):
            return _help(episode.operations, line[1:].strip())
        return render_exchange(episode.step(parse_line(line, episode.operations)))
    except DayshiftError as error:
        return f"{type(error).__name__}: {error}\n"


def _help(operations: Catalogue, name: str) -> str:
    if name in operations:
        return describe(operations[name])
    offered = [one for one in operations.values() if name in one.name]
    first = [one.description.splitlines()[0] if one.description else "" for one in offered]
    return "\n".join(f"{one.name}  {said}" for one, said in zip(offered, first, strict=True)) + f"\n\n{HELP}\n"


def _put(into: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        into = into.setdefault(name, {})
        if not isinstance(into, dict):
            raise Misuse(f"{name} has a value already; it cannot have parts too")
    into[path[-1]] = value


def _value(text: str, operation: Operation, path: str) -> Any:
    """JSON where it reads as JSON, unless the schema asks for a text: an id stays a text."""
    argument = operation.by_name.get(path)
    if argument is not None and argument.schema.get("type") == "string":
        return text
    if "." in path and not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def prompt(operations: Catalogue, history: str | None = None) -> Callable[[], str]:
    """A prompt with completion and history."""
    try:
        from prompt_toolkit import PromptSession  # late: an extra
        from prompt_toolkit.auto_suggest import AutoSuggestFromHistory  # late: an extra
        from prompt_toolkit.history import FileHistory, InMemoryHistory  # late: an extra
    except ImportError as error:
        raise MissingExtra("prompt-toolkit", "play") from error
    session: Any = PromptSession(
        history=FileHistory(history) if history else InMemoryHistory(),
        auto_suggest=AutoSuggestFromHistory(),
        completer=_completer(operations),
        complete_while_typing=True,
    )
    return lambda: str(session.prompt("› "))


def _completer(operations: Catalogue) -> Any:
    from prompt_toolkit.completion import Completer, Completion  # late: an extra

    class CallCompleter(Completer):
        """Operations first, then the chosen one's arguments."""

        def get_completions(self, document: Any, _complete_event: Any) -> Iterable[Any]:
            for word, typed in completions(operations, document.text_before_cursor):
                yield Completion(word, start_position=-len(typed))

    return CallCompleter()


def completions(operations: Catalogue, line: str) -> list[tuple[str, str]]:
    """What may come next, each with the part of it that is typed already."""
    words = line.split(" ")
    if len(words) == 1:
        return [(name, words[0]) for name in (*operations, "quit", "?") if words[0] in name]
    if words[0] not in operations:
        return []
    taken = {word.partition("=")[0] for word in words[1:-1]}
    arguments = operations[words[0]].arguments
    return [
        (f"{one.name}=", words[-1]) for one in arguments if one.name not in taken and one.name.startswith(words[-1])
    ]
