"""Test mode, in which the vendor's tutorials work: its published cards pay, and its ready-made payment methods exist.

The playground is in test mode. Episodes are in live mode, where a published card is declined.
"""

from services.kernel.world import World

_ATTACHMENT = "billing.test_mode"
# Numbers that the networks publish for trying things out; no bank honours them.
_PUBLISHED = frozenset({"4242424242424242", "5555555555554444", "378282246310005", "6011111111111117"})
_DECLINED = {
    "4000000000000002": "card_declined",
    "4000000000009995": "insufficient_funds",
    "4000000000009987": "lost_card",
    "4000000000000069": "expired_card",
    "4000000000000127": "incorrect_cvc",
    "4000000000000119": "processing_error",
}
_READY_MADE = {
    "pm_card_visa": "4242424242424242",
    "pm_card_mastercard": "5555555555554444",
    "pm_card_amex": "378282246310005",
    "pm_card_discover": "6011111111111117",
    "pm_card_chargeDeclined": "4000000000000002",
    "pm_card_chargeDeclinedInsufficientFunds": "4000000000009995",
    "pm_card_chargeDeclinedLostCard": "4000000000009987",
    "pm_card_chargeDeclinedExpiredCard": "4000000000000069",
    "pm_card_chargeDeclinedIncorrectCvc": "4000000000000127",
    "pm_card_chargeDeclinedProcessingError": "4000000000000119",
}


def turn_on(world: World) -> None:
    world.attachments[_ATTACHMENT] = True


def is_on(world: World) -> bool:
    return _ATTACHMENT in world.attachments


def find_refusal(world: World, number: str) -> str | None:
    """Returns why a card with this number is declined, or None where it pays."""
    if is_on(world):
        return _DECLINED.get(number)
    return "live_mode_test_card" if number in _PUBLISHED or number in _DECLINED else None


def ready_made_number(world: World, method: str) -> str | None:
    """Returns the card number behind a ready-made payment method; in live mode there is none."""
    return _READY_MADE.get(method) if is_on(world) else None
