"""Double-entry bookkeeping for everything that moves money: each posting sums to zero, so the whole does."""

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from services.billing.rows import CustomerId, JournalEntryId, JournalRow
from services.billing.tables import journal
from services.kernel.statements import Statement
from services.kernel.world import World

CASH = "cash"
FEES = "fees"
REVENUE = "revenue"
TAX = "tax"
REFUNDED = "refunded"
CREDIT_NOTES = "credit_notes"
OUT_OF_BAND = "out_of_band"
WRITTEN_OFF = "written_off"
VOIDED = "voided"
ADJUSTMENTS = "adjustments"
DISPUTED = "disputed"

Amounts = Mapping[str, int]

_SUM = sa.select(sa.func.sum(journal.c.amount)).where(journal.c.account == sa.bindparam("account"))
_BALANCE = Statement(_SUM.where(journal.c.currency == sa.bindparam("currency")))
_MOVED = Statement(_SUM.where(journal.c.about == sa.bindparam("about")))


class Unbalanced(ValueError):
    """A posting that creates or destroys money: a defect of ours, never the agent's."""


@dataclass(frozen=True, slots=True)
class Posting:
    """One movement of money: what it is about, when it happened, and how much moved between which accounts."""

    about: str
    at: int
    currency: str
    amounts: Amounts


def receivable(customer: CustomerId) -> str:
    """Names the account with what the customer owes on open invoices."""
    return f"receivable:{customer}"


def credit(customer: CustomerId) -> str:
    """Names the account with the customer's balance: negative is what we owe."""
    return f"credit:{customer}"


def posting_rows(posting: Posting, number: int, first: int) -> list[JournalRow]:
    """Returns the rows of a posting, numbered from `first` on."""
    amounts = {account: amount for account, amount in posting.amounts.items() if amount}
    if sum(amounts.values()) != 0:
        raise Unbalanced(f"{posting.about}: {amounts} sums to {sum(amounts.values())}")
    return [
        {
            "id": JournalEntryId(first + index),
            "posting": number,
            "at": posting.at,
            "account": account,
            "currency": posting.currency,
            "amount": amount,
            "about": posting.about,
        }
        for index, (account, amount) in enumerate(amounts.items())
    ]


def post(world: World, about: str, currency: str, amounts: Amounts) -> None:
    posting = Posting(about, world.clock.now_ms() // 1000, currency, amounts)
    number = world.ids.next("posting")
    for row in posting_rows(posting, number, 0):
        numbered: JournalRow = {**row, "id": JournalEntryId(world.ids.next("journal"))}
        world.save(journal, numbered, "posted")


def balance(world: World, account: str, currency: str) -> int:
    return int(world.rows(_BALANCE, {"account": account, "currency": currency})[0][0] or 0)


def sum_postings(world: World, about: str, account: str) -> int:
    """Returns how much postings about an object moved on an account."""
    return int(world.rows(_MOVED, {"about": about, "account": account})[0][0] or 0)
