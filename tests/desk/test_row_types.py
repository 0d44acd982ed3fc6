"""The types of the desk's rows say what the rows of a real world are."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import orjson
import pytest

from services.desk import tables
from services.desk.rows import people, rules, settings, tickets
from tests.company import small_company

BODIES: Mapping[str, Any] = {
    "tickets": tickets.TicketBody,
    "comments": tickets.CommentBody,
    "audits": tickets.AuditBody,
    "attachments": tickets.AttachmentBody,
    "uploads": tickets.UploadBody,
    "job_statuses": tickets.JobStatusBody,
    "suspended_tickets": tickets.SuspendedTicketBody,
    "sla_targets": tickets.SlaTargetBody,
    "metric_events": tickets.MetricEventBody,
    "satisfaction_ratings": tickets.RatingBody,
    "users": people.UserBody,
    "identities": people.IdentityBody,
    "organizations": people.OrganizationBody,
    "organization_memberships": people.OrganizationMembershipBody,
    "groups": people.GroupBody,
    "group_memberships": people.GroupMembershipBody,
    "views": rules.ViewBody,
    "macros": rules.MacroBody,
    "triggers": rules.TriggerBody,
    "automations": rules.AutomationBody,
    "sla_policies": rules.SlaPolicyBody,
    "ticket_fields": settings.TicketFieldBody,
    "ticket_forms": settings.TicketFormBody,
    "custom_statuses": settings.CustomStatusBody,
    "user_fields": settings.PersonFieldBody,
    "organization_fields": settings.PersonFieldBody,
    "brands": settings.BrandBody,
    "help_categories": settings.CategoryBody,
    "help_sections": settings.SectionBody,
    "help_articles": settings.ArticleBody,
    "account": settings.AccountBody,
}
CHANGES = (
    (tickets.TicketChanges, tickets.TicketBody),
    (people.UserChanges, people.UserBody),
    (people.OrganizationChanges, people.OrganizationBody),
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    path: Path = small_company(tmp_path_factory) / "worlds" / "desk-small.sqlite"
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def test_every_table_has_a_type_for_its_body() -> None:
    assert set(BODIES) == set(tables.tables.tables)


@pytest.mark.parametrize("name", BODIES)
def test_bodies_have_the_names_of_their_type(name: str, world: sqlite3.Connection) -> None:
    body = BODIES[name]
    for (text,) in world.execute(f"SELECT body FROM {name}"):
        names = set(orjson.loads(text))

        assert body.__required_keys__ <= names <= body.__required_keys__ | body.__optional_keys__


@pytest.mark.parametrize(("changes", "body"), CHANGES)
def test_a_change_sets_fields_of_the_body_with_their_types(changes: Any, body: Any) -> None:
    fields = get_type_hints(body)

    assert {name: fields[name] for name in get_type_hints(changes)} == get_type_hints(changes)


def test_every_event_of_an_audit_is_one_of_the_alternatives() -> None:
    kinds = [get_args(get_type_hints(event)["type"]) for event in get_args(tickets.AuditEvent)]

    assert sorted(kinds) == [("Change",), ("Comment",), ("Create",), ("External",), ("Notification",)]
    assert get_origin(get_type_hints(tickets.AuditBody)["events"]) is list
