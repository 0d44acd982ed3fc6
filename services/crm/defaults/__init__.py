"""What every account starts with: property definitions, groups, pipelines and association types, as rows."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from services.crm.kinds import BY_NAME
from services.crm.tables import (
    association_types,
    pipelines,
    property_definitions,
    property_groups,
    qualified,
    stages,
)
from services.kernel.statements import Row

_HERE = Path(__file__).resolve().parent


def rows(created_at: int) -> list[tuple[sa.Table, list[Row]]]:
    """The definitions of a fresh account, as template.build takes them."""
    return [
        (property_groups, list(_groups())),
        (property_definitions, list(_properties(created_at))),
        (pipelines, list(_pipelines(created_at))),
        (stages, list(_stages(created_at))),
        (association_types, list(_association_types())),
    ]


def property_row(
    kind: str,
    name: str,
    *,
    label: str,
    created_at: int,
    type: str = "string",  # noqa: A002 - the vendor's own word
    field_type: str = "text",
    group: str,
    options: Iterable[tuple[str, str]] = (),
    **more: Any,
) -> Row:
    """One property definition; `more` takes wire names, such as hasUniqueValue or readOnlyValue."""
    definition = {
        "label": label,
        "type": type,
        "fieldType": field_type,
        "description": "",
        "groupName": group,
        "options": [option(value, text, at) for at, (value, text) in enumerate(options)],
        "displayOrder": -1,
        "hasUniqueValue": False,
        "hidden": False,
        "formField": True,
        "calculated": False,
        "externalOptions": False,
        "hubspotDefined": False,
        "readOnlyValue": False,
        **more,
    }
    return {
        "id": qualified(kind, name),
        "kind": kind,
        "name": name,
        "definition": definition,
        "created_at": created_at,
        "updated_at": created_at,
        "archived_at": None,
    }


def option(value: str, label: str, order: int, *, hidden: bool = False, description: str = "") -> Row:
    return {"label": label, "value": value, "displayOrder": order, "hidden": hidden, "description": description}


def pipeline_row(kind: str, pipeline_id: str, label: str, order: int, created_at: int) -> Row:
    return {
        "id": qualified(kind, pipeline_id),
        "kind": kind,
        "pipeline_id": pipeline_id,
        "label": label,
        "display_order": order,
        "created_at": created_at,
        "updated_at": created_at,
        "archived_at": None,
    }


def stage_row(
    kind: str, pipeline_id: str, stage_id: str, label: str, order: int, metadata: Mapping[str, str], created_at: int
) -> Row:
    return {
        "id": qualified(kind, stage_id),
        "kind": kind,
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
    type_id: int, from_kind: str, to_kind: str, name: str, *, rank: str, inverse_id: int, label: str | None = None
) -> Row:
    """`rank` is unlabelled, primary or label; a label of one's own has an id above USER_DEFINED_FROM."""
    return {
        "id": type_id,
        "category": "USER_DEFINED" if type_id > USER_DEFINED_FROM else "HUBSPOT_DEFINED",
        "from_kind": from_kind,
        "to_kind": to_kind,
        "name": name,
        "label": label,
        "inverse_id": inverse_id,
        "rank": rank,
    }


# Ids of labels made by users count up from here; no type of the vendor's own is as high.
USER_DEFINED_FROM = 10_000


def _groups() -> Iterator[Row]:
    for kind, given in _read("properties.json").items():
        for order, (name, label) in enumerate(given["groups"]):
            yield {
                "id": qualified(kind, name),
                "kind": kind,
                "name": name,
                "label": label,
                "display_order": order,
                "archived_at": None,
            }


def _properties(created_at: int) -> Iterator[Row]:
    for kind, given in _read("properties.json").items():
        for one in given["properties"]:
            yield property_row(
                kind,
                one["name"],
                label=one["label"],
                created_at=created_at,
                type=one["type"],
                field_type=one["fieldType"],
                group=one["group"],
                options=_options(one),
                **_traits(one),
            )


def _options(one: Row) -> list[tuple[str, str]]:
    if one["type"] == "bool":
        return [("true", "Yes"), ("false", "No")]
    return [(value, label) for value, label in one.get("options", ())]


def _traits(one: Row) -> Row:
    traits = {
        "description": one.get("description", ""),
        "hubspotDefined": True,
        "hasUniqueValue": one.get("unique", False),
        "calculated": one.get("calculated", False),
        "externalOptions": one.get("external", False),
        "readOnlyValue": one.get("readOnly", False),
        "formField": not one.get("readOnly", False),
    }
    if "referencedObjectType" in one:
        traits["referencedObjectType"] = one["referencedObjectType"]
    return traits


def _pipelines(created_at: int) -> Iterator[Row]:
    for one in _read("pipelines.json"):
        yield pipeline_row(one["kind"], one["id"], one["label"], 0, created_at)


def _stages(created_at: int) -> Iterator[Row]:
    for one in _read("pipelines.json"):
        for order, stage in enumerate(one["stages"]):
            yield stage_row(one["kind"], one["id"], stage["id"], stage["label"], order, stage["metadata"], created_at)


def _association_types() -> Iterator[Row]:
    for one in _read("association_types.json"):
        pairs = [(one["from"], one["to"], one["id"], one["inverse"])]
        if one["id"] != one["inverse"]:
            pairs.append((one["to"], one["from"], one["inverse"], one["id"]))
        for from_kind, to_kind, type_id, inverse_id in pairs:
            yield association_type_row(
                type_id,
                from_kind,
                to_kind,
                _type_name(from_kind, to_kind, one.get("suffix", ""), forward=type_id == one["id"]),
                rank=one["rank"],
                inverse_id=inverse_id,
                label=_type_label(one["rank"], forward=type_id == one["id"]),
            )


def _type_name(from_kind: str, to_kind: str, suffix: str, *, forward: bool) -> str:
    if suffix == "parent_to_child":
        return "parent_to_child_company" if forward else "child_to_parent_company"
    return f"{BY_NAME[from_kind].singular}_to_{BY_NAME[to_kind].singular}{suffix}"


def _type_label(rank: str, *, forward: bool) -> str | None:
    """The only labels of the vendor's own, beside Primary, tell parent and child companies apart."""
    if rank == "primary":
        return "Primary"
    return ("Parent Company" if not forward else "Child Company") if rank == "label" else None


def _read(name: str) -> Any:
    return json.loads((_HERE / name).read_text(encoding="utf-8"))
