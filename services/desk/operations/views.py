"""What a view shows: its tickets in their order, and how many there are."""

from dataclasses import dataclass

from services.desk.documents import Page, PageNumbering, Paging, Sort
from services.desk.errors import RecordNotFound
from services.desk.rows import ViewId
from services.desk.rows.people import UserRow
from services.desk.rows.rules import ViewDefinition, ViewRow
from services.desk.rows.tickets import TicketRow
from services.desk.rules.selection import Selection
from services.desk.rules.subjects import Viewer
from services.desk.rules.vocabulary import Conditions
from services.desk.tables import tickets, views
from services.kernel.documents import Order, select_numbered
from services.kernel.world import World


@dataclass(frozen=True, slots=True)
class Column:
    """A column of views: its title, the SQL to sort by, and the field of the ticket."""

    title: str
    sort: str | None
    field: str


# By the names that views give them.
COLUMNS: dict[str, Column] = {
    "nice_id": Column("ID", "id", "id"),
    "id": Column("ID", "id", "id"),
    "status": Column("Status", "status_rank", "status"),
    "priority": Column("Priority", "ifnull(priority_rank, -1)", "priority"),
    "type": Column("Type", "type", "type"),
    "subject": Column("Subject", "subject_folded", "subject"),
    "description": Column("Subject", "subject_folded", "subject"),
    "requester": Column("Requester", "requester_id", "requester_id"),
    "assignee": Column("Assignee", "assignee_id", "assignee_id"),
    "submitter": Column("Submitter", "submitter_id", "submitter_id"),
    "group": Column("Group", "group_id", "group_id"),
    "organization": Column("Organization", "organization_id", "organization_id"),
    "brand": Column("Brand", "brand_id", "brand_id"),
    "created": Column("Requested", "created_at", "created_at"),
    "created_at": Column("Requested", "created_at", "created_at"),
    "updated": Column("Updated", "updated_at", "updated_at"),
    "updated_at": Column("Updated", "updated_at", "updated_at"),
    "solved": Column("Solved", "solved_at", "solved_at"),
    "due_date": Column("Due date", "due_at", "due_at"),
    "satisfaction_score": Column("Satisfaction", None, "satisfaction_score"),
    "tags": Column("Tags", None, "tags"),
}
SORT_COLUMNS = {name: column.sort for name, column in COLUMNS.items() if column.sort is not None}
# So few are sorted faster than an index of all tickets is walked; a plus keeps SQLite from walking it.
_FEW = 500


def get_usable(world: World, key: ViewId) -> ViewRow:
    """Returns a view that is switched on."""
    row = views.need(world, key)
    if not row["body"]["active"]:
        raise RecordNotFound
    return row


def default_sort(view: ViewDefinition) -> Sort:
    output = view["output"]
    return Sort(SORT_COLUMNS.get(output["sort_by"], "created_at"), output["sort_order"] == "desc")


def count_tickets(world: World, view: ViewDefinition, viewer: UserRow) -> int:
    return _select(world, view, viewer).count()


def list_tickets(world: World, view: ViewDefinition, viewer: UserRow, paging: Paging, sort: Sort) -> Page[TicketRow]:
    where = _select(world, view, viewer).where
    if tickets.count_rows(world, where) <= _FEW:
        sort = Sort(f"+{sort.column}", sort.descending)
    return tickets.page(world, paging, where, sort)


def execute(world: World, view: ViewDefinition, viewer: UserRow, paging: PageNumbering) -> Page[TicketRow]:
    """Returns tickets in groups, sorted inside each group."""
    where, sort, output = _select(world, view, viewer).where, default_sort(view), view["output"]
    total = tickets.count_rows(world, where)
    way = "DESC" if sort.descending else "ASC"
    column = f"+{sort.column}" if total <= _FEW else sort.column
    group = SORT_COLUMNS.get(str(output["group_by"]))
    group_way = "ASC" if output["group_order"] == "asc" else "DESC"
    terms = [*([f"{group} {group_way}"] if group is not None else []), f"{column} {way}", f"id {way}"]
    rows = select_numbered(world, tickets, where, _MixedOrder(tuple(terms)), paging.size, paging.start)
    return Page(rows, paging.start + len(rows) < total, total)


class _MixedOrder(Order):
    """An order whose terms each say their own direction."""

    @property
    def sql(self) -> str:
        return "ORDER BY " + ", ".join(self.terms)


def _select(world: World, view: ViewDefinition, viewer: UserRow) -> Selection:
    return Selection(world, Conditions.from_body(view["conditions"]), Viewer.of_user(world, viewer))
