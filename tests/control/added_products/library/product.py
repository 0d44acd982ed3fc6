"""A lending library: a product of a test folder, which nothing outside of this folder names."""

import sqlalchemy as sa
from fastapi import Response
from pydantic import BaseModel, ConfigDict

from services.kernel.answers import Answer, Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.checks import Check, Finding, checks_by_name
from services.kernel.errors import Refusal
from services.kernel.product import Product, RequestContext
from services.kernel.statements import Row, Statement
from services.kernel.template import WorldSchema
from services.kernel.world import World
from tests.control.added_products.library.judging import judging

tables = sa.MetaData()
books = sa.Table(
    "books",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("shelf", sa.Text, nullable=False),
    sa.Column("note", sa.Text),
    sa.Column("updated_at", sa.Integer, nullable=False),
    sa.Column("archived_at", sa.Integer),
)
loans = sa.Table(
    "loans",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("book_id", sa.Integer, nullable=False),
    sa.Column("archived_at", sa.Integer),
)
book_fields = sa.Table(
    "book_fields", tables, sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.Text, nullable=False)
)
_BY_SHELF = Statement(sa.select(books).where(books.c.shelf == sa.bindparam("shelf")).order_by(books.c.id))


class NotInCatalogue(Refusal):
    """The library has no such entry."""

    status = 404


class BookIn(BaseModel):
    """Fields of a book to change."""

    model_config = ConfigDict(extra="forbid")
    shelf: str | None = None
    note: str | None = None


class FindIn(BaseModel):
    """Books to look for."""

    shelf: str


class FieldIn(BaseModel):
    """A field to define."""

    name: str


class BookOnShelf(Check):
    """The book stands on this shelf."""

    book: int
    shelf: str

    def run(self, world: World) -> Finding:
        row = world.get(books, self.book)
        return self.holds("it does") if row and row["shelf"] == self.shelf else self.fails("it stands elsewhere")


router = product_router()


def _need(world: World, table: sa.Table, key: int) -> Row:
    row = world.get(table, key)
    if row is None:
        raise NotInCatalogue
    return row


@router.get("/books/{book}", operation_id="library.books.get")
async def read_book(book: int, world: CurrentWorld) -> Response:
    return Json(_need(world, books, book))


@router.post("/books/find", operation_id="library.books.find")
async def find_books(body: FindIn, world: CurrentWorld) -> Response:
    return Json(world.find(_BY_SHELF, shelf=body.shelf))


@router.patch("/books/{book}", operation_id="library.books.update")
async def update_book(book: int, body: BookIn, world: CurrentWorld) -> Response:
    row = {
        **_need(world, books, book),
        **body.model_dump(exclude_unset=True),
        "updated_at": world.clock.now_ms(),
    }
    world.save(books, row, "book.updated")
    return Json(row)


@router.delete("/loans/{loan}", operation_id="library.loans.delete", status_code=204)
async def delete_loan(loan: int, world: CurrentWorld) -> Response:
    world.save(loans, {**_need(world, loans, loan), "archived_at": world.clock.now_ms()}, "loan.archived")
    return Response(status_code=204)


@router.post("/book-fields", operation_id="library.book_fields.create", status_code=201)
async def define_field(body: FieldIn, world: CurrentWorld) -> Response:
    row: Row = {"id": world.ids.next("book_field"), "name": body.name}
    world.save(book_fields, row, "book_field.created")
    return Json(row, 201)


def render(refusal: Refusal, context: RequestContext) -> Answer:
    return Answer.json(refusal.status, {"error": refusal.message, "path": context.path}, refusal.headers)


product = Product(
    name="library",
    title="Library API",
    version="1",
    port=8707,
    schema=WorldSchema(tables),
    router=router,
    render=render,
    checks=checks_by_name(BookOnShelf),
    judging=judging,
    create_credential=lambda secret: f"lib_{secret}",
)
