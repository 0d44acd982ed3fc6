"""The rows that every account starts with: property definitions, groups, pipelines and association types."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import sqlalchemy as sa

from services.crm.object_types import BY_NAME
from services.crm.rows import (
    AssociationRank,
    AssociationTypeId,
    AssociationTypeRow,
    ObjectTypeName,
    PipelineRow,
    PropertyDocument,
    PropertyGroupRow,
    PropertyOption,
    PropertyRow,
    PropertyType,
    StageRow,
)
from services.crm.tables import (
    association_types,
    pipeline_key,
    pipelines,
    property_definitions,
    property_group_key,
    property_groups,
    property_key,
    stage_key,
    stages,
)
from services.kernel.statements import Row

_HERE = Path(__file__).resolve().parent
# Ids of labels that users create count up from here; no type of the vendor's own is as high.
USER_DEFINED_FROM = 10_000


class _Property(TypedDict):
    """A property in properties.json."""

    name: str
    label: str
    type: PropertyType
    fieldType: str
    group: str
    options: NotRequired[list[tuple[str, str]]]
    description: NotRequired[str]
    unique: NotRequired[bool]
    calculated: NotRequired[bool]
    external: NotRequired[bool]
    readOnly: NotRequired[bool]
    referencedObjectType: NotRequired[str]


class _ObjectTypeProperties(TypedDict):
    """What properties.json says of an object type."""

    groups: list[tuple[str, str]]
    properties: list[_Property]


class _Stage(TypedDict):
    """A stage in pipelines.json."""

    id: str
    label: str
    metadata: dict[str, str]


class _Pipeline(TypedDict):
    """A pipeline in pipelines.json."""

    kind: ObjectTypeName
    id: str
    label: str
    stages: list[_Stage]


# A pair of types in association_types.json; `from` is a keyword of Python.
_AssociationPair = TypedDict(
    "_AssociationPair",
    {
        "id": AssociationTypeId,
        "inverse": AssociationTypeId,
        "from": ObjectTypeName,
        "to": ObjectTypeName,
        "rank": AssociationRank,
        "suffix": NotRequired[str],
    },
)


def rows(created_at: int) -> list[tuple[sa.Table, list[Row]]]:
    """Returns the definitions of a new account in the form that template.build takes."""
    typed_rows: list[tuple[sa.Table, Iterable[Mapping[str, Any]]]] = [
        (property_groups, _groups()),
        (property_definitions, property_rows(created_at)),
        (pipelines, _pipelines(created_at)),
        (stages, _stages(created_at)),
        (association_types, _association_types()),
    ]
    return [(table, [dict(row) for row in table_rows]) for table, table_rows in typed_rows]


def property_row(
    object_type: str,
    name: str,
    *,
    label: str,
    created_at: int,
    type: PropertyType = "string",  # noqa: A002 - the vendor's own word
    field_type: str = "text",
    group: str,
    options: Iterable[tuple[str, str]] = (),
    **details: Any,
) -> PropertyRow:
    """Makes a property definition; `details` takes wire names, such as hasUniqueValue or readOnlyValue."""
    definition: PropertyDocument = {
        "label": label,
        "type": type,
        "fieldType": field_type,
        "description": "",
        "groupName": group,
        "options": [property_option(value, text, order) for order, (value, text) in enumerate(options)],
        "displayOrder": -1,
        "hasUniqueValue": False,
        "hidden": False,
        "formField": True,
        "calculated": False,
        "externalOptions": False,
        "hubspotDefined": False,
        "readOnlyValue": False,
    }
    definition.update(details)  # type: ignore[typeddict-item]  # whoever calls names the vendor's fields
    return {
        "id": property_key(object_type, name),
        "kind": ObjectTypeName(object_type),
        "name": name,
        "definition": definition,
        "created_at": created_at,
        "updated_at": created_at,
        "archived_at": None,
    }


def property_option(
    value: str, label: str, order: int, *, hidden: bool = False, description: str = ""
) -> PropertyOption:
    return {"label": label, "value": value, "displayOrder": order, "hidden": hidden, "description": description}


def property_group_row(object_type: ObjectTypeName, name: str, label: str, order: int) -> PropertyGroupRow:
    return {
        "id": property_group_key(object_type, name),
        "kind": object_type,
        "name": name,
        "label": label,
        "display_order": order,
        "archived_at": None,
    }


def pipeline_row(object_type: ObjectTypeName, pipeline_id: str, label: str, order: int, created_at: int) -> PipelineRow:
    return {
        "id": pipeline_key(object_type, pipeline_id),
        "kind": object_type,
        "pipeline_id": pipeline_id,
        "label": label,
        "display_order": order,
        "created_at": created_at,
        "updated_at": created_at,
        "archived_at": None,
    }


def stage_row(
    object_type: ObjectTypeName,
    pipeline_id: str,
    stage_id: str,
    label: str,
    order: int,
    metadata: Mapping[str, str],
    created_at: int,
) -> StageRow:
    return {
        "id": stage_key(object_type, stage_id),
        "kind": object_type,
        "pipeline_id": pipeline_id,
        "stage_id": stage_id,
        "label": label,
        "display_order": order,
        "metadata": dict(metadata),
        "created_at": created_at,
        "updated_at": created_at,
        "archived_at": None,
    }


def association_type_row(
    type_id: AssociationTypeId,
    from_type: ObjectTypeName,
    to_type: ObjectTypeName,
    name: str,
    *,
    rank: AssociationRank,
    inverse_id: AssociationTypeId,
    label: str | None = None,
) -> AssociationTypeRow:
    """Makes one direction; the id of a label that a user created is above USER_DEFINED_FROM."""
    return {
        "id": type_id,
        "category": "USER_DEFINED" if type_id > USER_DEFINED_FROM else "HUBSPOT_DEFINED",
        "from_kind": from_type,
        "to_kind": to_type,
        "name": name,
        "label": label,
        "inverse_id": inverse_id,
        "rank": rank,
    }


def _groups() -> Iterator[PropertyGroupRow]:
    for object_type, described in _read_properties().items():
        for order, (name, label) in enumerate(described["groups"]):
            yield property_group_row(object_type, name, label, order)


def property_rows(created_at: int) -> Iterator[PropertyRow]:
    for object_type, described in _read_properties().items():
        for prop in described["properties"]:
            yield property_row(
                object_type,
                prop["name"],
                label=prop["label"],
                created_at=created_at,
                type=prop["type"],
                field_type=prop["fieldType"],
                group=prop["group"],
                options=_options(prop),
                **_details(prop),
            )


def _options(prop: _Property) -> list[tuple[str, str]]:
    if prop["type"] == "bool":
        return [("true", "Yes"), ("false", "No")]
    return [(value, label) for value, label in prop.get("options", ())]


def _details(prop: _Property) -> dict[str, Any]:
    details: dict[str, Any] = {
        "description": prop.get("description", ""),
        "hubspotDefined": True,
        "hasUniqueValue": prop.get("unique", False),
        "calculated": prop.get("calculated", False),
        "externalOptions": prop.get("external", False),
        "readOnlyValue": prop.get("readOnly", False),
        "formField": not prop.get("readOnly", False),
    }
    if "referencedObjectType" in prop:
        details["referencedObjectType"] = prop["referencedObjectType"]
    return details


def _pipelines(created_at: int) -> Iterator[PipelineRow]:
    for pipeline in _read_pipelines():
        yield pipeline_row(pipeline["kind"], pipeline["id"], pipeline["label"], 0, created_at)


def _stages(created_at: int) -> Iterator[StageRow]:
    for pipeline in _read_pipelines():
        for order, stage in enumerate(pipeline["stages"]):
            yield stage_row(
                pipeline["kind"], pipeline["id"], stage["id"], stage["label"], order, stage["metadata"], created_at
            )


def _association_types() -> Iterator[AssociationTypeRow]:
    pairs: list[_AssociationPair] = json.loads(_read_text("association_types.json"))
    for pair in pairs:
        directions = [(pair["from"], pair["to"], pair["id"], pair["inverse"])]
        if pair["id"] != pair["inverse"]:
            directions.append((pair["to"], pair["from"], pair["inverse"], pair["id"]))
        for from_type, to_type, type_id, inverse_id in directions:
            is_forward = type_id == pair["id"]
            yield association_type_row(
                type_id,
                from_type,
                to_type,
                _association_name(from_type, to_type, pair.get("suffix", ""), is_forward=is_forward),
                rank=pair["rank"],
                inverse_id=inverse_id,
                label=_association_label(pair["rank"], is_forward=is_forward),
            )


def _association_name(from_type: ObjectTypeName, to_type: ObjectTypeName, suffix: str, *, is_forward: bool) -> str:
    if suffix == "parent_to_child":
        return "parent_to_child_company" if is_forward else "child_to_parent_company"
    return f"{BY_NAME[from_type].singular}_to_{BY_NAME[to_type].singular}{suffix}"


def _association_label(
    rank: AssociationRank, *, is_forward: bool
) -> Literal["Primary", "Parent Company", "Child Company"] | None:
    """Beside Primary, the vendor's only labels distinguish parent and child companies."""
    match rank:
        case "primary":
            return "Primary"
        case "label":
            return "Child Company" if is_forward else "Parent Company"
        case "unlabelled":
            return None


def _read_properties() -> dict[ObjectTypeName, _ObjectTypeProperties]:
    described: dict[ObjectTypeName, _ObjectTypeProperties] = json.loads(_read_text("properties.json"))
    return described


def _read_pipelines() -> list[_Pipeline]:
    described: list[_Pipeline] = json.loads(_read_text("pipelines.json"))
    return described


def _read_text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
