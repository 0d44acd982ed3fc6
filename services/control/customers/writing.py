"""Messages that a customer writes, in their own language, tone and carelessness."""

from collections.abc import Sequence

from fixtures.customers.customer import Customer, Fact
from fixtures.customers.persona import Persona, phrases_for
from services.kernel.chance import Chance


def write_message(customer: Customer, persona: Persona, kind: str, chance: Chance, facts: Sequence[Fact] = ()) -> str:
    """One message; the facts in the order in which the customer knows them."""
    phrase = chance.pick(phrases_for(customer.language, kind, persona.tone))
    text = phrase.replace("{facts}", " ".join(_sentence(fact.statement) for fact in facts)).strip()
    body = _careless(text, persona, [fact.statement for fact in facts])
    return "\n\n".join(part for part in (body, _signature(customer, persona)) if part)


def write_rating_comment(customer: Customer, persona: Persona, kind: str, chance: Chance) -> str:
    """The comment that goes with a rating; some customers leave it empty."""
    return _careless(chance.pick(phrases_for(customer.language, kind, persona.tone)), persona, ())


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _careless(text: str, persona: Persona, literal: Sequence[str]) -> str:
    """Hurried people write small letters, but they copy facts as they are."""
    if not persona.lower_case:
        return text
    small = text.lower()
    for original in literal:
        small = small.replace(original.lower(), original)
    return small


def _signature(customer: Customer, persona: Persona) -> str:
    if persona.signs == "phone":
        return phrases_for(customer.language, "signature_phone", persona.tone)[0]
    return customer.name if persona.signs == "name" else ""
