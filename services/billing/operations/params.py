"""Request parameters as operations take them: a dict with only what was sent."""

from collections.abc import Iterable, Mapping
from typing import Any

from services.billing.errors import InvalidRequest

Params = dict[str, Any]

_MOST_KEYS, _LONGEST_KEY, _LONGEST_VALUE = 50, 40, 500


def require(params: Params, name: str) -> str:
    if not params.get(name):
        raise InvalidRequest(f"Missing required param: {name}.", name, "parameter_missing")
    return str(params[name])


def none_if_empty(value: Any) -> Any:
    """Returns None for an empty text, which unsets a field."""
    return None if value == "" else value


def pick(params: Params, names: Iterable[str]) -> Any:
    """Returns those of these fields that were sent, an empty text as None; the schemas vouch for their types."""
    return {name: none_if_empty(params[name]) for name in names if name in params}


def pick_changes(body: Mapping[str, Any], params: Params, names: Iterable[str] = ()) -> Any:
    """Returns those of these fields that were sent, and the metadata of the object with what was sent of it."""
    changes = pick(params, names)
    if "metadata" in params:
        changes["metadata"] = merge_metadata(body["metadata"], params["metadata"])
    return changes


def merge_metadata(metadata: dict[str, str] | None, changes: dict[str, str] | str | None) -> dict[str, str]:
    """Keys merge; an empty value deletes its key, an empty text deletes all."""
    if changes is None:
        return metadata or {}
    if isinstance(changes, str):
        return {}
    merged = {**(metadata or {}), **changes}
    merged = {key: value for key, value in merged.items() if value != ""}
    if len(merged) > _MOST_KEYS:
        raise InvalidRequest(f"Metadata can have at most {_MOST_KEYS} keys.", "metadata")
    for key, value in changes.items():
        if len(key) > _LONGEST_KEY:
            raise InvalidRequest(f"Metadata keys must be under {_LONGEST_KEY} characters long.", f"metadata[{key}]")
        if len(value) > _LONGEST_VALUE:
            raise InvalidRequest(f"Metadata values must be under {_LONGEST_VALUE} characters long.", f"metadata[{key}]")
    return merged
