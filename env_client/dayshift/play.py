"""Play: a person takes the agent's place in a terminal."""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dayshift.calls import Call
from dayshift.episode import Episode
from dayshift.errors import DayshiftError, MissingExtra, UsageError
from dayshift.operations import Catalogue, Operation
from dayshift.rendering import render_opening, render_step, render_verdict

HELP = """operation name=value …   call it; values are JSON or plain text, body.field=value reaches inside
? [operation]            list operations, or describe one
help                     print these lines
wait hours=4             let time pass
submit [answer=…]        be judged
quit                     leave without a verdict"""


def play(episode: Episode, read: Callable[[], str], show: Callable[[str], None]) -> None:
    """Reads a line, makes its call and shows the answer, until there is a verdict."""
    show(render_opening(episode.protocol.opened))
    show(HELP + "\n")
    while not episode.over:
        try:
            line = read().strip()
        except (EOFError, KeyboardInterrupt):
            return
        if line in {"quit", "exit"}:
            return
        if line:
            show(_execute(episode, line))
    if episode.verdict is not None:
        show(render_verdict(episode.verdict))


def parse_line(line: str, operations: Catalogue) -> Call:
    """Parses a line such as `crm.contacts.update contactId=17 properties.phone="+49 30 1"`."""
    try:
        name, *pairs = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"that line cannot be read: {error}") from error
    arguments: dict[str, Any] = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"{pair!r} is not name=value")
        _set_path(arguments, path.split("."), _parse_value(text, operations[name], path))
    return Call(operations[name].name, arguments)


def describe_operation(operation: Operation) -> str:
    lines = [f"{operation.name}  {operation.method} {operation.path}".rstrip(), f"  {operation.description}"]
    for argument in operation.arguments:
        need = "required" if argument.required else "optional"
        lines.append(f"  {argument.name}: {_describe_type(argument.schema)}, {need}, in {argument.location}")
    return "\n".join(lines) + "\n"


def _describe_type(schema: Mapping[str, Any]) -> str:
    """Names the type, or the types between which the schema leaves the choice."""
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        names = dict.fromkeys(map(_describe_type, options))
        return " or ".join(name for name in names if name != "null")
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    kind = schema.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _execute(episode: Episode, line: str) -> str:
    try:
        if line == "help":
            return f"{HELP}\n"
        if line.startswith("?"):
            return _describe_operations(episode.operations, line[1:].strip())
        return render_step(episode.step(parse_line(line, episode.operations)))
    except DayshiftError as error:
        return f"{type(error).__name__}: {error}\n"


def _describe_operations(operations: Catalogue, name: str) -> str:
    if name in operations:
        return describe_operation(operations[name])
    matches = [operation for operation in operations.values() if name in operation.name]
    lines = [f"{operation.name}  {_first_line(operation.description)}" for operation in matches]
    return "\n".join(lines) + f"\n\n{HELP}\n"


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _set_path(target: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        target = target.setdefault(name, {})
        if not isinstance(target, dict):
            raise UsageError(f"{name} has a value already; it cannot have parts too")
    target[path[-1]] = value


def _parse_value(text: str, operation: Operation, path: str) -> Any:
    """Parses JSON where the text is JSON, unless the schema asks for a string, as for an id."""
    argument = operation.arguments_by_name.get(path)
    if argument is not None and argument.schema.get("type") == "string":
        return text
    if "." in path and not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def create_prompt(operations: Catalogue, history: str | None = None) -> Callable[[], str]:
    """Returns a function that prompts for a line, with completion and history."""
    try:
        from prompt_toolkit import PromptSession  # an extra
        from prompt_toolkit.auto_suggest import AutoSuggestFromHistory  # an extra
        from prompt_toolkit.history import FileHistory, InMemoryHistory  # an extra
    except ImportError as error:
        raise MissingExtra("prompt-toolkit", "play") from error
    session: Any = PromptSession(
        history=FileHistory(history) if history else InMemoryHistory(),
        auto_suggest=AutoSuggestFromHistory(),
        completer=_create_completer(operations),
        complete_while_typing=True,
    )
    return lambda: str(session.prompt("› "))


def _create_completer(operations: Catalogue) -> Any:
    from prompt_toolkit.completion import Completer, Completion  # an extra

    class CallCompleter(Completer):
        """Completes the operation first, then its arguments."""

        def get_completions(self, document: Any, _complete_event: Any) -> Iterable[Any]:
            for word, typed in list_completions(operations, document.text_before_cursor):
                yield Completion(word, start_position=-len(typed))

    return CallCompleter()


def list_completions(operations: Catalogue, line: str) -> list[tuple[str, str]]:
    """Lists the words that may come next, each with the part that is already typed."""
    words = line.split(" ")
    if len(words) == 1:
        return [(name, words[0]) for name in (*operations, "quit", "help", "?") if words[0] in name]
    if words[0] not in operations:
        return []
    filled_in = {word.partition("=")[0] for word in words[1:-1]}
    arguments = operations[words[0]].arguments
    return [
        (f"{argument.name}=", words[-1])
        for argument in arguments
        if argument.name not in filled_in and argument.name.startswith(words[-1])
    ]
