"""The console in a real browser: signing in, following an episode as it runs, deciding, playing on, and replaying."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dayshift.episode import Episode
from playwright.sync_api import Browser, Page, expect, sync_playwright

from services.console.login import COOKIE
from tests.console.conftest import APPROVED_TASK, CONSOLE_TOKEN, Console, ask_for_refund, written_notes
from tests.console.test_open_episodes import InBackground
from tests.control.stack import eventually
from tests.viewer.conftest import assert_accessible, assert_fits, open_page, problems
from tests.viewer.pictures import assert_like_the_guide

__all__ = ["open_page", "problems"]

Open = Callable[..., Episode]
OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of this module alone: while Playwright is at work, no other test of the process can run an event loop."""
    path = shutil.which("chromium")
    assert path is not None, "install Debian's chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def open_console(console: Console, open_page: OpenPage) -> OpenPage:
    """Opens a page of the console for somebody who has signed in."""
    cookie = {"name": COOKIE, "value": console.client.cookies[COOKIE], "domain": "127.0.0.1", "path": "/"}
    state = {
        "cookies": [{**cookie, "expires": -1, "httpOnly": True, "secure": False, "sameSite": "Strict"}],
        "origins": [],
    }

    def open_(path: str, **options: Any) -> Page:
        return open_page(f"{console.url}/{path}", storage_state=state, **options)

    return open_


def test_a_person_signs_in_with_the_token_and_a_name(console: Console, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(console.url)

    assert page.url.endswith("/login")
    assert_accessible(page)
    assert_fits(page, 390, 2560)
    page.get_by_label("Your name").fill("Grace")
    page.get_by_label("The console's token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text("This is not the console's token.")
    page.get_by_label("Your name").fill("Grace")
    page.get_by_label("The console's token").fill(CONSOLE_TOKEN)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name="Live")).to_be_visible()
    assert CONSOLE_TOKEN not in page.url
    page.close()


def test_a_link_leads_to_its_place_through_the_sign_in_and_whoever_signs_out_is_out(
    console: Console, browser: Browser
) -> None:
    page = browser.new_page()
    page.goto(f"{console.url}/#/dashboard")
    page.get_by_label("Your name").fill("Grace")
    page.get_by_label("The console's token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Your name").fill("Grace")
    page.get_by_label("The console's token").fill(CONSOLE_TOKEN)
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    assert page.url == f"{console.url}/#/dashboard"
    expect(page.locator("#account")).to_contain_text("Grace")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your name")).to_be_visible()
    page.goto(f"{console.url}/#/live")
    expect(page.get_by_label("Your name")).to_be_visible()
    page.close()


def test_a_link_from_another_site_finds_whoever_has_signed_in(console: Console, open_console: OpenPage) -> None:
    """The cookie is strict: it does not come with such a link."""
    page = open_console("#/")
    page.goto(f"data:text/html,<a href='{console.url}/%23/dashboard'>the dashboard</a>")

    page.get_by_role("link", name="the dashboard").click()

    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    assert page.url == f"{console.url}/#/dashboard"


def test_the_tail_of_an_episode_appears_as_it_runs(open_console: OpenPage, open_episode: Open) -> None:
    episode = open_episode(seed=8)
    page = open_console("#/live")
    row = page.locator(f"tr[data-episode='{episode.id}']")
    row.get_by_role("button", name="Follow").click()
    expect(page.locator(".tail h2")).to_contain_text("0 steps")

    episode.step("crm.contacts.list", limit=1)

    expect(page.locator(".tail-lines .line")).to_have_count(1)
    expect(page.locator(".tail-lines")).to_contain_text("crm.contacts.list")
    expect(row).to_contain_text("1 of")
    episode.submit()
    expect(page.locator(".tail h2")).to_contain_text("ended: failed")


def test_an_episode_of_many_is_found(console: Console, open_console: OpenPage, open_episode: Open) -> None:
    """The console's own answer, with so many episodes as a training run opens."""
    episode = open_episode(seed=14)
    eventually(lambda: episode.id in str(console.get("live")["episodes"]))
    overview = console.get("live")
    own = next(each for each in overview["episodes"] if each["episode_id"] == episode.id)
    others = [{**own, "episode_id": f"{number:024d}", "task": f"crm/other-{number}"} for number in range(2_000)]
    crowded = {**overview, "episodes": [*others, {**own, "held_by": "Grace"}]}
    page = open_console("#/")
    page.route("**/api/live", lambda route: route.fulfill(json=crowded))
    stream = {"content_type": "text/event-stream", "body": f"event: overview\ndata: {json.dumps(crowded)}\n\n"}
    page.route("**/api/live/events", lambda route: route.fulfill(**stream))
    page.get_by_role("link", name="Live").click()

    rows = page.locator("tr[data-episode]")
    expect(rows).to_have_count(100)
    expect(rows.first).to_contain_text("paused by Grace")
    expect(page.get_by_text("and 1,901 more")).to_be_visible()
    page.get_by_label("Find open episodes").fill("other-777")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("crm/other-777")
    page.get_by_label("Find open episodes").fill("nobody")
    expect(page.get_by_text("No open episode matches.")).to_be_visible()


def test_the_live_page_is_accessible_and_fits_every_window(open_console: OpenPage, open_episode: Open) -> None:
    episode = open_episode(seed=9)
    page = open_console("#/live")
    page.locator(f"tr[data-episode='{episode.id}']").get_by_role("button", name="Follow").click()
    expect(page.locator(".tail h2")).to_contain_text("0 steps")

    assert_accessible(page)
    assert_fits(page, 390, 2560)


def test_the_live_page_is_as_the_guide_shows_it(
    console: Console, open_console: OpenPage, open_episode: Open, tmp_path: Path
) -> None:
    episode = open_episode(seed=12)
    episode.step("crm.contacts.list", limit=1)
    for action in ("pause", "resume"):
        console.do(f"live/{episode.id}/{action}")
    page = open_console("#/live", width=1360, height=850)
    page.locator(f"tr[data-episode='{episode.id}']").get_by_role("button", name="Follow").click()
    expect(page.locator(".tail-lines .line")).to_have_count(1)

    assert_like_the_guide(page, "console-live", "console.md", tmp_path)


def test_what_waits_for_a_person_is_approved_on_the_page(
    console: Console, open_console: OpenPage, open_episode: Open, tmp_path: Path
) -> None:
    episode = open_episode(APPROVED_TASK, seed=6)
    ticket = ask_for_refund(episode)
    page = open_console("#/live")
    waiting = InBackground(lambda: episode.wait(8))
    approval = page.locator(".approval", has_text=episode.id[:8])

    expect(approval).to_contain_text("Do you approve the refund")
    assert_accessible(page)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1360, "height": 850})
    assert_like_the_guide(page, "console-approval", "console.md", tmp_path)
    approval.get_by_label("Other words").fill("Approved, in full.")
    approval.get_by_role("button", name="Approve").click()
    expect(approval).to_have_count(0)

    waiting.wait()
    assert "Approved, in full." in written_notes(episode, ticket)
    assert [event["kind"] for event in console.get("audit", episode=episode.id)["events"]] == [
        "approved",
        "approval asked",
    ]


def test_a_person_plays_on_from_the_page_and_hands_back(
    console: Console, open_console: OpenPage, open_episode: Open
) -> None:
    episode = open_episode(seed=10)
    page = open_console("#/live")
    row = page.locator(f"tr[data-episode='{episode.id}']")
    row.get_by_role("button", name="Take over").click()
    tools = {tool["function"]["name"]: tool["function"]["description"] for tool in episode.surface.openai_tools()}
    own = next(name for name in episode.operations if name.replace(".", "_") in tools)
    page.get_by_label("Operation").fill(own)
    page.locator(".play summary").click()
    expect(page.locator(".play details")).to_contain_text(tools[own.replace(".", "_")][:40])
    expect(page.locator(".play details")).to_contain_text('"properties": {')
    page.get_by_label("Operation").fill("crm.contacts.list")
    page.get_by_label("Arguments, as JSON").fill('{"limit": 1}')
    page.get_by_role("button", name="Send").click()

    expect(page.locator(".play-answer")).to_contain_text("status 200")
    expect(row).to_contain_text("Ada plays")
    assert_accessible(page)
    assert_fits(page, 390, 2560)
    page.get_by_role("button", name="Hand back to the agent").click()
    expect(row).to_contain_text("runs")
    assert episode.step("crm.contacts.list", limit=1).status == 200


def test_a_step_is_replayed_from_its_page(console: Console, open_console: OpenPage, open_episode: Open) -> None:
    episode = open_episode(seed=11)
    episode.step("crm.contacts.list", limit=1)
    episode.submit()
    console.await_recorded(episode.id)
    page = open_console(f"#/e/{episode.id}/s/1")

    page.get_by_role("button", name="Replay to here").click()

    expect(page.locator(".replay-result")).to_contain_text("✓ identical to step 1")
    page.get_by_role("button", name="Copy as curl").click()
    expect(page.locator(".replay-result pre")).to_contain_text("curl -sS -X GET")
    assert_accessible(page)
    assert_fits(page, 390, 2560)
    page.get_by_role("button", name="Open at this state").click()
    expect(page.locator(".replay-result")).to_contain_text("is open in this state")
    opened = page.locator(".replay-result p").inner_text().split()[1]
    page.goto(f"{console.url}/#/live")
    page.on("dialog", lambda dialog: dialog.accept())
    row = page.locator(f"tr[data-episode='{opened}']")
    expect(row).to_contain_text("1 of")
    row.get_by_role("button", name="Close").click()
    expect(row).to_have_count(0)
    expect(page.get_by_role("region", name="Entries of the audit log")).to_contain_text("closed by a person")


def test_an_agent_is_paused_and_goes_on_from_the_page(open_console: OpenPage, open_episode: Open) -> None:
    episode = open_episode(seed=13)
    page = open_console("#/live")
    row = page.locator(f"tr[data-episode='{episode.id}']")
    row.get_by_role("button", name="Pause").click()
    expect(row).to_contain_text("paused by Ada")
    log = page.get_by_role("region", name="Entries of the audit log")
    expect(log.locator("tr", has_text=episode.id[:8])).to_contain_text("paused")
    call = InBackground(lambda: episode.step("crm.contacts.list", limit=1))

    row.get_by_role("button", name="Resume").click()

    assert call.wait().status == 200
    expect(row).to_contain_text("runs")
    expect(log.locator("tr", has_text=episode.id[:8]).first).to_contain_text("resumed")


def test_what_waits_for_a_person_is_declined_on_the_page(open_console: OpenPage, open_episode: Open) -> None:
    episode = open_episode(APPROVED_TASK, seed=7)
    ticket = ask_for_refund(episode)
    page = open_console("#/live")
    waiting = InBackground(lambda: episode.wait(8))
    approval = page.locator(".approval", has_text=episode.id[:8])

    approval.get_by_label("Other words").fill("Not this quarter.")
    approval.get_by_role("button", name="Decline").click()
    expect(approval).to_have_count(0)

    waiting.wait()
    assert "Not this quarter." in written_notes(episode, ticket)
    expect(page.get_by_role("region", name="Entries of the audit log")).to_contain_text("declined")
