"""What each scripted model does; a model's name is the name of its script."""

import hashlib
import json
import re
from collections.abc import Callable

from tests.scripted_provider.asked import Asked, Scripted
from tests.scripted_provider.coding import block_repairer, shell_repairer

# The tool by which a model declares its work done, and the one by which smolagents' agents end.
FINISH = "finish_work"
FINAL_ANSWER = "final_answer"

_EMAIL = re.compile(r"[^\s<>()]+@[^\s<>(),]*[^\s<>(),.:]")
_PHONE = re.compile(
    r"(?:phone is|should read|reached at|right number is|confirmed|Set it to) (.+?)(?:\. |\.?\n|\.$|, not at| \()"
)
_RECORD_ID = re.compile(r'"id": ?"(\d+)"')


# Shorter than an answer is the note that stands for a removed one.
_SHORT_CONTEXT_CHARS, _NOTE_CHARS = 4_000, 200
_TOO_LONG = Scripted("This model's maximum context length is 4096 tokens. Your messages have 5000.", failure=400)

Script = Callable[[Asked], Scripted]


def solver(asked: Asked) -> Scripted:
    """Solves crm/correct-contact: finds the contact by its address, corrects the number, finishes."""
    email, phone = _EMAIL.search(asked.brief), _PHONE.search(asked.brief + "\n")
    assert email is not None, asked.brief
    assert phone is not None, asked.brief
    if not asked.answers:
        by_email = [{"filters": [{"propertyName": "email", "operator": "EQ", "value": email[0]}]}]
        search = json.dumps({"filterGroups": by_email, "limit": 1})
        return Scripted("I look the contact up first.", (("crm_contacts_search", search),))
    if len(asked.answers) == 1:
        record = _RECORD_ID.search(asked.answers[0].replace('\\"', '"'))
        assert record is not None, asked.answers[0]
        change = {"contactId": record[1], "properties": {"phone": phone[1]}}
        return Scripted("The number differs, so I correct it.", (("crm_contacts_update", json.dumps(change)),))
    if len(asked.answers) == 2:
        return Scripted("All is done.", ((FINISH, "{}"),))
    return _end(asked)


def openenv_solver(asked: Asked) -> Scripted:
    """The solver for OpenEnv's taskset of verifiers: the user shows observations as JSON, and reads actions as text."""
    first, *later = (json.loads(message)["observation"] for message in asked.messages)
    answers = tuple(observation["result"] for observation in later)
    [(tool, arguments)] = solver(Asked(first["brief"], asked.tools, answers, asked.times)).calls
    return Scripted(json.dumps({"type": "call_tool", "tool_name": tool, "arguments": json.loads(arguments)}))


def openenv_patient(asked: Asked) -> Scripted:
    """The same, with time between the calls in which something may happen."""
    return Scripted(openenv_solver(asked).text, seconds=2.0)


def steady(asked: Asked) -> Scripted:
    """Reads once and finishes."""
    return Scripted(None, ((FINISH, "{}"),)) if asked.answers else Scripted("I look first.", ((asked.read_tool, "{}"),))


def patient(asked: Asked) -> Scripted:
    """Reads once, finishes and stops, with time between in which something may happen."""
    reply = steady(asked) if len(asked.answers) < 2 else Scripted("All is done.")
    return Scripted(reply.text, reply.calls, seconds=2.0)


def malformed(asked: Asked) -> Scripted:
    if not asked.answers:
        return Scripted(None, ((asked.read_tool, '{"limit": '),))
    return Scripted(None, (("no_such_tool", "{}"),)) if len(asked.answers) == 1 else steady(asked)


def rate_limited(asked: Asked) -> Scripted:
    return Scripted(failure=429) if asked.times == 1 else steady(asked)


def slow_once(asked: Asked) -> Scripted:
    """Does not answer the first request in time; the same request sent again is answered at once."""
    reply = steady(asked)
    return Scripted(reply.text, reply.calls, seconds=5.0 if asked.times == 1 and not asked.answers else 0.0)


def slow(asked: Asked) -> Scripted:
    reply = steady(asked)
    return Scripted(reply.text, reply.calls, seconds=5.0)


def careless(asked: Asked) -> Scripted:
    """Solves every second attempt at an instance, and finishes the others without a look."""
    is_even = hash_of(asked.brief) % 2 == 0
    if not asked.answers and asked.times % 2 == int(is_even):
        return Scripted("There is nothing to do.", ((FINISH, "{}"),))
    return solver(asked)


# Bodies with status 200 that hold no reply: another shape, or an error of the provider.
GARBAGE = {
    "garbage": Scripted(body="<html>"),
    "garbage-page": Scripted(body="<html><body>Sign in</body></html>", media_type="text/html"),
    "garbage-list": Scripted(body="[1, 2]"),
    "garbage-text": Scripted(body='"overloaded"'),
    "garbage-number": Scripted(body="7"),
    "garbage-null": Scripted(body="null"),
    "garbage-empty": Scripted(body="{}"),
    "garbage-fields": Scripted(body='{"choices": "none", "output": "none", "content": 3, "usage": []}'),
    "garbage-parts": Scripted(body='{"choices": [1], "output": [[]], "status": "completed", "content": ["text"]}'),
}
ERRORS = {
    "error-in-answer": Scripted(body='{"error": {"code": 502, "message": "the upstream is out of order"}}'),
    "error-midway": Scripted("I look", finish_reason="error"),
    "cancelled": Scripted(body='{"status": "cancelled", "output": []}'),
    "no-choices": Scripted(body='{"choices": []}'),
    "null-choices": Scripted(body='{"choices": null}'),
}


def garbage(asked: Asked) -> Scripted:
    """Each of the bodies in turn, whoever asks."""
    return list(GARBAGE.values())[hash_of(asked.brief) % len(GARBAGE)]


def failing_once(asked: Asked) -> Scripted:
    """The first request of each turn is answered with an error in an answer."""
    return ERRORS["error-in-answer"] if asked.times == 1 else steady(asked)


def recovering(asked: Asked) -> Scripted:
    """Writes arguments that are no JSON object in every way, then reads and finishes."""
    unreadable = ('{"limit": ', '["limit"]', "null", '{"limit": NaN}', '{"query": "\\ud83d"}', "")
    if len(asked.answers) < len(unreadable):
        return Scripted(None, ((asked.read_tool, unreadable[len(asked.answers)]),))
    return Scripted(None, ((FINISH, "{}"),))


def misnaming(asked: Asked) -> Scripted:
    """Names tools in every way that a server refuses to take back; the first two can be understood."""
    names = (asked.read_tool.replace("_", "."), f" {asked.read_tool}", "", "look up!", "поиск", "x" * 65)
    if len(asked.answers) < len(names):
        return Scripted(None, ((names[len(asked.answers)], "{}"),))
    return Scripted(None, ((FINISH, "{}"),))


def short_context(asked: Asked) -> Scripted:
    """Looks on and on, behind a provider that takes conversations with few answers only."""
    if sum(len(answer) for answer in asked.answers if len(answer) > _NOTE_CHARS) > _SHORT_CONTEXT_CHARS:
        return _TOO_LONG
    return Scripted("Once more.", ((asked.read_tool, "{}"),))


def full_context(asked: Asked) -> Scripted:
    """Fills its context with the first reply, so that no cut helps."""
    return _TOO_LONG if asked.answers else Scripted("I look first.", ((asked.read_tool, "{}"),))


def hash_of(brief: str) -> int:
    return hashlib.sha256(brief.encode()).digest()[0]


def _end(asked: Asked) -> Scripted:
    text = "The number is corrected."
    if FINAL_ANSWER in asked.tools:
        return Scripted(None, ((FINAL_ANSWER, json.dumps({"answer": text})),))
    return Scripted(text)


# A model of chat completions that says what it thought, and refuses a conversation from which that was dropped.
THINKING = "thinking"
# A model that cannot be asked for its reasoning, as OpenAI's older ones.
WITHOUT_REASONING = "without-reasoning"
SCRIPTS: dict[str, Script] = {
    "solver": solver,
    "openenv-solver": openenv_solver,
    "openenv-patient": openenv_patient,
    "shell-repairer": shell_repairer,
    "block-repairer": block_repairer,
    "steady": steady,
    THINKING: steady,
    WITHOUT_REASONING: steady,
    "blank": lambda asked: steady(asked) if asked.answers else Scripted(" ", steady(asked).calls),
    "patient": patient,
    "careless": careless,
    "malformed": malformed,
    "rate-limited": rate_limited,
    "slow-once": slow_once,
    "slow": slow,
    "broken": lambda _: Scripted(failure=500),
    "unknown": lambda _: Scripted(failure=404),
    "garbage": garbage,
    **{name: (lambda _, reply=reply: reply) for name, reply in (GARBAGE | ERRORS).items() if name != "garbage"},
    "failing-once": failing_once,
    "recovering": recovering,
    "misnaming": misnaming,
    "short-context": short_context,
    "full-context": full_context,
    "no-context": lambda _: _TOO_LONG,
    "cut": lambda _: Scripted("", finish_reason="length"),
    "silent": lambda _: Scripted(""),
    "chatty": lambda _: Scripted("I would look at the contact first. " * 20),
    "endless": lambda asked: Scripted("Once more.", ((asked.read_tool, "{}"),)),
}
# The model `mixed` behaves in each episode as one of these, by the words of its brief.
MIXED = "mixed"
_MIXTURE = (
    *["solver"] * 8,
    *["rate-limited", "slow-once", "malformed", "silent", "chatty", "endless", "broken", "garbage"],
)


def behaviour_of(brief: str) -> str:
    """The script that `mixed` plays for this brief."""
    return _MIXTURE[hash_of(brief) % len(_MIXTURE)]


def reply_to(model: str, asked: Asked) -> Scripted:
    return SCRIPTS[behaviour_of(asked.brief) if model == MIXED else model](asked)
