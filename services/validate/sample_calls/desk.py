"""Sample calls at the desk."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue

from fixtures.tasks.family import Call
from services.validate.attempt import Attempt, Stuck
from services.validate.sample_calls import Ask, NowhereToWrite, Reviewed

_READS = (
    ("desk.tickets.show", "ticket_id"),
    ("desk.comments.list", "ticket_id"),
    ("desk.users.show", "user_id"),
    ("desk.users.requested_tickets", "user_id"),
    ("desk.organizations.show", "organization_id"),
    ("desk.organizations.tickets", "organization_id"),
    ("desk.organizations.users", "organization_id"),
)
_LONGEST_REPLY = 2_400
_ARTICLES_PER_PAGE = 100
_BRIEF_NUMBERS = re.compile(r"(?<![\w.])#?(\d{3,})(?![\w.])")
_FIRST = {"ticket_id": "tickets", "user_id": "users", "organization_id": "organizations"}


class DeskSampleCalls(NowhereToWrite):
    """Tickets that the task does not speak of bear the mistakes."""

    def read_call(self) -> Call:
        return Call("desk.tickets.list", {"per_page": 5})

    def mistake_and_repair(self, attempt: Attempt) -> tuple[Call, Call]:
        bystander = self._bystanders(attempt)[0]
        right = bystander["subject"]
        return _rename(bystander["id"], f"{right} (old)"), _rename(bystander["id"], right)

    def harmful_calls(self, attempt: Attempt, count: int) -> list[Call]:
        return [
            Call("desk.tickets.delete", {"ticket_id": bystander["id"]})
            for bystander in self._bystanders(attempt)[1 : count + 1]
        ]

    def combine(self, _calls: tuple[Call, ...]) -> Call | None:
        """Many at once is a job that answers later; families that can be worked off so say it among their ways."""
        return None

    def look_around(self, ids: Sequence[int | str], terms: Sequence[str]) -> Iterator[Call]:
        for name in ("groups", "user_fields", "ticket_fields", "articles", "macros"):
            yield Call(f"desk.{name}.list", {"per_page": 100})
        yield Call("desk.articles.list", {"per_page": 100, "page": 2})
        for key in (int(key) for key in ids if str(key).isdecimal()):
            for operation, argument in _READS:
                yield Call(operation, {argument: key})
        for term in terms:
            yield Call("desk.search", {"query": term, "per_page": 50})

    def find_first(self, argument: str, by: str) -> tuple[Call, tuple[str | int, ...]] | None:
        if argument not in _FIRST:
            return None
        sort = {"created": "created_at", "id": "id"}[by]
        listed: dict[str, JsonValue] = {"sort_by": sort, "sort_order": "desc", "per_page": 1}
        return Call(f"desk.{_FIRST[argument]}.list", listed), (_FIRST[argument], 0, "id")

    def ask_customer(self, thread: int, question: str) -> Call:
        changes: dict[str, JsonValue] = {"comment": {"body": question, "public": True}, "status": "pending"}
        return Call("desk.tickets.update", {"ticket_id": thread, "ticket": changes})

    def ask_colleague(self, thread: int, question: str) -> Call:
        changes: dict[str, JsonValue] = {"comment": {"body": question, "public": False}}
        return Call("desk.tickets.update", {"ticket_id": thread, "ticket": changes})

    def write_everywhere(self, brief: str, text: str, _reviewed: Reviewed, ask: Ask) -> None:
        for ticket in _tickets(brief):
            for public in (False, True):
                changes: dict[str, JsonValue] = {"comment": {"body": text[:_LONGEST_REPLY], "public": public}}
                changes |= {"status": "solved"} if public else {}
                ask(Call("desk.tickets.update", {"ticket_id": ticket, "ticket": changes}))

    def read_threads(self, brief: str, ask: Ask) -> str:
        answers = [ask(Call("desk.comments.list", {"ticket_id": ticket})) for ticket in _tickets(brief)]
        comments = [comment for answer in answers if answer for comment in answer["comments"]]
        return "\n".join(comment["plain_body"] for comment in comments)

    def has_source(self, kind: str, name: str, ask: Ask) -> bool | None:
        if kind != "article":
            return None
        return any(article["title"] == name and article["body"] for article in _read_articles(ask))

    def _bystanders(self, attempt: Attempt) -> list[dict[str, Any]]:
        listed = attempt.do(Call("desk.tickets.list", {"per_page": 100, "sort_by": "status", "sort_order": "asc"}))
        bystanders = [
            one
            for one in listed["tickets"]
            if one["subject"] and one["status"] != "closed" and one["id"] not in attempt.concerned
        ]
        if len(bystanders) < 5:
            raise Stuck("too few tickets stand by")
        return bystanders


def _tickets(brief: str) -> list[int]:
    return [int(number) for number in _BRIEF_NUMBERS.findall(brief)][:8]


def _read_articles(ask: Ask) -> Iterator[dict[str, Any]]:
    page = 1
    while True:
        answer = ask(Call("desk.articles.list", {"per_page": _ARTICLES_PER_PAGE, "page": page}))
        yield from answer["articles"]
        if not answer.get("next_page"):
            return
        page += 1


def _rename(ticket: int, subject: str) -> Call:
    return Call("desk.tickets.update", {"ticket_id": ticket, "ticket": {"subject": subject}})


sample_calls = DeskSampleCalls()
