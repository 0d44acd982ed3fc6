"""A small company to test against: a catalogue, some customers who pay, and one who cannot."""

from pathlib import Path

import sqlalchemy as sa

from services.billing.operations import customers, payment_methods, products, subscriptions
from services.billing.operations.rendering import Body
from services.billing.product import product
from services.billing.tables import payment_methods as method_rows
from services.kernel.forks import Forks
from services.kernel.statements import Statement, list_stored_columns
from services.kernel.template import Template, WorldMeta, build
from services.kernel.world import World

# 1 January 2026, 09:00 UTC.
NOW = 1_767_258_000
DAY = 86_400
GOOD_CARD = "4539578763621486"


def build_company(folder: Path, name: str = "standard") -> Path:
    """An empty book is written first, worked on through the operations, and written again with what came of it."""
    empty = folder / "empty" / "billing-empty.sqlite"
    build(empty, product.schema, WorldMeta("billing", "empty", 1, NOW * 1000, {}), [])
    template = Template(empty, product.schema)
    forks = Forks(template)
    world = World(forks.take(), seed=1)
    fill(world)
    rows = [(table, _rows(world, table)) for table in product.schema.list_recorded_tables()]
    path = folder / f"billing-{name}.sqlite"
    build(path, product.schema, WorldMeta("billing", name, 1, world.clock.now_ms(), world.ids.snapshot()), rows)
    forks.close()
    template.close()
    return path


def _rows(world: World, table: sa.Table) -> list[Body]:
    return world.find(Statement(sa.select(*list_stored_columns(table))))


def fill(world: World) -> None:
    prices = {}
    for plan, amount in (("starter", 2000), ("team", 5000)):
        made = products.create_product(world, {"name": plan.capitalize(), "id": f"prod_{plan}"})
        for interval, factor in (("month", 1), ("year", 10)):
            key = f"{plan}_{interval}"
            prices[key] = products.create_price(
                world,
                {
                    "product": made["id"],
                    "currency": "eur",
                    "unit_amount": amount * factor,
                    "recurring": {"interval": interval},
                    "lookup_key": key,
                },
            )
    for at, (name, country, mail) in enumerate(PEOPLE):
        customer = customers.create(
            world,
            {"name": name, "email": mail, "address": {"country": country, "city": "Town", "line1": f"Street {at}"}},
        )
        method = add_card(world, customer["id"], refuses="insufficient_funds" if name == "Nordvik Shipping" else None)
        customers.update(world, customer["id"], {"invoice_settings": {"default_payment_method": method["id"]}})
        if name != "Nordvik Shipping":
            subscriptions.create(
                world,
                {"customer": customer["id"], "items": [{"price": prices["starter_month"]["id"], "quantity": at + 1}]},
            )
        world.clock.advance_to(world.clock.now_ms() + 1000)


PEOPLE = (
    ("Corvane GmbH", "DE", "accounts@corvane.eu"),
    ("Hollis & Pine", "GB", "ap@hollispine.com"),
    ("Casa Lumen", "PT", "faturas@casalumen.pt"),
    ("Kilbride Foods", "IE", "billing@kilbride.ie"),
    ("Nordvik Shipping", "NO", "invoice@nordvik.no"),
)


def add_card(world: World, customer: str, refuses: str | None = None, year: int = 2030) -> Body:
    method = payment_methods.create(
        world, {"type": "card", "card": {"number": GOOD_CARD, "exp_month": 8, "exp_year": year}}
    )
    payment_methods.attach(world, method["id"], customer)
    row = world.get(method_rows, method["id"])
    world.save(method_rows, {**row, "body": {**row["body"], "_refuses_with": refuses}}, "planted")
    return method
