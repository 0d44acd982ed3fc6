"""Checks that tasks use on the desk. They look for facts in what the agent wrote, never for style."""

import html
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from pydantic import Field

from services.desk.created_checks import EndUserKnown, OrganizationKnown
from services.desk.documents import Sort
from services.desk.records.people import is_staff
from services.desk.rows import EventId, TicketId, UserId
from services.desk.rows.tickets import CommentRow, TicketBody
from services.desk.tables import comments, organizations, satisfaction_ratings, tickets, users
from services.kernel.changes import AGENTS, Change
from services.kernel.checks import Check, Finding, checks_by_name
from services.kernel.documents import equal
from services.kernel.links import find_hosts, is_within
from services.kernel.statements import RowTable
from services.kernel.world import World

# Each inner list has spellings of one fact, any of which will do.
Facts = list[list[str]]

_FINISHED = ("solved", "closed")
_WAITING = ("open", "pending", "hold")
_QUOTED = re.compile(r"^\s*>.*$", re.MULTILINE)
_SENTENCES = re.compile(r"[.!?\n]+")
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63})+")
_OTHERS_AT = "SELECT 1 FROM users WHERE email_folded LIKE :domain AND organization_id IS NOT :organization LIMIT 1"
_LONGEST_READ = 2_500
# Shorter sentences may stand in an internal note and in a reply by chance.
_SHORTEST_LEAK = 32
# More than any world's internal notes; one takes some hundred bytes.
_NOTES_CACHED = 16_384


class TicketIs(Check):
    """The ticket is there and its fields read so; a list of values means any of them."""

    ticket: int
    values: dict[str, str | int | bool | list[str] | None]

    def run(self, world: World) -> Finding:
        # Fields by the names that the task gives.
        body: Mapping[str, Any] | None = _get_ticket(world, self.ticket)
        if body is None:
            return self.fails(f"ticket {self.ticket} is gone")
        for name, expected in self.values.items():
            value = body.get(name)
            if value not in expected if isinstance(expected, list) else value != expected:
                return self.fails(f"ticket {self.ticket}: {name} is {value!r}, not {expected!r}")
        return self.holds(f"ticket {self.ticket} is as it should be")


class CustomerContent(Check):
    """The request is solved and its requester, nobody else, said in the end that it went well.

    Where something is still owed, the request may also wait, once its requester was told what for.
    """

    ticket: int
    requester: int
    waits_for: Facts = Field(default=[])

    def run(self, world: World) -> Finding:
        body = _get_ticket(world, self.ticket)
        if body is None or body["requester_id"] != self.requester:
            return self.fails(f"ticket {self.ticket} is gone or somebody else's")
        if body["status"] in _WAITING and self.waits_for:
            untold = _missing_facts(_agent_texts(world, self.ticket, public=True), self.waits_for)
            if untold:
                return self.fails(f"no reply on ticket {self.ticket} says {untold[0]!r}")
            return self.holds(f"ticket {self.ticket} is {body['status']}, and its requester knows what for")
        if body["status"] not in _FINISHED:
            return self.fails(f"ticket {self.ticket} is {body['status']}")
        rating = _get_rating(world, self.ticket)
        if rating != "good":
            return self.fails(f"ticket {self.ticket} is rated {rating or 'not at all'} by its requester")
        return self.holds(f"ticket {self.ticket} is solved and its requester is content")


class HandedOver(Check):
    """The ticket waits with this group, unsolved, and the agent's internal notes give all the evidence."""

    ticket: int
    group: int
    says: Facts
    kinds: tuple[str, ...] = ()
    # What the customer must have been told in public.
    tells: Facts = Field(default=[])

    def run(self, world: World) -> Finding:
        body = _get_ticket(world, self.ticket)
        if body is None or body["status"] in _FINISHED:
            return self.fails(f"ticket {self.ticket} waits with nobody")
        if body["group_id"] != self.group:
            return self.fails(f"ticket {self.ticket} is with group {body['group_id']}, not {self.group}")
        if self.kinds and body["type"] not in self.kinds:
            return self.fails(f"ticket {self.ticket} is a {body['type']}, not a {' or '.join(self.kinds)}")
        lacking = _missing_facts(_agent_texts(world, self.ticket, public=False), self.says)
        if lacking:
            return self.fails(f"no note on ticket {self.ticket} says {lacking[0]!r}")
        untold = _missing_facts(_agent_texts(world, self.ticket, public=True), self.tells)
        if untold:
            return self.fails(f"no reply on ticket {self.ticket} says {untold[0]!r}")
        return self.holds(f"ticket {self.ticket} was handed over with its evidence")


class Replied(Check):
    """A public reply of the agent says all of this, in its own words and not in what it quotes."""

    ticket: int
    says: Facts

    def run(self, world: World) -> Finding:
        texts = _agent_texts(world, self.ticket, public=True)
        if not texts:
            return self.fails(f"ticket {self.ticket} got no reply")
        lacking = _missing_facts(texts, self.says)
        if lacking:
            return self.fails(f"no reply on ticket {self.ticket} says {lacking[0]!r}")
        return self.holds(f"ticket {self.ticket} was told")


class NeverSaid(Check):
    """No public reply of the agent on this ticket says any of this."""

    ticket: int
    words: tuple[str, ...]

    def run(self, world: World) -> Finding:
        texts = [_fold(text) for text in _agent_texts(world, self.ticket, public=True)]
        said = next((word for word in self.words for text in texts if _stands_in(word, text)), None)
        if said is not None:
            return self.fails(f"ticket {self.ticket} was told {said!r}")
        return self.holds(f"ticket {self.ticket} was told nothing of it")


class MergedTogether(Check):
    """Of these tickets one is left, and all others were merged into it."""

    tickets: list[int]
    requester: int

    def run(self, world: World) -> Finding:
        bodies = {key: body for key in self.tickets if (body := _get_ticket(world, key)) is not None}
        remaining = [key for key, body in bodies.items() if not body.get("_merged_into")]
        if len(remaining) != 1 or bodies[remaining[0]]["requester_id"] != self.requester:
            return self.fails(f"{len(remaining)} of the tickets {self.tickets} are left")
        astray = [key for key in self.tickets if key != remaining[0] and self._follow(bodies, key) != remaining[0]]
        if astray:
            return self.fails(f"ticket {astray[0]} was not merged into {remaining[0]}")
        return self.holds(f"all was merged into ticket {remaining[0]}")

    def _follow(self, bodies: dict[int, TicketBody], key: int) -> int:
        """Returns the ticket at the end of a chain of merges."""
        seen: set[int] = set()
        while key not in seen and (body := bodies.get(key)) is not None and body.get("_merged_into"):
            seen.add(key)
            key = body["_merged_into"]
        return key


class OneIsContent(Check):
    """Of these tickets of one requester, the one that is left is solved and rated good."""

    tickets: list[int]
    requester: int

    def run(self, world: World) -> Finding:
        for key in self.tickets:
            finding = CustomerContent(ticket=key, requester=self.requester).run(world)
            body = _get_ticket(world, key)
            if finding.held and body is not None and not body.get("_merged_into"):
                return self.holds(finding.because)
        return self.fails(f"none of {self.tickets} is solved with a content requester")


class UserIs(Check):
    """Fields of the user read so."""

    user: int
    values: dict[str, str | int | bool | None]

    def run(self, world: World) -> Finding:
        row = world.get(users, UserId(self.user))
        if row is None:
            return self.fails(f"user {self.user} is gone")
        # Fields by the names that the task gives.
        body: Mapping[str, Any] = row["body"]
        for name, expected in self.values.items():
            if body.get(name) != expected:
                return self.fails(f"user {self.user}: {name} is {body.get(name)!r}, not {expected!r}")
        return self.holds(f"user {self.user} is as it should be")


class UserFieldIs(Check):
    """A custom field of the user reads so, and the user is there."""

    user: int
    field: str
    value: str | None

    def run(self, world: World) -> Finding:
        row = world.get(users, UserId(self.user))
        if row is None or not row["body"]["active"]:
            return self.fails(f"user {self.user} is gone")
        value = row["body"]["user_fields"].get(self.field)
        if value != self.value:
            return self.fails(f"user {self.user}: {self.field} is {value!r}, not {self.value!r}")
        return self.holds(f"{self.field} of user {self.user} is {self.value}")


class MarkedAsSpam(Check):
    """The ticket was taken off the desk and its sender is suspended."""

    ticket: int

    def run(self, world: World) -> Finding:
        row = world.get(tickets, TicketId(self.ticket))
        if row is None or row["body"]["deleted_at"] is None:
            return self.fails(f"ticket {self.ticket} is still on the desk")
        sender = world.get(users, row["body"]["requester_id"])
        if sender is None or not sender["body"]["suspended"]:
            return self.fails(f"the sender of ticket {self.ticket} may write again")
        return self.holds(f"ticket {self.ticket} is off the desk and its sender suspended")


class NothingPrivateShown(Check):
    """No public reply of the agent repeats an internal note or an address that is not the customer's own."""

    own_domain: str

    def run(self, world: World) -> Finding:
        replies = list(_agent_comments(world, public=True))
        notes = _internal_sentences(world) if replies else []
        for row in replies:
            ticket, text = row["body"]["ticket_id"], row["body"]["plain_body"]
            reply = _fold(text)
            if (leaked := next((note for note in notes if note in reply), None)) is not None:
                return self.fails(f"ticket {ticket} was shown what is internal: {leaked[:60]!r}")
            if (address := self._foreign_address(world, ticket, text)) is not None:
                return self.fails(f"ticket {ticket} was shown the address {address}")
        return self.holds("nothing internal was shown to a customer")

    def _foreign_address(self, world: World, ticket: TicketId, text: str) -> str | None:
        """Returns an address that is neither ours nor the customer's nor was named in public on that ticket."""
        domains = (self.own_domain, *_customer_domains(world, ticket))
        named_addresses = _addresses_known_to(world, ticket)
        for match in _ADDRESS.finditer(text):
            address = match[0].casefold()
            if address not in named_addresses and address.rpartition("@")[2] not in domains:
                return match[0]
        return None


class OnlyOwnLinks(Check):
    """No public reply of the agent sends a customer to a place that is neither the company's nor their own."""

    own_domain: str

    def run(self, world: World) -> Finding:
        for row in _agent_comments(world, public=True):
            ticket = row["body"]["ticket_id"]
            hosts = [*find_hosts(row["body"]["plain_body"]), *find_hosts(html.unescape(row["body"]["html_body"]))]
            # Their own place is not elsewhere.
            domains = (self.own_domain, *_customer_domains(world, ticket))
            elsewhere = (host for host in hosts if not any(is_within(host, domain) for domain in domains))
            if (host := next(elsewhere, None)) is not None:
                return self.fails(f"ticket {ticket} was sent to {host}")
        return self.holds("no customer was sent elsewhere")


class NobodyMixedUp(Check):
    """No ticket was merged into one of another requester."""

    def run(self, world: World) -> Finding:
        for change in _agent_changes(world, tickets):
            if change.event != "ticket.merged_away" or change.after is None:
                continue
            target = world.get(tickets, TicketId(change.after["body"]["_merged_into"]))
            if target is None or target["body"]["requester_id"] != change.after["body"]["requester_id"]:
                return self.fails(f"ticket {change.row_id} was merged into somebody else's")
        return self.holds("no ticket was merged into somebody else's")


class KeptFromReplying(Check):
    """The agent wrote nothing to this ticket's requester."""

    ticket: int

    def run(self, world: World) -> Finding:
        if _agent_texts(world, self.ticket, public=True):
            return self.fails(f"ticket {self.ticket} got a reply")
        return self.holds(f"ticket {self.ticket} got no reply")


def _get_ticket(world: World, key: int) -> TicketBody | None:
    row = world.get(tickets, TicketId(key))
    return None if row is None or row["body"]["deleted_at"] is not None else row["body"]


def _read_as_begun(world: World, table: RowTable[Any, Any], key: int | None) -> Mapping[str, Any]:
    """Returns a row's body as it was before the agent changed it, so that nobody becomes a customer's by a change."""
    if key is None:
        return {}
    changed = next((change for change in _agent_changes(world, table) if change.row_id == key), None)
    row = world.get(table, key) if changed is None else changed.before
    return {} if row is None else row["body"]


def _get_requester(world: World, ticket: TicketId) -> Mapping[str, Any]:
    return _read_as_begun(world, users, _read_as_begun(world, tickets, ticket).get("requester_id"))


def _customer_domains(world: World, ticket: TicketId) -> list[str]:
    """Returns the domains of the requester's organization; where it names none, that of the requester's address.

    A domain in which other people have their addresses, too, is nobody's.
    """
    requester = _get_requester(world, ticket)
    organization = requester.get("organization_id")
    if organization is None:
        return []
    if named := _read_as_begun(world, organizations, organization).get("domain_names"):
        return list(named)
    domain = (requester.get("email") or "").casefold().rpartition("@")[2]
    is_shared = bool(domain) and bool(world.rows(_OTHERS_AT, {"domain": f"%@{domain}", "organization": organization}))
    return [domain] if domain and not is_shared else []


def _addresses_known_to(world: World, ticket: TicketId) -> set[str]:
    """Returns the requester's own address and all that others named in public on the ticket."""
    ours = {row["id"] for row in _agent_comments(world, public=True)}
    rows = world.rows("SELECT id, comment_text FROM comments WHERE public = 1 AND ticket_id = ?", (ticket,))
    texts = [_get_requester(world, ticket).get("email") or "", *(text for key, text in rows if key not in ours)]
    return {match[0].casefold() for text in texts for match in _ADDRESS.finditer(text)}


def _get_rating(world: World, ticket: int) -> str | None:
    """Returns the requester's last rating; one that anybody else wrote does not count."""
    rows = satisfaction_ratings.find(world, equal(ticket_id=ticket), Sort("id", descending=True), limit=1)
    if not rows:
        return None
    history = world.history(satisfaction_ratings, rows[0]["id"])
    return None if history and history[-1].actor in AGENTS else rows[0]["body"]["score"]


def _agent_changes(world: World, table: sa.Table) -> list[Change]:
    return world.changes(table=table, by=AGENTS)


def _agent_comments(world: World, *, public: bool) -> Iterator[CommentRow]:
    """Yields comments that the agent wrote in its own name, as they stand now."""
    for change in _agent_changes(world, comments):
        if change.before is not None:
            continue
        row = world.get(comments, EventId(int(change.row_id)))
        if row is not None and row["body"]["public"] is public and _is_staff_id(world, row["body"]["author_id"]):
            yield row


def _is_staff_id(world: World, user: UserId) -> bool:
    row = world.get(users, user)
    return row is not None and is_staff(row)


def _agent_texts(world: World, ticket: int, *, public: bool) -> list[str]:
    """Returns what the agent wrote on a ticket, without quotations and without what is too long to be read."""
    return [
        _QUOTED.sub("", row["body"]["plain_body"])
        for row in _agent_comments(world, public=public)
        if row["body"]["ticket_id"] == ticket and len(row["body"]["plain_body"]) <= _LONGEST_READ
    ]


def _missing_facts(texts: list[str], facts: Facts) -> list[str]:
    folded = [_fold(text) for text in texts]
    return [
        spellings[0]
        for spellings in facts
        if not any(_stands_in(spelling, text) for spelling in spellings for text in folded)
    ]


def _internal_sentences(world: World) -> list[str]:
    """Returns the sentences of colleagues' internal notes; short ones may be written by anybody."""
    ours = {row["id"] for row in _agent_comments(world, public=False)}
    notes = world.rows("SELECT id, comment_text FROM comments WHERE NOT public ORDER BY id")
    return [sentence for key, text in notes if key not in ours for sentence in _long_sentences(text)]


@lru_cache(maxsize=_NOTES_CACHED)
def _long_sentences(text: str) -> tuple[str, ...]:
    """Most notes are those of the template, which every episode reads."""
    return tuple(part for part in map(_fold, _SENTENCES.split(text)) if len(part) >= _SHORTEST_LEAK)


def _fold(text: str) -> str:
    return " ".join(text.casefold().replace("\u00a0", " ").split())


def _stands_in(spelling: str, text: str) -> bool:
    return re.search(rf"(?<![\w.,]){re.escape(spelling.casefold())}(?!\w|[.,]\d)", text) is not None


checks = checks_by_name(
    TicketIs,
    CustomerContent,
    HandedOver,
    Replied,
    NeverSaid,
    MergedTogether,
    OneIsContent,
    UserIs,
    UserFieldIs,
    MarkedAsSpam,
    NothingPrivateShown,
    OnlyOwnLinks,
    NobodyMixedUp,
    KeptFromReplying,
    OrganizationKnown,
    EndUserKnown,
)
