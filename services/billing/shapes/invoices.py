"""Bills, their lines, what is added to them later and what is taken back."""

from typing import Any

Body = dict[str, Any]


def invoice(*, created: int, customer: Body, currency: str, reason: str, account: Body) -> Body:
    return {
        "object": "invoice",
        "account_country": account["country"],
        "account_name": account["name"],
        "account_tax_ids": None,
        "amount_due": 0,
        "amount_overpaid": 0,
        "amount_paid": 0,
        "amount_remaining": 0,
        "amount_shipping": 0,
        "application": None,
        "attempt_count": 0,
        "attempted": False,
        "auto_advance": False,
        "automatic_tax": {
            "disabled_reason": None,
            "enabled": False,
            "liability": None,
            "provider": None,
            "status": None,
        },
        "automatically_finalizes_at": None,
        "billing_reason": reason,
        "collection_method": "charge_automatically",
        "created": created,
        "currency": currency,
        "custom_fields": None,
        "customer": customer["id"],
        "customer_account": None,
        **addressed(customer, []),
        "default_payment_method": None,
        "default_source": None,
        "default_tax_rates": [],
        "description": None,
        "discounts": [],
        "due_date": None,
        "effective_at": None,
        "ending_balance": None,
        "footer": None,
        "from_invoice": None,
        "hosted_invoice_url": None,
        "invoice_pdf": None,
        "issuer": {"type": "self"},
        "last_finalization_error": None,
        "latest_revision": None,
        "livemode": True,
        "metadata": {},
        "next_payment_attempt": None,
        "number": None,
        "on_behalf_of": None,
        "parent": None,
        "payment_settings": {
            "default_mandate": None,
            "payment_method_options": None,
            "payment_method_types": None,
        },
        "period_end": created,
        "period_start": created,
        "post_payment_credit_notes_amount": 0,
        "pre_payment_credit_notes_amount": 0,
        "receipt_number": None,
        "rendering": None,
        "shipping_cost": None,
        "shipping_details": None,
        "starting_balance": 0,
        "statement_descriptor": None,
        "status": "draft",
        "status_transitions": {
            "finalized_at": None,
            "marked_uncollectible_at": None,
            "paid_at": None,
            "voided_at": None,
        },
        "subtotal": 0,
        "subtotal_excluding_tax": 0,
        "test_clock": None,
        "total": 0,
        "total_discount_amounts": [],
        "total_excluding_tax": 0,
        "total_pretax_credit_amounts": [],
        "total_taxes": [],
        "webhooks_delivered_at": created,
        "_overdue": False,
        "_tax": 0,
        "_balance_applied": 0,
    }


def addressed(customer: Body, tax_ids: list[Body]) -> Body:
    """Whom the bill is made out to: copied from the customer until it is final."""
    return {
        "customer_address": customer["address"],
        "customer_email": customer["email"],
        "customer_name": customer["name"],
        "customer_phone": customer["phone"],
        "customer_shipping": customer["shipping"],
        "customer_tax_exempt": customer["tax_exempt"],
        "customer_tax_ids": [{"type": one["type"], "value": one["value"]} for one in tax_ids],
    }


def of_subscription(subscription: str, metadata: Body) -> Body:
    return {
        "quote_details": None,
        "subscription_details": {
            "metadata": metadata,
            "subscription": subscription,
            "subscription_proration_date": None,
        },
        "type": "subscription_details",
    }


def priced(price: Body | None, product: str | None = None) -> Body | None:
    if price is None:
        return None
    details = {"price": price["id"], "product": product or price["product"]}
    return {"price_details": details, "type": "price_details", "unit_amount_decimal": str(price["unit_amount"])}


def line(*, created: int, invoice: str, amount: int, currency: str, description: str | None, period: Body) -> Body:
    return {
        "object": "line_item",
        "amount": amount,
        "currency": currency,
        "description": description,
        "discount_amounts": [],
        "discountable": True,
        "discounts": [],
        "invoice": invoice,
        "livemode": True,
        "metadata": {},
        "parent": None,
        "period": period,
        "pretax_credit_amounts": [],
        "pricing": None,
        "quantity": 1,
        "quantity_decimal": "1",
        "subscription": None,
        "subtotal": amount,
        "taxes": [],
        "_created": created,
        "_subscription_item": None,
        "_invoice_item": None,
    }


def from_subscription(subscription: str, item: str, *, proration: bool) -> Body:
    return {
        "invoice_item_details": None,
        "subscription_item_details": {
            "invoice_item": None,
            "proration": proration,
            "proration_details": {"credited_items": None},
            "subscription": subscription,
            "subscription_item": item,
        },
        "type": "subscription_item_details",
    }


def from_invoice_item(item: Body) -> Body:
    subscription = ((item["parent"] or {}).get("subscription_details") or {}).get("subscription")
    return {
        "invoice_item_details": {
            "invoice_item": item["id"],
            "proration": item["proration"],
            "proration_details": {"credited_items": None},
            "subscription": subscription,
        },
        "subscription_item_details": None,
        "type": "invoice_item_details",
    }


def invoice_item(*, date: int, customer: str, amount: int, currency: str, description: str | None) -> Body:
    return {
        "object": "invoiceitem",
        "amount": amount,
        "currency": currency,
        "customer": customer,
        "customer_account": None,
        "date": date,
        "description": description,
        "discountable": True,
        "discounts": [],
        "invoice": None,
        "livemode": True,
        "metadata": {},
        "net_amount": amount,
        "parent": None,
        "period": {"end": date, "start": date},
        "pricing": None,
        "proration": False,
        "proration_details": None,
        "quantity": 1,
        "quantity_decimal": "1",
        "tax_rates": [],
        "test_clock": None,
        "_subscription_item": None,
    }


def payment(*, created: int, invoice: str, intent: str, amount: int, currency: str) -> Body:
    return {
        "object": "invoice_payment",
        "amount_paid": None,
        "amount_requested": amount,
        "created": created,
        "currency": currency,
        "invoice": invoice,
        "is_default": True,
        "livemode": True,
        "payment": {"payment_intent": intent, "type": "payment_intent"},
        "status": "open",
        "status_transitions": {"canceled_at": None, "paid_at": None},
    }


def credit_note(*, created: int, invoice: Body, number: str) -> Body:
    return {
        "object": "credit_note",
        "amount": 0,
        "amount_shipping": 0,
        "created": created,
        "currency": invoice["currency"],
        "customer": invoice["customer"],
        "customer_account": None,
        "customer_balance_transaction": None,
        "discount_amount": 0,
        "discount_amounts": [],
        "effective_at": created,
        "invoice": invoice["id"],
        "livemode": True,
        "memo": None,
        "metadata": {},
        "number": number,
        "out_of_band_amount": None,
        "pdf": f"https://pay.stripe.com/credit_notes/{number}/pdf",
        "post_payment_amount": 0,
        "pre_payment_amount": 0,
        "pretax_credit_amounts": [],
        "reason": None,
        "refunds": [],
        "shipping_cost": None,
        "status": "issued",
        "subtotal": 0,
        "subtotal_excluding_tax": 0,
        "total": 0,
        "total_excluding_tax": 0,
        "total_taxes": [],
        "type": "pre_payment",
        "voided_at": None,
    }


def credit_note_line(*, created: int, amount: int, description: str | None, kind: str) -> Body:
    return {
        "object": "credit_note_line_item",
        "amount": amount,
        "description": description,
        "discount_amount": 0,
        "discount_amounts": [],
        "invoice_line_item": None,
        "livemode": True,
        "metadata": {},
        "pretax_credit_amounts": [],
        "quantity": None,
        "tax_rates": [],
        "taxes": [],
        "type": kind,
        "unit_amount": None,
        "unit_amount_decimal": None,
        "_created": created,
    }
