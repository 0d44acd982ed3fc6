"""Every operation once, on the company's own desk: it answers, and with what the document promises."""

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from services.desk.product import product
from services.kernel.app import create_api
from services.kernel.config import Settings
from services.kernel.dispatch import flatten_routes
from services.kernel.episodes import Episode, Opening
from services.kernel.serve import Service
from tests.company import WORLD, small_company

LONG_AGO = 1_600_000_000
_NUMBERS = itertools.count(1)
_ROUTES = [
    one for one in flatten_routes(create_api(product).routes) if isinstance(one, APIRoute) and one.include_in_schema
]
BY_NAME: dict[str, APIRoute] = {str(one.operation_id): one for one in _ROUTES}
READS = sorted(name for name, route in BY_NAME.items() if route.methods == {"GET"})
WRITES = sorted(set(BY_NAME) - set(READS))

# SQL that finds a real value for each name in a path.
REAL = {
    "ticket_id": "SELECT max(id) FROM tickets WHERE status_rank < 4 AND deleted_at IS NULL",
    "request_id": "SELECT max(id) FROM tickets WHERE status_rank < 4 AND deleted_at IS NULL",
    "metric_id": "SELECT min(id) FROM tickets",
    "comment_id": "SELECT min(id) FROM comments WHERE public = 1",
    "audit_id": "SELECT max(id) FROM audits WHERE ticket_id = (SELECT max(id) FROM tickets WHERE status_rank < 4)",
    "user_id": "SELECT requester_id FROM tickets WHERE status_rank < 4 ORDER BY id DESC",
    "organization_id": "SELECT min(id) FROM organizations",
    "group_id": "SELECT min(id) FROM groups",
    "field_id": "SELECT min(id) FROM ticket_fields",
    "attachment_id": "SELECT max(id) FROM attachments",
    "job_id": "SELECT max(id) FROM job_statuses",
    "view_id": "SELECT min(id) FROM views",
    "macro_id": "SELECT min(id) FROM macros",
    "trigger_id": "SELECT min(id) FROM triggers",
    "automation_id": "SELECT min(id) FROM automations",
    "policy_id": "SELECT min(id) FROM sla_policies",
    "rating_id": "SELECT min(id) FROM satisfaction_ratings",
    "suspended_id": "SELECT min(id) FROM suspended_tickets",
    "article_id": "SELECT min(id) FROM help_articles",
    "section_id": "SELECT min(id) FROM help_sections",
    "category_id": "SELECT min(id) FROM help_categories",
    "locale": "SELECT locale FROM help_articles ORDER BY id",
    "token": "SELECT max(id) FROM uploads WHERE body ->> '$.used' = 0",
}
QUERIES: dict[str, dict[str, Any]] = {
    "desk.tickets.show_many": {"ids": "1,2,3"},
    "desk.tickets.destroy_many": {"ids": "1,2"},
    "desk.tickets.update_many": {"ids": "1,2"},
    "desk.job_statuses.show_many": {"ids": "none"},
    "desk.users.show_many": {"ids": "1,2"},
    "desk.users.search": {"query": "a*"},
    "desk.users.autocomplete": {"name": "a"},
    "desk.organizations.show_many": {"ids": "1,2"},
    "desk.organizations.search": {"name": "none"},
    "desk.organizations.autocomplete": {"name": "a"},
    "desk.incremental.tickets_by_cursor": {"start_time": LONG_AGO, "per_page": 50, "include": "users,organizations"},
    "desk.incremental.users_by_cursor": {"start_time": LONG_AGO},
    **{
        f"desk.incremental.{name}": {"start_time": LONG_AGO}
        for name in ("tickets", "users", "organizations", "ticket_events", "ticket_metric_events")
    },
    "desk.search": {"query": "type:ticket invoice", "sort_by": "created_at", "sort_order": "desc"},
    "desk.search.count": {"query": "type:ticket status<solved"},
    "desk.search.export": {"query": "invoice", "filter[type]": "ticket", "page[size]": 10},
    "desk.views.search": {"query": "a"},
    "desk.views.count_many": {"ids": "1,2"},
    "desk.macros.search": {"query": "a"},
    "desk.triggers.search": {"query": "a"},
    "desk.automations.search": {"query": "a"},
    "desk.articles.search": {"query": "invoice"},
    "desk.requests.search": {"query": "a"},
    "desk.uploads.create": {"filename": "log.txt"},
}
_RULE = {"title": "Checked", "all": [{"field": "status", "operator": "is", "value": "open"}]}
_CONDITIONS = {"all": [{"field": "status", "operator": "is", "value": "open"}], "any": []}
_SINCE = {"field": "SOLVED", "operator": "greater_than", "value": "96"}
_ACTIONS = [{"field": "priority", "value": "high"}]
_POLICY = {
    "title": "Checked",
    "filter": {"all": [{"field": "type", "operator": "is", "value": "incident"}], "any": []},
    "policy_metrics": [{"priority": "high", "metric": "first_reply_time", "target": 60, "business_hours": False}],
}
BODIES: dict[str, Any] = {
    "desk.tickets.create": {"ticket": {"subject": "New", "comment": {"body": "Hello"}}},
    "desk.tickets.update": {"ticket": {"priority": "urgent", "comment": {"body": "Hello"}}},
    "desk.tickets.set_tags": {"tags": ["a"]},
    "desk.tickets.add_tags": {"tags": ["b"]},
    "desk.tickets.remove_tags": {"tags": ["b"]},
    "desk.tickets.update_many": {"ticket": {"priority": "low"}},
    "desk.tickets.create_many": {"tickets": [{"comment": {"body": "One"}}]},
    "desk.tickets.merge": {"ids": [1]},
    "desk.users.create": {"user": {"name": "Vera Holm", "email": "vera.holm@corvane.eu"}},
    "desk.users.create_or_update": {"user": {"name": "Vera Holm", "email": "vera.holm@corvane.eu"}},
    "desk.users.update": {"user": {"notes": "Calls on Fridays"}},
    "desk.organizations.create": {"organization": {"name": "Quite new"}},
    "desk.organizations.create_or_update": {"organization": {"name": "Quite new"}},
    "desk.organizations.update": {"organization": {"notes": "Renewal in May"}},
    "desk.requests.create": {"request": {"comment": {"body": "My badge is lost"}}},
    "desk.requests.update": {"request": {"comment": {"body": "Found it"}}},
    "desk.views.create": {"view": _RULE},
    "desk.views.preview": {"view": _RULE},
    "desk.views.preview_count": {"view": _RULE},
    "desk.views.update": {"view": {"title": "Renamed"}},
    "desk.macros.create": {"macro": {"title": "Checked", "actions": _ACTIONS}},
    "desk.macros.update": {"macro": {"title": "Renamed"}},
    "desk.triggers.create": {"trigger": {"title": "Checked", "conditions": _CONDITIONS, "actions": _ACTIONS}},
    "desk.triggers.update": {"trigger": {"title": "Renamed"}},
    "desk.automations.create": {
        "automation": {
            "title": "Checked",
            "conditions": {"all": [{"field": "status", "operator": "is", "value": "solved"}, _SINCE], "any": []},
            "actions": [{"field": "status", "value": "closed"}],
        }
    },
    "desk.automations.update": {"automation": {"title": "Renamed"}},
    "desk.sla_policies.create": {"sla_policy": _POLICY},
    "desk.sla_policies.update": {"sla_policy": {"title": "Renamed"}},
}


class Office:
    """One credential on the company's desk, in process."""

    def __init__(self, service: Service, transport: httpx.ASGITransport, number: int) -> None:
        self.token = f"zd_{number:08d}"
        self._service = service
        self.episode: Episode = service.episodes.open(Opening(f"every{number}", self.token, 7, WORLD))
        self._transport = transport

    def one(self, sql: str) -> Any:
        found = self.episode.world.rows(sql)[0][0]
        assert found is not None, sql
        return found

    def call(self, name: str, body: Any = None, content: bytes | None = None, **path: Any) -> httpx.Response:
        route = BY_NAME[name]
        (method,) = route.methods or ()
        names = [field.alias for field in route.dependant.path_params]
        where = route.path.format(**{one: path.get(one) or self.one(REAL[one]) for one in names})
        sent: dict[str, Any] = {"params": QUERIES.get(name, {})}
        if content is not None:
            sent["content"] = content
        elif body is not None:
            sent["json"] = body
        return asyncio.run(self._send(method, where, sent))

    async def _send(self, method: str, where: str, sent: dict[str, Any]) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(transport=self._transport, base_url="http://desk", headers=headers) as http:
            return await http.request(method, where, **sent)

    def close(self) -> None:
        assert self.episode.broken is None
        self._service.episodes.close(self.episode)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(product, Settings(var=small_company(tmp_path_factory), harness_token="harness"))
    yield running
    running.episodes.worlds.close()


@pytest.fixture(scope="module")
def transport(service: Service) -> httpx.ASGITransport:
    return httpx.ASGITransport(service.agent_app())


@pytest.fixture
def office(service: Service, transport: httpx.ASGITransport, request: pytest.FixtureRequest) -> Iterator[Office]:
    opened = Office(service, transport, next(_NUMBERS))
    yield opened
    opened.close()


def promised(name: str, answer: httpx.Response) -> None:
    """The answer is a success, and is what the document says."""
    assert answer.status_code < 300, f"{name}: {answer.status_code} {answer.text[:300]}"
    if answer.status_code != 204 and (model := BY_NAME[name].response_model) is not None:
        TypeAdapter(model).validate_json(answer.content)


@pytest.mark.parametrize("name", READS)
def test_a_read_answers_as_documented(office: Office, name: str) -> None:
    if name.startswith("desk.attachments."):
        office.call("desk.uploads.create", content=b"log")
    if name == "desk.job_statuses.show":
        office.call("desk.tickets.create_many", BODIES["desk.tickets.create_many"])
    path = {"user_id": office.one("SELECT min(id) FROM users")} if name == "desk.users.show" else {}

    promised(name, office.call(name, **path))


@pytest.mark.parametrize("name", sorted(set(WRITES) & set(BODIES)))
def test_a_write_with_a_body_answers_as_documented(office: Office, name: str) -> None:
    promised(name, office.call(name, BODIES[name]))


def test_a_ticket_is_deleted_restored_and_marked_as_spam(office: Office) -> None:
    key = office.one(REAL["ticket_id"])
    promised("desk.tickets.delete", office.call("desk.tickets.delete", ticket_id=key))
    promised("desk.deleted_tickets.restore", office.call("desk.deleted_tickets.restore", ticket_id=key))
    promised("desk.tickets.mark_as_spam", office.call("desk.tickets.mark_as_spam", ticket_id=key))
    promised("desk.tickets.destroy_many", office.call("desk.tickets.destroy_many"))


def test_a_comment_is_redacted_and_taken_inside(office: Office) -> None:
    comment = office.one(REAL["comment_id"])
    ticket = office.one(f"SELECT ticket_id FROM comments WHERE id = {comment}")
    word = office.one(f"SELECT body ->> '$.body' FROM comments WHERE id = {comment}").split()[0]
    path = {"ticket_id": ticket, "comment_id": comment}
    promised("desk.comments.redact", office.call("desk.comments.redact", {"text": word}, **path))
    promised("desk.comments.make_private", office.call("desk.comments.make_private", **path))


def test_people_and_organizations_leave(office: Office) -> None:
    made = office.call("desk.users.create", BODIES["desk.users.create"]).json()["user"]["id"]
    other = office.one(REAL["user_id"])
    promised("desk.users.merge", office.call("desk.users.merge", {"user": {"id": other}}, user_id=made))
    again = office.call("desk.users.create", {"user": {"name": "Ola Nord"}}).json()["user"]["id"]
    promised("desk.users.delete", office.call("desk.users.delete", user_id=again))
    promised("desk.organizations.delete", office.call("desk.organizations.delete"))


def test_files_come_and_go(office: Office) -> None:
    promised("desk.uploads.create", office.call("desk.uploads.create", content=b"log"))
    promised("desk.uploads.delete", office.call("desk.uploads.delete"))


@pytest.mark.parametrize("noun", ["views", "macros", "triggers", "automations", "sla_policies"])
def test_a_rule_is_deleted(office: Office, noun: str) -> None:
    promised(f"desk.{noun}.delete", office.call(f"desk.{noun}.delete"))


def test_triggers_are_put_in_order(office: Office) -> None:
    ids = [key for (key,) in office.episode.world.rows("SELECT id FROM triggers ORDER BY position DESC")]
    promised("desk.triggers.reorder", office.call("desk.triggers.reorder", {"trigger_ids": ids}))


def test_held_back_mail_is_recovered_or_deleted(office: Office) -> None:
    first, last = (office.one(f"SELECT {end}(id) FROM suspended_tickets") for end in ("min", "max"))
    promised("desk.suspended_tickets.recover", office.call("desk.suspended_tickets.recover", suspended_id=first))
    promised("desk.suspended_tickets.delete", office.call("desk.suspended_tickets.delete", suspended_id=last))


def test_only_the_requester_rates(office: Office) -> None:
    answer = office.call("desk.satisfaction_ratings.create", {"satisfaction_rating": {"score": "good"}})

    assert answer.status_code in (403, 422)


def test_no_write_was_forgotten() -> None:
    elsewhere = {
        "desk.tickets.delete", "desk.deleted_tickets.restore", "desk.tickets.mark_as_spam", "desk.tickets.destroy_many",
        "desk.comments.redact", "desk.comments.make_private", "desk.users.merge", "desk.users.delete",
        "desk.organizations.delete", "desk.uploads.create", "desk.uploads.delete", "desk.triggers.reorder",
        "desk.suspended_tickets.recover", "desk.suspended_tickets.delete", "desk.satisfaction_ratings.create",
        *(f"desk.{noun}.delete" for noun in ("views", "macros", "triggers", "automations", "sla_policies")),
    }  # fmt: skip

    assert set(WRITES) == set(BODIES) | elsewhere
