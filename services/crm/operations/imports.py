"""Imports of CSV files: accepted at once, worked off on the account's clock, row errors reported."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from services.crm.errors import (
    AlreadyExists,
    CrmRefusal,
    InvalidProperties,
    InvalidRequest,
    MissingProperties,
    RecordNotFound,
)
from services.crm.kinds import Kind
from services.crm.operations import object_types, records
from services.crm.operations.records import number
from services.crm.tables import import_errors, imports
from services.kernel.changes import AGENT, AGENTS_JOB
from services.kernel.clock import iso
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_STARTS_AFTER_MS, _MS_PER_ROW = 2_000, 20
_MOST_ROWS = 10_000
_DUE = Statement(
    sa.select(imports)
    .where(imports.c.state == "STARTED", imports.c.due_at <= sa.bindparam("now"))
    .order_by(imports.c.due_at, imports.c.id)
)
_ALL = Statement(sa.select(imports).order_by(imports.c.id.desc()))
_ERRORS = Statement(
    sa.select(import_errors)
    .where(import_errors.c.import_id == sa.bindparam("import_id"), import_errors.c.id > sa.bindparam("after"))
    .order_by(import_errors.c.id)
    .limit(sa.bindparam("limit"))
)
_PROBLEMS = {
    "INVALID_EMAIL": "INVALID_EMAIL",
    "INVALID_OPTION": "INVALID_ENUMERATION_OPTION",
    "INVALID_DOUBLE": "COULD_NOT_PARSE_NUMBER",
    "INVALID_DATE": "COULD_NOT_PARSE_DATE",
    "INVALID_OWNER_ID": "COULD_NOT_FIND_OWNER",
    "PROPERTY_DOESNT_EXIST": "PROPERTY_DEFINITION_NOT_FOUND",
}


@dataclass(frozen=True, slots=True)
class Upload:
    """One file of an import."""

    name: str
    content: str


@dataclass(frozen=True, slots=True)
class Column:
    """Where a column of the file goes."""

    header: str
    property: str | None
    is_object_id: bool
    is_alternate_id: bool


def start(world: World, request: Mapping[str, Any], uploads: Sequence[Upload]) -> Row:
    """Everything that can be told from the request alone is refused now; what the rows say is reported later."""
    given = {upload.name: upload for upload in uploads}
    files = request.get("files")
    if not isinstance(files, list) or not files or not all(isinstance(one, Mapping) for one in files):
        raise InvalidRequest("importRequest.files must name at least one file")
    rows = sum(_checked(world, one, given) for one in files)
    if rows > _MOST_ROWS:
        raise InvalidRequest(f"An import takes at most {_MOST_ROWS} rows")
    now = world.clock.now_ms()
    row: Row = {
        "id": world.ids.next("import"),
        "name": str(request.get("name") or "Import"),
        "state": "STARTED",
        "request": dict(request),
        "files": [{"name": upload.name, "content": upload.content} for upload in uploads],
        "counters": {},
        "created_at": now,
        "updated_at": now,
        "due_at": now + _STARTS_AFTER_MS + rows * _MS_PER_ROW,
    }
    world.save(imports, row, "import.started")
    return row


def work_off(world: World, until_ms: int) -> None:
    """Let every import that falls due by then run, at its own time, on the way to `until_ms`."""
    for row in world.find(_DUE, now=until_ms):
        if row["due_at"] > world.clock.now_ms():
            world.clock.advance_to(row["due_at"])
        _run(world, row)


def read(world: World, import_id: str) -> Row:
    key = number(import_id)
    row = None if key is None else world.get(imports, key)
    if row is None:
        raise RecordNotFound(f"Import with id {import_id} does not exist")
    return row


def page(world: World, after: int, limit: int) -> tuple[list[Row], int | None]:
    """Newest first; `after` counts what was shown already."""
    found = world.find(_ALL)[after : after + limit + 1]
    more = len(found) > limit
    return found[:limit], after + limit if more else None


def errors(world: World, row: Row, after: int, limit: int) -> tuple[list[Row], int | None]:
    found = world.find(_ERRORS, import_id=row["id"], after=after, limit=limit + 1)
    more = len(found) > limit
    return [{**one["error"], "id": str(one["id"])} for one in found[:limit]], found[limit - 1]["id"] if more else None


def cancel(world: World, row: Row) -> None:
    if row["state"] not in ("STARTED", "PROCESSING", "DEFERRED"):
        raise InvalidRequest(f"Import {row['id']} is {row['state']} and cannot be canceled")
    now = world.clock.now_ms()
    world.save(imports, {**row, "state": "CANCELED", "updated_at": now}, "import.canceled")


def show(world: World, row: Row) -> Row:
    kinds = dict.fromkeys(_kind(world, one).type_id for one in row["request"]["files"])
    return {
        "id": str(row["id"]),
        "importName": row["name"],
        "state": _state(world, row),
        "importSource": "API",
        "optOutImport": False,
        "mappedObjectTypeIds": list(kinds),
        "importRequestJson": row["request"],
        "metadata": {
            "counters": row["counters"],
            "fileIds": [str(10_000 * row["id"] + at) for at, _ in enumerate(row["files"])],
            "objectLists": [],
        },
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
    }


def _state(world: World, row: Row) -> str:
    started = row["created_at"] + _STARTS_AFTER_MS <= world.clock.now_ms()
    return "PROCESSING" if row["state"] == "STARTED" and started else str(row["state"])


def _checked(world: World, file: Mapping[str, Any], given: Mapping[str, Upload]) -> int:
    name = file.get("fileName")
    if not isinstance(name, str) or name not in given:
        raise InvalidRequest(f"No file named {name} was uploaded", context={"fileName": [str(name)]})
    if file.get("fileFormat", "CSV") != "CSV":
        raise InvalidRequest("Only CSV files can be imported", context={"fileName": [name]})
    kind = _kind(world, file)
    try:
        header, *rows = list(_lines(given[name].content)) or [[]]
    except csv.Error as error:
        raise InvalidRequest(f"{name} could not be read as CSV: {error}", context={"fileName": [name]}) from error
    columns = _columns(file, header)
    known = [one.property for one in columns if one.property is not None]
    if not known:
        raise InvalidRequest(
            f"No column of {name} is mapped to a property of {kind.name}", context={"fileName": [name]}
        )
    return len(rows)


def _kind(world: World, file: Mapping[str, Any]) -> Kind:
    mappings = _mappings(file)
    named = next((one["columnObjectTypeId"] for one in mappings if one.get("columnObjectTypeId")), "0-1")
    return object_types.resolve(world, str(named))


def _mappings(file: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    page = file.get("fileImportPage")
    found = page.get("columnMappings") if isinstance(page, Mapping) else None
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise InvalidRequest("columnMappings must be a list of objects")
    return found


def _columns(file: Mapping[str, Any], header: Sequence[str]) -> list[Column]:
    """Without mappings a column is taken for the property it is called after."""
    by_header = {str(one.get("columnName")): one for one in _mappings(file)}
    return [_column(name, by_header.get(name), bool(by_header)) for name in header]


def _column(header: str, mapping: Mapping[str, Any] | None, mapped: bool) -> Column:
    if mapping is None:
        return Column(header, None if mapped else _guessed(header), is_object_id=False, is_alternate_id=False)
    told = mapping.get("columnType") or mapping.get("idColumnType")
    name = mapping.get("propertyName")
    property_name = name if isinstance(name, str) and name else None
    return Column(header, property_name, told == "HUBSPOT_OBJECT_ID", told == "HUBSPOT_ALTERNATE_ID")


def _guessed(header: str) -> str:
    return header.strip().lower().replace(" ", "").replace("-", "")


def _lines(content: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(content.removeprefix("\ufeff")))
    return (line for line in reader if any(cell.strip() for cell in line))


def _run(world: World, row: Row) -> None:
    """On the account of whoever started it: an import must not be a way to write in nobody's name."""
    usual = world.actor
    started_here = world.history(imports, row["id"])
    world.actor = AGENTS_JOB if started_here and started_here[0].actor == AGENT else usual
    _import_all(world, row)
    world.actor = usual


def _import_all(world: World, row: Row) -> None:
    counters = {"TOTAL_ROWS": 0, "CREATED_OBJECTS": 0, "UPDATED_OBJECTS": 0, "PROPERTY_VALUES_EMITTED": 0, "ERRORS": 0}
    contents = {one["name"]: one["content"] for one in row["files"]}
    for at, file in enumerate(row["request"]["files"]):
        _import_file(world, row, file, contents[file["fileName"]], 10_000 * row["id"] + at, counters)
    now = world.clock.now_ms()
    world.save(imports, {**row, "state": "DONE", "counters": counters, "updated_at": now}, "import.done")


def _import_file(
    world: World, row: Row, file: Mapping[str, Any], content: str, file_id: int, counters: dict[str, int]
) -> None:
    kind = _kind(world, file)
    header, *lines = _lines(content)
    columns = _columns(file, header)
    for line_number, line in enumerate(lines, start=2):
        counters["TOTAL_ROWS"] += 1
        try:
            if len(line) != len(header):
                raise InvalidRequest(f"The row has {len(line)} columns, the header {len(header)}")
            _import_line(world, kind, columns, line, counters)
        except CrmRefusal as refusal:
            counters["ERRORS"] += 1
            _report(world, row, kind, refusal, line, line_number, file_id, columns)


def _import_line(
    world: World, kind: Kind, columns: Sequence[Column], line: Sequence[str], counters: dict[str, int]
) -> None:
    cells = dict(zip(columns, line, strict=True))
    given: dict[str, str | None] = {
        column.property: cell.strip()
        for column, cell in cells.items()
        if column.property and not column.is_object_id and cell.strip()
    }
    existing = _existing(world, kind, cells, given)
    if existing is None:
        records.create(world, kind, given)
        counters["CREATED_OBJECTS"] += 1
    else:
        records.update(world, kind, existing, given)
        counters["UPDATED_OBJECTS"] += 1
    counters["PROPERTY_VALUES_EMITTED"] += len(given)


def _existing(world: World, kind: Kind, cells: Mapping[Column, str], given: Mapping[str, str | None]) -> Row | None:
    for column, cell in cells.items():
        if column.is_object_id and cell.strip():
            return records.read(world, kind, cell.strip())
    unique = [column.property for column in cells if column.is_alternate_id and column.property]
    if kind.name == "contacts" and "email" in given:
        unique.append("email")
    for name in unique:
        value = given.get(name)
        found = None if value is None else records.holder(world, kind.name, name, value)
        if found is not None:
            return records.read(world, kind, str(found))
    return None


def _report(
    world: World,
    row: Row,
    kind: Kind,
    refusal: CrmRefusal,
    line: Sequence[str],
    line_number: int,
    file_id: int,
    columns: Sequence[Column],
) -> None:
    key = world.ids.next("import_error")
    error: Row = {
        "createdAt": world.clock.now_ms(),
        "errorType": _error_type(refusal),
        "errorMessage": refusal.message,
        "objectType": kind.singular.upper(),
        "objectTypeId": kind.type_id,
        "sourceData": {
            "rowData": list(line),
            "lineNumber": line_number,
            "containsEncryptedProperties": False,
            "fileId": file_id,
        },
    }
    if isinstance(refusal, InvalidProperties):
        blamed = refusal.problems[0].name
        at = next((at for at, column in enumerate(columns) if column.property == blamed), None)
        if at is not None and at < len(line):
            error |= {"invalidValue": line[at], "knownColumnNumber": at + 1}
    world.save(import_errors, {"id": key, "import_id": row["id"], "error": error}, "import.row_failed")


def _error_type(refusal: CrmRefusal) -> str:
    match refusal:
        case InvalidProperties():
            return _PROBLEMS.get(refusal.problems[0].code, "FAILED_VALIDATION")
        case MissingProperties():
            return "MISSING_REQUIRED_PROPERTY"
        case RecordNotFound():
            return "INVALID_RECORD_ID"
        case AlreadyExists():
            return "DUPLICATE_UNIQUE_PROPERTY_VALUE"
    return "INCORRECT_NUMBER_OF_COLUMNS" if "columns" in refusal.message else "UNKNOWN_BAD_REQUEST"
