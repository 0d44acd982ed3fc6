"""Worlds for a test stack: people in the CRM whom a brief can name, and nothing yet in any other product."""

from collections.abc import Iterator
from pathlib import Path

from services.kernel import catalog
from services.kernel.statements import Row
from services.kernel.template import WorldMeta, build

NOW_MS = 1_790_000_000_000
_FIRST_ID = 101
_FIRST_NAMES = ("Marta", "Oluwaseun", "Ines", "Tomasz", "Yuki", "Ravi", "Lotte", "Amara", "Diego", "Hanna")
_LAST_NAMES = ("Brandt", "Okafor", "Ferreira", "Kowalski", "Tanaka", "Iyer", "de Wit", "Diallo", "Moreno", "Virtanen")


def build_worlds(folder: Path) -> None:
    """One for every product of the catalogue: a stack whose worlds are all there builds none."""
    build_crm(folder)
    for name, product in catalog.products().items():
        if name != "crm":
            about = WorldMeta(product=name, profile="standard", seed=1, now_ms=NOW_MS, counters={})
            build(folder / f"{name}-standard.sqlite", product.schema, about, [])


def build_crm(folder: Path, name: str = "standard", contacts: int = 200) -> None:
    crm = catalog.product("crm")
    about = WorldMeta(product="crm", profile=name, seed=1, now_ms=NOW_MS, counters={"object": _FIRST_ID + contacts - 1})
    build(folder / f"crm-{name}.sqlite", crm.schema, about, [(crm.table("objects"), _contacts(contacts))])


def _contacts(count: int) -> Iterator[Row]:
    for number in range(count):
        first = _FIRST_NAMES[number % len(_FIRST_NAMES)]
        last = _LAST_NAMES[number // len(_FIRST_NAMES) % len(_LAST_NAMES)]
        yield {
            "id": _FIRST_ID + number,
            "kind": "contacts",
            "created_at": NOW_MS - 86_400_000 * (count - number),
            "updated_at": NOW_MS - 3_600_000,
            "archived_at": None,
            "properties": {
                "email": f"{first.lower()}.{number}@corvane.eu",
                "firstname": first,
                "lastname": last,
                "phone": f"+49 30 {901_820 + 37 * number}",
            },
        }
