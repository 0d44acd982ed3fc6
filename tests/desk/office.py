"""A small support desk, made by hand: three agents, two customers' companies, a handful of tickets."""

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from services.desk import tables
from services.desk.operations.tickets import blank_ticket
from services.desk.operations.users import blank_user
from services.desk.records.markup import to_html
from services.desk.records.ticket_metrics import start_metrics
from services.kernel.template import WorldMeta, build

NOW = 1_794_819_600_000  # 2026-11-16T09:00:00Z
HOUR = 3_600_000
DAY = 24 * HOUR

MARA, JONAS, INES = 901, 902, 903
LENA, TOMAS, PRIYA, OLEG = 911, 912, 913, 914
BILLING_GROUP, TECH_GROUP, SALES_GROUP = 501, 502, 503
CORVANE, HALDEN = 701, 702
PRODUCT_FIELD, ORDER_FIELD, VIP_FIELD = 3001, 3002, 3003
BRAND, FORM = 401, 402
NEW, OPEN, PENDING, HELD, SOLVED, CLOSED, PROBLEM, INCIDENT, SPAM, LAST = range(1, 11)

STAFF = {
    MARA: ("Mara Lindqvist", "mara.lindqvist@tessavik.io", "agent", BILLING_GROUP),
    JONAS: ("Jonas Abel", "jonas.abel@tessavik.io", "agent", TECH_GROUP),
    INES: ("Ines Duarte", "ines.duarte@tessavik.io", "admin", TECH_GROUP),
}
CUSTOMERS = {
    LENA: ("Lena Brandt", "lena.brandt@corvane.eu", CORVANE),
    TOMAS: ("Tomas Halvorsen", "tomas@halden-marine.no", HALDEN),
    PRIYA: ("Priya Raman", "priya.raman@corvane.eu", CORVANE),
    OLEG: ("Oleg Winters", "oleg.winters@postbox.pl", None),
}
# Number, subject, text, status, requester, assignee, group, type, priority, tags.
TICKETS: tuple[tuple[int, str, str, str, int, int | None, int | None, str | None, str | None, list[str]], ...] = (
    (NEW, "Printer labels come out blank", "Since Monday all labels are blank.", "new", LENA, None, TECH_GROUP, None, None, []),
    (OPEN, "Charged twice in October", "Our card was charged twice.", "open", LENA, MARA, BILLING_GROUP, "question", "high", ["billing", "refund"]),
    (PENDING, "Cannot log in", "The reset mail never arrives.", "pending", TOMAS, JONAS, TECH_GROUP, "question", "normal", ["access"]),
    (HELD, "Invoice needs our VAT id", "Please add it to invoice 1044.", "hold", TOMAS, MARA, BILLING_GROUP, None, "low", ["billing"]),
    (SOLVED, "Export takes an hour", "The nightly export is slow.", "solved", PRIYA, JONAS, TECH_GROUP, "incident", "normal", ["export"]),
    (CLOSED, "How do I add a colleague?", "Where is the button?", "closed", PRIYA, JONAS, TECH_GROUP, "question", "low", ["howto"]),
    (PROBLEM, "Webhooks are delayed", "Webhooks arrive minutes late.", "open", LENA, JONAS, TECH_GROUP, "problem", "urgent", ["outage"]),
    (INCIDENT, "Orders arrive late", "Our orders come in late today.", "new", TOMAS, None, TECH_GROUP, "incident", "high", ["outage"]),
    (SPAM, "You have won a prize", "Click here to claim.", "new", OLEG, None, None, None, None, []),
    (LAST, "Übersicht auf Deutsch?", "Gibt es die Übersicht auch auf Deutsch?", "open", PRIYA, MARA, BILLING_GROUP, "question", None, ["deutsch"]),
)  # fmt: skip
OPTIONS = [{"id": 1, "name": "Portal", "raw_name": "Portal", "value": "product_portal", "default": False},
           {"id": 2, "name": "Gateway", "raw_name": "Gateway", "value": "product_gateway", "default": False}]  # fmt: skip


class RowBuilder:
    """Rows by table, and the last id of each."""

    def __init__(self) -> None:
        self.rows: dict[sa.Table, list[dict[str, Any]]] = {}
        self.counters: dict[str, int] = {}

    def add(
        self, table: sa.Table, key: int | str, body: dict[str, Any], time_ms: int = NOW - 30 * DAY, counter: str = ""
    ) -> None:
        self.rows.setdefault(table, []).append({"id": key, "created_at": time_ms, "updated_at": time_ms, "body": body})
        if isinstance(key, int):
            name = counter or str(table.name)
            self.counters[name] = max(self.counters.get(name, 0), key)


def build_office(folder: Path) -> None:
    rows = RowBuilder()
    _add_settings(rows)
    _add_people(rows)
    for place, values in enumerate(TICKETS):
        _add_ticket(rows, place, *values)
    about = WorldMeta("desk", "standard", 7, NOW, rows.counters)
    build(folder / "desk-standard.sqlite", tables.schema, about, rows.rows.items())


def _add_settings(rows: RowBuilder) -> None:
    rows.add(tables.account, tables.ACCOUNT, {"subdomain": "tessavik", "name": "Tessavik", "agent_id": MARA})
    for key, kind, title, more in (
        (PRODUCT_FIELD, "tagger", "Product", {"custom_field_options": OPTIONS}),
        (ORDER_FIELD, "text", "Order number", {}),
        (VIP_FIELD, "checkbox", "VIP", {"tag": "vip"}),
    ):
        body = {"type": kind, "title": title, "raw_title": title, "description": title, "position": key - 3000}
        body |= {"active": True, "required": False, "tag": None, "removable": True, "key": None} | more
        rows.add(tables.ticket_fields, key, body)
    rows.add(tables.brands, BRAND, {"name": "Tessavik", "subdomain": "tessavik", "active": True, "default": True})
    rows.add(
        tables.ticket_forms,
        FORM,
        {"name": "Default", "active": True, "default": True, "position": 1, "ticket_field_ids": [PRODUCT_FIELD]},
    )
    rows.add(
        tables.custom_statuses,
        601,
        {"status_category": "open", "agent_label": "With engineering", "active": True, "default": False},
    )
    rows.add(tables.user_fields, 3101, {"key": "plan", "type": "text", "title": "Plan", "position": 1, "active": True})
    for key, name in ((BILLING_GROUP, "Billing"), (TECH_GROUP, "Technical"), (SALES_GROUP, "Sales")):
        rows.add(
            tables.groups,
            key,
            {"name": name, "description": f"{name} questions", "default": False, "is_public": True, "deleted": False},
        )


def _add_people(rows: RowBuilder) -> None:
    for key, (name, email, role, group) in STAFF.items():
        body = {**blank_user(name, email), "role": role, "default_group_id": group, "verified": True}
        rows.add(tables.users, key, body)
        _add_identity(rows, key, email)
        rows.add(tables.group_memberships, key, {"user_id": key, "group_id": group, "default": True})
    for key, name, domain in ((CORVANE, "Corvane", "corvane.eu"), (HALDEN, "Halden Marine", "halden-marine.no")):
        body = {"name": name, "domain_names": [domain], "details": None, "notes": None, "group_id": None}
        body |= {
            "shared_tickets": False,
            "shared_comments": False,
            "external_id": f"acc-{key}",
            "tags": ["customer"] if key == HALDEN else [],
            "organization_fields": {},
        }
        rows.add(tables.organizations, key, body)
    for key, (name, email, organization) in CUSTOMERS.items():
        rows.add(tables.users, key, {**blank_user(name, email), "organization_id": organization})
        _add_identity(rows, key, email)
        if organization is not None:
            member = {"user_id": key, "organization_id": organization, "default": True, "view_tickets": False}
            rows.add(tables.organization_memberships, key, member)


def _add_identity(rows: RowBuilder, user: int, email: str) -> None:
    body = {"user_id": user, "type": "email", "value": email, "primary": True, "verified": True}
    rows.add(tables.identities, user, body | {"undeliverable_count": 0, "deliverable_state": "deliverable"})


def _add_ticket(
    rows: RowBuilder, place: int, key: int, subject: str, text: str, status: str, requester: int, assignee: int | None,
    group: int | None, kind: str | None, priority: str | None, tags: list[str],
) -> None:  # fmt: skip
    time_ms = NOW - (len(TICKETS) - place) * DAY
    via = {"channel": "email", "source": {"from": {}, "to": {}, "rel": None}}
    body = {
        **blank_ticket(requester),
        "subject": subject, "description": text, "status": status,
        "submitter_id": requester, "assignee_id": assignee, "group_id": group, "type": kind, "priority": priority,
        "tags": tags, "via": via, "organization_id": CUSTOMERS[requester][2],
        "problem_id": PROBLEM if key == INCIDENT else None,
    }  # fmt: skip
    body["metrics"] = start_metrics(body, requester, time_ms)
    event, audit = 10_000 + 10 * key, 20_000 + key
    comment = {
        "type": "Comment", "ticket_id": key, "author_id": requester, "body": text, "html_body": to_html(text),
        "plain_body": text, "public": True, "attachments": [], "audit_id": audit, "via": via,
        "metadata": {"system": {}, "custom": {}},
    }  # fmt: skip
    rows.add(tables.tickets, key, body, time_ms)
    rows.add(tables.comments, event, comment, time_ms, "events")
    created = {"id": event + 1, "type": "Create", "field_name": "status", "value": status}
    events = [{"id": event, "type": "Comment"}, created]
    audited = {"ticket_id": key, "author_id": requester, "via": via, "metadata": {"system": {}, "custom": {}}}
    rows.add(tables.audits, audit, audited | {"events": events}, time_ms)
    rows.counters["events"] = event + 1
