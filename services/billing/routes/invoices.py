"""Invoices, their lines and payments, invoice items, credit notes."""

from typing import Annotated

from fastapi import Query, Response

from services.billing.operations import credit_notes, drafts, invoice_items, invoices, previews, records
from services.billing.operations.listing import Where
from services.billing.routes.base import EVERYTHING, Plain, found, gone, many, noun_router, one, within
from services.billing.schemas import shown
from services.billing.schemas.base import Asked, Listed, Searched
from services.billing.schemas.invoices import (
    CreditNoteChange,
    CreditNoteIn,
    CreditNoteList,
    FinalizeIn,
    InvoiceChange,
    InvoiceIn,
    InvoiceItemChange,
    InvoiceItemIn,
    InvoiceItemList,
    InvoiceList,
    InvoicePaymentList,
    PayIn,
    PreviewIn,
)
from services.billing.schemas.shown import Deleted, Found, Page
from services.billing.tables import credit_note_lines, invoice_lines, invoice_payments
from services.billing.tables import credit_notes as note_rows
from services.billing.tables import invoice_items as item_rows
from services.billing.tables import invoices as invoice_rows
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld

router = noun_router("invoices")
_ONE = "/invoices/{invoice}"


@router.post("/invoices", operation_id="billing.invoices.create", response_model=shown.Invoice)
async def create(body: InvoiceIn, world: CurrentWorld) -> Response:
    """Create a draft invoice, with or without the customer's pending items."""
    return one(world, drafts.create(world, body.given()), body)


@router.get("/invoices", operation_id="billing.invoices.list", response_model=Page[shown.Invoice])
async def page(asked: Annotated[InvoiceList, Query()], world: CurrentWorld) -> Response:
    """List invoices, newest first, by customer, status, subscription or date."""
    where = Where(ranges=within("due_date", asked.due_date))
    filters = ("customer", "collection_method", "status", "subscription")
    return many(world, invoice_rows, asked, "/v1/invoices", where, filters)


@router.get("/invoices/search", operation_id="billing.invoices.search", response_model=Found[shown.Invoice])
async def search(asked: Annotated[Searched, Query()], world: CurrentWorld) -> Response:
    """Search invoices by number, status, customer, subscription, total, currency, created or metadata."""
    return found(world, invoice_rows, asked, "/v1/invoices/search")


@router.post("/invoices/create_preview", operation_id="billing.invoices.create_preview", response_model=shown.Invoice)
async def preview(world: CurrentWorld, body: PreviewIn | None = None) -> Response:
    """What would the next invoice be, if a change were made? Nothing is kept."""
    return one(world, previews.invoice(world, body.given() if body else {}), body)


@router.get(_ONE, operation_id="billing.invoices.get", response_model=shown.Invoice)
async def read(invoice: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one invoice with its first lines."""
    return one(world, records.need(world, invoice_rows, invoice), asked)


@router.post(_ONE, operation_id="billing.invoices.update", response_model=shown.Invoice)
async def update(invoice: str, world: CurrentWorld, body: InvoiceChange | None = None) -> Response:
    """Change a draft; of a finalized invoice only metadata and the like."""
    return one(world, drafts.update(world, invoice, body.given() if body else {}), body)


@router.delete(_ONE, operation_id="billing.invoices.delete", response_model=Deleted)
async def delete(invoice: str, world: CurrentWorld) -> Response:
    """Delete a draft that no subscription wrote."""
    return gone(drafts.delete(world, invoice))


@router.post(_ONE + "/finalize", operation_id="billing.invoices.finalize", response_model=shown.Invoice)
async def finalize(invoice: str, world: CurrentWorld, body: FinalizeIn | None = None) -> Response:
    """Number a draft and open it for payment."""
    return one(world, invoices.finalize(world, invoice, body.given() if body else {}), body)


@router.post(_ONE + "/pay", operation_id="billing.invoices.pay", response_model=shown.Invoice)
async def pay(invoice: str, world: CurrentWorld, body: PayIn | None = None) -> Response:
    """Collect an invoice now, or mark it as paid by other means."""
    return one(world, invoices.pay(world, invoice, body.given() if body else {}), body)


@router.post(_ONE + "/void", operation_id="billing.invoices.void", response_model=shown.Invoice)
async def void(invoice: str, world: CurrentWorld, body: Asked | None = None) -> Response:
    """Void an open invoice; final."""
    return one(world, invoices.void(world, invoice), body)


@router.post(
    _ONE + "/mark_uncollectible", operation_id="billing.invoices.mark_uncollectible", response_model=shown.Invoice
)
async def mark_uncollectible(invoice: str, world: CurrentWorld, body: Asked | None = None) -> Response:
    """Give an open invoice up as bad debt."""
    return one(world, invoices.mark_uncollectible(world, invoice), body)


@router.post(_ONE + "/send", operation_id="billing.invoices.send", response_model=shown.Invoice)
async def send(invoice: str, world: CurrentWorld, body: Asked | None = None) -> Response:
    """Send an invoice to its customer; a draft is finalized first."""
    return one(world, invoices.send(world, invoice), body)


@router.get(_ONE + "/lines", operation_id="billing.invoices.list_lines", response_model=Page[shown.Line])
async def lines(invoice: str, asked: Annotated[Listed, Query()], world: CurrentWorld) -> Response:
    """List the lines of an invoice."""
    records.need(world, invoice_rows, invoice)
    where = Where(equal={"invoice": invoice})
    return many(world, invoice_lines, asked, f"/v1/invoices/{invoice}/lines", where)


@router.get(
    "/invoice_payments", operation_id="billing.invoice_payments.list", response_model=Page[shown.InvoicePayment]
)
async def list_payments(asked: Annotated[InvoicePaymentList, Query()], world: CurrentWorld) -> Response:
    """List how invoices were or are to be paid; find an invoice by its payment intent."""
    intent = asked.payment.payment_intent if asked.payment else None
    where = Where(equal={"payment_intent": intent}) if intent else EVERYTHING
    return many(world, invoice_payments, asked, "/v1/invoice_payments", where, ("invoice", "status"))


@router.get(
    "/invoice_payments/{invoice_payment}",
    operation_id="billing.invoice_payments.get",
    response_model=shown.InvoicePayment,
)
async def read_payment(invoice_payment: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one payment of an invoice."""
    return one(world, records.need(world, invoice_payments, invoice_payment), asked)


@router.post("/invoiceitems", operation_id="billing.invoice_items.create", response_model=shown.InvoiceItem)
async def create_item(body: InvoiceItemIn, world: CurrentWorld) -> Response:
    """Bill something: on a draft, or with the customer's next invoice."""
    return one(world, invoice_items.create(world, body.given()), body)


@router.get("/invoiceitems", operation_id="billing.invoice_items.list", response_model=Page[shown.InvoiceItem])
async def list_items(asked: Annotated[InvoiceItemList, Query()], world: CurrentWorld) -> Response:
    """List invoice items, newest first; `pending` ones are on no invoice yet."""
    where = EVERYTHING
    if asked.pending is not None:
        where = Where(empty=("invoice",)) if asked.pending else Where(filled=("invoice",))
    return many(world, item_rows, asked, "/v1/invoiceitems", where, ("customer", "invoice"))


@router.get("/invoiceitems/{invoiceitem}", operation_id="billing.invoice_items.get", response_model=shown.InvoiceItem)
async def read_item(invoiceitem: str, asked: Plain, world: CurrentWorld) -> Response:
    """Read one invoice item."""
    return one(world, records.need(world, item_rows, invoiceitem), asked)


@router.post(
    "/invoiceitems/{invoiceitem}", operation_id="billing.invoice_items.update", response_model=shown.InvoiceItem
)
async def update_item(invoiceitem: str, world: CurrentWorld, body: InvoiceItemChange | None = None) -> Response:
    """Change an invoice item that is not on a finalized invoice."""
    return one(world, invoice_items.update(world, invoiceitem, body.given() if body else {}), body)


@router.delete("/invoiceitems/{invoiceitem}", operation_id="billing.invoice_items.delete", response_model=Deleted)
async def delete_item(invoiceitem: str, world: CurrentWorld) -> Response:
    """Delete an invoice item that is not on a finalized invoice."""
    return gone(invoice_items.delete(world, invoiceitem))


@router.post("/credit_notes", operation_id="billing.credit_notes.create", response_model=shown.CreditNote)
async def create_note(body: CreditNoteIn, world: CurrentWorld) -> Response:
    """Credit a finalized invoice: lower what is owed, refund, or credit the balance."""
    return one(world, credit_notes.create(world, body.given()), body)


@router.get("/credit_notes", operation_id="billing.credit_notes.list", response_model=Page[shown.CreditNote])
async def list_notes(asked: Annotated[CreditNoteList, Query()], world: CurrentWorld) -> Response:
    """List credit notes, newest first."""
    return many(world, note_rows, asked, "/v1/credit_notes", EVERYTHING, ("customer", "invoice"))


@router.get("/credit_notes/preview", operation_id="billing.credit_notes.preview", response_model=shown.CreditNote)
async def preview_note(asked: Annotated[CreditNoteIn, Query()], world: CurrentWorld) -> Response:
    """What would a credit note be? Nothing is kept."""
    return Json(previews.credit_note(world, asked.given()))


@router.get(
    "/credit_notes/preview/lines",
    operation_id="billing.credit_notes.preview_lines",
    response_model=Page[shown.CreditNoteLine],
)
async def preview_lines(asked: Annotated[CreditNoteIn, Query()], world: CurrentWorld) -> Response:
    """The lines that a credit note would have."""
    found_lines = previews.credit_note_lines(world, asked.given())
    url = "/v1/credit_notes/preview/lines"
    return Json({"object": "list", "data": found_lines, "has_more": False, "url": url})


@router.get("/credit_notes/{id}", operation_id="billing.credit_notes.get", response_model=shown.CreditNote)
async def read_note(id: str, asked: Plain, world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """Read one credit note."""
    return one(world, records.need(world, note_rows, id), asked)


@router.post("/credit_notes/{id}", operation_id="billing.credit_notes.update", response_model=shown.CreditNote)
async def update_note(id: str, world: CurrentWorld, body: CreditNoteChange | None = None) -> Response:  # noqa: A002 - the vendor's name
    """Change a credit note's memo or metadata."""
    return one(world, credit_notes.update(world, id, body.given() if body else {}), body)


@router.post("/credit_notes/{id}/void", operation_id="billing.credit_notes.void", response_model=shown.CreditNote)
async def void_note(id: str, world: CurrentWorld, body: Asked | None = None) -> Response:  # noqa: A002 - the vendor's name
    """Take back a credit note of an open invoice."""
    return one(world, credit_notes.void(world, id), body)


@router.get(
    "/credit_notes/{id}/lines",
    operation_id="billing.credit_notes.list_lines",
    response_model=Page[shown.CreditNoteLine],
)
async def note_lines(id: str, asked: Annotated[Listed, Query()], world: CurrentWorld) -> Response:  # noqa: A002 - the vendor's name
    """List the lines of a credit note."""
    records.need(world, note_rows, id)
    where = Where(equal={"credit_note": id})
    return many(world, credit_note_lines, asked, f"/v1/credit_notes/{id}/lines", where)
