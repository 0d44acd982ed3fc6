"""Customers and how they pay."""

from typing import Any

Body = dict[str, Any]

ADDRESS_FIELDS = ("city", "country", "line1", "line2", "postal_code", "state")
TAX_ID_COUNTRIES = {"gb_vat": "GB", "us_ein": "US", "ch_vat": "CH", "no_vat": "NO", "au_abn": "AU", "sg_gst": "SG"}


def customer(*, created: int, currency: str | None = None, prefix: str) -> Body:
    return {
        "object": "customer",
        "address": None,
        "balance": 0,
        "created": created,
        "currency": currency,
        "default_source": None,
        "delinquent": False,
        "description": None,
        "discount": None,
        "email": None,
        "invoice_prefix": prefix,
        "invoice_settings": {
            "custom_fields": None,
            "default_payment_method": None,
            "footer": None,
            "rendering_options": None,
        },
        "livemode": True,
        "metadata": {},
        "name": None,
        "next_invoice_sequence": 1,
        "phone": None,
        "preferred_locales": [],
        "shipping": None,
        "tax_exempt": "none",
        "test_clock": None,
    }


def address(given: Body | None) -> Body | None:
    if given is None:
        return None
    return {name: given.get(name) or None for name in ADDRESS_FIELDS}


def tax_id(*, created: int, customer: str, kind: str, value: str) -> Body:
    return {
        "object": "tax_id",
        "country": value[:2].upper() if kind == "eu_vat" else TAX_ID_COUNTRIES.get(kind, kind[:2].upper()),
        "created": created,
        "customer": customer,
        "customer_account": None,
        "livemode": True,
        "owner": {"customer": customer, "type": "customer"},
        "type": kind,
        "value": value,
        "verification": {"status": "pending", "verified_address": None, "verified_name": None},
    }


def balance_entry(
    *, created: int, customer: str, amount: int, ending: int, currency: str, kind: str, **about: Any
) -> Body:
    return {
        "object": "customer_balance_transaction",
        "amount": amount,
        "checkout_session": None,
        "created": created,
        "credit_note": about.get("credit_note"),
        "currency": currency,
        "customer": customer,
        "customer_account": None,
        "description": about.get("description"),
        "ending_balance": ending,
        "invoice": about.get("invoice"),
        "livemode": True,
        "metadata": about.get("metadata") or {},
        "type": kind,
    }


def card(*, brand: str, last4: str, exp_month: int, exp_year: int, fingerprint: str, country: str = "IE") -> Body:
    return {
        "brand": brand,
        "checks": {"address_line1_check": None, "address_postal_code_check": None, "cvc_check": "pass"},
        "country": country,
        "display_brand": brand,
        "exp_month": exp_month,
        "exp_year": exp_year,
        "fingerprint": fingerprint,
        "funding": "credit",
        "generated_from": None,
        "last4": last4,
        "networks": {"available": [brand], "preferred": None},
        "regulated_status": "unregulated",
        "three_d_secure_usage": {"supported": True},
        "wallet": None,
    }


def sepa_debit(*, last4: str, country: str, fingerprint: str) -> Body:
    return {
        "bank_code": None,
        "branch_code": None,
        "country": country,
        "fingerprint": fingerprint,
        "generated_from": {"charge": None, "setup_attempt": None},
        "last4": last4,
    }


def payment_method(*, created: int, kind: str, details: Body, customer: str | None = None) -> Body:
    """`_refuses_with` is what the bank will say when it is asked for money; None where it pays."""
    return {
        "object": "payment_method",
        "allow_redisplay": "unspecified",
        "billing_details": {"address": address({}), "email": None, "name": None, "phone": None, "tax_id": None},
        kind: details,
        "created": created,
        "customer": customer,
        "customer_account": None,
        "livemode": True,
        "metadata": {},
        "type": kind,
        "_refuses_with": None,
    }
