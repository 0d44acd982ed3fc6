"""The viewer answers its own pages alone."""

import httpx
import pytest
from dayshift.review.store import Review

from tests.viewer.conftest import ServedViewer
from tests.viewer.samples import real_episode

REVIEW = {"key": "model-1", "labels": ["harm"]}


def test_every_answer_carries_a_policy_without_inline_script(viewer: ServedViewer) -> None:
    for path in ("", "assets/app.js", "api/session", "api/episodes/nothing", "nowhere"):
        answer = httpx.get(viewer.url + path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_foreign_name_for_this_machine_is_refused(viewer: ServedViewer) -> None:
    answer = httpx.get(viewer.url + "api/session", headers={"host": "attacker.example"})

    assert answer.status_code == 403
    assert answer.json()["error"] == "unknown_host"


@pytest.mark.parametrize("path", ["api/reviews", "api/share", "api/taxonomy"])
def test_a_write_needs_the_token_of_the_page(viewer: ServedViewer, path: str) -> None:
    method = "PUT" if path == "api/taxonomy" else "POST"

    without = httpx.request(method, viewer.url + path, json=REVIEW)
    wrong = httpx.request(method, viewer.url + path, json=REVIEW, headers={"x-csrf-token": "guess"})

    assert [without.status_code, wrong.status_code] == [403, 403]


def test_a_write_from_another_origin_is_refused_even_with_the_token(viewer: ServedViewer) -> None:
    token = httpx.get(viewer.url + "api/session").json()["csrf"]
    headers = {"x-csrf-token": token, "origin": "https://attacker.example"}

    answer = httpx.post(viewer.url + "api/reviews", json=REVIEW, headers=headers)

    assert answer.json()["error"] == "foreign_origin"


def test_bad_input_is_refused_in_words(viewer: ServedViewer) -> None:
    with httpx.Client(base_url=viewer.url, timeout=120) as client:
        token = {"x-csrf-token": client.get("api/session").json()["csrf"]}
        answers = [
            client.post("api/reviews", content=b"{", headers=token),
            client.post("api/reviews", content=b"[]", headers=token),
            client.post("api/reviews", json={"key": "model-1", "blame": "nobody"}, headers=token),
            client.post("api/reviews", content=b'{"note": "' + b"x" * 1_100_000 + b'"}', headers=token),
            client.post("api/share", json={"keys": []}, headers=token),
            client.get("api/episodes", params={"limit": "-1"}),
            client.get("api/episodes", params={"min_reward": "nan"}),
            client.put("api/taxonomy", json={"labels": []}, headers=token),
        ]
        unknown = client.post("api/reviews", json={"key": "nothing"}, headers=token)
        outside = client.get("assets/..%2fapp.py")

    assert [answer.status_code for answer in answers] == [400] * len(answers)
    assert all(answer.json()["message"] for answer in answers)
    assert (unknown.status_code, outside.status_code) == (404, 404)


def test_exports_of_one_episode_are_documents_of_their_formats(viewer: ServedViewer) -> None:
    assert "resourceSpans" in httpx.get(viewer.url + "api/episodes/model-1/export/otel?redact=1").json()
    assert httpx.get(viewer.url + "api/episodes/model-1/export/atif").json()["schema_version"].startswith("ATIF")
    assert httpx.get(viewer.url + "api/episodes/model-1/export/xml").status_code == 404


@pytest.mark.parametrize("form", ["atif", "otel"])
def test_an_export_of_one_episode_is_redacted_unless_somebody_says_otherwise(viewer: ServedViewer, form: str) -> None:
    contact = real_episode("crm/correct-contact", "oracle")
    key = contact.manifest.episode_id
    viewer.reviews.save(Review(key=key, reviewer="Wilhelmina", note="ask jshin@sandspringapp.net"))
    personal = ("jshin@sandspringapp.net", "Jihoon", "Wilhelmina")

    redacted = httpx.get(f"{viewer.url}api/episodes/{key}/export/{form}").text
    raw = httpx.get(f"{viewer.url}api/episodes/{key}/export/{form}?redact=0").text
    viewer.reviews.delete(key, "Wilhelmina")

    assert [name in redacted for name in personal] == [False] * 3
    assert [name in raw for name in personal] == [True] * 3
