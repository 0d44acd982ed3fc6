"""A viewer over recordings, and Debian's Chromium."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from dayshift.review.store import RunReviewStore
from dayshift.viewer.app import ViewerOptions, create_app
from dayshift.viewer.recordings_source import RecordingsSource
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.viewer.samples import record_all

REVIEWER = "ana"
# For whatever is not measured: a busy machine may be thirty times slower than an idle one.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)
# Debian's first; the runners of a CI may have the other.
_BROWSERS = ("chromium", "google-chrome")


class ServedViewer:
    """`dayshift view` in a thread."""

    def __init__(self, folder: Path, *, wait: bool = True) -> None:
        self.folder = folder
        self.source = RecordingsSource([folder])
        self.reading = threading.Thread(target=self.source.update, daemon=True)
        self.reading.start()
        if wait:
            self.reading.join()
        options = ViewerOptions(reviewer_of=lambda _request: REVIEWER)
        self.reviews = RunReviewStore(self.source.folders, self.source.folder_of)
        app = create_app(self.source, reviews=self.reviews, options=options)
        self._server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def start(self) -> "ServedViewer":
        self._thread.start()
        while not self._server.started:
            threading.Event().wait(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/"
        return self

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()


def assert_accessible(page: Page) -> None:
    """No serious violation, in light and in dark."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function("scheme => matchMedia(`(prefers-color-scheme: ${scheme})`).matches", arg=scheme)
        violations = Axe().run(page).response["violations"]
        serious = [violation for violation in violations if violation["impact"] in {"serious", "critical"}]
        assert not serious, [(item["id"], [node["html"][:200] for node in item["nodes"][:3]]) for item in serious]


def assert_fits(page: Page, *widths: int) -> None:
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("viewer") / "runs"
    record_all(folder)
    return folder


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., ServedViewer]]:
    started: list[ServedViewer] = []

    def start(folder: Path, *, wait: bool = True) -> ServedViewer:
        started.append(ServedViewer(folder, wait=wait).start())
        return started[-1]

    yield start
    for viewer in started:
        viewer.stop()


@pytest.fixture(scope="session")
def viewer(recordings: Path, serve: Callable[[Path], ServedViewer]) -> ServedViewer:
    return serve(recordings)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Playwright's event loop runs in this thread until it ends, so that no file after this one could run its own."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    assert path is not None, "install Debian's chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        # The sandbox of the browser needs user namespaces, which a container of a CI may lack.
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def problems() -> list[str]:
    """What the pages of a test wrote to their consoles; a test that expects an error takes it out."""
    return []


@pytest.fixture
def open_page(browser: Browser, problems: list[str]) -> Iterator[Callable[..., Page]]:
    """Opens pages; the test fails if one of them writes an error to its console."""
    contexts = []

    def open_(
        url: str, *, width: int = 1440, height: int = 900, ready: str = "main[data-ready]", **options: Any
    ) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(url)
        page.wait_for_selector(ready)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not problems, problems
