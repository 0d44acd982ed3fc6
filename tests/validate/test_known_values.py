"""A value counts as read however it is spelt where it stands, and only if it stands there."""

import json
from typing import Any

import pytest

from services.validate.known_values import KnownValues


def read(*answers: Any, text: str = "") -> KnownValues:
    known = KnownValues()
    known.read_text(text)
    for answer in answers:
        known.read_answer(json.dumps(answer))
    return known


@pytest.mark.parametrize(
    ("value", "name", "answer"),
    [
        (92055, "amount", {"text": "We took $920.55 twice."}),
        (-11600, "amount", {"text": "a credit of 116 EUR"}),
        ("1172000.50", "amount", {"text": "1.172.000,50 were paid"}),
        ("2027-01-06", "closedate", {"text": "They sign on 6 January 2027."}),
        ("12 March 2027", "", {"current_period_end": 1804809600}),
        ("2026-11-06T14:15:00.000Z", "hs_timestamp", {"text": "Friday, 6 November at 14:15 UTC"}),
        ("+44 115 795 5449", "phone", {"text": "call 0115 795-5449"}),
        ("closedwon", "stage", {"stages": [{"id": "closedwon", "label": "Won"}]}),
        ("active", "sign_in", {"user": {"user_fields": {"sign_in": "active"}}}),
        ("active", "sign_in", {"body": "Set the field to active when the check is passed."}),
        ("sign_in", "field", {"user_fields": {"sign_in": "locked"}}),
        ("twins/src/twins/parts.py", "new", {"text": "a new module twins.parts, please"}),
        ("Björn Ek", "", {"name": "björn  ek"}),
        ("ada@firm.example", "email", {"email": "ada(at)firm.example"}),
    ],
)
def test_a_value_is_known_in_every_spelling(value: Any, name: str, answer: Any) -> None:
    assert read(answer).knows(value, name)


@pytest.mark.parametrize(
    ("value", "name", "answer"),
    [
        ("active", "sign_in", {"subscription": {"status": "active"}}),
        (92055, "amount", {"text": "920.56"}),
        (10385, "ticket", {"text": "103.85 were paid"}),
        ("2027-01-06", "closedate", {"text": "6 February"}),
        ("+44 115 795 5449", "phone", {"text": "0115 795 5440"}),
        ("req_6772909b986539", "", {"text": "req_6772909b98653"}),
    ],
)
def test_a_value_that_stands_elsewhere_or_not_at_all_is_not_known(value: Any, name: str, answer: Any) -> None:
    assert not read(answer).knows(value, name)
