"""`python -m services validate`: honest about broken families, resumable, and done in one command."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rich.console import Console

from fixtures.customers.customer import Colleague, Customer, Fact
from fixtures.tasks.allowed import Allowed
from fixtures.tasks.crm.correct_contact import CorrectContact, WrongNumber
from fixtures.tasks.family import Call, CheckQuestion, Constraint, Family, Goal, Oracle
from fixtures.tasks.registry import families, family
from services.kernel.config import BadSetting
from services.validate.attempt import Stuck, TrialContext, draw_instance
from services.validate.in_process_stack import InProcessStack
from services.validate.promises import Trial, check_promises, values_can_be_found
from services.validate.run import plan_for, print_of_sources, validate
from services.validate.sample_calls import sample_calls_of
from services.validate.summary import FEWER_WAYS, LEAST_WAYS
from tests.company import small_company

TASK = "crm/correct-contact"


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_company(tmp_path_factory)


@pytest.fixture(scope="module")
def context(company: Path) -> Iterator[TrialContext]:
    with InProcessStack(company, ("crm",), "small") as stack:
        yield TrialContext(stack, "small", "train")


def broken_promises(context: TrialContext, found: Family[Any]) -> set[str]:
    families()[found.id] = found
    try:
        return {kept.promise for kept in check_promises(Trial(context, found, 2)) if not kept.held}
    finally:
        del families()[found.id]


class HalfDone(CorrectContact):
    """Its oracle forgets to act."""

    def oracle(self, trouble: WrongNumber) -> Oracle:
        yield Call("crm.contacts.get", {"contactId": str(trouble.contact)})
        return None


class AlreadyTrue(CorrectContact):
    """One of its goals holds before anybody does anything."""

    def goals(self, trouble: WrongNumber) -> tuple[Goal, ...]:
        there = CheckQuestion(
            "crm", "RecordHasValues", {"record_id": trouble.contact, "values": {"email": trouble.email}}
        )
        return tuple(Goal(asks, Fraction(1, 2)) for asks in (super().goals(trouble)[0].question, there))


class Stingy(CorrectContact):
    """It does not allow what its oracle must do."""

    def allowed(self, trouble: WrongNumber) -> tuple[Allowed, ...]:
        return (Allowed("crm", "objects", frozenset({"properties.city"}), row=trouble.contact),)


class Hasty(CorrectContact):
    """Its par is what somebody takes who knows the answer."""

    def par(self, _: WrongNumber) -> int:
        return 1


class Endless(CorrectContact):
    """Its par is all of its budget."""

    def par(self, _: WrongNumber) -> int:
        return self.budget.steps


class Contradictory(CorrectContact):
    """Its constraint forbids its goal."""

    def constraints(self, trouble: WrongNumber) -> tuple[Constraint, ...]:
        asked = {"record_id": trouble.contact, "values": {"phone": trouble.mistyped}}
        return (Constraint(CheckQuestion("crm", "RecordHasValues", asked)),)


class WrongAlternative(CorrectContact):
    """What it calls another right way is not right."""

    def alternatives(self, trouble: WrongNumber) -> Mapping[str, Oracle]:
        def nothing() -> Oracle:
            yield Call("crm.contacts.get", {"contactId": str(trouble.contact)})
            return None

        return {"by looking": nothing()}


class Guessing(CorrectContact):
    """It wants a value that stands nowhere."""

    def goals(self, trouble: WrongNumber) -> tuple[Goal, ...]:
        hidden = {"record_id": trouble.contact, "accepted": {"jobtitle": ("Vice Chancellor of Knots",)}}
        return (Goal(CheckQuestion("crm", "RecordMatches", hidden), Fraction(1)),)


class Unwritten(CorrectContact):
    """It forbids something by a rule that it does not name."""

    def constraints(self, trouble: WrongNumber) -> tuple[Constraint, ...]:
        asked = {"record_id": trouble.contact, "values": {"email": trouble.email}}
        return (Constraint(CheckQuestion("crm", "RecordHasValues", asked)),)


class Misquoting(Unwritten):
    """It names words of the brief that are not in the brief."""

    policy_sources = ("brief: never on a Sunday|only in writing",)


class RightMistake(CorrectContact):
    """What it calls a mistake is right."""

    def mistakes(self, trouble: WrongNumber) -> Mapping[str, Oracle]:
        return {"by the book": self.oracle(trouble)}


class HalfPaid(CorrectContact):
    """A number in the wrong field is paid for, though no goal is reached."""

    def goals(self, trouble: WrongNumber) -> tuple[Goal, ...]:
        accepted = {"mobilephone": (trouble.right,), "phone": (trouble.right,)}
        wanted = {"record_id": trouble.contact, "accepted": accepted}
        return (Goal(CheckQuestion("crm", "RecordMatches", wanted), Fraction(1)),)


class HonestlyPaid(HalfPaid):
    """It says why."""

    part_credit: ClassVar[Mapping[str, str]] = {"the mobile number": "the number is on file"}


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (HalfPaid, "mistake: the mobile number"),
        (Guessing, "values_can_be_found"),
        (Unwritten, "policy_is_readable"),
        (Misquoting, "policy_is_readable"),
        (RightMistake, "mistake: by the book"),
        (HalfDone, "oracle_earns_one"),
        (AlreadyTrue, "nothing_earns_nothing"),
        (Stingy, "oracle_earns_one"),
        (Hasty, "par_leaves_room"),
        (Endless, "budget_leaves_room"),
        (Contradictory, "oracle_earns_one"),
        (WrongAlternative, "alternative: by looking"),
    ],
)
def test_a_family_that_breaks_a_promise_is_found_out(
    context: TrialContext, kind: type[CorrectContact], promise: str
) -> None:
    assert promise in broken_promises(context, kind(f"crm/{kind.__name__.lower()}"))


def test_a_mistake_may_be_paid_for_the_part_that_its_family_names(context: TrialContext) -> None:
    assert "mistake: the mobile number" not in broken_promises(context, HonestlyPaid("crm/honest"))


def test_part_credit_names_mistakes_that_there_are(context: TrialContext) -> None:
    for found in families().values():
        if found.part_credit and found.products == ("crm",):
            names = {name for seed in range(6) for name in found.mistakes(draw_instance(context, found, seed)[1])}

            assert set(found.part_credit) <= names, found.id


class Asking(CorrectContact):
    """It spans the IDE, one of two customers knows something, and a colleague decides."""

    products = ("crm", "ide")

    def customers(self, _: WrongNumber) -> tuple[Customer, ...]:
        silent = Customer(1, 1, "Ann", "patient")
        return silent, replace(
            silent, facts=(Fact(name="number", keywords=("number",), statement="It is 030 901820."),)
        )

    def colleagues(self, _: WrongNumber) -> tuple[Colleague, ...]:
        return (Colleague(2, 1, called_by=(), needs=(), decides="", asks_back=""),)


def test_par_is_made_from_the_oracles_steps_the_products_and_the_people_to_ask() -> None:
    trouble: Any = None

    assert CorrectContact("crm/alone").compute_par(trouble, oracle_steps=1) == 2 * 1 + 6
    assert Asking("crm/asking").compute_par(trouble, oracle_steps=5) == 2 * 5 + 6 + 40 + 2 * 3


class Computed(Guessing):
    """It says by which rule its value is made."""

    derivations: ClassVar[Mapping[str, str]] = {"RecordMatches.jobtitle": "the title follows from the knots"}


def test_a_value_that_follows_by_a_declared_rule_is_found_and_the_report_says_so(context: TrialContext) -> None:
    found = Computed("crm/computed")
    families()[found.id] = found
    try:
        (kept,) = values_can_be_found(Trial(context, found, 2))
    finally:
        del families()[found.id]

    assert kept.held
    assert "follows from the knots" in kept.note


class Quoting(Unwritten):
    """It names a rule that each of its briefs states in other words."""

    policy_sources = ("brief: correct|right number|number|phone",)


def test_a_rule_that_the_brief_states_can_be_read(context: TrialContext) -> None:
    assert broken_promises(context, Quoting("crm/quoting")) == set()


def test_a_sound_family_breaks_none(context: TrialContext) -> None:
    assert broken_promises(context, CorrectContact("crm/sound")) == set()


def test_one_command_validates_writes_a_page_and_resumes(company: Path) -> None:
    console = Console(quiet=True)

    code = validate(plan_for(company, [TASK], 2, "small", resume=False, processes=1), console)
    lines = (company / "reports" / "validate.jsonl").read_text().splitlines()
    again = validate(plan_for(company, [TASK], 3, "small", resume=True, processes=1), console)
    grown = (company / "reports" / "validate.jsonl").read_text().splitlines()

    assert (code, again) == (0, 0)
    assert (len(lines), len(grown)) == (2, 3)
    assert grown[:2] == lines
    assert {json.loads(line)["job"]["split"] for line in grown} == {"train", "validation", "test"}
    page = (company / "reports" / "validate.html").read_text()
    assert TASK in page
    assert "1 of 1 families pass" in page


@pytest.mark.parametrize("changed", ["fixtures/customers/sayings.json", "services/crm/action_space.json"])
def test_a_result_counts_no_longer_when_anything_has_changed_that_decides_it(tmp_path: Path, changed: str) -> None:
    (tmp_path / changed).parent.mkdir(parents=True)
    (tmp_path / changed).write_text("{}")
    before = print_of_sources(tmp_path)
    (tmp_path / "services" / "__pycache__").mkdir(parents=True)
    (tmp_path / "services" / "__pycache__" / "run.pyc").write_bytes(b"compiled")
    unchanged = print_of_sources(tmp_path)
    (tmp_path / changed).write_text("[]")

    assert unchanged == before
    assert print_of_sources(tmp_path) != before


def test_every_product_with_families_has_its_own_moves() -> None:
    assert all(sample_calls_of(product).read_call() for found in families().values() for product in found.products)


def test_a_product_without_moves_is_named() -> None:
    with pytest.raises(Stuck, match=r"services/validate/sample_calls/wiki\.py is missing"):
        sample_calls_of("wiki")


def test_what_cannot_be_validated_is_said_before_anything_starts(company: Path) -> None:
    with pytest.raises(BadSetting, match="no family is called crm/nothing"):
        plan_for(company, ["crm/nothing"], 1, "small", resume=False)
    with pytest.raises(BadSetting, match="make worlds"):
        plan_for(company, [TASK], 1, "nowhere", resume=False)
    with pytest.raises(BadSetting, match="at least 1"):
        plan_for(company, [TASK], 0, "small", resume=False)


def test_only_families_that_exist_and_show_fewer_ways_are_excused(company: Path) -> None:
    """A family that has three is held to them from then on."""
    products = tuple(sorted({product for found in families().values() for product in found.products}))
    excused = {name for names in FEWER_WAYS.values() for name in names}
    with InProcessStack(company, products, "small") as stack:
        ways = {name: _count_ways(TrialContext(stack, "small", family(name).splits[0]), name) for name in excused}

    assert excused <= set(families())
    assert [name for name in FEWER_WAYS["alternatives"] if ways[name][0] >= LEAST_WAYS] == []
    assert [name for name in FEWER_WAYS["mistakes"] if ways[name][1] >= LEAST_WAYS] == []


def _count_ways(context: TrialContext, name: str) -> tuple[int, int]:
    _, trouble = draw_instance(context, family(name), 0)
    return len(family(name).alternatives(trouble)), len(family(name).mistakes(trouble))
