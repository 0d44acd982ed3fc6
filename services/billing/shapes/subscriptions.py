"""What a customer has bought and until when."""

from typing import Any

from services.billing.shapes.catalogue import plan

Body = dict[str, Any]


def subscription(*, created: int, customer: str, currency: str, start: int, end: int) -> Body:
    """The period is kept here, once; its items show it."""
    return {
        "object": "subscription",
        "application": None,
        "application_fee_percent": None,
        "automatic_tax": {"disabled_reason": None, "enabled": False, "liability": None},
        "billing_cycle_anchor": start,
        "billing_cycle_anchor_config": None,
        "billing_mode": {"flexible": {"proration_discounts": "included"}, "type": "flexible"},
        "billing_thresholds": None,
        "cancel_at": None,
        "cancel_at_period_end": False,
        "canceled_at": None,
        "cancellation_details": {"comment": None, "feedback": None, "reason": None},
        "collection_method": "charge_automatically",
        "created": created,
        "currency": currency,
        "customer": customer,
        "customer_account": None,
        "days_until_due": None,
        "default_payment_method": None,
        "default_source": None,
        "default_tax_rates": [],
        "description": None,
        "discounts": [],
        "ended_at": None,
        "invoice_settings": {"account_tax_ids": None, "issuer": {"type": "self"}},
        "latest_invoice": None,
        "livemode": True,
        "metadata": {},
        "next_pending_invoice_item_invoice": None,
        "on_behalf_of": None,
        "pause_collection": None,
        "payment_settings": {
            "payment_method_options": None,
            "payment_method_types": None,
            "save_default_payment_method": "off",
        },
        "pending_invoice_item_interval": None,
        "pending_setup_intent": None,
        "pending_update": None,
        "schedule": None,
        "start_date": created,
        "status": "active",
        "test_clock": None,
        "transfer_data": None,
        "trial_end": None,
        "trial_settings": {"end_behavior": {"missing_payment_method": "create_invoice"}},
        "trial_start": None,
        "_period_start": start,
        "_period_end": end,
        "_trial_notice": False,
    }


def item(*, created: int, subscription: str, price: Body, quantity: int) -> Body:
    return {
        "object": "subscription_item",
        "billing_thresholds": None,
        "created": created,
        "discounts": [],
        "metadata": {},
        "plan": plan(price),
        "price": price,
        "quantity": quantity,
        "subscription": subscription,
        "tax_rates": [],
    }


def schedule(*, created: int, customer: str, subscription: str | None, phases: list[Body]) -> Body:
    return {
        "object": "subscription_schedule",
        "application": None,
        "billing_mode": {"flexible": {"proration_discounts": "included"}, "type": "flexible"},
        "canceled_at": None,
        "completed_at": None,
        "created": created,
        "current_phase": None,
        "customer": customer,
        "customer_account": None,
        "default_settings": {
            "application_fee_percent": None,
            "billing_cycle_anchor": "automatic",
            "billing_thresholds": None,
            "collection_method": "charge_automatically",
            "default_payment_method": None,
            "description": None,
            "invoice_settings": {"account_tax_ids": None, "days_until_due": None, "issuer": {"type": "self"}},
            "on_behalf_of": None,
            "transfer_data": None,
        },
        "end_behavior": "release",
        "livemode": True,
        "metadata": {},
        "phases": phases,
        "released_at": None,
        "released_subscription": None,
        "status": "not_started",
        "subscription": subscription,
        "test_clock": None,
    }


def phase(*, items: list[Body], start: int, end: int, currency: str) -> Body:
    return {
        "add_invoice_items": [],
        "application_fee_percent": None,
        "billing_cycle_anchor": None,
        "billing_thresholds": None,
        "collection_method": None,
        "currency": currency,
        "default_payment_method": None,
        "default_tax_rates": [],
        "description": None,
        "discounts": [],
        "end_date": end,
        "invoice_settings": None,
        "items": items,
        "metadata": {},
        "on_behalf_of": None,
        "proration_behavior": "create_prorations",
        "start_date": start,
        "transfer_data": None,
        "trial_end": None,
    }
