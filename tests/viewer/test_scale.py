"""Ten thousand episodes open within a second, and a 50 MB episode is read step by step. Measured in the browser."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from dayshift.recorder import SCORED, Recorder
from playwright.sync_api import Page, expect

from tests.viewer.conftest import ServedViewer
from tests.viewer.samples import long_episode, real_episode

OpenPage = Callable[..., Page]
EPISODES = 10_000
STEPS, ANSWER_CHARS = 2_000, 25_000
# Milliseconds from the navigation until rows are shown; the promise is a second.
_UNTIL_ROWS = """async () => {
  while (!document.querySelector(".episode-row:not(.head):not(.loading)")) await new Promise(requestAnimationFrame);
  return performance.now();
}"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, serve: Callable[[Path], ServedViewer]) -> ServedViewer:
    folder = tmp_path_factory.mktemp("many")
    line = real_episode("crm/correct-contact", "oracle").model_dump_json()
    episode = json.loads(line)["manifest"]["episode_id"]
    with (folder / SCORED).open("w") as file:
        file.writelines(line.replace(episode, f"episode-{number}") + "\n" for number in range(EPISODES))
    return serve(folder)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory, serve: Callable[[Path], ServedViewer]) -> ServedViewer:
    folder = tmp_path_factory.mktemp("long")
    with Recorder(folder) as recorder:
        recorder.record(long_episode(STEPS, ANSWER_CHARS))
    assert (folder / SCORED).stat().st_size > 50_000_000
    return serve(folder)


def test_ten_thousand_episodes_open_within_a_second(many: ServedViewer, open_page: OpenPage) -> None:
    warm = open_page(many.url)
    times = []
    for _ in range(3):
        warm.goto("about:blank")
        warm.goto(many.url, wait_until="commit")
        times.append(warm.evaluate(_UNTIL_ROWS))

    assert min(times) <= 1_000, times
    print(f"{EPISODES} episodes: rows after {min(times):.0f} ms")
    expect(warm.locator(".tile.passed .number")).to_have_text("10,000")
    # The end of the list comes without what lies between.
    warm.locator(".virtual.episodes").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(warm.locator("a[href='#/e/episode-9999']")).to_be_visible()
    assert warm.locator(".episode-row").count() < 100


def test_a_long_episode_is_read_step_by_step(long: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(long.url)
    received: list[int] = []
    page.on("response", lambda response: received.append(int(response.headers.get("content-length", 0))))

    opened = page.evaluate(
        """async () => {
          const start = performance.now();
          location.hash = "#/e/long-1/s/1500";
          while (!document.querySelector(".operation")) await new Promise(requestAnimationFrame);
          return performance.now() - start;
        }"""
    )
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
    expect(page.locator(".position")).to_have_text("1991 / 2000")
    expect(page.get_by_label("What the product answered")).to_contain_text("1991")

    print(
        f"opened in {opened:.0f} ms; median frame {frames[len(frames) // 2]:.0f} ms; {sum(received):,} bytes received"
    )
    assert sum(received) < 5_000_000
    assert opened <= 2_000
    assert frames[len(frames) // 2] <= 100
    assert page.locator(".step-item").count() < 60
    page.get_by_role("tab", name="Steps").click()
    page.locator(".step-list").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(page.get_by_role("button", name="2000")).to_be_visible()
