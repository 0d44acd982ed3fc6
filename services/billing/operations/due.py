"""Time passes: whatever falls due happens at its own moment, in order, and is told as an event."""

from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa

from services.billing.operations import coupons, cycles, disputes, endings, records, refunds, schedules
from services.billing.operations.records import Body, now
from services.billing.tables import discounts, invoices, payment_intents, tables
from services.billing.tables import disputes as dispute_rows
from services.billing.tables import refunds as refund_rows
from services.billing.tables import schedules as schedule_rows
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.rote import Rote
from services.kernel.statements import Statement
from services.kernel.world import World


def _discount_ends(world: World, body: Body) -> None:
    coupons.drop(world, body)


# In the order in which things happen that fall due at the same second.
_HAPPENS: tuple[tuple[sa.Table, Callable[[World, Body], Any]], ...] = (
    (discounts, _discount_ends),
    (schedule_rows, schedules.fall_due),
    (subscription_rows, endings.fall_due),
    (invoices, cycles.invoice_due),
    (refund_rows, refunds.settle),
    (dispute_rows, disputes.fall_due),
)


def _first_due(place: int, table: sa.Table) -> sa.Subquery:
    due = table.c.due_at
    core = sa.select(sa.literal_column(str(place)).label("place"), table.c.id, due)
    core = core.where(due.is_not(None), due <= sa.bindparam("until"))
    return core.order_by(due, table.c.created, table.c.seq).limit(sa.literal_column("1")).subquery()


# The first of each kind, in one question: it is asked after everything that happens.
_FIRST = Statement(sa.union_all(*(sa.select(_first_due(place, table)) for place, (table, _) in enumerate(_HAPPENS))))


class StandingStill(RuntimeError):
    """Something fell due and nothing came of it: it would stay due, and time would never pass."""


def advance(world: World, until_ms: int) -> None:
    while (found := _next(world, until_ms // 1000)) is not None:
        at, table, key, happen = found
        if at * 1000 > world.clock.now_ms():
            world.clock.advance_to(at * 1000)
        revision = world.revision
        _ROTE.do(world, (str(table.name), key), partial(_fall_due, world, table, key, happen))
        if world.revision == revision:
            raise StandingStill(f"{table.name} {key} at {now(world)}")
    world.clock.advance_to(max(until_ms, world.clock.now_ms()))


def _fall_due(world: World, table: sa.Table, key: str, happen: Callable[[World, Body], Any]) -> None:
    happen(world, records.known(world, table, key))


def _spellings(kind: str, number: int) -> tuple[str, ...]:
    """What follows the prefix: receipts and pages are named by that alone, and a secret has another one."""
    table = tables.tables.get(kind)
    if table is None or "prefix" not in table.info:
        return ()
    prefixes = (table.info["prefix"], "") if table is payment_intents else (table.info["prefix"],)
    return tuple(records.new_id(prefix, number)[len(prefix) + 1 :] for prefix in prefixes)


_ROTE = Rote(_spellings)


def _next(world: World, until: int) -> tuple[int, sa.Table, str, Callable[[World, Body], Any]] | None:
    found = min(((at, place, key) for place, key, at in world.rows(_FIRST, {"until": until})), default=None)
    if found is None:
        return None
    at, place, key = found
    table, happen = _HAPPENS[place]
    return at, table, key, happen
