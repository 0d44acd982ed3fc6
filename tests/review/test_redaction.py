"""Redaction: nothing personal leaves the team, and what a reader needs stays."""

import json

import pytest
from dayshift.redacted_trajectory import redact_trajectory
from dayshift.redaction import Redactor

from tests.review.build import step, trajectory


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("write to ann.lee+x@mail.corvane.eu today", "ann.lee+x@mail.corvane.eu"),
        ("card 4242 4242 4242 4242 was charged", "4242 4242 4242 4242"),
        ("card 4242424242424242, exp 12/29", "4242424242424242"),
        ("IBAN DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 00"),
        ("call +49 30 901820 now", "+49 30 901820"),
        ("send it to 12 Baker Street please", "12 Baker Street"),
        ("Lieferung an Lindenstraße 12a", "Lindenstraße 12a"),
        ("key sk_live_abcDEF123456 leaked", "sk_live_abcDEF123456"),
        ("Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"),
        ("pat-eu1-1234abcd-56ef leaked", "pat-eu1-1234abcd-56ef"),
    ],
)
def test_what_is_personal_by_its_look_is_replaced(text: str, secret: str) -> None:
    redacted = Redactor().text(text)

    assert secret not in redacted
    assert "[" in redacted


@pytest.mark.parametrize(
    "text",
    [
        "ticket 41231 of 2026-09-21T14:13:20.000Z",
        "invoice in_1PQxYz of 4242424242424241 cents",
        "GET /crm/v3/objects/contacts/1234567890123",
        '{"id":7,"status":"open","amount":12900}',
        "a" * 100_000,
    ],
)
def test_what_is_not_personal_stays_byte_for_byte(text: str) -> None:
    assert Redactor().text(text) == text


def test_one_person_has_one_placeholder_in_fields_and_in_prose() -> None:
    redactor = Redactor()
    answer = json.dumps(
        {"properties": {"firstname": "Łucja", "lastname": "Nowak", "city": "Berlin"}}, ensure_ascii=False
    )

    assert json.loads(redactor.text(answer))["properties"] == {
        "firstname": "[person 1]",
        "lastname": "[person 2]",
        "city": "Berlin",
    }
    assert redactor.text("Łucja Nowak and Łucja again; Nowakowski stays") == (
        "[person 1] [person 2] and [person 1] again; Nowakowski stays"
    )


def test_a_name_is_a_persons_only_beside_an_address_or_a_role() -> None:
    redactor = Redactor()

    assert redactor.value({"name": "Enterprise plan", "price": 3}) == {"name": "Enterprise plan", "price": 3}
    assert redactor.value({"name": "Ann Lee", "email": "ann@x.eu"}) == {"name": "[person 1]", "email": "[email 1]"}


def test_a_team_adds_rules_of_its_own() -> None:
    assert Redactor({"badge": r"B-\d{6}"}).text("badge B-123456") == "badge [badge 1]"


def test_a_whole_trajectory_keeps_its_shape_and_loses_its_people() -> None:
    contact = {
        "id": "7",
        "properties": {"firstname": "Ann", "lastname": "Lee", "email": "ann@x.eu", "phone": "+49 30 901820"},
    }
    recorded = trajectory(
        brief="Correct the number of Ann Lee (ann@x.eu).",
        steps=(
            step(1, answer=json.dumps(contact), target="/crm/v3/objects/contacts?q=ann%40x.eu"),
            step(2, request="name=Ann+Lee&email=ann%40x.eu&amount=5", answer="base64:AAEC"),
        ),
    )

    redacted = redact_trajectory(recorded)

    text = redacted.model_dump_json()
    for personal in ("Ann", "Lee", "ann@x.eu", "ann%40x.eu", "901820", "AAEC"):
        assert personal not in text
    assert redacted.manifest.episode_id == recorded.manifest.episode_id
    assert [each.operation for each in redacted.steps] == [each.operation for each in recorded.steps]
    assert "amount=5" in redacted.steps[1].request
    assert redacted.verdict == recorded.verdict
    assert json.loads(redacted.steps[0].answer)["properties"]["email"] == "[email 1]"


def test_a_redacted_trajectory_is_the_same_each_time() -> None:
    recorded = trajectory(steps=(step(1, answer='{"email": "b@x.eu"}'), step(2, answer='{"email": "a@x.eu"}')))

    assert redact_trajectory(recorded) == redact_trajectory(recorded)
