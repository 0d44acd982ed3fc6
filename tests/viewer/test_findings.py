"""A finding says in plain words what was found, and leads to the rows that it is about."""

from typing import Any

import pytest
from dayshift.viewer.finding_rows import RowFinder, find_ids, find_mentions
from dayshift.viewer.model import FindingView
from dayshift.viewer.plain_words import plain_words
from dayshift.viewer.summarise import as_record, detail, summarise
from dayshift.viewer.verdict_view import finding_views

from tests.viewer.samples import real_episode, real_episodes


def change(table: str, row: int | str, *, step: int = 1, actor: str = "agent", **after: Any) -> dict[str, Any]:
    image = {"product": "billing", "table": table, "id": row, "step": step, "actor": actor}
    return {**image, "before": None, "after": after}


def finding(because: str, *, weight: float = 1.0, score: float = 1.0) -> dict[str, Any]:
    base = {"check": "C", "product": "billing", "weight": weight, "score": score}
    return {**base, "held": score == 1, "because": because}


def view(item: dict[str, Any], *changes: dict[str, Any], mentions: dict[str, int] | None = None) -> FindingView:
    (shown,) = finding_views({"findings": [item]}, RowFinder(changes, mentions or {}))
    return shown


def test_every_finding_of_real_episodes_is_linked_or_says_that_no_row_was_involved() -> None:
    for episode in real_episodes():
        record = as_record(episode)
        shown = detail(record, summarise(record, key="k", run="r"))
        assert shown["findings"]
        for each in shown["findings"]:
            assert each["rows"] or each["note"].startswith("No row was involved"), each
            assert not any(sign in each["because"] for sign in ("('", "{'", "['", "',)", "None")), each["because"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("record 7 reads {'phone': ('(303) 378-0071',)}", "record 7 reads phone: (303) 378-0071"),
        ("record 7 has {'a': None}, not {'a': ('1', '2')}", "record 7 has a: nothing, not a: 1 or 2"),
        ("records [5, 6] are untouched", "records 5, 6 are untouched"),
        ("no reply on ticket 4 says 'it's'", "no reply on ticket 4 says 'it's'"),
        ('no reply says "it\'s"', "no reply says “it's”"),
        ("ticket 4: status is None, not 'open'", "ticket 4: status is nothing, not “open”"),
        ("somebody else's ticket (330) and {broken", "somebody else's ticket (330) and {broken"),
        ("[" * 5_000, "[" * 5_000),
        ("[" * 3_000, "[" * 3_000),
    ],
)
def test_values_are_read_without_knowing_python(written: str, read: str) -> None:
    assert plain_words(written) == read


def test_ids_are_told_from_amounts_and_counts() -> None:
    text = "5289840 of ch_0cQljrieBfQAfxEP, #147, ticket 5, records [77, 78] and 36 of 36"

    assert find_ids(text) == ["ch_0cQljrieBfQAfxEP", "147", "5", "77", "78"]


def test_a_named_row_that_nobody_changed_leads_to_the_step_that_met_it() -> None:
    episode = real_episode("billing/write-off", "oracle")
    assert episode.verdict is not None
    mentions = find_mentions(episode.verdict.model_dump(), as_record(episode)["steps"])
    shown = view(finding("in_gcpPuhYfWxG7NTdS is open", weight=-4), mentions=mentions)

    (link,) = shown["rows"]
    assert (link["id"], link["changed"]) == ("in_gcpPuhYfWxG7NTdS", False)
    assert "in_gcpPuhYfWxG7NTdS" in episode.steps[(link["step"] or 0) - 1].answer


def test_a_number_that_people_use_for_a_row_leads_to_it() -> None:
    issue = change("issues", 2_116_368_907, number=147)
    shown = view(finding("#147 proposes a branch"), issue, change("labels", 9, body={"number": "148"}))

    assert [link["id"] for link in shown["rows"]] == [2_116_368_907]
    assert RowFinder([issue], {}).find_named("147 of 148 are right", "billing") == []


def test_a_broken_rule_without_a_name_leads_to_the_rows_that_broke_it() -> None:
    changes = (
        change("refunds", "re_1", step=3),
        change("customers", "cus_1", step=4),
        change("refunds", "x", actor="time"),
    )
    broken = view(finding("another refund was given", weight=-4, score=0), *changes)

    assert [(link["id"], link["step"]) for link in broken["rows"]] == [("re_1", 3)]
    assert "the agent changed these in billing" in broken["note"]
    kept = view(finding("no other refund was given", weight=-4), *changes)
    assert (kept["rows"], kept["note"]) == ([], "No row was involved: nothing broke this rule.")
