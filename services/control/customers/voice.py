"""Voice: what a customer writes, in their own language, tone and carelessness."""

from collections.abc import Sequence

from fixtures.customers.customer import Customer, Fact
from fixtures.customers.persona import Persona, spoken
from services.kernel.chance import Chance


def written(customer: Customer, persona: Persona, kind: str, chance: Chance, facts: Sequence[Fact] = ()) -> str:
    """One message; the facts in the order in which the customer knows them."""
    said = chance.pick(spoken(customer.language, kind, persona.tone))
    text = said.replace("{facts}", " ".join(_sentence(fact.said) for fact in facts)).strip()
    body = _careless(text, persona, [fact.said for fact in facts])
    return "\n\n".join(part for part in (body, _signature(customer, persona)) if part)


def remark(customer: Customer, persona: Persona, kind: str, chance: Chance) -> str:
    """What goes with a rating; some say nothing."""
    return _careless(chance.pick(spoken(customer.language, kind, persona.tone)), persona, ())


def _sentence(said: str) -> str:
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _careless(text: str, persona: Persona, literal: Sequence[str]) -> str:
    """Hurried people write small letters, but what they copy stays as it was."""
    if not persona.lower_case:
        return text
    small = text.lower()
    for one in literal:
        small = small.replace(one.lower(), one)
    return small


def _signature(customer: Customer, persona: Persona) -> str:
    if persona.signs == "phone":
        return spoken(customer.language, "signature_phone", persona.tone)[0]
    return customer.name if persona.signs == "name" else ""
