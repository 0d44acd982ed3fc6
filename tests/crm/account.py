"""A small account to test against: a few companies with people, deals, tickets and activities."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from services.crm import defaults, tables
from services.crm.object_types import BY_NAME
from services.crm.product import product
from services.kernel.statements import Row
from services.kernel.template import WorldMeta, build

NOW_MS = 1_790_000_000_000
OPENED_MS = NOW_MS - 200 * 86_400_000
_DAY_MS = 86_400_000
_FIRST = ("Marta", "Oluwaseun", "Inês", "Tomasz", "Yuki", "Ravi", "Lotte", "Amara", "Örjan", "Hanna")
_LAST = ("Brandt", "Okafor", "Ferreira", "Kowalski", "Tanaka", "Iyer", "de Wit", "Diallo", "Åkesson", "Virtanen")
_COMPANIES = (
    ("Corvane GmbH", "corvane.eu", "MANUFACTURING", "Berlin"),
    ("Hollis & Pine", "hollispine.com", "RETAIL", "Leeds"),
    ("Nordvik Shipping", "nordvik.no", "MARITIME", "Bergen"),
    ("Casa Lumen", "casalumen.pt", "HOSPITALITY", "Porto"),
)
CONTACTS, COMPANIES, DEALS, TICKETS, NOTES = 1001, 2001, 3001, 4001, 5001
PEOPLE = 30
COUNTERS = {
    "companies": 10_000,
    "contacts": 11_000,
    "deals": 12_000,
    "leads": 13_000,
    "activities": 14_000,
    "object": 9_000,
    "list": 40,
}
OWNER, OTHER_OWNER, FORMER_OWNER = 601, 602, 603
STAGES = ("appointmentscheduled", "qualifiedtobuy", "presentationscheduled", "closedwon", "closedlost")


def build_account(folder: Path, name: str = "standard") -> Path:
    path = folder / f"crm-{name}.sqlite"
    about = WorldMeta(product="crm", profile=name, seed=1, now_ms=NOW_MS, counters=COUNTERS)
    build(path, product.schema, about, rows())
    return path


def rows() -> Iterator[tuple[sa.Table, list[Row]]]:
    yield from defaults.rows(OPENED_MS)
    yield tables.owners, list(_owners())
    yield tables.objects, [*_people(), *_companies(), *_deals(), *_tickets(), *_notes()]
    yield tables.associations, list(_associations())


def record(record_id: int, kind: str, created_at: int, **properties: Any) -> Row:
    return {
        "id": record_id,
        "kind": kind,
        "created_at": created_at,
        "updated_at": created_at,
        "archived_at": None,
        "properties": {name: str(value) for name, value in properties.items() if value is not None},
    }


def associate(source: Row, target: Row, type_id: int, inverse_id: int) -> Iterator[Row]:
    for start, end, number in ((source, target, type_id), (target, source, inverse_id)):
        yield {
            "id": tables.association_id(start["id"], number, end["id"]),
            "from_id": start["id"],
            "from_kind": start["kind"],
            "to_id": end["id"],
            "to_kind": end["kind"],
            "type_id": number,
            "created_at": OPENED_MS,
        }


def _owners() -> Iterator[Row]:
    people = ((OWNER, "Dana", "Whitlock"), (OTHER_OWNER, "Kofi", "Asante"), (FORMER_OWNER, "Petra", "Novak"))
    for number, first, last in people:
        yield {
            "id": number,
            "user_id": 59_200_000 + number,
            "email": f"{first.lower()}.{last.lower()}@dayfold.io",
            "first_name": first,
            "last_name": last,
            "teams": [{"id": "71", "name": "Mid-market", "primary": True}] if number == OWNER else [],
            "created_at": OPENED_MS,
            "updated_at": OPENED_MS,
            "archived_at": OPENED_MS + _DAY_MS if number == FORMER_OWNER else None,
        }


def _people() -> Iterator[Row]:
    for number in range(PEOPLE):
        first, last = _FIRST[number % 10], _LAST[(number * 3 + number // 10) % 10]
        domain = _COMPANIES[number % 4][1]
        yield record(
            CONTACTS + number,
            "contacts",
            OPENED_MS + number * _DAY_MS,
            email=f"{_ascii(first)}.{_ascii(last)}{number}@{domain}",
            firstname=first,
            lastname=last,
            phone=f"+49 30 {901_820 + 37 * number}",
            lifecyclestage=("lead", "customer", "opportunity")[number % 3],
            jobtitle="Head of Operations" if number % 5 == 0 else None,
            hubspot_owner_id=OWNER if number % 2 else OTHER_OWNER,
            numemployees=number * 10,
        )


def _ascii(name: str) -> str:
    return name.lower().replace("ö", "o").replace("å", "a").replace("ê", "e").replace(" ", "")


def _companies() -> Iterator[Row]:
    for number, (name, domain, industry, city) in enumerate(_COMPANIES):
        yield record(
            COMPANIES + number, "companies", OPENED_MS + number, name=name, domain=domain, industry=industry, city=city
        )


def _deals() -> Iterator[Row]:
    for number in range(10):
        stage = STAGES[number % 5]
        yield record(
            DEALS + number,
            "deals",
            OPENED_MS + number * _DAY_MS,
            dealname=f"{_COMPANIES[number % 4][0]} renewal {number}",
            amount=1000 * (number + 1),
            pipeline="default",
            dealstage=stage,
            closedate="2026-10-01T00:00:00.000Z" if stage.startswith("closed") else None,
        )


def _tickets() -> Iterator[Row]:
    for number in range(4):
        yield record(
            TICKETS + number,
            "tickets",
            OPENED_MS + number * _DAY_MS,
            subject=f"Export stops after {100 * (number + 1)} rows",
            content="The file ends in the middle of a line.",
            hs_pipeline="0",
            hs_pipeline_stage=str(number + 1),
        )


def _notes() -> Iterator[Row]:
    for number in range(5):
        yield record(
            NOTES + number,
            "notes",
            OPENED_MS + number * _DAY_MS,
            hs_note_body=f"Spoke about the renewal, call back in week {30 + number}.",
            hs_timestamp="2026-05-04T09:30:00.000Z",
        )


def _associations() -> Iterator[Row]:
    people, companies, deals, notes = list(_people()), list(_companies()), list(_deals()), list(_notes())
    for number, person in enumerate(people):
        yield from associate(person, companies[number % 4], 279, 280)
        if number % 2 == 0:
            yield from associate(person, companies[number % 4], 1, 2)
    for number, deal in enumerate(deals):
        yield from associate(deal, companies[number % 4], 341, 342)
        yield from associate(deal, people[number], 3, 4)
    for number, note in enumerate(notes):
        yield from associate(note, people[number], 202, 201)


def label(kind: str) -> str:
    return BY_NAME[kind].label
