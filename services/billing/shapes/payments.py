"""Money on its way: intents, charges, refunds, disputes, and what they leave on the account's balance."""

from typing import Any

from services.billing import money

Body = dict[str, Any]

CARD_FIELDS = ("brand", "checks", "country", "exp_month", "exp_year", "fingerprint", "funding", "last4", "wallet")


def intent(*, created: int, amount: int, currency: str, customer: str | None) -> Body:
    return {
        "object": "payment_intent",
        "amount": amount,
        "amount_capturable": 0,
        "amount_details": {"tip": {}},
        "amount_received": 0,
        "application": None,
        "application_fee_amount": None,
        "automatic_payment_methods": None,
        "canceled_at": None,
        "cancellation_reason": None,
        "capture_method": "automatic",
        "client_secret": None,
        "confirmation_method": "automatic",
        "created": created,
        "currency": currency,
        "customer": customer,
        "customer_account": None,
        "description": None,
        "last_payment_error": None,
        "latest_charge": None,
        "livemode": True,
        "metadata": {},
        "next_action": None,
        "on_behalf_of": None,
        "payment_method": None,
        "payment_method_options": {},
        "payment_method_types": ["card"],
        "processing": None,
        "receipt_email": None,
        "review": None,
        "setup_future_usage": None,
        "shipping": None,
        "source": None,
        "statement_descriptor": None,
        "statement_descriptor_suffix": None,
        "status": "requires_payment_method",
        "transfer_data": None,
        "transfer_group": None,
        "_invoice": None,
    }


def charge(*, created: int, intent: Body, method: Body) -> Body:
    kind = method["type"]
    card = kind == "card"
    details = {name: method[kind].get(name) for name in CARD_FIELDS} if card else dict(method[kind])
    return {
        "object": "charge",
        "amount": intent["amount"],
        "amount_captured": 0,
        "amount_refunded": 0,
        "application": None,
        "application_fee": None,
        "application_fee_amount": None,
        "balance_transaction": None,
        "billing_details": method["billing_details"],
        "calculated_statement_descriptor": None,
        "captured": False,
        "created": created,
        "currency": intent["currency"],
        "customer": intent["customer"],
        "description": intent["description"],
        "disputed": False,
        "failure_balance_transaction": None,
        "failure_code": None,
        "failure_message": None,
        "fraud_details": {},
        "livemode": True,
        "metadata": intent["metadata"],
        "on_behalf_of": None,
        "outcome": None,
        "paid": False,
        "payment_intent": intent["id"],
        "payment_method": method["id"],
        "payment_method_details": {kind: details, "type": kind},
        "radar_options": {},
        "receipt_email": intent["receipt_email"],
        "receipt_number": None,
        "receipt_url": None,
        "refunded": False,
        "review": None,
        "shipping": None,
        "source": None,
        "source_transfer": None,
        "statement_descriptor": intent["statement_descriptor"],
        "statement_descriptor_suffix": None,
        "status": "failed",
        "transfer_data": None,
        "transfer_group": None,
    }


APPROVED: Body = {
    "network_status": "approved_by_network",
    "reason": None,
    "risk_level": "normal",
    "seller_message": "Payment complete.",
    "type": "authorized",
}


def refused(decline_code: str | None) -> Body:
    return {
        "network_status": "declined_by_network",
        "reason": decline_code,
        "risk_level": "normal",
        "seller_message": "The bank did not return any further details with this decline.",
        "type": "issuer_declined",
    }


def refund(*, created: int, charge: Body, amount: int) -> Body:
    return {
        "object": "refund",
        "amount": amount,
        "balance_transaction": None,
        "charge": charge["id"],
        "created": created,
        "currency": charge["currency"],
        "destination_details": {"type": charge["payment_method_details"]["type"]},
        "metadata": {},
        "payment_intent": charge["payment_intent"],
        "reason": None,
        "receipt_number": None,
        "source_transfer_reversal": None,
        "status": "succeeded",
        "transfer_reversal": None,
        "_settles_at": None,
    }


def dispute(*, created: int, charge: Body, reason: str, due_by: int) -> Body:
    """`_outcome` is what the bank will decide if evidence reaches it."""
    return {
        "object": "dispute",
        "amount": charge["amount"] - charge["amount_refunded"],
        "balance_transactions": [],
        "charge": charge["id"],
        "created": created,
        "currency": charge["currency"],
        "enhanced_eligibility_types": [],
        "evidence": {},
        "evidence_details": {
            "due_by": due_by,
            "enhanced_eligibility": {},
            "has_evidence": False,
            "past_due": False,
            "submission_count": 0,
        },
        "is_charge_refundable": False,
        "livemode": True,
        "metadata": {},
        "payment_intent": charge["payment_intent"],
        "payment_method_details": None,
        "reason": reason,
        "status": "needs_response",
        "_outcome": "lost",
        "_decided_at": None,
    }


def balance_transaction(*, created: int, amount: int, currency: str, kind: str, source: str, fee: int = 0) -> Body:
    """`amount` is what moved; money that comes in settles two days later."""
    fees = [
        {
            "amount": fee,
            "application": None,
            "currency": currency,
            "description": "Processing fees",
            "type": "stripe_fee",
        }
    ]
    return {
        "object": "balance_transaction",
        "amount": amount,
        "available_on": created + 2 * 86_400 if amount > 0 else created,
        "balance_type": "payments",
        "created": created,
        "currency": currency,
        "description": None,
        "exchange_rate": None,
        "fee": fee,
        "fee_details": fees if fee else [],
        "net": amount - fee,
        "reporting_category": {"adjustment": "dispute"}.get(kind, kind),
        "source": source,
        "status": "pending" if amount > 0 else "available",
        "type": kind,
    }


def fee_of(charge: Body) -> int:
    """Only cards and debits cost; a transfer that arrives is free."""
    if charge["payment_method_details"]["type"] == "customer_balance":
        return 0
    return money.fee(charge["amount"], charge["currency"])
