"""Every historical fix has a report in our words, which tells the symptom and not the place."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fixtures.upstream.catalogue import HERE, Fix, load_catalogue

FIXES = load_catalogue().fixes
TEXTS = {"title", "body", "regression_title", "regression_body"}
FEATURE_TEXTS = {"feature_title", "feature_body"}


def read_folder(folder: str) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for path in sorted(Path(HERE, folder).glob("*.json")):
        entries = json.loads(path.read_text(encoding="utf-8"))
        assert all(FIXES[fix].package == path.stem for fix in entries), path.name
        read.update(entries)
    return read


REPORTS = read_folder("reports")
INPUTS = read_folder("inputs")


def private_functions(fix: Fix) -> set[str]:
    names = {part for function in fix.functions for part in function.split("::")[-1].split(".")}
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def test_every_fix_has_a_report() -> None:
    assert set(REPORTS) == set(FIXES)


@pytest.mark.parametrize("fix", FIXES.values(), ids=lambda fix: fix.id)
def test_a_report_has_all_its_texts_and_names_no_private_function(fix: Fix) -> None:
    report = REPORTS[fix.id]

    assert set(report) == TEXTS | (FEATURE_TEXTS if fix.kind == "feature" else set())
    assert all(isinstance(text, str) and text.strip() for text in report.values())
    assert all("\n" not in text and len(text) <= 100 for name, text in report.items() if name.endswith("title"))
    if not fix.needs_new_api:
        texts = " ".join(report.values())
        assert not [name for name in private_functions(fix) if name in texts]


def test_a_report_says_which_release_its_writer_uses() -> None:
    silent = [fix.id for fix in FIXES.values() if fix.from_version not in REPORTS[fix.id]["body"]]

    assert silent == []


def test_no_two_reports_have_the_same_title() -> None:
    titles = Counter(text for report in REPORTS.values() for name, text in report.items() if name.endswith("title"))

    assert [title for title, count in titles.items() if count > 1] == []


@pytest.mark.parametrize("fix", sorted(INPUTS))
def test_inputs_are_calls_or_programs_with_enough_different_arguments(fix: str) -> None:
    spec = INPUTS[fix]
    arguments = [json.dumps(argument, sort_keys=True) for argument in spec["arguments"]]

    assert 20 <= len(arguments) == len(set(arguments)) <= 40
    if set(spec) == {"program", "arguments"}:
        code = compile(spec["program"], fix, "exec")
        assert "answer" in code.co_names
    else:
        assert set(spec) == {"module", "call", "arguments"}
        assert all(isinstance(pos, list) and isinstance(kw, dict) for pos, kw in spec["arguments"])


def test_most_fixes_have_inputs() -> None:
    assert len(INPUTS) >= 120
