"""Double entry beneath everything that moves money: each posting sums to zero, so the whole does."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import sqlalchemy as sa

from services.billing.tables import journal
from services.kernel.statements import Row, Statement
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


class Unbalanced(ValueError):
    """A posting that creates or destroys money: our bug, never the agent's."""


@dataclass(frozen=True, slots=True)
class Posting:
    """One event in money: what it is about, when, and how much moved between which accounts."""

    about: str
    at: int
    currency: str
    amounts: Amounts


def receivable(customer: str) -> str:
    """What the customer owes on open invoices."""
    return f"receivable:{customer}"


def credit(customer: str) -> str:
    """The customer's balance: negative is ours to give."""
    return f"credit:{customer}"


def entries(posting: Posting, number: int, first: int) -> list[Row]:
    """The rows of a posting; its entries are numbered from `first` on."""
    moved = {account: amount for account, amount in posting.amounts.items() if amount}
    if sum(moved.values()) != 0:
        raise Unbalanced(f"{posting.about}: {moved} sums to {sum(moved.values())}")
    return [
        {
            "id": first + place,
            "posting": number,
            "at": posting.at,
            "account": account,
            "currency": posting.currency,
            "amount": amount,
            "about": posting.about,
        }
        for place, (account, amount) in enumerate(moved.items())
    ]


def post(world: World, about: str, currency: str, amounts: Amounts) -> None:
    posting = Posting(about, world.clock.now_ms() // 1000, currency, amounts)
    number = world.ids.next("posting")
    for row in entries(posting, number, 0):
        world.save(journal, {**row, "id": world.ids.next("journal")}, "posted")


def balance(world: World, account: str, currency: str) -> int:
    return int(world.rows(_balance(), {"account": account, "currency": currency})[0][0] or 0)


@cache
def _balance() -> Statement:
    return Statement(
        sa.select(sa.func.sum(journal.c.amount)).where(
            journal.c.account == sa.bindparam("account"), journal.c.currency == sa.bindparam("currency")
        )
    )
