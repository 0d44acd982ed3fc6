"""Invoices, their lines and payments, invoice items, credit notes."""

from typing import Any

from services.billing.operations import credit_notes, drafts, invoice_items, invoices, previews, records
from services.billing.operations.params import Params
from services.billing.operations.rendering import WireObject
from services.billing.routes import endpoints as serve
from services.billing.routes.endpoints import register
from services.billing.rows import CreditNoteId, InvoiceId
from services.billing.schemas import invoices as schemas
from services.billing.schemas.base import ListParams
from services.billing.schemas.responses import (
    CreditNote,
    CreditNoteLine,
    Deleted,
    Invoice,
    InvoiceItem,
    InvoicePayment,
    Line,
    make_search_page,
    page_of,
)
from services.billing.tables import credit_note_lines, invoice_lines, invoice_payments
from services.billing.tables import credit_notes as note_rows
from services.billing.tables import invoice_items as item_rows
from services.billing.tables import invoices as invoice_rows
from services.kernel.documents import EVERYTHING, Where, equal, is_null, is_set
from services.kernel.operations import Operation
from services.kernel.world import World

_INVOICE_FILTERS = ("customer", "collection_method", "status", "subscription")


def _due_within(_: World, query: schemas.InvoiceList) -> Where:
    return serve.within("due_date", query.due_date)


def _of_invoice(world: World, invoice: InvoiceId, _: Any) -> Where:
    records.need(world, invoice_rows, invoice)
    return equal(invoice=invoice)


def _by_intent(_: World, query: schemas.InvoicePaymentList) -> Where:
    intent = query.payment.payment_intent if query.payment else None
    return equal(payment_intent=intent) if intent else EVERYTHING


def _pending(_: World, query: schemas.InvoiceItemList) -> Where:
    if query.pending is None:
        return EVERYTHING
    return is_null("invoice") if query.pending else is_set("invoice")


def _preview_lines(world: World, params: Params) -> WireObject:
    lines = previews.preview_credit_note(world, params)["lines"]["data"]
    return {"object": "list", "data": lines, "has_more": False, "url": "/v1/credit_notes/preview/lines"}


def _of_credit_note(world: World, note: CreditNoteId, _: Any) -> Where:
    records.need(world, note_rows, note)
    return equal(credit_note=note)


# fmt: off
_OPERATIONS = (
    Operation("billing.invoices.create", "POST", "/v1/invoices", "Create", Invoice,
              serve.post(schemas.InvoiceIn, drafts.create),
              "Create a draft invoice, with or without the customer's pending items."),
    Operation("billing.invoices.list", "GET", "/v1/invoices", "Page", page_of(Invoice),
              serve.list_rows(schemas.InvoiceList, invoice_rows, _INVOICE_FILTERS, _due_within),
              "List invoices, newest first, by customer, status, subscription or date."),
    Operation("billing.invoices.search", "GET", "/v1/invoices/search", "Search", make_search_page(Invoice),
              serve.search(invoice_rows),
              "Search invoices by number, status, customer, subscription, total, currency, created or metadata."),
    Operation("billing.invoices.create_preview", "POST", "/v1/invoices/create_preview", "Preview", Invoice,
              serve.post_optional(schemas.PreviewIn, previews.preview_invoice),
              "What would the next invoice be, if a change were made? Nothing is kept."),
    Operation("billing.invoices.get", "GET", "/v1/invoices/{invoice}", "Read", Invoice, serve.read_row(invoice_rows),
              "Read one invoice with its first lines."),
    Operation("billing.invoices.update", "POST", "/v1/invoices/{invoice}", "Update", Invoice,
              serve.post_optional(schemas.InvoiceChange, drafts.update),
              "Change a draft; of a finalized invoice only metadata and the like."),
    Operation("billing.invoices.delete", "DELETE", "/v1/invoices/{invoice}", "Delete", Deleted,
              serve.delete(drafts.delete), "Delete a draft that no subscription wrote."),
    Operation("billing.invoices.finalize", "POST", "/v1/invoices/{invoice}/finalize", "Finalize", Invoice,
              serve.post_optional(schemas.FinalizeIn, invoices.finalize), "Number a draft and open it for payment."),
    Operation("billing.invoices.pay", "POST", "/v1/invoices/{invoice}/pay", "Pay", Invoice,
              serve.post_optional(schemas.PayIn, invoices.pay),
              "Collect an invoice now, or mark it as paid by other means."),
    Operation("billing.invoices.void", "POST", "/v1/invoices/{invoice}/void", "Void", Invoice, serve.act(invoices.void),
              "Void an open invoice; final."),
    Operation("billing.invoices.mark_uncollectible", "POST", "/v1/invoices/{invoice}/mark_uncollectible",
              "Mark Uncollectible", Invoice, serve.act(invoices.mark_uncollectible),
              "Give an open invoice up as bad debt."),
    Operation("billing.invoices.send", "POST", "/v1/invoices/{invoice}/send", "Send", Invoice, serve.act(invoices.send),
              "Send an invoice to its customer; a draft is finalized first."),
    Operation("billing.invoices.list_lines", "GET", "/v1/invoices/{invoice}/lines", "Lines", page_of(Line),
              serve.list_rows(ListParams, invoice_lines, where=_of_invoice), "List the lines of an invoice."),
    Operation("billing.invoice_payments.list", "GET", "/v1/invoice_payments", "List Payments", page_of(InvoicePayment),
              serve.list_rows(schemas.InvoicePaymentList, invoice_payments, ("invoice", "status"), _by_intent),
              "List how invoices were or are to be paid; find an invoice by its payment intent."),
    Operation("billing.invoice_payments.get", "GET", "/v1/invoice_payments/{invoice_payment}", "Read Payment",
              InvoicePayment, serve.read_row(invoice_payments), "Read one payment of an invoice."),
    Operation("billing.invoice_items.create", "POST", "/v1/invoiceitems", "Create Item", InvoiceItem,
              serve.post(schemas.InvoiceItemIn, invoice_items.create),
              "Bill something: on a draft, or with the customer's next invoice."),
    Operation("billing.invoice_items.list", "GET", "/v1/invoiceitems", "List Items", page_of(InvoiceItem),
              serve.list_rows(schemas.InvoiceItemList, item_rows, ("customer", "invoice"), _pending),
              "List invoice items, newest first; `pending` ones are on no invoice yet."),
    Operation("billing.invoice_items.get", "GET", "/v1/invoiceitems/{invoiceitem}", "Read Item", InvoiceItem,
              serve.read_row(item_rows), "Read one invoice item."),
    Operation("billing.invoice_items.update", "POST", "/v1/invoiceitems/{invoiceitem}", "Update Item", InvoiceItem,
              serve.post_optional(schemas.InvoiceItemChange, invoice_items.update),
              "Change an invoice item that is not on a finalized invoice."),
    Operation("billing.invoice_items.delete", "DELETE", "/v1/invoiceitems/{invoiceitem}", "Delete Item", Deleted,
              serve.delete(invoice_items.delete), "Delete an invoice item that is not on a finalized invoice."),
    Operation("billing.credit_notes.create", "POST", "/v1/credit_notes", "Create Note", CreditNote,
              serve.post(schemas.CreditNoteIn, credit_notes.create),
              "Credit a finalized invoice: lower what is owed, refund, or credit the balance."),
    Operation("billing.credit_notes.list", "GET", "/v1/credit_notes", "List Notes", page_of(CreditNote),
              serve.list_rows(schemas.CreditNoteList, note_rows, ("customer", "invoice")),
              "List credit notes, newest first."),
    Operation("billing.credit_notes.preview", "GET", "/v1/credit_notes/preview", "Preview Note", CreditNote,
              serve.with_query_as_is(schemas.CreditNoteIn, previews.preview_credit_note),
              "What would a credit note be? Nothing is kept."),
    Operation("billing.credit_notes.preview_lines", "GET", "/v1/credit_notes/preview/lines", "Preview Lines",
              page_of(CreditNoteLine), serve.with_query_as_is(schemas.CreditNoteIn, _preview_lines),
              "The lines that a credit note would have."),
    Operation("billing.credit_notes.get", "GET", "/v1/credit_notes/{id}", "Read Note", CreditNote,
              serve.read_row(note_rows), "Read one credit note."),
    Operation("billing.credit_notes.update", "POST", "/v1/credit_notes/{id}", "Update Note", CreditNote,
              serve.post_optional(schemas.CreditNoteChange, credit_notes.update),
              "Change a credit note's memo or metadata."),
    Operation("billing.credit_notes.void", "POST", "/v1/credit_notes/{id}/void", "Void Note", CreditNote,
              serve.act(credit_notes.void), "Take back a credit note of an open invoice."),
    Operation("billing.credit_notes.list_lines", "GET", "/v1/credit_notes/{id}/lines", "Note Lines",
              page_of(CreditNoteLine), serve.list_rows(ListParams, credit_note_lines, where=_of_credit_note),
              "List the lines of a credit note."),
)
# fmt: on

router = register("invoices", _OPERATIONS)
