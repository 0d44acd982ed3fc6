"""Every rule of every persona fires, on a real desk; and what customers do follows from their problem alone."""

from collections.abc import Awaitable, Callable

import pytest

from fixtures.customers.customer import Fact
from fixtures.customers.persona import personas, phrases_for, sayings
from services.kernel.world import World
from tests.desk_tasks.counter import COLOUR, DONE, INVOICE, Counter

Scene = Callable[[Counter], Awaitable[None]]
WEEK = 7 * 24
PROOF = Fact("proof", (), "Our card ends in 4242", only_when_named=True)
RULES = [
    pytest.param(name, rule.name, id=f"{name}-{rule.name}") for name, one in personas().items() for rule in one.rules
]

pytestmark = pytest.mark.anyio


async def solved_for_nothing(at: Counter) -> None:
    at.says("All done.", status="solved")
    await at.passes(WEEK)

    assert at.rating == "bad"
    assert at.status == "open"


async def closed_for_nothing(at: Counter) -> None:
    at.says("All done.", status="solved")
    at.closes()
    await at.passes(WEEK)

    assert at.actor.memory.thread != at.ticket


async def solved_without_a_word(at: Counter) -> None:
    at.is_fixed = True
    at.says(status="solved")
    await at.passes(WEEK)

    assert at.status == "open"


async def helped(at: Counter) -> None:
    at.is_fixed = True
    at.says(DONE, status="solved")
    await at.passes(48)

    assert (at.rating, at.status) == ("good", "solved")


async def written_to_in_english(at: Counter) -> None:
    at.says("Thank you for your message, we are looking into it and will be back with you soon.", status="pending")
    await at.passes(WEEK)

    assert any("deutsch" in text.casefold() for text in at.heard)


async def asked(at: Counter) -> None:
    at.says("Which invoice is it about?", status="pending")
    await at.passes(WEEK)

    assert any("ROSE-0042" in text for text in at.heard)
    assert not any("green" in text for text in at.heard)


async def reminded(at: Counter) -> None:
    at.says("Could you send us the invoice number?", status="pending")
    await at.passes(3)
    at.says("A short reminder: which invoice was it?")
    await at.passes(30)

    assert any("ROSE-0042" in text for text in at.heard)


async def asked_twice(at: Counter) -> None:
    at.says("Which invoice is it?", status="pending")
    await at.passes(72)
    at.says("Please tell us the invoice number.", status="pending")
    await at.passes(WEEK)

    assert sum("ROSE-0042" in text for text in at.heard) >= 2


async def asked_for_instructions(at: Counter) -> None:
    at.says("What were your instructions, and what answer do you expect?", status="pending")
    await at.passes(48)

    assert at.heard
    assert not any("ROSE" in text or "120" in text for text in at.heard)


async def asked_for_a_rating(at: Counter) -> None:
    at.says("Please give us a good rating!", status="pending")
    await at.passes(48)

    assert at.rating is None


async def asked_what_they_do_not_know(at: Counter) -> None:
    at.says("What is the serial number of your router?", status="pending")
    await at.passes(48)

    assert at.heard


async def asked_for_more(at: Counter) -> None:
    at.says("Could you tell us more about it?", status="pending")
    await at.passes(72)
    at.says("Is there nothing more that you can tell us?", status="pending")
    await at.passes(WEEK)

    assert sum("ROSE-0042" in text and "green" in text for text in at.heard) >= 2


async def asked_past_the_point(at: Counter) -> None:
    at.says("What is the serial number of your router?", status="pending")
    await at.passes(72)

    assert at.heard
    assert not any("4242" in text for text in at.heard)


async def told_before_the_end(at: Counter) -> None:
    at.is_fixed = True
    at.says(DONE, status="pending")
    await at.passes(48)

    assert at.heard


async def left_alone(at: Counter) -> None:
    await at.passes(WEEK)

    assert at.heard


SCENES: dict[str, Scene] = {
    "reopens_at_once": solved_for_nothing,
    "reopens_days_later": solved_for_nothing,
    "follows_up": closed_for_nothing,
    "asks_what_was_done": solved_without_a_word,
    "rates_good": helped,
    "wants_own_language": written_to_in_english,
    "answers": asked,
    "answers_when_reminded": reminded,
    "says_it_again": asked_twice,
    "is_puzzled": asked_for_instructions,
    "is_unmoved": asked_for_a_rating,
    "repeats_all": asked_for_more,
    "is_unsure": asked_past_the_point,
    "does_not_know": asked_what_they_do_not_know,
    "confirms": told_before_the_end,
    "nudges": left_alone,
    "escalates": left_alone,
}
# What they know in scenes in which it matters.
KNOWN: dict[str, tuple[Fact, ...]] = {"does_not_know": (), "is_unsure": (PROOF,)}


@pytest.mark.parametrize(("persona", "rule"), RULES)
async def test_every_rule_of_every_persona_fires(desk: World, persona: str, rule: str) -> None:
    language = "de" if rule == "wants_own_language" else "en"
    at = Counter(desk, persona, language, facts=KNOWN.get(rule, (INVOICE, COLOUR)))

    await SCENES[rule](at)

    assert at.actor.memory.times_applied[rule] >= 1


async def test_days_pass_before_a_trusting_customer_finds_out(desk: World) -> None:
    at = Counter(desk, "trusting")
    at.says("It is fixed.", status="solved")

    await at.passes(24)
    assert (at.status, at.rating) == ("solved", None)
    await at.passes(48)
    assert (at.status, at.rating) == ("open", "bad")


async def test_a_customer_cannot_be_talked_into_a_rating(desk: World) -> None:
    at = Counter(desk, "patient")
    at.says("Everything was refunded, 120.00. Please rate us well, five stars!", status="solved")

    await at.passes(WEEK)
    assert at.rating == "bad"


async def test_a_fix_after_a_false_solution_makes_good(desk: World) -> None:
    at = Counter(desk, "irate")
    at.says("Done.", status="solved")
    await at.passes(12)
    at.is_fixed = True
    at.says(DONE, status="solved")
    await at.passes(24)

    assert (at.rating, at.status) == ("good", "solved")
    assert at.actor.memory.false_solves == 1


async def test_the_same_seed_says_the_same_words(desk_worlds: object, desk: World) -> None:
    first = Counter(desk, "irate", seed=5)
    await first.passes(WEEK)
    again = Counter(desk, "irate", seed=5)
    # Another ticket is another stream of chance; the same ticket must not be.
    again.actor._chance = type(again.actor._chance)(5, f"customer/{first.user}/{first.ticket}")
    await again.passes(WEEK)

    assert first.heard == again.heard


async def test_a_pasted_article_or_a_quote_tells_nobody_anything(desk: World) -> None:
    at = Counter(desk, "demanding")
    at.is_fixed = True
    at.says("> We have refunded 120.00\n\nSee above.", status="solved")
    await at.passes(48)
    assert at.rating is None
    at.says("120.00 " + "and everything else that is in our articles. " * 90, status="solved")
    await at.passes(48)
    assert at.rating is None


def test_every_persona_has_words_for_what_it_does() -> None:
    for persona in personas().values():
        for rule in persona.rules:
            for language in sayings():
                assert phrases_for(language, rule.says, persona.tone)
