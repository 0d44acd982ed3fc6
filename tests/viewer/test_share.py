"""A shared file works from a disk with the network off, and tells nothing that was to be redacted."""

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from dayshift.cli import main
from dayshift.recorder import SCORED
from dayshift.review.store import REVIEWS, FileReviewStore, Review
from dayshift.viewer.share import MODULES, bundle_scripts
from playwright.sync_api import Page, expect

from tests.viewer.conftest import ServedViewer, assert_accessible
from tests.viewer.samples import real_episode

OpenPage = Callable[..., Page]
DESK = real_episode("desk/double-charge", "stumbling")
ORACLE = real_episode("desk/double-charge", "oracle")
_ASSETS = Path(__file__).parents[2] / "env_client" / "dayshift" / "viewer" / "assets"
_DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


def test_modules_can_be_put_into_one_scope() -> None:
    names = [name for module in MODULES for name in _DECLARED.findall((_ASSETS / module).read_text())]

    assert sorted(names) == sorted(set(names))
    assert not re.search(r"^(import|export) ", bundle_scripts(), re.MULTILINE)


def test_a_shared_file_opens_from_disk_without_a_network(
    viewer: ServedViewer, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(f"{viewer.url}#/e/{DESK.manifest.episode_id}/s/8")
    with page.expect_download() as download:
        page.get_by_text("Share and export").click()
        page.get_by_role("button", name="Share as a file (redacted)").click()
    file = tmp_path / "share.html"
    download.value.save_as(file)

    shared = open_page(file.as_uri(), offline=True)
    shared.get_by_role("link", name="desk/double-charge").click()
    shared.wait_for_selector(".episode")
    for _ in range(7):
        shared.keyboard.press("j")

    expect(shared.locator(".operation")).to_have_text("desk.tickets.update")
    expect(shared.get_by_label("What changed in the company")).to_contain_text("desk tickets 914500")
    shared.keyboard.press("v")
    expect(shared.locator(".waterfall .total .num")).to_have_text("+0.600")
    permalink = open_page(f"{file.as_uri()}#/e/{DESK.manifest.episode_id}/s/9/r/desk.tickets.746936", offline=True)
    expect(permalink.locator(".row-change.marked")).to_be_visible()


@pytest.fixture(scope="module")
def shared_file(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All recorded episodes, with a review of one of them."""
    folder = tmp_path_factory.mktemp("shared")
    lines = "".join(path.read_text() for path in sorted(recordings.rglob("*.jsonl")) if path.name != REVIEWS)
    (folder / SCORED).write_text(lines)
    FileReviewStore(folder).save(Review(key=DESK.manifest.episode_id, reviewer="ana", labels=["harm"]))
    file = folder / "share.html"
    assert main(["share", str(folder), "--output", str(file), "--raw"]) == 0
    return file


def test_a_shared_file_is_filtered_and_sorted_as_recordings_are(
    viewer: ServedViewer, shared_file: Path, open_page: OpenPage
) -> None:
    rows = ".episode-row:not(.head) .c-family a"
    for query in (
        "flagged=1",
        "sort=-reward",
        "sort=steps&product=billing",
        "fault=rate_limited",
        "flag=collateral&policy=stumbling",
        "version=v2&max_reward=0.5",
        "outcome=unscored",
        "q=mark_uncollectible",
    ):
        lists = []
        for url in (viewer.url, shared_file.as_uri()):
            page = open_page(f"{url}#/?{query}", height=1800)
            page.wait_for_selector(rows)
            lists.append(page.locator(rows).evaluate_all("links => links.map((link) => link.getAttribute('href'))"))
            page.context.close()
        assert lists[0] == lists[1], query


def test_a_shared_file_offers_the_values_of_its_filters(shared_file: Path, open_page: OpenPage) -> None:
    page = open_page(shared_file.as_uri(), offline=True)

    page.locator(".tile.flagged").click()
    expect(page.locator(".tile.flagged")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".episode-row:not(.head)")).to_have_count(7)
    page.get_by_role("link", name="Clear").click()
    expect(page.get_by_role("link", name="Clear")).to_have_count(0)
    page.locator("label:has(span:text-is('task')) select").select_option("billing/write-off")
    expect(page.locator(".episode-row:not(.head)")).to_have_count(4)
    page.get_by_role("link", name="Clear").click()
    expect(page.get_by_role("link", name="Clear")).to_have_count(0)
    page.locator("label:has(span:text-is('label')) select").select_option("harm")
    expect(page.locator(".episode-row:not(.head)")).to_have_count(1)
    assert_accessible(page)


def test_two_attempts_of_a_shared_file_are_compared_without_a_server(shared_file: Path, open_page: OpenPage) -> None:
    page = open_page(f"{shared_file.as_uri()}#/e/{ORACLE.manifest.episode_id}", offline=True)

    page.get_by_role("link", name="Compare").click()
    page.locator(f"main a[href$='/{DESK.manifest.episode_id}']").click()

    expect(page.get_by_text("First divergence at line 1")).to_be_visible()
    expect(page.locator("tr.call.right")).to_have_count(4)
    expect(page.locator(".row-change", has_text="desk tickets 746936")).to_contain_text("right only")
    assert_accessible(page)


def test_a_shared_file_aligns_calls_as_the_server_does(
    viewer: ServedViewer, shared_file: Path, open_page: OpenPage
) -> None:
    page = open_page(shared_file.as_uri(), offline=True)
    for family in ("billing/write-off", "office/quote-to-cash", "office/fix-for-customer"):
        left, right = (real_episode(family, policy).manifest.episode_id for policy in ("oracle", "half"))
        page.goto(f"{shared_file.as_uri()}#/compare/{left}/{right}")
        query = {"left": left, "right": right}
        comparison = httpx.get(f"{viewer.url}api/compare", params=query).json()
        same = sum(call["kind"] == "same" for call in comparison["calls"])

        expect(page.locator("h2", has_text="Calls:")).to_contain_text(
            f"{same} of {len(comparison['calls'])} are the same"
        )
        expect(page.locator("h2", has_text="Final worlds:")).to_contain_text(str(len(comparison["rows"])))


def test_what_is_redacted_is_nowhere_in_the_file(recordings: Path, tmp_path: Path) -> None:
    key = real_episode("crm/correct-contact", "oracle").manifest.episode_id
    redacted, raw = tmp_path / "redacted.html", tmp_path / "raw.html"

    assert main(["share", str(recordings), "--episodes", key, "--output", str(redacted)]) == 0
    assert main(["share", str(recordings), "--episodes", key, "--output", str(raw), "--raw"]) == 0

    for personal in ("jshin@sandspringapp.net", "Jihoon", "(303) 378-0071"):
        assert personal in raw.read_text()
        assert personal not in redacted.read_text()


def test_the_buttons_of_an_episode_redact_unless_they_say_otherwise(
    viewer: ServedViewer, open_page: OpenPage, tmp_path: Path
) -> None:
    key = real_episode("crm/correct-contact", "oracle").manifest.episode_id
    page = open_page(f"{viewer.url}#/e/{key}/s/1")
    texts = []
    page.get_by_text("Share and export").click()
    for name in ("ATIF (redacted)", "not redacted ATIF", "OpenTelemetry (redacted)", "not redacted OpenTelemetry"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        texts.append(file.read_text())

    assert ["Jihoon" in text for text in texts] == [False, True, False, True]


def test_a_reviewer_is_redacted_in_a_shared_file(tmp_path: Path) -> None:
    key = DESK.manifest.episode_id
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / SCORED).write_text(DESK.model_dump_json() + "\n")
    FileReviewStore(folder).save(Review(key=key, reviewer="Wilhelmina", labels=["harm"], note="Wilhelmina saw it"))
    file = tmp_path / "share.html"

    assert main(["share", str(folder), "--output", str(file)]) == 0
    assert "Wilhelmina" not in file.read_text()
    assert main(["share", str(folder), "--output", str(file), "--raw"]) == 0
    assert "Wilhelmina" in file.read_text()


def test_a_shared_file_names_nothing_outside_itself(recordings: Path, tmp_path: Path) -> None:
    file = tmp_path / "share.html"
    key = DESK.manifest.episode_id
    main(["share", str(recordings), "--episodes", key, "--output", str(file)])
    page = file.read_text()

    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?!data:)", page)
    assert "script-src 'sha256-" in page
    assert "unsafe-inline" not in page


def test_an_unknown_episode_is_refused(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["share", str(recordings), "--episodes", "nothing"]) == 2

    assert "no episode of" in capsys.readouterr().err
