"""Ten thousand episodes open within a second, with an index or without; a 50 MB episode is read step by step."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import pytest
from dayshift.recorder import SCORED, Recorder
from playwright.sync_api import Browser, Page, expect

from tests.slowdown import slowdown
from tests.viewer.conftest import ServedViewer
from tests.viewer.samples import long_episode, real_episode

OpenPage = Callable[..., Page]
EPISODES = 10_000
STEPS, ANSWER_CHARS = 2_000, 25_000
ATTEMPTS, FAMILIES, LOADS = 4, 50, 5
POLICIES = ("oracle", "half", "idle", "stumbling")
_ROW = ".episode-row:not(.head):not(.loading)"
# Milliseconds from the navigation until something is shown.
_UNTIL_SHOWN = """async (selector) => {
  while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
  return performance.now();
}"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten thousand episodes of fifty families: 2,500 instances, four attempts at each, five versions of a policy."""
    file = tmp_path_factory.mktemp("many") / SCORED
    bases = [json.loads(real_episode("crm/correct-contact", policy).model_dump_json()) for policy in POLICIES]
    with file.open("w") as out:
        for number in range(EPISODES):
            instance, attempt = divmod(number, ATTEMPTS)
            record = bases[(instance + attempt) % len(bases)]
            record["manifest"]["episode_id"] = f"episode-{number}"
            record["manifest"]["open"] |= {"task": f"crm/family-{instance % FAMILIES}", "seed": instance}
            record |= {"group": f"instance-{instance}", "attempt": attempt, "policy_version": f"step-{number % 5}"}
            out.write(json.dumps(record) + "\n")
    return file


def open_copy(recorded: Path, folder: Path, serve: Callable[..., ServedViewer], *, wait: bool) -> ServedViewer:
    folder.mkdir()
    (folder / SCORED).hardlink_to(recorded)
    return serve(folder, wait=wait)


@pytest.fixture(scope="module")
def many(recorded: Path, tmp_path_factory: pytest.TempPathFactory, serve: Callable[..., ServedViewer]) -> ServedViewer:
    return open_copy(recorded, tmp_path_factory.mktemp("warm") / "runs", serve, wait=True)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory, serve: Callable[[Path], ServedViewer]) -> ServedViewer:
    folder = tmp_path_factory.mktemp("long")
    with Recorder(folder) as recorder:
        recorder.record(long_episode(STEPS, ANSWER_CHARS))
    assert (folder / SCORED).stat().st_size > 50_000_000
    return serve(folder)


def time_pages(page: Page, url: str, selector: str) -> float:
    """The median of some loads, in milliseconds of an idle machine; each begins with an empty page."""
    times, factors = [], [slowdown()]
    for _ in range(LOADS):
        page.goto("about:blank")
        page.goto(url, wait_until="commit")
        times.append(page.evaluate(_UNTIL_SHOWN, selector))
        factors.append(slowdown())
    print(f"{url}: {', '.join(f'{time:.0f}' for time in times)} ms on a machine {median(factors):.1f} times too slow")
    return float(median(times) / median(factors))


def test_ten_thousand_episodes_open_within_a_second(many: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(many.url)

    assert time_pages(page, many.url, _ROW) <= 1_000
    expect(page.locator(".tile .number").first).not_to_have_text("0")
    assert page.evaluate("[...document.querySelectorAll('.tile .number')].length") == 4
    # The end of the list comes without what lies between.
    page.locator(".virtual.episodes").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(page.locator("a[href='#/e/episode-9999']")).to_be_visible()
    assert page.locator(".episode-row").count() < 100


def test_the_groups_and_the_dashboard_of_ten_thousand_episodes_open_within_two_seconds(
    many: ServedViewer, open_page: OpenPage
) -> None:
    page = open_page(many.url)

    assert time_pages(page, f"{many.url}#/?view=groups", "tbody tr") <= 2_000
    expect(page.get_by_text("2,500 groups")).to_be_visible()
    assert time_pages(page, f"{many.url}#/dashboard", ".dashboard") <= 2_000
    expect(page.get_by_label("Pass rate by task")).to_contain_text("crm/family-49")


def test_recordings_without_an_index_show_their_first_rows_within_a_second(
    recorded: Path, tmp_path: Path, serve: Callable[..., ServedViewer], open_page: OpenPage, browser: Browser
) -> None:
    warm = browser.new_page()
    first, whole, factors = [], [], [slowdown()]
    for number in range(3):
        cold = open_copy(recorded, tmp_path / str(number), serve, wait=False)
        began = perf_counter()
        warm.goto(cold.url, wait_until="commit")
        first.append(warm.evaluate(_UNTIL_SHOWN, _ROW))
        cold.reading.join()
        whole.append(perf_counter() - began)
        factors.append(slowdown())
    warm.close()

    print(
        f"without an index: first rows after {first} ms, all can be searched after {whole} s; {factors} times too slow"
    )
    assert median(first) / median(factors) <= 1_000
    page = open_page(cold.url)
    expect(page.locator(".grid-table")).to_have_attribute("aria-rowcount", "10000")


def test_a_long_episode_is_read_step_by_step(long: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(long.url)
    received: list[int] = []
    page.on("response", lambda response: received.append(int(response.headers.get("content-length", 0))))
    factors = [slowdown()]

    opened = page.evaluate(
        """async () => {
          const start = performance.now();
          location.hash = "#/e/long-1/s/1500";
          while (!document.querySelector(".operation")) await new Promise(requestAnimationFrame);
          return performance.now() - start;
        }"""
    )
    factors.append(slowdown())
    expect(page.locator(".position")).to_have_text("1500 / 2000")
    frames = page.evaluate(
        """async () => {
          const slider = document.getElementById("slider");
          const frames = [];
          let last = performance.now();
          for (let step = 1; step <= 2000; step += 10) {
            slider.value = String(step);
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise(requestAnimationFrame);
            frames.push(performance.now() - last);
            last = performance.now();
          }
          return frames.sort((a, b) => a - b);
        }"""
    )
    factors.append(slowdown())
    expect(page.locator(".position")).to_have_text("1991 / 2000")
    expect(page.get_by_label("What the product answered")).to_contain_text("1991")

    print(
        f"opened in {opened:.0f} ms; median frame {median(frames):.0f} ms; {sum(received):,} bytes received; "
        f"a machine {median(factors):.1f} times too slow"
    )
    assert sum(received) < 5_000_000
    assert opened / median(factors[:2]) <= 2_000
    assert median(frames) / median(factors[1:]) <= 100
    assert page.locator(".step-item").count() < 60
    page.get_by_role("tab", name="Steps").click()
    page.locator(".step-list").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(page.get_by_role("button", name="2000")).to_be_visible()
