"""What the judge knows of the desk, and how customers and colleagues use it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

import orjson

from services.kernel.clock import to_milliseconds
from services.kernel.conversation import (
    GONE,
    ActorAnswer,
    ActorCall,
    Conversation,
    Message,
    Rating,
    Reply,
    Thread,
    ThreadState,
)
from services.kernel.judging import Judging
from services.kernel.statements import Row

_REQUESTS = "/api/v2/requests"
_TICKETS = "/api/v2/tickets"
_REFUSED = 400
_STATES: Mapping[str, ThreadState] = {"solved": "solved", "closed": "closed", "deleted": "gone"}


class DeskConversation(Conversation):
    """Customers use the end users' Requests API, colleagues the tickets themselves."""

    noun: ClassVar[str] = "ticket"

    def read_thread(self, thread: int) -> Sequence[ActorCall]:
        return _get(f"{_REQUESTS}/{thread}"), _get(f"{_REQUESTS}/{thread}/comments")

    def parse_thread(self, answers: Sequence[ActorAnswer]) -> Thread:
        request, comments = map(_parse, answers) if answers else (None, None)
        if request is None:
            return GONE
        shown = request["request"]
        messages = _messages(comments["comments"] if comments else ())
        return Thread(_STATES.get(shown["status"], "open"), _moment(shown["updated_at"]), messages)

    def start_thread(self, subject: str, text: str) -> ActorCall:
        return _call("POST", _REQUESTS, {"request": {"subject": subject, "comment": {"body": text}}})

    def follow_up(self, thread: int, text: str) -> ActorCall:
        request = {"subject": f"Re: request {thread}", "comment": {"body": text}, "via_followup_source_id": thread}
        return _call("POST", _REQUESTS, {"request": request})

    def parse_started(self, answer: ActorAnswer) -> int | None:
        made = _parse(answer)
        return None if made is None else int(made["request"]["id"])

    def reply(self, thread: int, text: str) -> ActorCall:
        return _call("PUT", f"{_REQUESTS}/{thread}", {"request": {"comment": {"body": text}}})

    def rate(self, thread: int, rating: Rating, comment: str) -> ActorCall:
        score = {"score": rating, **({"comment": comment} if comment else {})}
        return _call("POST", f"{_TICKETS}/{thread}/satisfaction_rating", {"satisfaction_rating": score})

    def read_notes(self, thread: int) -> ActorCall:
        return _get(f"{_TICKETS}/{thread}/comments")

    def parse_notes(self, answer: ActorAnswer) -> Sequence[Message]:
        shown = _parse(answer)
        return _messages(comment for comment in (shown["comments"] if shown else ()) if not comment["public"])

    def write_note(self, thread: int, text: str) -> ActorCall:
        return _call("PUT", f"{_TICKETS}/{thread}", {"ticket": {"comment": {"body": text, "public": False}}})

    def parse_written(self, answer: ActorAnswer) -> int | None:
        written = _parse(answer)
        return None if written is None else _moment(written["ticket"]["updated_at"])

    def parse_reply(self, table: str, row: Row) -> Reply | None:
        body = row.get("body")
        if table != "comments" or not isinstance(body, dict) or not body["public"]:
            return None
        return Reply(int(body["ticket_id"]), str(body.get("plain_body") or body.get("body") or ""))


def _get(path: str) -> ActorCall:
    return {"method": "GET", "path": path, "body": None}


def _call(method: Any, path: str, body: dict[str, Any]) -> ActorCall:
    return {"method": method, "path": path, "body": body}


def _parse(answer: ActorAnswer) -> dict[str, Any] | None:
    if answer["status"] >= _REFUSED:
        return None
    parsed: dict[str, Any] = orjson.loads(answer["body"])
    return parsed


def _messages(comments: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    messages = (
        Message(
            int(comment["id"]),
            int(comment["author_id"]),
            _moment(comment["created_at"]),
            comment.get("plain_body") or comment["body"],
        )
        for comment in comments
    )
    return tuple(sorted(messages, key=lambda message: (message.at_ms, message.id)))


def _moment(text: str) -> int:
    return to_milliseconds(datetime.fromisoformat(text))


judging = Judging(
    end_markers=("deleted_at", "body.deleted_at"),
    maintained_fields=("*updated_at", "body.metrics.*"),
    # Who works on a ticket changes with the work: it is taken, handed over and given back.
    staged_fields=frozenset({"body.status", "body.group_id"}),
    assignment_fields=frozenset({"body.assignee_id"}),
    # Staff cannot rate in a customer's place, nor write under another author's name.
    impersonation_paths=("/satisfaction_rating",),
    impersonation_names=("author_id",),
    conversation=DeskConversation(),
)
