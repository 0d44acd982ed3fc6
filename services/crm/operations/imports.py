"""Imports of CSV files: accepted at once, run later on the account's clock, row errors reported."""

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
from services.crm.object_types import ObjectType
from services.crm.operations import object_types, records
from services.crm.operations.records import parse_id
from services.crm.rows import Body, ImportErrorDocument, ImportErrorId, ImportErrorRow, ImportId, ImportRow, RecordRow
from services.crm.tables import import_errors, imports
from services.kernel.changes import AGENT, AGENTS_JOB
from services.kernel.clock import iso
from services.kernel.statements import Statement
from services.kernel.world import World

# A file of an importRequest; only its name has been checked.
FileRequest = Mapping[str, Any]

_STARTS_AFTER_MS, _MS_PER_ROW = 2_000, 20
_MAX_ROWS = 10_000
_DUE = Statement(
    sa.select(imports)
    .where(imports.c.state == "STARTED", imports.c.due_at <= sa.bindparam("now"))
    .order_by(imports.c.due_at, imports.c.id),
    ImportRow,
)
_ALL = Statement(sa.select(imports).order_by(imports.c.id.desc()), ImportRow)
_ERRORS = Statement(
    sa.select(import_errors)
    .where(import_errors.c.import_id == sa.bindparam("import_id"), import_errors.c.id > sa.bindparam("after"))
    .order_by(import_errors.c.id)
    .limit(sa.bindparam("limit")),
    ImportErrorRow,
)
_ERROR_TYPES = {
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
    """A column of the file, and the property that it holds."""

    header: str
    property: str | None
    is_object_id: bool
    is_alternate_id: bool


def start(world: World, request: Body, uploads: Sequence[Upload]) -> ImportRow:
    """Refuses at once what the request alone shows to be wrong; problems of single rows are reported later."""
    uploads_by_name = {upload.name: upload for upload in uploads}
    files = request.get("files")
    if not isinstance(files, list) or not files or not all(isinstance(file, Mapping) for file in files):
        raise InvalidRequest("importRequest.files must name at least one file")
    row_count = sum(_validate_file(world, file, uploads_by_name) for file in files)
    if row_count > _MAX_ROWS:
        raise InvalidRequest(f"An import takes at most {_MAX_ROWS} rows")
    now = world.clock.now_ms()
    row: ImportRow = {
        "id": ImportId(world.ids.next("import")),
        "name": str(request.get("name") or "Import"),
        "state": "STARTED",
        "request": dict(request),
        "files": [{"name": upload.name, "content": upload.content} for upload in uploads],
        "counters": {},
        "created_at": now,
        "updated_at": now,
        "due_at": now + _STARTS_AFTER_MS + row_count * _MS_PER_ROW,
    }
    world.save(imports, row, "import.started")
    return row


def run_due(world: World, until_ms: int) -> None:
    """Runs every import that falls due by then, each at its own time."""
    for row in world.find(_DUE, now=until_ms):
        if row["due_at"] > world.clock.now_ms():
            world.clock.advance_to(row["due_at"])
        _run(world, row)


def read(world: World, import_id: str) -> ImportRow:
    key = parse_id(import_id)
    row = None if key is None else world.get(imports, ImportId(key))
    if row is None:
        raise RecordNotFound(f"Import with id {import_id} does not exist")
    return row


def page(world: World, after: int, limit: int) -> tuple[list[ImportRow], int | None]:
    """Returns the newest first; `after` is how many came before this page."""
    rows = world.find(_ALL)[after : after + limit + 1]
    return rows[:limit], after + limit if len(rows) > limit else None


def page_errors(world: World, row: ImportRow, after: int, limit: int) -> tuple[list[ImportErrorRow], int | None]:
    rows = world.find(_ERRORS, import_id=row["id"], after=after, limit=limit + 1)
    return rows[:limit], rows[limit - 1]["id"] if len(rows) > limit else None


def cancel(world: World, row: ImportRow) -> None:
    if row["state"] not in ("STARTED", "PROCESSING", "DEFERRED"):
        raise InvalidRequest(f"Import {row['id']} is {row['state']} and cannot be canceled")
    world.save(imports, row | {"state": "CANCELED", "updated_at": world.clock.now_ms()}, "import.canceled")


def serialize(world: World, row: ImportRow) -> Body:
    type_ids = dict.fromkeys(_resolve_type(world, file).type_id for file in row["request"]["files"])
    has_begun = row["created_at"] + _STARTS_AFTER_MS <= world.clock.now_ms()
    return {
        "id": str(row["id"]),
        "importName": row["name"],
        "state": "PROCESSING" if row["state"] == "STARTED" and has_begun else row["state"],
        "importSource": "API",
        "optOutImport": False,
        "mappedObjectTypeIds": list(type_ids),
        "importRequestJson": row["request"],
        "metadata": {
            "counters": row["counters"],
            "fileIds": [str(_file_id(row, position)) for position, _ in enumerate(row["files"])],
            "objectLists": [],
        },
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
    }


def serialize_error(row: ImportErrorRow, *, with_message: bool, with_row: bool) -> Body:
    error = row["error"]
    body: Body = {**error, "id": str(row["id"])}
    if not with_message:
        body.pop("errorMessage", None)
    if not with_row:
        body["sourceData"] = {key: value for key, value in error["sourceData"].items() if key != "rowData"}
    return body


def _file_id(row: ImportRow, position: int) -> int:
    return 10_000 * row["id"] + position


def _validate_file(world: World, file: FileRequest, uploads: Mapping[str, Upload]) -> int:
    """Returns how many rows the file has."""
    name = file.get("fileName")
    if not isinstance(name, str) or name not in uploads:
        raise InvalidRequest(f"No file named {name} was uploaded", context={"fileName": [str(name)]})
    if file.get("fileFormat", "CSV") != "CSV":
        raise InvalidRequest("Only CSV files can be imported", context={"fileName": [name]})
    object_type = _resolve_type(world, file)
    try:
        header, *lines = list(_read_lines(uploads[name].content)) or [[]]
    except csv.Error as error:
        raise InvalidRequest(f"{name} could not be read as CSV: {error}", context={"fileName": [name]}) from error
    if all(column.property is None for column in _map_columns(file, header)):
        raise InvalidRequest(
            f"No column of {name} is mapped to a property of {object_type.name}", context={"fileName": [name]}
        )
    return len(lines)


def _resolve_type(world: World, file: FileRequest) -> ObjectType:
    type_ids = (mapping.get("columnObjectTypeId") for mapping in _column_mappings(file))
    return object_types.resolve(world, str(next((type_id for type_id in type_ids if type_id), "0-1")))


def _column_mappings(file: FileRequest) -> list[Mapping[str, Any]]:
    page = file.get("fileImportPage")
    mappings = page.get("columnMappings") if isinstance(page, Mapping) else None
    if mappings is None:
        return []
    if not isinstance(mappings, list) or not all(isinstance(mapping, Mapping) for mapping in mappings):
        raise InvalidRequest("columnMappings must be a list of objects")
    return mappings


def _map_columns(file: FileRequest, header: Sequence[str]) -> list[Column]:
    """Without mappings a column holds the property that it is called after."""
    mappings = {str(mapping.get("columnName")): mapping for mapping in _column_mappings(file)}
    return [_map_column(name, mappings.get(name), is_mapped_file=bool(mappings)) for name in header]


def _map_column(header: str, mapping: Mapping[str, Any] | None, *, is_mapped_file: bool) -> Column:
    if mapping is None:
        guess = header.strip().lower().replace(" ", "").replace("-", "")
        return Column(header, None if is_mapped_file else guess, is_object_id=False, is_alternate_id=False)
    column_type = mapping.get("columnType") or mapping.get("idColumnType")
    name = mapping.get("propertyName")
    property_name = name if isinstance(name, str) and name else None
    return Column(header, property_name, column_type == "HUBSPOT_OBJECT_ID", column_type == "HUBSPOT_ALTERNATE_ID")


def _read_lines(content: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(content.removeprefix("\ufeff")))
    return (line for line in reader if any(cell.strip() for cell in line))


def _run(world: World, row: ImportRow) -> None:
    """Runs the import in the name of whoever started it: an agent must not write in nobody's name by importing."""
    usual_actor = world.actor
    history = world.history(imports, row["id"])
    world.actor = AGENTS_JOB if history and history[0].actor == AGENT else usual_actor
    _import_files(world, row)
    world.actor = usual_actor


def _import_files(world: World, row: ImportRow) -> None:
    counters = {"TOTAL_ROWS": 0, "CREATED_OBJECTS": 0, "UPDATED_OBJECTS": 0, "PROPERTY_VALUES_EMITTED": 0, "ERRORS": 0}
    contents = {file["name"]: file["content"] for file in row["files"]}
    for position, file in enumerate(row["request"]["files"]):
        _import_file(world, row, file, contents[file["fileName"]], _file_id(row, position), counters)
    changed = row | {"state": "DONE", "counters": counters, "updated_at": world.clock.now_ms()}
    world.save(imports, changed, "import.done")


def _import_file(
    world: World, row: ImportRow, file: FileRequest, content: str, file_id: int, counters: dict[str, int]
) -> None:
    object_type = _resolve_type(world, file)
    header, *lines = _read_lines(content)
    columns = _map_columns(file, header)
    for line_number, line in enumerate(lines, start=2):
        counters["TOTAL_ROWS"] += 1
        try:
            if len(line) != len(header):
                raise InvalidRequest(f"The row has {len(line)} columns, the header {len(header)}")
            _import_line(world, object_type, columns, line, counters)
        except CrmRefusal as refusal:
            counters["ERRORS"] += 1
            _report_error(world, row, object_type, refusal, line, line_number, file_id, columns)


def _import_line(
    world: World, object_type: ObjectType, columns: Sequence[Column], line: Sequence[str], counters: dict[str, int]
) -> None:
    cells = dict(zip(columns, line, strict=True))
    properties: dict[str, str | None] = {
        column.property: cell.strip()
        for column, cell in cells.items()
        if column.property and not column.is_object_id and cell.strip()
    }
    row = _find_record(world, object_type, cells, properties)
    if row is None:
        records.create(world, object_type, properties)
        counters["CREATED_OBJECTS"] += 1
    else:
        records.update(world, object_type, row, properties)
        counters["UPDATED_OBJECTS"] += 1
    counters["PROPERTY_VALUES_EMITTED"] += len(properties)


def _find_record(
    world: World, object_type: ObjectType, cells: Mapping[Column, str], properties: Mapping[str, str | None]
) -> RecordRow | None:
    """Finds the record that a line updates: by its id, or by a unique value."""
    for column, cell in cells.items():
        if column.is_object_id and cell.strip():
            return records.read(world, object_type, cell.strip())
    unique_names = [column.property for column in cells if column.is_alternate_id and column.property]
    if object_type.name == "contacts" and "email" in properties:
        unique_names.append("email")
    for name in unique_names:
        value = properties.get(name)
        record_id = None if value is None else records.find_by_value(world, object_type.name, name, value)
        if record_id is not None:
            return records.read(world, object_type, str(record_id))
    return None


def _report_error(
    world: World,
    row: ImportRow,
    object_type: ObjectType,
    refusal: CrmRefusal,
    line: list[str],
    line_number: int,
    file_id: int,
    columns: Sequence[Column],
) -> None:
    error: ImportErrorDocument = {
        "createdAt": world.clock.now_ms(),
        "errorType": _error_type(refusal),
        "errorMessage": refusal.message,
        "objectType": object_type.singular.upper(),
        "objectTypeId": object_type.type_id,
        "sourceData": {
            "rowData": line,
            "lineNumber": line_number,
            "containsEncryptedProperties": False,
            "fileId": file_id,
        },
    }
    if isinstance(refusal, InvalidProperties):
        properties = [column.property for column in columns]
        name = refusal.problems[0].name
        if name in properties and (index := properties.index(name)) < len(line):
            error |= {"invalidValue": line[index], "knownColumnNumber": index + 1}
    error_row: ImportErrorRow = {
        "id": ImportErrorId(world.ids.next("import_error")),
        "import_id": row["id"],
        "error": error,
    }
    world.save(import_errors, error_row, "import.row_failed")


def _error_type(refusal: CrmRefusal) -> str:
    match refusal:
        case InvalidProperties():
            return _ERROR_TYPES.get(refusal.problems[0].code, "FAILED_VALIDATION")
        case MissingProperties():
            return "MISSING_REQUIRED_PROPERTY"
        case RecordNotFound():
            return "INVALID_RECORD_ID"
        case AlreadyExists():
            return "DUPLICATE_UNIQUE_PROPERTY_VALUE"
    return "INCORRECT_NUMBER_OF_COLUMNS" if "columns" in refusal.message else "UNKNOWN_BAD_REQUEST"
