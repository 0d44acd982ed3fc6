"""Customers through the vendor's SDK: typed objects, merges, deletions, tax ids, balance."""

import pytest
import stripe

from services.billing.operations import coupons
from services.billing.tables import customers as customer_rows


def find_customer(v1, name: str):
    return next(one for one in v1.customers.list({"limit": 100}).data if one.name == name)


def test_a_customer_is_created_with_everything_the_form_can_say(v1) -> None:
    made = v1.customers.create(
        {
            "email": "ada@lovelace.ie",
            "name": "Ada & Söhne",
            "metadata": {"crm_id": "42", "ü k": "ß&=+"},
            "address": {"country": "DE", "line1": "Hauptstr. 1"},
            "tax_id_data": [{"type": "eu_vat", "value": "DE123456789"}],
            "expand": ["tax_ids"],
        }
    )

    assert isinstance(made, stripe.Customer)
    assert made.metadata.to_dict() == {"crm_id": "42", "ü k": "ß&=+"}
    assert made.address.line1 == "Hauptstr. 1"
    assert isinstance(made.tax_ids.data[0], stripe.TaxId)
    assert made.tax_ids.data[0].verification.status == "pending"
    assert v1.customers.retrieve(made.id).email == "ada@lovelace.ie"
    assert "tax_ids" not in v1.customers.retrieve(made.id).to_dict()


def test_metadata_merges_and_an_empty_text_unsets(v1) -> None:
    made = v1.customers.create({"name": "Ada", "phone": "+353 1 555", "metadata": {"a": "1", "b": "2"}})

    changed = v1.customers.update(made.id, {"phone": "", "metadata": {"a": "", "c": "3"}, "tax_exempt": "reverse"})
    cleared = v1.customers.update(made.id, {"metadata": ""})

    assert (changed.phone, changed.tax_exempt, changed.name) == (None, "reverse", "Ada")
    assert changed.metadata.to_dict() == {"b": "2", "c": "3"}
    assert cleared.metadata.to_dict() == {}


def test_a_deleted_customer_answers_with_its_id_and_is_listed_no_more(v1) -> None:
    corvane = find_customer(v1, "Corvane GmbH")

    gone = v1.customers.delete(corvane.id)
    again = v1.customers.retrieve(corvane.id)

    assert (gone.deleted, again.deleted, again.id) == (True, True, corvane.id)
    assert corvane.id not in [one.id for one in v1.customers.list({"limit": 100}).data]
    assert {one.status for one in v1.subscriptions.list({"customer": corvane.id, "status": "all"}).data} == {"canceled"}
    with pytest.raises(stripe.InvalidRequestError, match="No such customer"):
        v1.customers.update(corvane.id, {"name": "x"})
    with pytest.raises(stripe.InvalidRequestError, match="No such customer"):
        v1.invoices.create({"customer": corvane.id})


def test_customers_are_found_by_exact_email_and_by_search(v1) -> None:
    assert [one.name for one in v1.customers.list({"email": "accounts@corvane.eu"}).data] == ["Corvane GmbH"]
    assert v1.customers.list({"email": "ACCOUNTS@corvane.eu"}).data == []
    found = v1.customers.search({"query": "email~'CORVANE' AND name:'corvane gmbh'"})

    assert isinstance(found, stripe.SearchResultObject)
    assert [one.name for one in found.data] == ["Corvane GmbH"]


def test_tax_ids_come_and_go(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")

    made = v1.customers.tax_ids.create(casa.id, {"type": "eu_vat", "value": "PT 999 999 990"})
    owned = v1.tax_ids.create({"type": "gb_vat", "value": "GB123", "owner": {"type": "customer", "customer": casa.id}})

    assert (made.value, made.country, made.customer) == ("PT999999990", "PT", casa.id)
    assert {one.id for one in v1.customers.tax_ids.list(casa.id).data} == {made.id, owned.id}
    assert v1.customers.tax_ids.retrieve(casa.id, made.id).id == v1.tax_ids.retrieve(made.id).id
    assert len(v1.tax_ids.list({"owner": {"type": "customer", "customer": casa.id}}).data) == 2
    assert v1.customers.tax_ids.delete(casa.id, made.id).deleted
    assert v1.tax_ids.delete(owned.id).deleted
    with pytest.raises(stripe.InvalidRequestError) as refused:
        v1.customers.tax_ids.create(casa.id, {"type": "eu_vat", "value": "nonsense"})
    assert refused.value.code == "tax_id_invalid"


def test_credit_is_given_and_told_line_by_line(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")

    entry = v1.customers.balance_transactions.create(
        casa.id, {"amount": -1500, "currency": "eur", "description": "goodwill", "metadata": {"ticket": "7"}}
    )
    later = v1.customers.balance_transactions.create(casa.id, {"amount": 500, "currency": "eur"})
    noted = v1.customers.balance_transactions.update(casa.id, entry.id, {"description": "sorry"})

    assert isinstance(entry, stripe.CustomerBalanceTransaction)
    assert (entry.ending_balance, later.ending_balance, noted.description) == (-1500, -1000, "sorry")
    assert v1.customers.retrieve(casa.id).balance == -1000
    assert v1.customers.balance_transactions.retrieve(casa.id, entry.id).amount == -1500
    assert [one.amount for one in v1.customers.balance_transactions.list(casa.id).data] == [500, -1500]


def test_payment_methods_are_attached_once_and_detached_for_good(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")
    card = {"number": "4539578763621486", "exp_month": 4, "exp_year": 2031, "cvc": "123"}
    made = v1.payment_methods.create({"type": "card", "card": card, "billing_details": {"name": "Inês"}})

    attached = v1.payment_methods.attach(made.id, {"customer": casa.id})
    default = v1.customers.update(casa.id, {"invoice_settings": {"default_payment_method": made.id}})
    renewed = v1.payment_methods.update(made.id, {"card": {"exp_month": 12, "exp_year": 2032}})
    listed = v1.customers.payment_methods.list(casa.id, {"type": "card"})
    detached = v1.payment_methods.detach(made.id)

    assert isinstance(made, stripe.PaymentMethod)
    assert (made.customer, attached.customer, detached.customer) == (None, casa.id, None)
    assert default.invoice_settings.default_payment_method == made.id
    assert (renewed.card.exp_month, renewed.card.exp_year, renewed.card.last4) == (12, 2032, "1486")
    assert made.id in [one.id for one in listed.data]
    assert v1.customers.retrieve(casa.id).invoice_settings.default_payment_method is None
    assert v1.payment_methods.list({"type": "card"}).data == []
    with pytest.raises(stripe.InvalidRequestError, match="may not be used again"):
        v1.payment_methods.attach(made.id, {"customer": casa.id})


def test_a_method_of_one_customer_is_no_default_of_another(v1) -> None:
    casa, corvane = find_customer(v1, "Casa Lumen"), find_customer(v1, "Corvane GmbH")
    [method] = v1.payment_methods.list({"customer": casa.id}).data

    assert v1.customers.payment_methods.retrieve(casa.id, method.id).id == method.id
    assert v1.payment_methods.retrieve(method.id, {"expand": ["customer"]}).customer.id == casa.id
    with pytest.raises(stripe.InvalidRequestError):
        v1.customers.update(corvane.id, {"invoice_settings": {"default_payment_method": method.id}})
    with pytest.raises(stripe.InvalidRequestError):
        v1.customers.payment_methods.retrieve(corvane.id, method.id)


def test_the_portal_hands_out_a_link(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")

    session = v1.billing_portal.sessions.create(
        {"customer": casa.id, "return_url": "https://casalumen.pt/", "flow_data": {"type": "payment_method_update"}}
    )

    assert isinstance(session, stripe.billing_portal.Session)
    assert session.url.startswith("https://billing.stripe.com/p/session/")


def test_a_discount_of_the_customer_lowers_bills_until_it_is_taken_off(v1, account) -> None:
    casa = find_customer(v1, "Casa Lumen")
    v1.coupons.create({"id": "HALF", "percent_off": 50, "duration": "forever"})
    discount = coupons.redeem(account.world, {"coupon": "HALF"}, casa.id, "discount")
    row = account.world.get(customer_rows, casa.id)
    account.world.save(customer_rows, {**row, "body": {**row["body"], "discount": discount}}, "planted")
    subscription = v1.subscriptions.list({"customer": casa.id}).data[0].id

    lowered = v1.invoices.create_preview({"subscription": subscription}).total
    taken = v1.customers.delete_discount(casa.id)

    assert isinstance(taken, stripe.Discount)
    assert (lowered, v1.invoices.create_preview({"subscription": subscription}).total) == (3000, 6000)


def test_a_customer_without_discount_has_none_to_lose(v1) -> None:
    with pytest.raises(stripe.InvalidRequestError, match="No active discount"):
        v1.customers.delete_discount(find_customer(v1, "Casa Lumen").id)
