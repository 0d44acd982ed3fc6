"""A shared file works from a disk with the network off, and tells nothing that was to be redacted."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from dayshift.cli import main
from dayshift.viewer.share import MODULES, bundle_scripts
from playwright.sync_api import Page, expect

from tests.viewer.conftest import ServedViewer
from tests.viewer.samples import real_episode

OpenPage = Callable[..., Page]
DESK = real_episode("desk/double-charge", "stumbling")
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


def test_what_is_redacted_is_nowhere_in_the_file(recordings: Path, tmp_path: Path) -> None:
    key = real_episode("crm/correct-contact", "oracle").manifest.episode_id
    redacted, raw = tmp_path / "redacted.html", tmp_path / "raw.html"

    assert main(["share", str(recordings), "--episodes", key, "--output", str(redacted)]) == 0
    assert main(["share", str(recordings), "--episodes", key, "--output", str(raw), "--raw"]) == 0

    for personal in ("jshin@sandspringapp.net", "Jihoon", "(303) 378-0071"):
        assert personal in raw.read_text()
        assert personal not in redacted.read_text()


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

    assert "none of these episodes" in capsys.readouterr().err
