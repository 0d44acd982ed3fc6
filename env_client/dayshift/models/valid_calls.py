"""A model's calls as they are sent back to a server.

llama.cpp, vLLM and SGLang parse the arguments of earlier calls when they render a prompt, and refuse a conversation
that holds arguments which are no JSON object. OpenAI and Anthropic refuse one in which a call names a tool in letters
that no tool's name may have. A model that wrote such a call would lose exactly the episodes in which it did.
"""

import json
import re
from typing import Any

from dayshift.calls import parse_arguments
from dayshift.errors import BadArguments

# The name under which the text of unreadable arguments is sent back.
UNREADABLE = "unreadable_arguments"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OTHER_LETTERS = re.compile(r"[^A-Za-z0-9_-]")
_NO_NAME = "unnamed"
_LONGEST_NAME = 64


def is_valid(name: str, arguments: str) -> bool:
    """True for a call that any server takes back as it is."""
    return _NAME.fullmatch(name) is not None and are_valid(arguments)


def make_name_valid(name: str) -> str:
    """Returns a tool's name as it is where it may be one, and otherwise with other letters."""
    return name if _NAME.fullmatch(name) else _OTHER_LETTERS.sub("_", name)[:_LONGEST_NAME] or _NO_NAME


def are_valid(arguments: str) -> bool:
    """True for the text of a JSON object, which any server can parse."""
    try:
        parse_arguments(arguments)
    except BadArguments:
        return False
    return bool(arguments)


def make_valid(arguments: str) -> str:
    """Returns arguments that are a JSON object as they are, and others as an object that holds their text."""
    if are_valid(arguments):
        return arguments
    return json.dumps({UNREADABLE: arguments} if arguments.strip() else {}, ensure_ascii=False)


def make_valid_object(arguments: Any) -> dict[str, Any]:
    """The same for a protocol that writes arguments as an object."""
    valid: dict[str, Any] = json.loads(make_valid(json.dumps(arguments, ensure_ascii=False)))
    return valid
