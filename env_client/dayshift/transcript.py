"""Transcript: a recorded episode as a chat, in the model's own words where a model played it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from dayshift import job_description
from dayshift.answer_text import fit_answer
from dayshift.calls import SUBMIT
from dayshift.chat_messages import (
    AssistantMessage,
    ChatMessage,
    opening_messages,
    tool_call_messages,
)
from dayshift.model_record import ModelRecord, ModelTurn
from dayshift.models import PROVIDERS
from dayshift.models.conversation import REMOVED_ANSWER
from dayshift.models.openai_chat import make_call_valid
from dayshift.tool_surface import Surface
from dayshift.trajectory import RecordedStep, Trajectory

# What a model reads after its last call.
FINISHED = "Done."


@dataclass(frozen=True)
class Completion:
    """One message of the model and all that it was sent before."""

    prompt: list[ChatMessage]
    message: AssistantMessage


@dataclass(frozen=True)
class Transcript:
    """The messages before the model's first one, those from it on, and each of the model's own with its prompt."""

    opening: list[ChatMessage]
    rest: list[ChatMessage]
    # Without replies that called nothing or were malformed: nobody should learn them.
    completions: list[Completion]

    @property
    def messages(self) -> list[ChatMessage]:
        return [*self.opening, *self.rest]


def transcribe(trajectory: Trajectory, surface: Surface) -> Transcript:
    """Returns the conversation as it was; calls of a policy without a conversation become messages of this surface."""
    record = trajectory.model
    if record is not None and record.surface == surface.name and record.turns:
        return _transcribe_record(record, trajectory.steps)
    manifest = trajectory.manifest
    opening = opening_messages(
        job_description.system_prompt(), job_description.first_message(manifest.brief, manifest.clock)
    )
    return transcribe_messages(opening, step_messages(trajectory.steps, surface), _find_malformed(trajectory.steps))


def transcribe_messages(
    opening: list[ChatMessage], rest: list[ChatMessage], malformed: frozenset[str] = frozenset()
) -> Transcript:
    """Returns the transcript of a conversation in which the model saw every message; `malformed` are ids of calls."""
    completions = [
        Completion([*opening, *rest[:index]], message)
        for index, message in enumerate(rest)
        if message["role"] == "assistant" and not malformed & {call["id"] for call in message.get("tool_calls", ())}
    ]
    return Transcript(opening, rest, completions)


def step_messages(steps: Sequence[RecordedStep], surface: Surface) -> list[ChatMessage]:
    messages: list[ChatMessage] = []
    for step in steps:
        operation = surface.operations.find(step.operation)
        answer = f"{step.status}\n{fit_answer(step.answer, surface.max_answer_chars, operation)}"
        finished = FINISHED if step.call.operation == SUBMIT else answer
        messages += call_messages(step.number, step.operation, step.arguments, finished, surface)
    return messages


def call_messages(
    number: int, operation: str, arguments: Mapping[str, Any], answer: str, surface: Surface
) -> list[ChatMessage]:
    """Writes a call as a model with this surface makes it: an operation that is no tool is called by its name."""
    tool, wrapped = surface.wrap(operation, arguments)
    return tool_call_messages(number, tool, wrapped, answer, surface.operations)


def _find_malformed(steps: Sequence[RecordedStep]) -> frozenset[str]:
    return frozenset(f"call_{step.number}" for step in steps if _is_malformed(step))


def _is_malformed(step: RecordedStep) -> bool:
    return step.status == 0 and step.fault is None


def _transcribe_record(record: ModelRecord, steps: Sequence[RecordedStep]) -> Transcript:
    system, messages = _read_messages(record)
    first = record.turns[0].messages_sent
    completions = []
    for turn in record.turns:
        is_malformed = any(_is_malformed(step) for step in steps[turn.first_step - 1 : turn.last_step])
        reply = cast(AssistantMessage, messages[turn.messages_sent][0])
        if "tool_calls" in reply and not is_malformed:
            sent = _restore_sent(messages[: turn.messages_sent], turn)
            completions.append(Completion([*system, *_join(sent)], reply))
    rest = _join(messages[first:])
    while rest and rest[-1]["role"] == "user":
        # The last word is the model's; what it was told after it led to nothing.
        rest.pop()
    return Transcript([*system, *_join(messages[:first])], rest, completions)


def _read_messages(record: ModelRecord) -> tuple[list[ChatMessage], list[list[ChatMessage]]]:
    """Returns the system prompt where the provider keeps it apart, and the chat messages of each native message."""
    to_chat = PROVIDERS[record.provider].to_chat
    messages = [to_chat(message) for message in record.messages]
    for turn in record.turns:
        if turn.reasoning:
            reply = cast(AssistantMessage, messages[turn.messages_sent][0])
            messages[turn.messages_sent] = [{**reply, "reasoning_content": turn.reasoning}]
    has_system_prompt = bool(messages) and messages[0][0]["role"] == "system"
    return [] if has_system_prompt else [{"role": "system", "content": record.system_prompt}], messages


def _restore_sent(messages: list[list[ChatMessage]], turn: ModelTurn) -> list[list[ChatMessage]]:
    """Returns the messages as they were sent.

    Answers that no longer fitted into the context are cut, and calls have the form that every server takes.
    """
    restored = []
    for index, chat in enumerate(messages):
        if index in turn.removed:
            restored.append([_cut_answer(message) for message in chat])
        elif index in turn.repaired:
            restored.append([_repair(message) for message in chat])
        else:
            restored.append(chat)
    return restored


def _repair(message: ChatMessage) -> ChatMessage:
    if message["role"] != "assistant" or "tool_calls" not in message:
        return message
    return {**message, "tool_calls": [make_call_valid(call) for call in message["tool_calls"]]}


def _cut_answer(message: ChatMessage) -> ChatMessage:
    return {**message, "content": REMOVED_ANSWER} if message["role"] == "tool" else message


def _join(messages: list[list[ChatMessage]]) -> list[ChatMessage]:
    return list(chain.from_iterable(messages))
