"""Who bills: the one account of this world."""

from typing import Any

from services.billing.tables import account
from services.kernel.world import World

Body = dict[str, Any]

ACCOUNT = "account"
DEFAULTS: Body = {
    "name": "Tallyport",
    "country": "IE",
    "currency": "eur",
    # Days between one attempt to collect a renewal and the next.
    "retry_days": [3, 5, 7],
    # What becomes of a subscription when the last attempt failed: canceled, unpaid or past_due.
    "after_retries": "unpaid",
    # Percent by country of the customer; elsewhere no tax is due.
    "tax_percent": {
        "AT": 20, "BE": 21, "BG": 20, "HR": 25, "CY": 19, "CZ": 21, "DK": 25, "EE": 24, "FI": 25.5, "FR": 20, "DE": 19,
        "GR": 24, "HU": 27, "IE": 23, "IT": 22, "LV": 21, "LT": 21, "LU": 17, "MT": 18, "NL": 21, "PL": 23, "PT": 23,
        "RO": 21, "SK": 23, "SI": 22, "ES": 21, "SE": 25,
    },
}  # fmt: skip


def billing_account(world: World) -> Body:
    row = world.get(account, ACCOUNT)
    body: Body = DEFAULTS if row is None else row["body"]
    return body
