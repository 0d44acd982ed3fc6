"""Customers are never the reason for failure: whoever asks is told what they know, in whatever words it was asked."""

from collections.abc import Iterator

import pytest

from fixtures.customers.customer import Customer, Fact
from fixtures.customers.persona import personas, sayings, topics
from fixtures.tasks.registry import families
from services.control.customers.reading import is_question, read_request
from services.kernel.world import World
from services.validate.attempt import TrialContext, draw_instance
from tests.desk_tasks.counter import Counter

VAT = Fact("vat", (), "Our VAT ID is IE1234567T")
ADDRESS = Fact("address", (), "We are at 14 Mill Lane, Cork T12 AB34")
REQUEST = Fact("request", (), "The request was req_5ec0784f")
CLIENT = Fact("client", (), "We use Firefox 131.0.2")
TIME = Fact("time", (), "It was on 8 November at 20:35 UTC")
PROOF = Fact("proof", (), "The last invoice was 120.00", only_when_named=True)
ALL = (VAT, ADDRESS, REQUEST, CLIENT, TIME)

pytestmark = pytest.mark.anyio


def names(text: str, facts: tuple[Fact, ...] = ALL) -> set[str]:
    return {fact.name for fact in read_request([text], facts).select_wanted(facts)}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Could you please send us the missing identifier?", {"vat"}),
        ("Please send us your tax registration and the full new address.", {"vat", "address"}),
        ("Postcode and city?", {"address"}),
        ("What is your USt-IdNr.?", {"vat"}),
        ("Which browser do you use, and when did it happen last?", {"client", "time"}),
        (
            "Please reply with:\n- the request id\n- your browser version\n- the time (UTC)",
            {"request", "client", "time"},
        ),
        ("Bitte nennen Sie uns Ihre Umsatzsteuer-ID.", {"vat"}),
        ("Pourriez-vous nous indiquer votre numéro de TVA ?", {"vat"}),
        ("¿Cuál es su dirección completa?", {"address"}),
    ],
)
def test_a_synonym_gets_the_fact(text: str, wanted: set[str]) -> None:
    assert names(text) >= wanted


@pytest.mark.parametrize(
    "text",
    [
        "Could you tell us more about this?",
        "Is there anything that would help us to look into it?",
        "Please give us some background.",
        "Können Sie uns mehr dazu sagen?",
    ],
)
def test_a_broad_question_gets_everything_but_what_must_be_named(text: str) -> None:
    assert names(text, (*ALL, PROOF)) >= {fact.name for fact in ALL}
    assert "proof" not in names(text, (*ALL, PROOF))


@pytest.mark.parametrize(
    "text",
    [
        "To make sure that it is you: what did your last invoice come to?",
        "Can you verify your identity?",
        "Please prove that you are who you say.",
        "Which are the last 4 digits of the card on file?",
        "Before I can do this I need to authenticate you, could you help me with that?",
    ],
)
def test_a_proof_is_given_to_whoever_asks_for_one(text: str) -> None:
    assert names(text, (PROOF,)) == {"proof"}


@pytest.mark.parametrize(
    "text",
    [
        "Thank you, we are looking into it.",
        "We need a few days to check this.",
        "Please let us know if you have any questions.",
        "Is there anything else that we can do for you?",
        "We have corrected the amount, which was wrong.",
        "Your report is with our engineers now. Thank you for your patience!",
    ],
)
def test_a_message_that_asks_nothing_is_no_question(text: str) -> None:
    assert not is_question(text)
    assert names(text) == set()


async def test_a_second_question_is_answered_too(desk: World) -> None:
    at = Counter(desk, "busy", facts=(VAT, ADDRESS))
    at.says("Could you send us your VAT id?", status="pending")
    await at.passes(72)
    at.says("Thank you. And the postcode and city?", status="pending")
    await at.passes(96)

    assert "IE1234567T" in at.heard[0]
    assert any("Cork" in text for text in at.heard[1:])


@pytest.mark.parametrize("persona", sorted(personas()))
async def test_nobody_denies_a_fact_that_they_hold(desk: World, persona: str) -> None:
    """Whatever words the question uses, what they know is in the answer, and what they cannot place they ask about."""
    at = Counter(desk, persona, facts=(VAT,))
    at.says("What about the thingamajig?", status="pending")
    await at.passes(96)

    assert "IE1234567T" in at.heard[0]
    denials = {text for kinds in sayings().values() for texts in kinds["dont_know"].values() for text in texts}
    assert not denials.intersection(at.heard)


def customers_of_families(context: TrialContext) -> Iterator[tuple[str, Customer]]:
    for name, family in families().items():
        if not set(family.products) <= {"desk", "billing"}:
            continue
        split = family.splits[0]
        instance, _ = draw_instance(TrialContext(context.stack, context.world, split), family, 0)
        for customer in instance.customers:
            yield name, customer


def test_every_fact_of_every_family_can_be_asked_for_by_the_words_of_its_topic(context: TrialContext) -> None:
    for name, customer in customers_of_families(context):
        unknown = [fact.name for fact in customer.facts if fact.name not in topics()]
        assert unknown == [], name


def test_whoever_needs_no_proof_says_that_they_are_entitled_when_asked(context: TrialContext) -> None:
    question = "Are you the owner of the account, or a billing admin?"
    silent = {
        name
        for name, customer in customers_of_families(context)
        if customer.counts and not any(fact.name == "proof" for fact in customer.facts)
        if "role" not in names(question, customer.facts)
    }

    assert silent == set()
