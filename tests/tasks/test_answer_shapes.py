"""Whoever is asked a question can read from the brief in which form the answer is expected."""

import pytest

from fixtures.tasks.family import BadFamily, describe_shape


def test_a_shape_is_written_as_people_write_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "decision": {"enum": ["granted", "declined"]},
            "days": {"type": "integer", "description": "how many"},
            "people": {"type": "array", "items": {"type": "string"}},
        },
    }

    assert describe_shape(schema) == (
        '{"decision": "granted" or "declined", "days": integer (how many), "people": [string, …]}'
    )
    with pytest.raises(BadFamily):
        describe_shape({})
