"""Lookup: finds operations by words and describes one, for models that are not given all of them as tools."""

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache

from dayshift.calls import Call, parse_arguments
from dayshift.errors import BadArguments
from dayshift.operations import Argument, ArgumentLocation, Catalogue, Operation, harness_operation

FIND = "find_operations"
DESCRIBE = "describe_operation"
CALL = "call_operation"
LOOKUPS = frozenset({FIND, DESCRIBE})

_MOST_FOUND = 10
_WORD = re.compile(r"[a-z0-9]+")
_ENDINGS = ("ies", "ing", "ed", "es", "s", "e", "y")
_SHORTEST_STEM = 3
_IN_NAME, _IN_SUMMARY, _IN_REST = 6, 2, 1
_SYNONYM = 0.5
# What people say, and what operations are called.
_SYNONYMS = {
    "add": ("create",),
    "answer": ("update", "comment"),
    "bill": ("invoice",),
    "change": ("update",),
    "customer": ("contact", "user"),
    "edit": ("update",),
    "erase": ("delete", "archive"),
    "forget": ("delete", "gdpr"),
    "link": ("association",),
    "make": ("create",),
    "open": ("create",),
    "person": ("contact", "user"),
    "read": ("get", "show", "list"),
    "remove": ("delete", "archive"),
    "reply": ("update", "comment"),
    "run": ("execute",),
    "wait": ("come", "later"),
    "write": ("create", "update"),
}
# Words of a question that say nothing about the operation.
_EMPTY_WORDS = frozenset(
    (
        "a",
        "all",
        "an",
        "and",
        "by",
        "can",
        "do",
        "for",
        "from",
        "get",
        "how",
        "i",
        "in",
        "is",
        "it",
        "my",
        "new",
        "of",
        "on",
        "or",
        "the",
        "this",
        "to",
        "up",
        "with",
    )
)


def find_tool(*, describes: bool = False) -> Operation:
    """`describes`: the tool also describes an operation that is given by its exact name."""
    text = "Words that say what you want to do, such as: merge two contacts"
    more = " Give an operation's exact name to read all its parameters." if describes else ""
    return _tool(FIND, f"Find further operations of your systems by words.{more}", {"words": text})


def describe_tool() -> Operation:
    return _tool(DESCRIBE, "Read what an operation does and the parameters that it takes.", {"operation": "Its name"})


def call_tool() -> Operation:
    name = {"type": "string", "description": "Its name, such as crm.contacts.merge"}
    arguments = {"type": "object", "description": "Its parameters by name"}
    return harness_operation(
        CALL,
        "Call any operation of your systems by its name.",
        (
            Argument("operation", ArgumentLocation.BODY, required=True, schema=name),
            Argument("arguments", ArgumentLocation.BODY, required=False, schema=arguments),
        ),
    )


def unwrap_call(call: Call) -> Call:
    """Returns the call that `call_operation` asks for."""
    name = call.arguments.get("operation")
    if not isinstance(name, str) or not name or (unknown := call.arguments.keys() - {"operation", "arguments"}):
        extra = f", not {', '.join(sorted(unknown))}" if isinstance(name, str) and name else ""
        raise BadArguments(f"{CALL} takes operation and arguments{extra}")
    return Call(name, parse_arguments(call.arguments.get("arguments")))


def look_up(call: Call, operations: Catalogue) -> str:
    """Returns the text that answers `find_operations` or `describe_operation`."""
    argument = "words" if call.operation == FIND else "operation"
    text = call.arguments.get(argument)
    if not isinstance(text, str) or call.arguments.keys() != {argument}:
        raise BadArguments(f"{call.operation} takes {argument}, a text")
    if call.operation == DESCRIBE:
        return describe(operations[text.strip()])
    named = operations.find(text.strip())
    return describe(named) if named is not None else find(text, operations)


def find(words: str, operations: Catalogue) -> str:
    """Lists the operations that fit the words best, one on a line with its parameters; `?` marks optional ones."""
    weights = _weigh(words, operations)
    scores = {name: _score(operation, weights) for name, operation in operations.items()}
    best = sorted((name for name, score in scores.items() if score), key=lambda name: (-scores[name], len(name), name))
    if not best:
        nouns = sorted({name.rpartition(".")[0] for name in operations if "." in name})
        return f"Nothing fits. There are operations on {', '.join(nouns)}."
    return "\n".join(_summarise(operations[name]) for name in best[:_MOST_FOUND])


def describe(operation: Operation) -> str:
    schema = json.dumps(operation.lean_schema, ensure_ascii=False)
    return f"{operation.name}: {operation.description}\nParameters: {schema}"


def _summarise(operation: Operation) -> str:
    required = {name: argument.required for name, argument in operation.arguments_by_name.items()}
    arguments = [
        name + ("" if is_required else "?") for name, is_required in operation.rename_for_model(required).items()
    ]
    return f"{operation.name}({', '.join(arguments)}): {_first_sentence(operation.description)}"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def _weigh(words: str, operations: Catalogue) -> dict[str, float]:
    """Returns the stems of the words: one that few operations have weighs more, and a synonym half of that."""
    asked = [word for word in _WORD.findall(words.lower()) if word not in _EMPTY_WORDS]
    shares = {_stem(other): _SYNONYM for word in asked for other in _SYNONYMS.get(word, ())}
    shares |= {_stem(word): 1.0 for word in asked}
    names = [_index_of(operation)[0] for operation in operations.values()]
    return {
        stem: share * math.log(1 + len(names) / (1 + sum(stem in name for name in names)))
        for stem, share in shares.items()
    }


def _score(operation: Operation, weights: Mapping[str, float]) -> float:
    in_name, in_summary, in_rest = _index_of(operation)
    total = sum(
        weight * (_IN_NAME * (stem in in_name) + _IN_SUMMARY * (stem in in_summary) + _IN_REST * (stem in in_rest))
        for stem, weight in weights.items()
    )
    # Of two names with the words that were asked for, the one with fewer others fits better.
    return round(total * (1 + sum(stem in in_name for stem in weights) / len(in_name)), 6)


def _index_of(operation: Operation) -> tuple[frozenset[str], ...]:
    return _index(operation.name, operation.description, tuple(operation.arguments_by_name))


@lru_cache(maxsize=4096)
def _index(name: str, description: str, arguments: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    texts = (name, _first_sentence(description), f"{description} {' '.join(arguments)}")
    return tuple(frozenset(map(_stem, _WORD.findall(_split_camel(text).lower()))) for text in texts)


def _split_camel(text: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def _tool(name: str, description: str, texts: Mapping[str, str]) -> Operation:
    arguments = tuple(
        Argument(key, ArgumentLocation.BODY, required=True, schema={"type": "string", "description": text})
        for key, text in texts.items()
    )
    return harness_operation(name, description, arguments)
