"""What may be written into a property, and how it is kept."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

import sqlalchemy as sa

from services.crm.errors import InvalidProperties, PropertyProblem
from services.crm.indexing import moment_ms
from services.crm.kinds import Kind
from services.crm.operations import definitions
from services.crm.operations.definitions import Definition
from services.crm.tables import owners, pipelines, qualified, stages
from services.kernel.clock import iso
from services.kernel.statements import Row, Statement
from services.kernel.world import World

Given = Mapping[str, str | None]
Values = dict[str, str]

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?\Z", re.ASCII)
_EPOCH = re.compile(r"-?\d{1,15}\Z", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_EMAIL = re.compile(r"[^@\s<>()\[\],;:\"]+@[^@\s<>()\[\],;:\"]+\.[^@\s<>()\[\],;:\".]{2,}\Z")
_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999
_STAGES = Statement(
    sa.select(stages.c.stage_id, stages.c.pipeline_id)
    .where(stages.c.kind == sa.bindparam("kind"), stages.c.archived_at.is_(None))
    .order_by(stages.c.id)
)


class _Wrong(Exception):
    """A value that does not fit; becomes a PropertyProblem."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def accept(world: World, kind: Kind, given: Given, before: Values) -> tuple[Values, dict[str, Definition]]:
    """The properties after the write, all of them, and the definitions of those given."""
    known = definitions.lookup(world, kind.name, given)
    problems: list[PropertyProblem] = []
    after = dict(before)
    for name, value in given.items():
        try:
            kept = _kept(world, kind, name, value, known.get(name), before)
        except _Wrong as wrong:
            problems.append(PropertyProblem(name, wrong.message, wrong.code))
            continue
        if kept:
            after[name] = kept
        else:
            after.pop(name, None)
    if kind.pipeline is not None and not problems:
        problems += _misplaced(world, kind, given, after)
    if problems:
        raise InvalidProperties(problems)
    return after, known


def _kept(
    world: World, kind: Kind, name: str, value: str | None, definition: Definition | None, before: Values
) -> str | None:
    if definition is None:
        raise _Wrong(f'Property "{name}" does not exist', "PROPERTY_DOESNT_EXIST")
    if definition.is_read_only:
        raise _Wrong(f'"{name}" is a read only property; its value cannot be set.', "READ_ONLY_VALUE")
    if value is None or not value.strip():
        return None
    match definition.type:
        case "number":
            return _number(value)
        case "datetime":
            return iso(_moment(value))
        case "date":
            return _day(value)
        case "bool":
            return _boolean(value)
        case "enumeration":
            return _chosen(world, name, value, definition, before)
    return _email(value) if kind.name == "contacts" and name == "email" else value


def _number(value: str) -> str:
    if not _NUMBER.match(value.strip()):
        raise _Wrong(f"{value} was not a valid number.", "INVALID_DOUBLE")
    return value.strip()


def _moment(value: str) -> int:
    text = value.strip()
    found = float(text) if _EPOCH.match(text) else moment_ms(text)
    if found is None or not _EARLIEST <= found <= _LATEST:
        raise _Wrong(f"{value} was not a valid date.", "INVALID_DATE")
    return int(found)


def _day(value: str) -> str:
    text = value.strip()
    if _DAY.match(text) and moment_ms(text) is not None:
        return text
    found = _moment(value)
    if found % 86_400_000:
        raise _Wrong(f"{value} is at {iso(found)} and is not midnight!", "INVALID_DATE")
    return datetime.fromtimestamp(found / 1000, UTC).strftime("%Y-%m-%d")


def _boolean(value: str) -> str:
    text = value.strip().lower()
    if text not in ("true", "false"):
        raise _Wrong(f"{value} was not one of the allowed options: [true, false]", "INVALID_OPTION")
    return text


def _email(value: str) -> str:
    text = value.strip().lower()
    if len(text) > 254 or not _EMAIL.match(text):
        raise _Wrong(f"Email address {value} is invalid", "INVALID_EMAIL")
    return text


def _chosen(world: World, name: str, value: str, definition: Definition, before: Values) -> str:
    if name == "hubspot_owner_id":
        return _owner(world, value)
    if name == "lifecyclestage":
        return _forward(value, definition, before.get(name))
    if definition.is_external:
        return value.strip()
    if definition.is_multiple:
        return _several(value, definition, before.get(name))
    _require_option(value, definition)
    return value


def _several(value: str, definition: Definition, before: str | None) -> str:
    """`a;b` sets, `;c` adds to what is there."""
    chosen = [one.strip() for one in value.split(";") if one.strip()]
    for one in chosen:
        _require_option(one, definition)
    if value.startswith(";"):
        chosen = [*(before or "").split(";"), *chosen]
    return ";".join(dict.fromkeys(one for one in chosen if one))


def _require_option(value: str, definition: Definition) -> None:
    if value not in definition.options:
        allowed = ", ".join(
            f'label: "{label}"\nvalue: "{option}"\n'
            for label, option in zip(definition.labels, definition.options, strict=True)
        )
        raise _Wrong(f"{value} was not one of the allowed options: [{allowed}]", "INVALID_OPTION")


def _forward(value: str, definition: Definition, before: str | None) -> str:
    """A lifecycle stage only moves forward: a step back is taken without a word and changes nothing."""
    _require_option(value, definition)
    order = definition.options
    if before in order and order.index(value) < order.index(before):
        return before
    return value


def _owner(world: World, value: str) -> str:
    text = value.strip()
    row = world.get(owners, int(text)) if _EPOCH.match(text) else None
    if row is None or row["archived_at"] is not None:
        raise _Wrong(f"Owner with id {value} does not exist or is not active", "INVALID_OWNER_ID")
    return text


def _misplaced(world: World, kind: Kind, given: Given, after: Values) -> list[PropertyProblem]:
    """A stage belongs to a pipeline; a record that names only its stage joins that stage's pipeline."""
    assert kind.pipeline is not None, "asked only for kinds with pipelines"
    pipeline_name, stage_name = kind.pipeline
    if pipeline_name not in given and stage_name not in given:
        return []
    where = {row["stage_id"]: row["pipeline_id"] for row in world.find(_STAGES, kind=kind.name)}
    pipeline, stage = after.get(pipeline_name), after.get(stage_name)
    if pipeline is not None and _live_pipeline(world, kind.name, pipeline) is None:
        return [PropertyProblem(pipeline_name, f"The pipeline id {pipeline} does not exist", "INVALID_OPTION")]
    if stage is not None and stage not in where:
        allowed = ", ".join(where)
        message = f"{stage} was not one of the allowed options: [{allowed}]"
        return [PropertyProblem(stage_name, message, "INVALID_OPTION")]
    if stage is not None and pipeline is not None and where[stage] != pipeline:
        return _elsewhere(kind, given, after)
    if stage is not None and pipeline is None and stage_name in given and kind.name != "deals":
        after[pipeline_name] = where[stage]
    return []


def _elsewhere(kind: Kind, given: Given, after: Values) -> list[PropertyProblem]:
    assert kind.pipeline is not None, "asked only for kinds with pipelines"
    pipeline_name, stage_name = kind.pipeline
    stage, pipeline = after[stage_name], after[pipeline_name]
    message = f"Pipeline stage {stage} is not valid in pipeline {pipeline}"
    blamed = stage_name if stage_name in given else pipeline_name
    return [PropertyProblem(blamed, message, "INVALID_PIPELINE_STAGE")]


def _live_pipeline(world: World, kind: str, pipeline_id: str) -> Row | None:
    row = world.get(pipelines, qualified(kind, pipeline_id))
    return None if row is None or row["archived_at"] is not None else row
