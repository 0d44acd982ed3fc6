"""Reviews: kept beside the recordings, comparable between two people, and respected by exports."""

import json
from collections import Counter
from pathlib import Path

import pytest
from dayshift.cli import main
from dayshift.errors import UsageError
from dayshift.recorder import Recorder
from dayshift.review.agreement import agreement, cohen_kappa
from dayshift.review.exporting import BLAMED_ON_HARNESS, leave_out_disputed
from dayshift.review.sampling import sample
from dayshift.review.store import (
    REVIEWS,
    TAXONOMY,
    FileReviewStore,
    Review,
    RunReviewStore,
    find_blamed_on_harness,
    load_reviews,
)
from dayshift.review.taxonomy import DEFAULT_TAXONOMY, Label, Taxonomy
from dayshift.viewer.recordings_source import RecordingsSource
from pydantic import ValidationError

from tests.review.build import row, step, trajectory


def review(key: str = "a" * 24, reviewer: str = "ada", **values: object) -> Review:
    return Review.model_validate({"key": key, "reviewer": reviewer, "blame": "model", **values})


def test_the_last_review_of_a_reviewer_stands_and_the_first_stays_in_the_file(tmp_path: Path) -> None:
    store = FileReviewStore(tmp_path)
    store.save(review(note="first"))
    store.save(review(note="second"))
    store.save(review(reviewer="bob", blame="harness"))

    assert {(each.reviewer, each.note) for each in store.reviews()} == {("ada", "second"), ("bob", "")}
    assert "first" in (tmp_path / REVIEWS).read_text()
    assert all(each.at for each in store.reviews())


def test_a_deleted_review_is_gone_for_readers(tmp_path: Path) -> None:
    store = FileReviewStore(tmp_path)
    store.save(review())
    store.delete("a" * 24, "ada")

    assert store.reviews() == []


def test_a_torn_line_costs_no_other_review(tmp_path: Path) -> None:
    store = FileReviewStore(tmp_path)
    store.save(review())
    with (tmp_path / REVIEWS).open("a") as file:
        file.write('{"key": "half')
    store.save(review(reviewer="bob"))

    assert [each.reviewer for each in store.reviews()] == ["ada", "bob"]


def test_a_line_that_is_no_review_is_named(tmp_path: Path) -> None:
    (tmp_path / REVIEWS).write_text('{"key": "a", "reviewer": "ada", "blame": "nobody"}\n')

    with pytest.raises(UsageError, match=r"reviews\.jsonl:1 is not a review"):
        FileReviewStore(tmp_path).reviews()


def test_reviews_of_subfolders_are_found(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    FileReviewStore(tmp_path / "run").save(review())

    assert [each.key for each in load_reviews(tmp_path)] == ["a" * 24]


@pytest.mark.parametrize(
    "bad",
    [
        {"blame": "nobody"},
        {"labels": ["Not An Id"]},
        {"answers": {"earned": "maybe"}},
        {"note": "x" * 20_001},
        {"reviewer": "a\nb"},
        {"step": -1},
        {"surprise": 1},
    ],
)
def test_what_is_no_review_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        review(**bad)


def test_the_teams_taxonomy_replaces_ours_and_is_found_from_a_run_below_it(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    own = Taxonomy(labels=[Label(id="slow", title="Too slow")], questions=[])
    FileReviewStore(tmp_path).save_taxonomy(own)

    assert FileReviewStore(tmp_path / "run").taxonomy() == own

    slow = '{"id": "slow", "title": "Too slow"}'
    (tmp_path / TAXONOMY).write_text(f'{{"labels": [{slow}, {slow}], "questions": []}}')
    with pytest.raises(UsageError, match="two entries are called 'slow'"):
        FileReviewStore(tmp_path).taxonomy()


def test_the_taxonomy_is_written_for_editing_and_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", str(tmp_path), "--write-taxonomy"]) == 0
    assert FileReviewStore(tmp_path).taxonomy() == DEFAULT_TAXONOMY

    assert main(["review", str(tmp_path), "--write-taxonomy"]) == 2
    assert "exists already" in capsys.readouterr().err


def test_kappa_is_cohens() -> None:
    # Cohen's table of two raters: 20 agreed yes, 15 agreed no, 5 and 10 disagreed; kappa is 0.4.
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15

    assert cohen_kappa(pairs) == pytest.approx(0.4)
    assert cohen_kappa([("y", "y")] * 3) is None
    assert cohen_kappa([]) is None
    assert cohen_kappa([("y", "n"), ("n", "y")]) == pytest.approx(-1.0)


def test_two_reviewers_are_compared_on_the_episodes_that_both_have_read() -> None:
    result = agreement(
        [
            review("one", "ada", blame="harness", labels=["bad-task"], answers={"earned": "no"}),
            review("one", "bob", blame="harness", answers={"earned": "no"}),
            review("two", "ada", blame="model"),
            review("two", "bob", blame="either"),
            review("three", "bob"),
        ]
    )

    assert result["reviewers"] == {"ada": 2, "bob": 3}
    by_subject = {each["subject"]: each for each in result["rows"]}
    assert set(by_subject) == {"blame", "label bad-task", "question earned"}
    assert (by_subject["blame"]["episodes"], by_subject["blame"]["agreed"]) == (2, 1)


def test_a_sample_has_every_outcome_and_family_before_a_second_of_one() -> None:
    rows = [row(f"p{number}", family=f"crm/{number % 3}") for number in range(300)]
    rows += [row("flagged", flags=["harm"]), row("unscored", outcome="unscored", reward=None)]
    rows += [row(f"f{number}", outcome="failed", family=f"desk/{number % 2}") for number in range(10)]

    chosen = sample(rows, 10)

    kept = [each for each in rows if each["key"] in chosen]
    assert len(kept) == 10
    assert {"flagged", "unscored"} <= set(chosen)
    assert {each["family"] for each in kept if each["outcome"] == "failed"} == {"desk/0", "desk/1"}
    assert {each["family"] for each in kept if each["key"][0] == "p"} == {"crm/0", "crm/1", "crm/2"}
    assert chosen == sample(list(reversed(rows)), 10)
    assert chosen != sample(rows, 10, seed=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Recorder(tmp_path) as recorder:
        for number in range(12):
            outcome = ("passed", "failed")[number % 2]
            recorder.record(trajectory(f"{number:024x}", outcome=outcome, steps=(step(1),)))
    return tmp_path


def test_the_command_prints_a_sample_without_what_somebody_has_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    FileReviewStore(folder).save(review(f"{0:024x}"))

    assert main(["review", str(folder), "--sample", "12", "--unreviewed-by", "ada"]) == 0

    out = capsys.readouterr().out
    assert out.count("crm/correct-contact") == 11
    assert f"{0:024x}" not in out


def test_the_command_prints_how_far_two_reviewers_agree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", str(folder), "--agreement"]) == 2
    for reviewer, blame in (("ada", "model"), ("bob", "harness")):
        FileReviewStore(folder).save(review(f"{0:024x}", reviewer, blame=blame))

    assert main(["review", str(folder), "--agreement"]) == 0
    assert "blame" in capsys.readouterr().out


def test_one_reviewer_who_blames_the_harness_keeps_an_episode_out_of_exports() -> None:
    kept, disputed = trajectory("1" * 24), trajectory("2" * 24)
    reviews = [review("2" * 24, blame="harness"), review("2" * 24, "bob"), review("1" * 24)]
    left_out: Counter[str] = Counter()

    assert list(leave_out_disputed([kept, disputed], reviews, left_out)) == [kept]
    assert left_out == {BLAMED_ON_HARNESS: 1}


@pytest.mark.parametrize("form", ["atif", "otel"])
def test_documents_carry_their_reviews_and_nothing_personal_when_redacted(
    folder: Path, tmp_path: Path, form: str
) -> None:
    FileReviewStore(folder).save(review(f"{3:024x}", labels=["wrong-record"], note="mail ann@example.com"))
    output = tmp_path / "out.jsonl"

    assert main(["export", str(folder), "--form", form, "--output", str(output), "--redact"]) == 0

    text = output.read_text()
    assert len(text.splitlines()) == 12
    assert all(json.loads(line) for line in text.splitlines())
    assert text.count("wrong-record") == 1
    assert "ann@example.com" not in text
    assert '"ada"' not in text
    assert "[person 1]" in text


def export(folder: Path, output: Path, *options: str) -> str:
    """ATIF needs no stack and leaves nothing out, so that it tells which reviews an export has read."""
    assert main(["export", str(folder), "--form", "atif", "--output", str(output), *options]) == 0
    return output.read_text()


def test_an_export_of_one_run_reads_what_was_reviewed_over_all_runs(tmp_path: Path) -> None:
    with Recorder(tmp_path / "runs" / "a") as recorder:
        recorder.record(trajectory("1" * 24))
    FileReviewStore(tmp_path / "runs").save(review("1" * 24, blame="harness", labels=["bad-task"]))

    assert find_blamed_on_harness(load_reviews(tmp_path / "runs" / "a")) == {"1" * 24}
    assert "bad-task" in export(tmp_path / "runs" / "a", tmp_path / "out.jsonl")


def test_a_review_is_saved_beside_the_run_that_it_is_about(tmp_path: Path) -> None:
    for run, key in (("a", "1" * 24), ("b", "2" * 24)):
        with Recorder(tmp_path / run) as recorder:
            recorder.record(trajectory(key))
    source = RecordingsSource([tmp_path / "a", tmp_path / "b"])
    source.update()
    store = RunReviewStore(source.folders, source.folder_of)
    store.save(review("2" * 24, blame="harness"))

    assert not (tmp_path / "a" / REVIEWS).exists()
    assert find_blamed_on_harness(load_reviews(tmp_path / "b")) == {"2" * 24}
    assert [each.key for each in store.reviews()] == ["2" * 24]
    store.delete("2" * 24, "ada")
    assert store.reviews() == load_reviews(tmp_path / "b") == []


def test_the_later_of_two_reviews_stands_wherever_it_was_saved(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    FileReviewStore(tmp_path).save(review(blame="model", at="2026-09-22T10:00:00+00:00"))
    FileReviewStore(tmp_path / "run").save(review(blame="harness", at="2026-09-21T10:00:00+00:00"))

    assert [each.blame for each in load_reviews(tmp_path / "run")] == ["model"]


def test_a_review_of_a_second_recording_of_an_episode_keeps_the_episode_out() -> None:
    again = review("run-trajectories-900", episode_id="2" * 24, blame="harness")

    assert list(leave_out_disputed([trajectory("2" * 24)], [again])) == []


def test_further_reviews_are_named(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "console"
    elsewhere.mkdir()
    FileReviewStore(elsewhere).save(review(f"{3:024x}", labels=["product-bug"]))
    output = folder / "out.jsonl"

    assert "product-bug" not in export(folder, output)
    for path in (elsewhere.parent, elsewhere / REVIEWS):
        assert "product-bug" in export(folder, output, "--reviews", str(path))
    assert main(["export", str(folder), "--form", "atif", "--output", str(output), "--reviews", "nowhere"]) == 2
