"""What the judge knows of the library."""

from services.kernel.judging import Judging, RowImage


def _is_loan(table: str, _row: RowImage) -> bool:
    return table == "loans"


judging = Judging(
    definition_tables=frozenset({"book_fields"}),
    is_timeline_entry=_is_loan,
    read_paths=("/find",),
    reserved_names=("updated_at",),
)
