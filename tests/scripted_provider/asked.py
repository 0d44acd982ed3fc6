"""A request to a scripted model, and its reply."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """One request to a model: the work, the tools, the answers to its calls so far, and how often it was asked this."""

    brief: str
    tools: tuple[str, ...]
    answers: tuple[str, ...]
    times: int
    # Everything that the user said, of which the brief is the first.
    messages: tuple[str, ...] = ()

    @property
    def read_tool(self) -> str:
        readers = [name for name in self.tools if name.endswith(("contacts_search", "tickets_list", "operations"))]
        return readers[0]


@dataclass(frozen=True)
class Scripted:
    """What a model answers: text and calls (their arguments are text), or a failure of its provider."""

    text: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    # How the reply ended, in the provider's words: `length`, or `error` where it failed in the middle.
    finish_reason: str | None = None
    # A status, with the text as its message.
    failure: int | None = None
    # A body with status 200 that is not what the protocol says, as JSON text or as a page, and its media type.
    body: str | None = None
    media_type: str = "application/json"
    seconds: float = 0.0
