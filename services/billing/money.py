"""Amounts are integers in the smallest unit of their currency; nothing here is a float."""

from collections.abc import Sequence
from fractions import Fraction
from math import floor

# Currencies without a smaller unit, and those whose smaller unit is a thousandth; all others have hundredths.
WHOLE = frozenset(
    (
        "bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "ugx", "vnd", "vuv", "xaf",
        "xof", "xpf",
    )
)  # fmt: skip
THOUSANDTHS = frozenset(
    (
        "bhd", "jod", "kwd", "omr", "tnd",
    )
)  # fmt: skip
HUNDREDTHS = frozenset(
    (
        "aed", "ars", "aud", "bam", "bgn", "brl", "cad", "chf", "cny", "cop", "czk", "dkk", "egp", "eur",
        "gbp", "gel", "hkd", "huf", "idr", "ils", "inr", "isk", "kes", "mad", "mxn", "myr", "ngn", "nok",
        "nzd", "pen", "php", "pkr", "pln", "qar", "ron", "rsd", "rub", "sar", "sek", "sgd", "thb", "try",
        "twd", "uah", "usd", "uyu", "zar",
    )
)  # fmt: skip
CURRENCIES = WHOLE | THOUSANDTHS | HUNDREDTHS
_SIGNS = {"usd": "$", "eur": "€", "gbp": "£", "jpy": "¥", "inr": "₹", "krw": "₩"}


def decimals(currency: str) -> int:
    return 0 if currency in WHOLE else 3 if currency in THOUSANDTHS else 2


def format_amount(amount: int, currency: str) -> str:
    """Writes an amount as the vendor's messages do: `$40.00`, `¥4,000`, `40.000 KWD`."""
    places = decimals(currency)
    whole, part = divmod(abs(amount), 10**places)
    number = f"{whole:,}" + (f".{part:0{places}d}" if places else "")
    sign = "-" if amount < 0 else ""
    return f"{sign}{_SIGNS[currency]}{number}" if currency in _SIGNS else f"{sign}{number} {currency.upper()}"


def round_half_up(exact: Fraction) -> int:
    """Rounds to the nearest unit, halves away from zero: a credit rounds as its charge did."""
    rounded = floor(abs(exact) + Fraction(1, 2))
    return -rounded if exact < 0 else rounded


def share(amount: int, part: int, whole: int) -> int:
    """Returns a part of an amount as proration computes it: always rounded down."""
    return floor(Fraction(amount * part, whole))


def distribute(total: int, weights: Sequence[int]) -> list[int]:
    """Splits a total in proportion to the weights, so that the parts sum to it exactly."""
    whole = sum(weights)
    if whole == 0:
        return [0] * len(weights)
    parts: list[int] = []
    distributed = reached = 0
    for weight in weights:
        reached += weight
        upto = round_half_up(Fraction(total * reached, whole))
        parts.append(upto - distributed)
        distributed = upto
    return parts


def fee(amount: int, currency: str) -> int:
    """Returns what the card networks and the processor keep."""
    fixed = 25 * 10 ** max(decimals(currency) - 2, 0)
    return min(amount, round_half_up(Fraction(amount * 15, 1000)) + int(fixed))
