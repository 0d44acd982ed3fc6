"""Lets time pass: whatever falls due happens at its own moment, in order."""

from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa

from services.billing.operations import (
    billing_cycles,
    cancellation,
    coupons,
    disputes,
    records,
    refunds,
    schedules,
)
from services.billing.operations.records import now
from services.billing.rows import AnyBillingTable
from services.billing.tables import discounts, invoices, payment_intents, tables
from services.billing.tables import disputes as dispute_rows
from services.billing.tables import refunds as refund_rows
from services.billing.tables import schedules as schedule_rows
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.ids import Ids
from services.kernel.replay_cache import ReplayCache
from services.kernel.statements import Statement
from services.kernel.world import World

Handler = Callable[[World, Any], object]

# In the order in which things happen that fall due at the same second.
_HANDLERS: tuple[tuple[AnyBillingTable, Handler], ...] = (
    (discounts, coupons.remove_discount),
    (schedule_rows, schedules.fall_due),
    (subscription_rows, cancellation.fall_due),
    (invoices, billing_cycles.invoice_due),
    (refund_rows, refunds.settle),
    (dispute_rows, disputes.fall_due),
)


def _first_due(handler: int, table: sa.Table) -> sa.Subquery:
    due = table.c.due_at
    core = sa.select(sa.literal_column(str(handler)).label("handler"), table.c.id, due)
    core = core.where(due.is_not(None), due <= sa.bindparam("until"))
    return core.order_by(due, table.c.created, table.c.seq).limit(sa.literal_column("1")).subquery()


# The first of each kind, in one query: it runs after everything that happens.
_FIRST = Statement(sa.union_all(*(sa.select(_first_due(index, table)) for index, (table, _) in enumerate(_HANDLERS))))


class NothingChanged(RuntimeError):
    """Something fell due and changed nothing: it would stay due, and time would never pass."""


def advance(world: World, until_ms: int) -> None:
    while (due := _next_due(world, until_ms // 1000)) is not None:
        due_at, table, key, handle = due
        if due_at * 1000 > world.clock.now_ms():
            world.clock.advance_to(due_at * 1000)
        revision = world.revision
        _ROTE.do(world, (str(table.name), key), partial(_fall_due, world, table, key, handle))
        if world.revision == revision:
            raise NothingChanged(f"{table.name} {key} at {now(world)}")
    world.clock.advance_to(max(until_ms, world.clock.now_ms()))


def _fall_due(world: World, table: AnyBillingTable, key: str, handle: Handler) -> None:
    handle(world, records.must_exist(world, table, key))


def _spellings(ids: Ids, kind: str, number: int) -> tuple[str, ...]:
    """Returns what follows the prefix of an id: receipts and pages are named by that alone."""
    table = tables.tables.get(kind)
    if table is None or "prefix" not in table.info:
        return ()
    prefix = table.info["prefix"]
    token = records.new_token(ids, prefix, number)
    if table is not payment_intents:
        return (token,)
    return token, records.client_secret(f"{prefix}_{token}").rpartition("_")[2]


_ROTE = ReplayCache(_spellings)


def _next_due(world: World, until: int) -> tuple[int, AnyBillingTable, str, Handler] | None:
    first = min(((due_at, index, key) for index, key, due_at in world.rows(_FIRST, {"until": until})), default=None)
    if first is None:
        return None
    due_at, index, key = first
    table, handle = _HANDLERS[index]
    return due_at, table, key, handle
