"""The kinds of rows that families plant: where they stand, when they were made, and what they are compared with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fixtures.codebase.packages import packages
from services.kernel.changes import Change

_HOUR = 3_600_000

# A view is a question to the classifier: which features it sees, and which neighbours it compares a row with.
View = Literal["when", "what"]
VIEWS: tuple[View, ...] = ("when", "what")
Row = Mapping[str, Any]
# Statuses of tickets by id, of those that are planted, too.
Statuses = Mapping[object, str]


def fields_of(row: Row) -> Mapping[str, Any]:
    """What a reader of the record sees: names that begin with an underscore stay inside. Attachments are content."""
    body = row.get("body")
    fields = body if isinstance(body, Mapping) else row.get("properties") or row
    return {name: value for name, value in fields.items() if name != "attachments" and not name.startswith("_")}


def _created_at(row: Row) -> int:
    return int(row["created_at"])


def _created_in_billing(row: Row) -> int:
    body = row["body"]
    return int(body.get("created") or body.get("date") or body["_created"]) * 1000


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of rows that are compared with one another."""

    name: str
    product: str
    table: str
    # What a row holds is compared with rows of the same state: a new ticket with new tickets.
    state: Callable[[Row, Statuses], object] = lambda _row, _statuses: None
    # What a row belongs to, whose rows are counted; None counts nothing.
    owner: Callable[[Row], object] = lambda _: None
    where: Callable[[Row], bool] = lambda _: True
    created: Callable[[Row], int] = _created_at
    # The number that rises with time, among the rows of one series; None if ids are opaque.
    number: Callable[[Row], tuple[object, int] | None] = lambda row: (None, int(row["id"]))
    # Who makes such rows, and with them the times at which they are made.
    maker: Callable[[Row], object] = lambda _: None
    # Families whose task is what such a row lacks.
    incomplete: frozenset[str] = frozenset()
    # Which questions the classifier is asked; a reason stands where one is left out.
    views: tuple[View, ...] = VIEWS


def _ticket_of(row: Row) -> object:
    return fields_of(row)["ticket_id"]


def _objects(
    kind: str,
    state: Callable[[Row, Statuses], object] = lambda _row, _statuses: None,
    incomplete: frozenset[str] = frozenset(),
) -> Kind:
    return Kind(
        kind,
        "crm",
        "objects",
        state,
        where=lambda row: row["kind"] == kind and row["archived_at"] is None,
        incomplete=incomplete,
    )


def _contact_state(row: Row, _: Statuses) -> object:
    """Briefs name people by their firm."""
    return "company" in fields_of(row)


def _deal_state(row: Row, _: Statuses) -> object:
    stage = fields_of(row).get("dealstage", "")
    return stage if stage in ("closedwon", "closedlost") else "open"


def _task_state(row: Row, _: Statuses) -> object:
    return fields_of(row).get("hs_task_status")


def _ticket_state(row: Row, _: Statuses) -> object:
    fields = fields_of(row)
    return fields["status"], fields["organization_id"] is None, fields["via"]["channel"] == "email"


def _comment_state(row: Row, statuses: Statuses) -> object:
    return fields_of(row)["public"], statuses.get(_ticket_of(row))


def _audit_state(row: Row, statuses: Statuses) -> object:
    types = [event["type"] for event in fields_of(row)["events"]]
    return "Create" in types, "Comment" in types, statuses.get(_ticket_of(row))


def _is_by_somebody(row: Row) -> bool:
    """What automations do, at full hours, no task plants."""
    return int(row["updated_at"]) % _HOUR > 0


def _is_more_than_a_status(row: Row) -> bool:
    """Tickets are closed at full hours, and no task plants that."""
    fields = [event.get("field_name") for event in fields_of(row)["events"]]
    return _is_by_somebody(row) and fields != ["status"]


def _user_state(row: Row, _: Statuses) -> object:
    fields = fields_of(row)
    return fields["role"], fields["organization_id"] is None, fields["suspended"]


def _is_customer(row: Row) -> object:
    """Staff join on working days, and customers write at any time."""
    return fields_of(row)["role"] == "end-user"


def _user_number(row: Row) -> tuple[object, int]:
    """Staff and customers are numbered apart."""
    return fields_of(row)["role"] == "end-user", int(row["id"])


def _billing(
    table: str,
    state: Callable[[Mapping[str, Any]], object],
    owner: Callable[[Row], object] = lambda _: None,
    number: Callable[[Row], tuple[object, int] | None] = lambda _: None,
    maker: Callable[[Mapping[str, Any]], object] = lambda _: None,
) -> Kind:
    return Kind(
        table,
        "billing",
        table,
        lambda row, _: state(row["body"]),
        owner=owner,
        created=_created_in_billing,
        number=number,
        maker=lambda row: maker(row["body"]),
    )


def _is_manual(body: Mapping[str, Any]) -> bool:
    """People bill services, and machines renew subscriptions, at any hour."""
    return bool(body["billing_reason"] == "manual")


def _invoice_state(body: Mapping[str, Any]) -> object:
    return body["status"], _is_manual(body), body["collection_method"]


def _type_of_line(body: Mapping[str, Any]) -> object:
    return body["parent"]["type"]


def _has_way_to_pay(body: Mapping[str, Any]) -> object:
    return body["invoice_settings"]["default_payment_method"] is not None


def _invoice_number(row: Row) -> tuple[object, int] | None:
    """Invoices are numbered by customer."""
    number = row["body"]["number"]
    return (row["body"]["customer"], int(number.rpartition("-")[2])) if number else None


def _is_of_the_company(row: Row) -> bool:
    """A repository that comes with its task has no other rows to compare with, and the brief names it."""
    return int(row["repository_id"]) <= len(packages())


def _issue_number(row: Row) -> tuple[object, int]:
    return row["repository_id"], int(row["number"])


KINDS: tuple[Kind, ...] = (
    # Gaps are to be filled, or two records of one person have a number in common.
    _objects("contacts", _contact_state, frozenset({"crm/enrich-known", "crm/merge-duplicates"})),
    # What these deals lack is to be found out.
    _objects("deals", _deal_state, frozenset({"crm/advance-deal", "office/onboard-customer"})),
    _objects("notes"),
    _objects("emails"),
    _objects("companies"),
    _objects("tasks", _task_state),
    # Who has left is named by the brief; when they came says nothing of it.
    Kind("owners", "crm", "owners", views=("when",)),
    Kind("tickets", "desk", "tickets", _ticket_state, where=_is_by_somebody),
    Kind("comments", "desk", "comments", _comment_state, owner=_ticket_of),
    Kind("audits", "desk", "audits", _audit_state, owner=_ticket_of, where=_is_more_than_a_status),
    Kind("users", "desk", "users", _user_state, number=_user_number, maker=_is_customer),
    Kind("identities", "desk", "identities"),
    Kind("organization_memberships", "desk", "organization_memberships"),
    _billing("invoices", _invoice_state, number=_invoice_number, maker=_is_manual),
    _billing("invoice_items", lambda _: None),
    # Most lines are those of long invoices: how many an invoice has is not compared by its lines.
    _billing("invoice_lines", _type_of_line, maker=_type_of_line),
    _billing("invoice_payments", lambda body: body["status"], maker=lambda body: body["status"]),
    # A payment that failed is compared with others that did.
    _billing("payment_intents", lambda body: (body["status"], body["last_payment_error"] is None)),
    _billing("charges", lambda body: (body["status"], body["payment_method_details"]["type"])),
    _billing("events", lambda body: body["type"]),
    _billing("balance_transactions", lambda body: body["type"]),
    _billing("customers", _has_way_to_pay),
    _billing("payment_methods", lambda body: body["type"]),
    Kind(
        "issues",
        "ide",
        "issues",
        lambda row, _: (row["state"], row["is_pull"]),
        where=_is_of_the_company,
        number=_issue_number,
    ),
)


@dataclass(frozen=True, slots=True)
class ChangedKind:
    """Rows of the template that setups change, which are compared with what they were."""

    name: str
    product: str
    table: str
    # By family: why what such a row has or lacks is what the task is about.
    content: Mapping[str, str] = field(default_factory=dict)

    def covers(self, change: Change) -> bool:
        row = change.after or change.before or {}
        return change.table == self.table and row.get("kind") in (None, self.name)


CHANGED_KINDS: tuple[ChangedKind, ...] = (
    ChangedKind(
        "contacts",
        "crm",
        "objects",
        {"crm/merge-duplicates": "two records of one person have something in common, and are told by it"},
    ),
    ChangedKind("companies", "crm", "objects"),
    ChangedKind("deals", "crm", "objects"),
    ChangedKind(
        "leads", "crm", "objects", {"crm/reassign-book": "leads get an owner, for the leaver must own some of them"}
    ),
    ChangedKind(
        "customers",
        "billing",
        "customers",
        {
            "desk/failed-payment": "who owes is delinquent, as billing itself writes it",
            "office/departed-colleague": "the brief names the field that holds the account manager",
            "office/forget-person": "the fields that name the person are what is to be found",
        },
    ),
    ChangedKind("invoices", "billing", "invoices"),
    ChangedKind(
        "users", "desk", "users", {"desk/access-lockout": "the field that locks somebody out, whom the ticket names"}
    ),
)
