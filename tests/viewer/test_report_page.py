"""The report's page in a real browser, from the disk."""

from collections.abc import Callable
from pathlib import Path

import pytest
from dayshift.recordings import load
from dayshift.report import summarise
from dayshift.report_html import render_html
from playwright.sync_api import Page

PHONE, DESK = 390, 1440
OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def report(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    page = tmp_path_factory.mktemp("report") / "report.html"
    page.write_text(render_html(summarise(load(recordings, quarantined=True))))
    return page.as_uri()


@pytest.mark.parametrize(("width", "scrolled"), [(PHONE, "pre, svg"), (DESK, "pre, svg, .wide")])
def test_it_needs_no_horizontal_scrolling(open_page: OpenPage, report: str, width: int, scrolled: str) -> None:
    """On a screen a wide table has a scroll bar of its own; on a phone its cells stand below each other."""
    page = open_page(report, width=width, ready="h1")
    # The steps of episodes count, too.
    page.evaluate("document.querySelectorAll('details').forEach((details) => details.open = true)")
    wide = page.evaluate(
        """(scrolled) => [...document.querySelectorAll("body *")]
        .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(scrolled))
        .map((element) => element.outerHTML.slice(0, 120))""",
        scrolled,
    )

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert wide == []


def test_a_number_of_the_standings_opens_the_list_of_its_episodes(open_page: OpenPage, report: str) -> None:
    page = open_page(report, width=PHONE, ready="h1")
    standings = page.locator("h2", has_text="Standings").locator("+ div")

    for row in range(standings.locator("tbody tr").count()):
        for link in standings.locator("tbody tr").nth(row).locator("a").all():
            link.click()
            target = page.url.partition("#")[2]
            assert page.locator(f"#{target}").is_visible()
            assert page.locator(f"#{target} a").count() > 0
