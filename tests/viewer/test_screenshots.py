"""The pictures of docs/review.md show the pages as they are: `DAYSHIFT_SCREENSHOTS=1 pytest tests/viewer` makes them."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.viewer.conftest import ServedViewer
from tests.viewer.pictures import DOCS, LARGEST_DIFFERENCE, assert_like_the_guide, compare_pictures
from tests.viewer.test_pages import OFFICE, PAGES

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

    assert_like_the_guide(page, f"review-{name}", "review.md", tmp_path)


def test_two_pages_are_never_taken_for_one() -> None:
    files = [DOCS / "pictures" / f"review-{name}.png" for name in PICTURES]

    for first, second in combinations(files, 2):
        assert compare_pictures(first, second) > LARGEST_DIFFERENCE, (first.name, second.name)
    assert compare_pictures(files[0], files[0]) == 0
