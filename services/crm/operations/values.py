"""Which values a property takes, and the form in which it keeps them."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import assert_never

import sqlalchemy as sa

from services.crm.errors import InvalidProperties, PropertyProblem
from services.crm.object_types import ObjectType
from services.crm.operations import definitions
from services.crm.operations.definitions import Definition
from services.crm.rows import ObjectTypeName, OwnerId, PropertyValues
from services.crm.search_index import parse_time_ms
from services.crm.tables import owners, pipeline_key, pipelines, stages
from services.kernel.clock import iso
from services.kernel.statements import Statement
from services.kernel.world import World

# Values to write; None or an empty text clears the property.
PropertyChanges = Mapping[str, str | None]

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?\Z", re.ASCII)
_INTEGER = re.compile(r"-?\d{1,15}\Z", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_EMAIL = re.compile(r"[^@\s<>()\[\],;:\"]+@[^@\s<>()\[\],;:\"]+\.[^@\s<>()\[\],;:\".]{2,}\Z")
_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999
_STAGES = Statement(
    sa.select(stages.c.stage_id, stages.c.pipeline_id)
    .where(stages.c.kind == sa.bindparam("kind"), stages.c.archived_at.is_(None))
    .order_by(stages.c.id)
)


class _InvalidValue(Exception):
    """A value that its definition does not allow; becomes a PropertyProblem."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def apply_changes(
    world: World, object_type: ObjectType, changes: PropertyChanges, before: PropertyValues
) -> tuple[PropertyValues, dict[str, Definition]]:
    """Returns all properties after the write, and the definitions of those that change."""
    changed_definitions = definitions.lookup(world, object_type.name, changes)
    problems: list[PropertyProblem] = []
    after = dict(before)
    for name, value in changes.items():
        try:
            normalized = _normalize(world, object_type, name, value, changed_definitions.get(name), before)
        except _InvalidValue as invalid:
            problems.append(PropertyProblem(name, invalid.message, invalid.code))
            continue
        if normalized:
            after[name] = normalized
        else:
            after.pop(name, None)
    if object_type.pipeline_properties is not None and not problems:
        problems += _place_in_pipeline(world, object_type, object_type.pipeline_properties, changes, after)
    if problems:
        raise InvalidProperties(problems)
    return after, changed_definitions


def _normalize(
    world: World,
    object_type: ObjectType,
    name: str,
    value: str | None,
    definition: Definition | None,
    before: PropertyValues,
) -> str | None:
    if definition is None:
        raise _InvalidValue(f'Property "{name}" does not exist', "PROPERTY_DOESNT_EXIST")
    if definition.is_read_only:
        raise _InvalidValue(f'"{name}" is a read only property; its value cannot be set.', "READ_ONLY_VALUE")
    if value is None or not value.strip():
        return None
    match definition.type:
        case "number":
            return _normalize_number(value)
        case "datetime":
            return iso(_parse_time(value))
        case "date":
            return _normalize_day(value)
        case "bool":
            return _normalize_boolean(value)
        case "enumeration":
            return _normalize_choice(world, name, value, definition, before)
        case "string":
            return _normalize_email(value) if object_type.name == "contacts" and name == "email" else value
        case _:
            assert_never(definition.type)


def _normalize_number(value: str) -> str:
    if not _NUMBER.match(value.strip()):
        raise _InvalidValue(f"{value} was not a valid number.", "INVALID_DOUBLE")
    return value.strip()


def _parse_time(value: str) -> int:
    text = value.strip()
    time = float(text) if _INTEGER.match(text) else parse_time_ms(text)
    if time is None or not _EARLIEST <= time <= _LATEST:
        raise _InvalidValue(f"{value} was not a valid date.", "INVALID_DATE")
    return int(time)


def _normalize_day(value: str) -> str:
    text = value.strip()
    if _DAY.match(text) and parse_time_ms(text) is not None:
        return text
    time = _parse_time(value)
    if time % 86_400_000:
        raise _InvalidValue(f"{value} is at {iso(time)} and is not midnight!", "INVALID_DATE")
    return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%d")


def _normalize_boolean(value: str) -> str:
    text = value.strip().lower()
    if text not in ("true", "false"):
        raise _InvalidValue(f"{value} was not one of the allowed options: [true, false]", "INVALID_OPTION")
    return text


def _normalize_email(value: str) -> str:
    text = value.strip().lower()
    if len(text) > 254 or not _EMAIL.match(text):
        raise _InvalidValue(f"Email address {value} is invalid", "INVALID_EMAIL")
    return text


def _normalize_choice(world: World, name: str, value: str, definition: Definition, before: PropertyValues) -> str:
    if name == "hubspot_owner_id":
        return _require_owner(world, value)
    if name == "lifecyclestage":
        return _advance_lifecycle(value, definition, before.get(name))
    if definition.is_external:
        return value.strip()
    if definition.is_multiple:
        return _normalize_choices(value, definition, before.get(name))
    _require_option(value, definition)
    return value


def _normalize_choices(value: str, definition: Definition, before: str | None) -> str:
    """`a;b` replaces the choices, `;c` adds to them."""
    choices = [choice.strip() for choice in value.split(";") if choice.strip()]
    for choice in choices:
        _require_option(choice, definition)
    if value.startswith(";"):
        choices = [*(before or "").split(";"), *choices]
    return ";".join(dict.fromkeys(choice for choice in choices if choice))


def _require_option(value: str, definition: Definition) -> None:
    if value not in definition.options:
        allowed = ", ".join(
            f'label: "{label}"\nvalue: "{option}"\n'
            for label, option in zip(definition.labels, definition.options, strict=True)
        )
        raise _InvalidValue(f"{value} was not one of the allowed options: [{allowed}]", "INVALID_OPTION")


def _advance_lifecycle(value: str, definition: Definition, before: str | None) -> str:
    """A lifecycle stage only moves forward: the API accepts a step back and changes nothing."""
    _require_option(value, definition)
    order = definition.options
    if before in order and order.index(value) < order.index(before):
        return before
    return value


def _require_owner(world: World, value: str) -> str:
    text = value.strip()
    row = world.get(owners, OwnerId(int(text))) if _INTEGER.match(text) else None
    if row is None or row["archived_at"] is not None:
        raise _InvalidValue(f"Owner with id {value} does not exist or is not active", "INVALID_OWNER_ID")
    return text


def _place_in_pipeline(
    world: World, object_type: ObjectType, names: tuple[str, str], changes: PropertyChanges, after: PropertyValues
) -> list[PropertyProblem]:
    """A stage belongs to a pipeline; a record whose request names only the stage joins that stage's pipeline."""
    pipeline_name, stage_name = names
    if pipeline_name not in changes and stage_name not in changes:
        return []
    pipeline_of = {row["stage_id"]: row["pipeline_id"] for row in world.find(_STAGES, kind=object_type.name)}
    pipeline, stage = after.get(pipeline_name), after.get(stage_name)
    if pipeline is not None and not _is_live_pipeline(world, object_type.name, pipeline):
        return [PropertyProblem(pipeline_name, f"The pipeline id {pipeline} does not exist", "INVALID_OPTION")]
    if stage is not None and stage not in pipeline_of:
        message = f"{stage} was not one of the allowed options: [{', '.join(pipeline_of)}]"
        return [PropertyProblem(stage_name, message, "INVALID_OPTION")]
    if stage is not None and pipeline is not None and pipeline_of[stage] != pipeline:
        message = f"Pipeline stage {stage} is not valid in pipeline {pipeline}"
        wrong_name = stage_name if stage_name in changes else pipeline_name
        return [PropertyProblem(wrong_name, message, "INVALID_PIPELINE_STAGE")]
    if stage is not None and pipeline is None and stage_name in changes and object_type.name != "deals":
        after[pipeline_name] = pipeline_of[stage]
    return []


def _is_live_pipeline(world: World, type_name: ObjectTypeName, pipeline_id: str) -> bool:
    row = world.get(pipelines, pipeline_key(type_name, pipeline_id))
    return row is not None and row["archived_at"] is None
