"""Moves at the desk."""

from typing import Any

from fixtures.tasks.family import Call
from services.validate.attempt import Attempt, Stuck


class DeskMoves:
    """Tickets that the task does not speak of bear the mistakes."""

    def look(self) -> Call:
        return Call("desk.tickets.list", {"per_page": 5})

    def slip(self, attempt: Attempt) -> tuple[Call, Call]:
        found = self._bystanders(attempt)[0]
        right = found["subject"]
        return _rename(found["id"], f"{right} (old)"), _rename(found["id"], right)

    def harms(self, attempt: Attempt, count: int) -> list[Call]:
        return [
            Call("desk.tickets.delete", {"ticket_id": found["id"]})
            for found in self._bystanders(attempt)[1 : count + 1]
        ]

    def bulk(self, _calls: tuple[Call, ...]) -> Call | None:
        """Many at once is a job that answers later; families that can be worked off so say it among their ways."""
        return None

    def _bystanders(self, attempt: Attempt) -> list[dict[str, Any]]:
        listed = attempt.do(Call("desk.tickets.list", {"per_page": 100, "sort_by": "status", "sort_order": "asc"}))
        found = [
            one
            for one in listed["tickets"]
            if one["subject"] and one["status"] != "closed" and one["id"] not in attempt.concerned
        ]
        if len(found) < 5:
            raise Stuck("too few tickets stand by")
        return found


def _rename(ticket: int, subject: str) -> Call:
    return Call("desk.tickets.update", {"ticket_id": ticket, "ticket": {"subject": subject}})


moves = DeskMoves()
