"""Checks on activities (notes, tasks, calls …) that the agent added to records."""

import re
from fractions import Fraction
from typing import Literal

from pydantic import Field

from services.crm.normalization import is_same_value
from services.crm.rows import PropertyValues, RecordId, RecordRow
from services.crm.search_index import fold
from services.crm.tables import objects
from services.kernel.changes import SYSTEM
from services.kernel.checks import Check, Finding
from services.kernel.world import World

ActivityType = Literal["notes", "tasks", "calls", "meetings", "emails", "communications"]
_WRITTEN = ("_body", "_title", "_subject", "_text", "_html", "_notes")
_ACTIVITIES = "SELECT DISTINCT to_id FROM associations WHERE from_id = ? AND to_kind = ? ORDER BY to_id"


class ActivityMatches(Check):
    """A new activity on the record has these values, whatever their spelling, and falls on one of these days."""

    record_id: int
    kind: ActivityType
    values: dict[str, str] = Field(default={})
    # First and last day by property, both included: any time of the day will do.
    days: dict[str, tuple[str, str]] = Field(default={})
    words: tuple[str, ...] = ()
    # If given, the activity must name one of these; an empty list can be named by none.
    refers_to: tuple[str, ...] | None = None
    # Whether a completed task is none.
    still_open: bool = False

    def run(self, world: World) -> Finding:
        new = list_new_activities(world, self.record_id, self.kind)
        matching = [row for row in new if self._matches(row["properties"])]
        if matching:
            return self.holds(f"{self.kind} {matching[0]['id']} on record {self.record_id} reads so")
        problem = "do not read so" if new else "are none"
        return self.fails(f"the new {self.kind} on record {self.record_id} {problem}")

    def _matches(self, properties: PropertyValues) -> bool:
        if self.still_open and properties.get("hs_task_status") == "COMPLETED":
            return False
        text = fold(_join_written_texts(properties))
        return (
            all(is_same_value(properties.get(name) or "", value) for name, value in self.values.items())
            and all(first <= (properties.get(name) or "")[:10] <= last for name, (first, last) in self.days.items())
            and all(_has_word(text, fold(word)) for word in self.words)
            and (self.refers_to is None or any(fold(name) in text for name in self.refers_to))
        )


class HasActivity(Check):
    """A new note, task, call … is associated with this record, and contains these words."""

    record_id: int
    kind: ActivityType
    words: tuple[str, ...] = ()
    values: dict[str, str] = Field(default={})

    def run(self, world: World) -> Finding:
        new = list_new_activities(world, self.record_id, self.kind, with_archived=True)
        matching = [row for row in new if row["archived_at"] is None and self._matches(row["properties"])]
        if matching:
            return self.holds(f"{self.kind} {matching[0]['id']} on record {self.record_id} says so")
        if new:
            return self.fails(f"the new {self.kind} on record {self.record_id} do not say so")
        return self.fails(f"there are no new {self.kind} on record {self.record_id}")

    def _matches(self, properties: PropertyValues) -> bool:
        text = fold(_join_written_texts(properties))
        return all(_has_word(text, fold(word)) for word in self.words) and all(
            properties.get(name) == value for name, value in self.values.items()
        )


class HasOpenTask(Check):
    """A new task that is not completed is associated with the record, due between two days, and has this owner."""

    record_id: int
    due_from: str
    due_until: str
    owner_id: str | None = None

    def run(self, world: World) -> Finding:
        new = list_new_activities(world, self.record_id, "tasks")
        matching = [row for row in new if self._matches(row["properties"])]
        if matching:
            return self.holds(f"to-do {matching[0]['id']} on record {self.record_id} is open and due in time")
        if new:
            return self.fails(f"no new to-do on record {self.record_id} is open, due in time and in the right hands")
        return self.fails(f"there is no new to-do on record {self.record_id}")

    def _matches(self, properties: PropertyValues) -> bool:
        has_text = properties.get("hs_task_subject") or properties.get("hs_task_body")
        if properties.get("hs_task_status") == "COMPLETED" or not has_text:
            return False
        due = str(properties.get("hs_timestamp") or "")[:10]
        is_owned = self.owner_id in (None, properties.get("hubspot_owner_id"))
        return self.due_from <= due <= self.due_until and is_owned


class NothingLogged(Check):
    """Nobody wrote a new activity of these types on any of these records."""

    record_ids: tuple[int, ...] = Field(min_length=1)
    kinds: tuple[ActivityType, ...] = Field(min_length=1)

    def run(self, world: World) -> Finding:
        touched = [
            record_id
            for record_id in self.record_ids
            if any(list_new_activities(world, record_id, kind) for kind in self.kinds)
        ]
        if not touched:
            return self.holds(f"nothing new is on records {list(self.record_ids)}")
        share = Fraction(len(self.record_ids) - len(touched), len(self.record_ids))
        return self.holds_partly(share, f"there are new {' or '.join(self.kinds)} on records {touched}")


def _join_written_texts(properties: PropertyValues) -> str:
    """Returns what somebody wrote into the activity; its time, owner and status are no words."""
    return " ".join(str(value) for name, value in properties.items() if name.endswith(_WRITTEN))


def _has_word(text: str, word: str) -> bool:
    """Whether the text has the word; a number must stand alone, since 7 is not in 17."""
    return re.search(rf"(?<!\d){re.escape(word)}(?!\d)", text) is not None if word.isdecimal() else word in text


def list_new_activities(
    world: World, record_id: int, kind: ActivityType, *, with_archived: bool = False
) -> list[RecordRow]:
    """Returns the activities on a record that did not exist when the episode began."""
    rows = [world.get(objects, activity_id) for (activity_id,) in world.rows(_ACTIVITIES, (record_id, kind))]
    return [
        row
        for row in rows
        if row is not None and (with_archived or row["archived_at"] is None) and is_new(world, row["id"])
    ]


def is_new(world: World, record_id: RecordId) -> bool:
    """Whether the record was created in the episode, and not by its setup."""
    changes = world.history(objects, record_id)
    return bool(changes) and changes[0].before is None and changes[0].actor != SYSTEM
