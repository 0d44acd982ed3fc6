"""The pictures of docs/review.md are made here: `DAYSHIFT_SCREENSHOTS=1 pytest tests/viewer/test_screenshots.py`."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page

from tests.viewer.conftest import ServedViewer
from tests.viewer.test_pages import OFFICE, PAGES

_DOCS = Path(__file__).parents[2] / "docs"
_LARGEST = 120_000
_COLOURS = 96
PICTURES = {
    "list": (PAGES["list"], "light"),
    "episode": (f"#/e/{OFFICE.manifest.episode_id}/s/14", "light"),
    "verdict": (PAGES["verdict"], "light"),
    "compare": (PAGES["compare"], "dark"),
    "dashboard": (PAGES["dashboard"], "light"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_the_guide_shows_the_page_as_it_is(
    viewer: ServedViewer, open_page: Callable[..., Page], tmp_path: Path, name: str
) -> None:
    path, scheme = PICTURES[name]
    page = open_page(viewer.url + path, width=1360, height=850, color_scheme=scheme)
    page.wait_for_timeout(300)
    # The folder of a test's recordings has a random name.
    page.locator("#source").evaluate("node => { node.textContent = 'runs'; }")
    taken = tmp_path / "taken.png"
    page.screenshot(path=taken)

    picture = _DOCS / "pictures" / f"review-{name}.png"
    if os.environ.get("DAYSHIFT_SCREENSHOTS"):
        Image.open(taken).convert("RGB").quantize(_COLOURS).save(picture, optimize=True)
    with Image.open(taken) as now, Image.open(picture) as kept:
        assert now.size == kept.size
    assert picture.stat().st_size < _LARGEST
    assert f"pictures/review-{name}.png" in (_DOCS / "review.md").read_text()
