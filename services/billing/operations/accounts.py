"""The one account of this world: who bills, and by which rules."""

from services.billing.rows import AccountBody, AccountId
from services.billing.tables import account
from services.kernel.world import World

ACCOUNT = AccountId("account")
DEFAULTS: AccountBody = {
    "name": "Tallyport",
    "country": "IE",
    "currency": "eur",
    "retry_days": [3, 5, 7],
    "after_retries": "unpaid",
    "tax_percent": {
        "AT": 20, "BE": 21, "BG": 20, "HR": 25, "CY": 19, "CZ": 21, "DK": 25, "EE": 24, "FI": 25.5, "FR": 20, "DE": 19,
        "GR": 24, "HU": 27, "IE": 23, "IT": 22, "LV": 21, "LT": 21, "LU": 17, "MT": 18, "NL": 21, "PL": 23, "PT": 23,
        "RO": 21, "SK": 23, "SI": 22, "ES": 21, "SE": 25,
    },
}  # fmt: skip


def billing_account(world: World) -> AccountBody:
    row = world.get(account, ACCOUNT)
    return DEFAULTS if row is None else row["body"]
