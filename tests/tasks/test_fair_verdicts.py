"""What makes verdicts of CRM families hold: other right ways pass, mistakes do not, and gold is never a broken value."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from fixtures.company.pools import country
from fixtures.tasks.crm.shared.plausible import is_address, is_meant, is_person, is_phone_number
from fixtures.tasks.crm.shared.records import country_code
from fixtures.tasks.family import Call, CheckQuestion, Instance
from fixtures.tasks.registry import families, family
from services.crm.normalization import is_phone_property
from services.kernel.clock import iso
from services.validate.attempt import TrialContext, attempt, draw_instance
from services.validate.in_process_stack import InProcessStack

FAMILIES = sorted(name for name in families() if name.startswith("crm/"))
SEEDS = (0, 1)
MANY = range(25)
LEAST = 3


def context_of(stack: InProcessStack, name: str) -> TrialContext:
    return TrialContext(stack, "small", family(name).splits[-1])


@pytest.mark.parametrize("name", FAMILIES)
def test_every_other_right_way_passes(stack: InProcessStack, name: str) -> None:
    found, context = family(name), context_of(stack, name)
    for seed in SEEDS:
        known = draw_instance(context, found, seed)
        ways = found.alternatives(known[1])
        assert len(ways) >= LEAST

        for way in ways:
            with attempt(context, found, seed, known_instance=known) as made:
                verdict = made.submit(made.follow(found.alternatives(made.trouble)[way]))
            assert (verdict.outcome, verdict.reward) == ("passed", 1), (way, seed, verdict.because)


@pytest.mark.parametrize("name", FAMILIES)
def test_no_tempting_mistake_passes(stack: InProcessStack, name: str) -> None:
    found, context = family(name), context_of(stack, name)
    for seed in SEEDS:
        known = draw_instance(context, found, seed)
        ways = found.mistakes(known[1])
        assert len(ways) >= LEAST

        for way in ways:
            with attempt(context, found, seed, known_instance=known) as made:
                verdict = made.submit(made.follow(found.mistakes(made.trouble)[way]))
            assert verdict.outcome == "failed", (way, seed)


@pytest.mark.parametrize(
    ("tells", "right", "wrong"),
    [
        (
            is_phone_number,
            ("+44 115 795-5449", "0115 795 5449", "(415) 504-8429"),
            ("123456789", "9999999999", "2.1E+09"),
        ),
        (is_phone_number, ("+1 617 555 0134 ext. 12",), ("", "n/a", "call me", "12345", "0123456789", "1111111111")),
        (is_address, ("mara.lind@fjordco.se",), ("mara.lind@fjordco.se.", "mara@x,com", "test@test.com", "n/a")),
        (is_meant, ("Guérin Énergies SAS", "Na"), ("Select", "N/A", "-", "asdf", "Figueiredo SaÃºde S.A.", "tbd")),
    ],
)
def test_a_broken_value_is_told_from_one_that_was_meant(
    tells: Any, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    assert [text for text in right if not tells(text)] == []
    assert [text for text in wrong if tells(text)] == []


@pytest.mark.parametrize("name", FAMILIES)
def test_no_goal_wants_a_broken_value(stack: InProcessStack, name: str) -> None:
    found, context = family(name), context_of(stack, name)
    for seed in MANY:
        instance, _ = draw_instance(context, found, seed)
        broken = [(field, value) for field, value in wanted_values(instance) if not is_plausible(field, value)]
        assert broken == [], seed


def wanted_values(instance: Instance) -> Iterator[tuple[str, str]]:
    for goal in instance.goals:
        if not isinstance(goal.question, CheckQuestion) or goal.question.product != "crm":
            continue
        values: Mapping[str, Any] = (
            goal.question.arguments.get("accepted") or goal.question.arguments.get("values") or {}
        )
        for field, accepted in values.items():
            yield from ((field, value) for value in ([accepted] if isinstance(accepted, str) else accepted) if value)


def is_plausible(field: str, value: str) -> bool:
    if is_phone_property(field):
        return is_phone_number(value)
    return is_address(value) if field == "email" else is_meant(value)


@pytest.mark.parametrize("name", ["crm/correct-contact", "crm/gdpr-delete", "crm/respect-opt-out"])
def test_a_brief_names_only_people_who_could_have_written(stack: InProcessStack, name: str) -> None:
    found, context = family(name), context_of(stack, name)
    for seed in MANY:
        instance, _ = draw_instance(context, found, seed)
        assert re.search(r"Ã|â€|\bSelect\b|123456789|9999999", instance.brief) is None


def test_what_an_import_brings_fits_the_country(stack: InProcessStack) -> None:
    found, context = family("crm/clean-import"), context_of(stack, "crm/clean-import")
    for seed in SEEDS:
        with attempt(context, found, seed) as made:
            filters: Any = [{"propertyName": "record_origin", "operator": "EQ", "value": made.trouble.batch}]
            fields: Any = ["firstname", "lastname", "phone", "country", "city", "zip"]
            body = {"filterGroups": [{"filters": filters}], "properties": fields, "limit": 100}
            rows = made.do(Call("crm.contacts.search", body))["results"]
        good = [row["properties"] for row in rows if int(row["id"]) in made.trouble.good]
        assert good
        for person in good:
            land = country(country_code(person["country"]) or "")
            city = next(city for city in land.cities if city.name == person["city"])
            assert is_person(person)
            assert person["phone"].startswith(f"+{land.phone.calling} ")
            assert re.fullmatch(city.postcode.replace("#", r"\d").replace("X", "[A-Z]"), person["zip"])


def test_an_import_that_is_pending_is_judged_by_what_it_does(stack: InProcessStack) -> None:
    found, context = family("crm/correct-contact"), context_of(stack, "crm/correct-contact")
    with attempt(context, found, 0) as made:
        answer = made.follow(found.oracle(made.trouble))
        page = made.do(Call("crm.contacts.list", {"limit": 20, "properties": ["email"]}))
        addresses = [row["properties"]["email"] for row in page["results"] if row["properties"].get("email")]
        lines = "\n".join(f"{email},Okonkwo" for email in addresses if email != made.trouble.email)
        columns = [
            {
                "columnObjectTypeId": "0-1",
                "columnName": "Email",
                "propertyName": "email",
                "columnType": "HUBSPOT_ALTERNATE_ID",
            },
            {"columnObjectTypeId": "0-1", "columnName": "Last", "propertyName": "lastname"},
        ]
        page_of_file = {"hasHeader": True, "columnMappings": columns}
        file = {"fileName": "people.csv", "fileFormat": "CSV", "fileImportPage": page_of_file}
        request = json.dumps({"name": "People", "files": [file]})
        content = {"filename": "people.csv", "content": f"Email,Last\n{lines}\n"}
        made.do(Call("crm.imports.create", {"importRequest": request, "files": content}))
        verdict = made.submit(answer)

    assert verdict.outcome == "failed"
    renamed = [change for change in verdict.collateral if change.table == "objects"]
    assert len(renamed) > len(addresses) // 2


def test_every_crm_family_lets_queued_work_finish() -> None:
    assert [name for name, found in families().items() if "crm" in found.products and not found.settling_hours] == []


def test_who_said_no_has_said_nothing_since(stack: InProcessStack) -> None:
    found, context = family("crm/respect-opt-out"), context_of(stack, "crm/respect-opt-out")
    for seed in SEEDS:
        with attempt(context, found, seed) as made:
            for person in made.trouble.blocked:
                on: Any = [{"propertyName": "associations.contact", "operator": "EQ", "value": str(person.contact)}]
                body = {"filterGroups": [{"filters": on}], "properties": ["hs_timestamp"], "limit": 100}
                answers = [made.do(Call(f"crm.{kind}.search", body)) for kind in ("emails", "notes", "calls")]
                times = sorted(row["properties"]["hs_timestamp"] for answer in answers for row in answer["results"])
                recent = [time for time in times if time > iso(1_794_211_200_000 - 45 * 86_400_000)]
                assert len(recent) <= 1


def test_nobody_else_is_called_like_a_suspected_duplicate(stack: InProcessStack) -> None:
    found, context = family("crm/merge-duplicates"), context_of(stack, "crm/merge-duplicates")
    for seed in SEEDS:
        with attempt(context, found, seed) as made:
            for pair in made.trouble.pairs:
                body = {"query": pair.name.split()[-1], "properties": ["firstname", "lastname"], "limit": 50}
                rows = made.do(Call("crm.contacts.search", body))["results"]
                called = [row["properties"] for row in rows]
                same = [who for who in called if pair.name.split()[-1] in (who["firstname"], who["lastname"])]
                assert len(same) <= 2


def test_one_deal_is_the_largest(stack: InProcessStack) -> None:
    found, context = family("crm/pipeline-question"), context_of(stack, "crm/pipeline-question")
    for seed in SEEDS:
        with attempt(context, found, seed) as made:
            filters: Any = [{"propertyName": "hubspot_owner_id", "operator": "EQ", "value": made.trouble.owner.id}]
            body = {"filterGroups": [{"filters": filters}], "properties": ["amount", "dealname"], "limit": 200}
            deals = made.do(Call("crm.deals.search", body))["results"]
        largest = next(deal for deal in deals if deal["id"] == made.trouble.answer["largest"])
        assert [deal["id"] for deal in deals if deal["properties"]["amount"] == largest["properties"]["amount"]] == [
            largest["id"]
        ]
        names = [deal["properties"]["dealname"] for deal in deals]
        assert [name for name in names if re.search(r" \d+$", name)] == []
