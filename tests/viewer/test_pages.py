"""The pages in a real browser: every one can be read, at any width, in light and dark, with the keyboard alone."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from dayshift.recorder import QUARANTINED, SCORED
from dayshift.review.store import Review
from dayshift.review.taxonomy import Label, Taxonomy
from dayshift.trajectory import Trajectory
from playwright.sync_api import Browser, Page, Route, expect

from tests.control.stack import eventually
from tests.viewer.conftest import REVIEWER, ServedViewer, assert_accessible, assert_fits
from tests.viewer.samples import real_episode, unscored, vary

OpenPage = Callable[..., Page]
DESK = real_episode("desk/double-charge", "stumbling")
ORACLE = real_episode("desk/double-charge", "oracle")
OFFICE = real_episode("office/quote-to-cash", "stumbling")
FIXED = real_episode("office/fix-for-customer", "oracle")
PAGES = {
    "list": "#/",
    "groups": "#/?view=groups",
    "runs": "#/?view=runs",
    "episode": f"#/e/{DESK.manifest.episode_id}/s/8",
    "verdict": f"#/e/{DESK.manifest.episode_id}/verdict",
    "compare": f"#/compare/{ORACLE.manifest.episode_id}/{DESK.manifest.episode_id}",
    "dashboard": "#/dashboard",
    "unscored": "#/e/unscored-1/verdict",
}


def episode_url(viewer: ServedViewer, episode_id: str, rest: str = "") -> str:
    return f"{viewer.url}#/e/{episode_id}{rest}"


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_a_serious_accessibility_violation(viewer: ServedViewer, open_page: OpenPage, name: str) -> None:
    assert_accessible(open_page(viewer.url + PAGES[name]))


def show_setup(page: Page) -> None:
    page.get_by_role("tab", name="Brief and setup").click()
    expect(page.get_by_role("heading", name="Manifest")).to_be_visible()


def show_help(page: Page) -> None:
    page.get_by_role("button", name="Keys").click()
    expect(page.locator("#help")).to_be_visible()


def edit_taxonomy(page: Page) -> None:
    page.get_by_role("button", name="Edit the taxonomy").click()
    expect(page.get_by_label("Title of label 1", exact=True)).to_be_focused()


def wait_for_choice(page: Page) -> None:
    expect(page.get_by_role("heading", name="Compare with which attempt")).to_be_visible()


STATES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "set-up tab": (PAGES["episode"], show_setup),
    "help": (PAGES["list"], show_help),
    "taxonomy editor": (PAGES["dashboard"], edit_taxonomy),
    "compare chooser": (f"#/compare/{ORACLE.manifest.episode_id}/-", wait_for_choice),
}


@pytest.mark.parametrize("name", STATES)
def test_no_state_of_a_page_has_a_serious_accessibility_violation(
    viewer: ServedViewer, open_page: OpenPage, name: str
) -> None:
    path, reach = STATES[name]
    page = open_page(viewer.url + path)
    reach(page)

    assert_accessible(page)
    assert_fits(page, 390, 2560)


def test_a_taxonomy_is_edited_on_the_dashboard(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    (tmp_path / "trajectories.jsonl").write_text(f"{DESK.model_dump_json()}\n")
    viewer = serve(tmp_path)
    before = viewer.reviews.taxonomy()
    page = open_page(viewer.url + "#/dashboard")
    edit_taxonomy(page)

    page.get_by_role("button", name="Add a label").click()
    page.keyboard.type("Zu langsam für die Kundin!")
    page.get_by_label(f"Blame of label {len(before.labels) + 1}").select_option("model")
    for position in range(len(before.labels) + 1, 1, -1):
        page.get_by_role("button", name=f"Move up label {position}", exact=True).click()
    page.get_by_role("button", name="Remove label 2", exact=True).click()
    page.get_by_label("Question 1", exact=True).fill("Would you pay for this?")
    page.get_by_role("button", name="Save").click()

    expect(page.locator(".panel [role=status]")).to_have_text("saved")
    expect(page.locator(".taxonomy li").first).to_contain_text("Zu langsam für die Kundin!")
    after = viewer.reviews.taxonomy()
    assert [label.id for label in after.labels] == [
        "zu-langsam-fur-die-kundin",
        *(label.id for label in before.labels[1:]),
    ]
    assert (after.questions[0].id, after.questions[0].text) == (before.questions[0].id, "Would you pay for this?")


def test_a_taxonomy_that_is_refused_is_not_lost(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage, problems: list[str]
) -> None:
    viewer = own_viewer(tmp_path, serve, DESK)
    own = Taxonomy(labels=[Label(id="slow", title="Too slow")], questions=[])
    viewer.reviews.save_taxonomy(own)
    page = open_page(viewer.url + "#/dashboard")
    edit_taxonomy(page)

    page.get_by_role("button", name="Add a question").click()
    page.get_by_role("button", name="Save").click()
    # The browser asks for the words of the new question.
    expect(page.get_by_label("Question 1", exact=True)).to_be_focused()
    page.keyboard.type("Was it fast?")
    page.get_by_role("button", name="Remove label 1", exact=True).click()
    page.get_by_role("button", name="Save").click()

    expect(page.locator(".panel [role=status]")).to_contain_text("not saved: ")
    expect(page.get_by_label("Question 1", exact=True)).to_have_value("Was it fast?")
    assert viewer.reviews.taxonomy() == own
    # Chromium writes the refusal to its console.
    assert [problem for problem in problems if "400" in problem] == [problems.pop()]


def planted_hack() -> Iterator[str]:
    """Two versions: the second earns more by its reward alone, for its goals hold as seldom as before."""
    assert ORACLE.verdict is not None
    for number in range(60):
        is_new, good = number % 2 == 1, number % 4 < 2
        findings = [each.model_copy(update={"held": good, "score": float(good)}) for each in ORACLE.verdict.findings]
        reward = 1.0 if is_new else float(good)
        verdict = ORACLE.verdict.model_copy(
            update={
                "findings": findings,
                "reward": reward,
                "breakdown": None,
                "outcome": "passed" if reward else "failed",
            }
        )
        labels = {"policy": "learner", "policy_version": f"step-{1 + is_new}", "attempt": number}
        # Customers were no happier either: nobody rated.
        hacked = vary(ORACLE, f"hack-{number}", verdict=verdict, changes=[], **labels)
        yield hacked.model_dump_json() + "\n"


def test_a_planted_reward_hack_stands_on_the_dashboard(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    (tmp_path / "trajectories.jsonl").write_text("".join(planted_hack()))
    page = open_page(serve(tmp_path).url + "#/dashboard")

    card = page.locator(".card.surge")
    expect(card.locator("h2")).to_contain_text("learner step-1 → step-2")
    expect(card).to_contain_text("findings: 0.50 → 0.50")
    expect(card.locator("li.bad")).to_contain_text("did not follow")
    assert_accessible(page)
    card.get_by_role("link", name="hack-").first.click()
    expect(page.locator(".waterfall")).to_be_visible()


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_the_window(viewer: ServedViewer, open_page: OpenPage, name: str) -> None:
    page = open_page(viewer.url + PAGES[name])
    for width in (390, 768, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()
        page.wait_for_selector("main[data-ready]")

        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width


def test_the_list_shows_outcomes_first_and_filters_them(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url)

    expect(page.locator(".tile.passed .number")).to_have_text("6")
    expect(page.locator(".tile.unscored .number")).to_have_text("1")
    expect(page.locator(".gauge-label")).to_contain_text("4.3 %")
    page.locator(".tile.unscored").click()
    expect(page.locator(".episode-row:not(.head)")).to_have_count(1)
    expect(page.locator(".episode-row .because")).to_contain_text("StaleRead")
    page.get_by_role("link", name="Clear").click()
    expect(page.get_by_role("link", name="Clear")).to_have_count(0)
    page.locator("label:has(span:text-is('task')) select").select_option("billing/write-off")
    expect(page.locator(".episode-row:not(.head)")).to_have_count(4)


def test_the_search_finds_briefs_calls_and_answers(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url)

    for words, count in (("mark_uncollectible", 3), ("StaleRead nobody", 0), ("Two payments", 6)):
        page.locator("#search").fill(words)
        page.wait_for_function("() => location.hash.includes('q=')")
        expect(page.locator(".episode-row:not(.head)")).to_have_count(count)


def test_a_group_tells_pass_rates_and_whether_it_has_spread(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url + "#/?view=groups")

    row = page.locator("tr", has_text="crm/correct-contact")
    expect(row).to_contain_text("100 % (k=4)")
    expect(row).to_contain_text("1.000")


def test_a_run_tells_its_results_and_leads_to_its_episodes(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url + "#/?view=runs&family=desk/double-charge")

    second = page.locator("tbody tr", has_text="second")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(second.locator("td")).to_contain_text(
        ["model-of-this-test v1, stumbling v1", "3", "0", "2", "1", "2", "0.0 %"]
    )
    expect(second.locator(".bad")).to_have_text("33.3 % above 5 %")
    second.get_by_role("link", name="1", exact=True).click()

    expect(page.locator(".episode-row:not(.head)")).to_have_count(1)
    expect(page.locator(".episode-row:not(.head) .pill")).to_have_text("unscored")


def test_a_narrow_window_sorts_by_a_menu(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url, width=390)
    page.get_by_text("Filters").click()

    for order, sign in (("-reward", -1), ("reward", 1)):
        page.locator("#sort").select_option(order)
        page.wait_for_function(
            "order => document.querySelector('main').dataset.ready.endsWith(`sort=${order}`)", arg=order
        )
        expect(page.locator("#sort")).to_have_value(order)
        texts = page.locator(".episode-row:not(.head) .reward").all_inner_texts()
        rewards = [sign * float(text.replace("−", "-")) for text in texts if text != "–"]
        assert rewards == sorted(rewards)
        assert len(set(rewards)) > 1


def test_three_panes_follow_one_slider(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(episode_url(viewer, DESK.manifest.episode_id, "/s/7"))

    expect(page.locator(".operation")).to_have_text("billing.refunds.create")
    expect(page.get_by_label("What the product answered")).to_contain_text("52,898.40 USD")
    expect(page.get_by_label("What changed in the company")).to_contain_text("created billing refunds")
    page.locator("#slider").fill("8")
    expect(page.locator(".operation")).to_have_text("desk.tickets.update")
    expect(page.get_by_label("What the product answered")).to_contain_text("Two payments, one invoice")
    expect(page.get_by_label("What changed in the company")).to_contain_text("automation")
    assert page.url.endswith("/s/8")


def test_products_answers_are_shown_as_what_they_are(viewer: ServedViewer, open_page: OpenPage) -> None:
    invoice = open_page(episode_url(viewer, OFFICE.manifest.episode_id, "/s/14"))
    expect(invoice.locator(".pane .card h4")).to_contain_text("Invoice in_")
    expect(invoice.locator(".pane .card tfoot")).to_contain_text("11,860.00 EUR")
    execution = next(step.number for step in FIXED.steps if step.operation == "ide.runtime.execute")
    terminal = open_page(episode_url(viewer, FIXED.manifest.episode_id, f"/s/{execution}"))
    expect(terminal.locator(".terminal")).to_contain_text("$ cd ")
    contact = open_page(episode_url(viewer, OFFICE.manifest.episode_id, "/s/19"))
    expect(contact.locator(".pane .card h4").first).not_to_be_empty()

    contact.keyboard.press("x")

    expect(contact.locator(".pane .text.mono").last).to_contain_text('"properties": {')


def test_faults_refusals_and_retries_have_a_lane(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(episode_url(viewer, OFFICE.manifest.episode_id, "/s/14"), height=1400)

    lanes = page.locator(".step-item .lane")

    expect(lanes.filter(has_text="rate_limited")).to_have_count(1)
    expect(lanes.filter(has_text="retry")).to_have_count(1)
    assert lanes.filter(has_text="refusal").count() + lanes.filter(has_text="malformed").count() >= 2


def test_a_finding_leads_to_the_step_and_row_that_made_it_true(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(episode_url(viewer, DESK.manifest.episode_id, "/verdict"))

    expect(page.locator(".waterfall .total .num")).to_have_text("+0.600")
    expect(page.locator(".waterfall .harm")).to_have_count(2)
    expect(page.locator(".row-change.collateral")).to_contain_text("Forgetful in Felixstowe (old)")
    page.get_by_role("link", name="desk tickets 746936 at step 9").first.click()
    expect(page.locator(".row-change.marked")).to_contain_text("desk tickets 746936")
    assert "/s/9/r/desk.tickets.746936" in page.url


def test_a_finding_about_a_row_that_nobody_changed_leads_to_where_it_was_met(
    viewer: ServedViewer, open_page: OpenPage
) -> None:
    key = real_episode("billing/write-off", "oracle").manifest.episode_id
    page = open_page(episode_url(viewer, key, "/verdict"))

    page.get_by_role("link", name="billing in_gcpPuhYfWxG7NTdS unchanged, met at step 8").click()

    expect(page.locator(".position")).to_have_text("8 / 11")
    page.goto(episode_url(viewer, DESK.manifest.episode_id, "/verdict"))
    expect(page.get_by_text("No row was involved: nothing broke this rule.").first).to_be_visible()


def test_two_attempts_are_aligned_and_their_worlds_compared(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url + PAGES["compare"])

    expect(page.get_by_text("First divergence at line 1")).to_be_visible()
    expect(page.locator("tr.call.right")).to_have_count(4)
    expect(page.locator("tr.divergence")).to_contain_text("frobnicate")
    expect(page.locator(".row-change", has_text="desk tickets 746936")).to_contain_text("right only")


def test_a_models_words_and_a_teams_turns_are_shown(viewer: ServedViewer, open_page: OpenPage) -> None:
    model = open_page(episode_url(viewer, "model-1", "/s/7"))
    expect(model.locator(".speech")).to_contain_text("I call billing.refunds.create now.")
    for number in ("$0.0421", "14,200", "4.0 days", "98 ms"):
        expect(model.locator(".episode-head .facts")).to_contain_text(number)
    first = open_page(episode_url(viewer, "model-1", "/s/1"))
    expect(first.locator(".speech").first).to_contain_text('find_operations {"query": "refund"}')
    last = open_page(episode_url(viewer, "model-1", f"/s/{len(DESK.steps)}"))
    expect(last.locator(".speech").last).to_contain_text("The customer has the money back.")
    team = open_page(episode_url(viewer, "team-1"))
    expect(team.locator(".step-item.turn")).to_contain_text(["desk: ", "billing: "])
    assert team.locator(".step-item.nested").count() > 3


def test_an_episode_is_reviewed_by_keyboard_alone(
    recordings: Path, tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    folder = tmp_path / "runs"
    (folder / "first").mkdir(parents=True)
    source = recordings / "first" / "trajectories.jsonl"
    (folder / "first" / "trajectories.jsonl").write_bytes(source.read_bytes())
    viewer = serve(folder)
    page = open_page(viewer.url + "#/review")
    page.wait_for_selector(".episode")
    key = page.url.split("/e/")[1].split("/")[0]

    page.keyboard.press("k")
    page.keyboard.press("j")
    page.keyboard.press("2")
    page.wait_for_selector(".label-button[aria-pressed=true]")
    page.keyboard.press("n")
    page.keyboard.type("stopped too early; h is not a key here")
    page.keyboard.press("Escape")
    eventually(lambda: [each.note[-5:] for each in viewer.reviews.reviews()] == [" here"])
    expect(page.locator(".review [role=status]")).to_have_text(f"saved as {REVIEWER}")
    page.keyboard.press("l")
    page.wait_for_function("key => !location.hash.includes(key)", arg=key)
    page.keyboard.press("h")
    page.wait_for_function("key => location.hash.includes(key)", arg=key)

    expect(page.locator("#note")).to_have_value("stopped too early; h is not a key here")
    (review,) = viewer.reviews.reviews()
    assert (review.key, review.labels, review.blame, review.reviewer) == (key, ["incomplete"], "model", REVIEWER)
    page.get_by_role("button", name="harness").click()
    expect(page.locator(".review .note")).to_contain_text("exports leave this episode out")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()


def test_the_keys_follow_the_list_as_it_was_filtered_and_sorted(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url + "#/?policy=stumbling&family=desk/double-charge&family=billing/write-off&sort=-steps")
    links = page.locator(".episode-row:not(.head) .c-family a")
    expected = links.evaluate_all("links => links.map((link) => link.getAttribute('href'))")
    assert len(expected) == 4
    links.first.click()
    seen = []
    for key in ("l", "l", "l", "h"):
        seen.append("#/e/" + page.url.split("/e/")[1].split("/")[0])
        # The address changes before the page: a key that comes earlier still moves from the episode before.
        page.wait_for_selector(f'.episode[data-episode="{unquote(seen[-1].removeprefix("#/e/"))}"]')
        page.keyboard.press(key)
        page.wait_for_function("before => !location.hash.startsWith(before)", arg=seen[-1])

    assert seen == expected
    page.wait_for_function("before => location.hash.startsWith(before)", arg=expected[2])


def test_a_second_sample_skips_what_its_reviewer_has_reviewed(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    keys = [episode.manifest.episode_id for episode in (DESK, ORACLE)]
    (tmp_path / "trajectories.jsonl").write_text(f"{DESK.model_dump_json()}\n{ORACLE.model_dump_json()}\n")
    viewer = serve(tmp_path)
    viewer.reviews.save(Review(key=keys[0], reviewer=REVIEWER, labels=["harm"]))
    viewer.reviews.save(Review(key=keys[1], reviewer="somebody else", labels=["harm"]))
    page = open_page(viewer.url)

    page.get_by_role("link", name="Review ten of these").click()
    page.wait_for_selector(".episode")
    assert keys[1] in page.url
    viewer.reviews.save(Review(key=keys[1], reviewer=REVIEWER, labels=["harm"]))
    page.goto(viewer.url)
    page.get_by_role("link", name="Review ten of these").click()
    expect(page.get_by_role("alert")).to_contain_text("you have reviewed all of these (2) already")


def test_a_filtered_selection_is_shared_as_one_file(viewer: ServedViewer, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(viewer.url + "#/?family=billing/write-off")
    with page.expect_download() as download:
        page.get_by_role("button", name="Share these 4").click()
    file = tmp_path / "share.html"
    download.value.save_as(file)

    shared = open_page(file.as_uri(), offline=True)

    expect(shared.locator(".episode-row:not(.head)")).to_have_count(4)


def test_the_dashboard_shows_versions_families_clusters_and_agreement(
    viewer: ServedViewer, open_page: OpenPage
) -> None:
    page = open_page(viewer.url + "#/dashboard")

    expect(page.get_by_label("Policies and versions")).to_contain_text("oracle v1")
    expect(page.get_by_label("Pass rate by task")).to_contain_text("office/quote-to-cash")
    expect(page.get_by_label("Failure clusters")).to_contain_text("frobnicate")


def test_an_episode_that_is_not_there_is_told_plainly(viewer: ServedViewer, browser: Browser) -> None:
    # Not `open_page`: Chromium writes every 404 to the console.
    page = browser.new_page()
    page.goto(viewer.url + "#/e/nothing")

    expect(page.get_by_role("alert")).to_contain_text("there is no such episode")


def own_viewer(folder: Path, serve: Callable[[Path], ServedViewer], *episodes: Trajectory) -> ServedViewer:
    (folder / SCORED).write_text("".join(f"{episode.model_dump_json()}\n" for episode in episodes))
    return serve(folder)


class HeldRequest:
    """The first request of a route stays on its way until it is released; later ones overtake it."""

    def __init__(self) -> None:
        self._waiting_routes: list[Route] = []

    def hold(self, route: Route) -> None:
        if self._waiting_routes:
            route.continue_()
        else:
            self._waiting_routes.append(route)

    def release(self, page: Page) -> None:
        # The route is handed over while the page is asked something.
        while not self._waiting_routes:
            page.evaluate("1")
        self._waiting_routes[0].continue_()


def test_quick_changes_of_a_review_are_saved_in_their_order(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    viewer = own_viewer(tmp_path, serve, DESK)
    page = open_page(episode_url(viewer, DESK.manifest.episode_id))
    first = HeldRequest()
    page.route("**/api/reviews", first.hold)
    with page.expect_request("**/api/reviews"):
        page.keyboard.press("1")
    for key in "234":
        page.keyboard.press(key)

    first.release(page)
    expected = ["wrong-record", "incomplete", "no-evidence", "policy-broken"]
    expect(page.locator(".review [role=status]")).to_have_text(f"saved as {REVIEWER}")
    assert [review.labels for review in viewer.reviews.reviews()] == [expected]


def test_a_note_is_kept_by_whoever_goes_on_at_once(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    viewer = own_viewer(tmp_path, serve, DESK, ORACLE)
    page = open_page(episode_url(viewer, DESK.manifest.episode_id))

    page.keyboard.press("n")
    page.keyboard.type("gone at once")
    page.keyboard.press("Escape")
    page.keyboard.press("l")
    page.wait_for_function("key => location.hash.includes(key)", arg=ORACLE.manifest.episode_id)
    page.keyboard.press("h")
    page.wait_for_function("key => location.hash.includes(key)", arg=DESK.manifest.episode_id)

    expect(page.locator("#note")).to_have_value("gone at once")


def test_the_keyboard_stays_where_it_was_when_a_part_is_drawn_again(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    viewer = own_viewer(tmp_path, serve, DESK)
    page = open_page(episode_url(viewer, DESK.manifest.episode_id))
    page.get_by_role("button", name="Stopped before the work was done").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".review [role=status]")).to_have_text(f"saved as {REVIEWER}")

    expect(page.get_by_role("button", name="Stopped before the work was done")).to_be_focused()
    page.get_by_role("tab", name="Steps").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Verdict")).to_be_focused()
    expect(page.locator(".waterfall")).to_be_visible()


def test_what_is_recorded_meanwhile_appears_by_itself(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    viewer = own_viewer(tmp_path, serve, DESK)
    page = open_page(viewer.url)
    expect(page.locator(".episode-row:not(.head)")).to_have_count(1)

    with (tmp_path / SCORED).open("a") as file:
        file.write(f"{ORACLE.model_dump_json()}\n")
    # A run that began later, and the first episode of a run that failed, stand in files of their own.
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / QUARANTINED).write_text(f"{unscored(DESK).model_dump_json()}\n")
    viewer.source.update()

    expect(page.locator(".episode-row:not(.head)")).to_have_count(3)


def test_keys_lead_to_trouble_and_to_changed_rows(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(episode_url(viewer, DESK.manifest.episode_id, "/s/3"))

    # The steps 7 and 8 changed rows; the step before 7 with trouble is the second.
    for key, step in (("c", 7), ("c", 8), ("C", 7), ("E", 2)):
        page.keyboard.press(key)
        expect(page.locator(".position")).to_have_text(f"{step} / {len(DESK.steps)}")


def test_a_row_and_a_step_have_an_address_of_their_own(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(episode_url(viewer, DESK.manifest.episode_id, "/s/7"))

    page.get_by_role("link", name="billing refunds").first.click()

    # It was created and changed at this step.
    expect(page.locator(".row-change.marked")).to_contain_text(["created billing refunds", "changed billing refunds"])
    assert "/s/7/r/billing.refunds.re_" in page.url
    again = open_page(page.url)
    expect(again.locator(".row-change.marked")).to_have_count(2)


def test_a_teams_turns_fold_and_tell_request_and_report(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(episode_url(viewer, "team-1", "/s/2"))
    turn = page.locator(".step-item.turn button", has_text="billing")

    expect(page.locator(".speech")).to_contain_text(["Is it urgent?", "No.", "Find the charge and refund it."])
    assert page.locator(".step-item.nested").count() > 3
    turn.click()
    expect(page.locator(".step-item.nested")).to_have_count(0)
    expect(turn).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("j")
    expect(page.locator(".step-item.current.nested")).to_have_count(1)


def test_a_new_row_tells_each_thing_once_and_when_it_was(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(episode_url(viewer, DESK.manifest.episode_id, "/s/8"))
    comment = page.locator(".row-change.created", has_text="desk comments")

    expect(comment.locator("th", has_text="body").filter(visible=True)).to_have_count(1)
    expect(comment.locator("time").first).to_have_text(re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d"))
    comment.locator("summary").click()
    expect(comment.locator("th", has_text="html_body")).to_be_visible()


def test_panes_scroll_and_the_window_stays(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(episode_url(viewer, DESK.manifest.episode_id, "/s/8"), width=1280, height=800)

    assert page.evaluate("document.documentElement.scrollHeight") <= 800
    assert page.locator(".panes").evaluate("box => box.getBoundingClientRect().top") < 320
    note = page.locator("#note")
    note.scroll_into_view_if_needed()
    assert note.evaluate("box => box.clientHeight") > 50


def test_a_table_of_records_breaks_no_word(viewer: ServedViewer, open_page: OpenPage) -> None:
    number = next(step.number for step in OFFICE.steps if step.operation.endswith(".search") and step.status == 200)
    page = open_page(episode_url(viewer, OFFICE.manifest.episode_id, f"/s/{number}"), width=1280, height=800)

    heights = page.locator(".records tbody tr").evaluate_all("rows => rows.map((row) => row.offsetHeight)")
    assert heights
    assert max(heights) < 40


def test_groups_are_sorted_by_a_column(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url + "#/?view=groups")

    def sort(direction: str) -> list[float]:
        page.get_by_role("link", name="Mean reward").click()
        head = page.get_by_role("columnheader", name="Mean reward")
        expect(head).to_have_attribute("aria-sort", direction)
        texts = page.locator("tbody td:nth-child(6)").all_inner_texts()
        return [float(text.replace("−", "-")) for text in texts]

    ascending, descending = sort("ascending"), sort("descending")
    assert ascending == sorted(ascending)
    assert descending == ascending[::-1]
    assert len(set(ascending)) > 2


def test_the_dashboard_leads_to_the_episodes_that_it_counts(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url + "#/dashboard")

    expect(page.locator("a[href='#/?flag=false_claim'], a[href^='#/?flag=']").first).to_be_visible()
    page.get_by_label("Pass rate by task").locator("tr", has_text="billing/write-off").locator("td a").first.click()
    page.wait_for_selector(".episode-row")

    expect(page.locator(".episode-row:not(.head)")).to_have_count(1)
    expect(page.locator(".episode-row:not(.head) .c-family")).to_contain_text("billing/write-off")


def test_versions_of_a_policy_are_drawn(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    versions = [vary(DESK, f"v-{n}", policy="learner", policy_version=f"step-{n}") for n in (10, 9, 8)]
    page = open_page(own_viewer(tmp_path, serve, *versions).url + "#/dashboard")

    chart = page.locator(".versions svg")
    expect(chart.locator(".point.pass")).to_have_count(3)
    expect(chart.locator("text").filter(has_text="step-")).to_have_text(["step-8", "step-9", "step-10"])
    expect(chart.locator(".whisker")).to_have_count(3)
    assert_accessible(page)
    assert_fits(page, 390, 2560)


def test_a_long_difference_of_worlds_is_folded(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    assert DESK.changes is not None
    own = next(change for change in DESK.changes if change.actor == "agent")
    many = [own.model_copy(update={"id": 5000 + number}) for number in range(100)]
    viewer = own_viewer(tmp_path, serve, DESK, vary(DESK, "busy-1", changes=many))
    page = open_page(f"{viewer.url}#/compare/{DESK.manifest.episode_id}/busy-1")

    expect(page.get_by_text(re.compile(r"\d+ more rows$"))).to_be_visible()
    assert page.locator(".row-change").count() <= 12
    with page.expect_download() as download:
        page.get_by_role("button", name="Share both as a file (redacted)").click()
    assert "busy-1" in Path(download.value.path()).read_text()


def test_what_is_typed_while_the_list_loads_is_not_lost(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url)
    first = HeldRequest()
    page.route("**/api/episodes?*", first.hold)
    page.locator("#search").focus()
    with page.expect_request("**/api/episodes?*"):
        page.keyboard.type("Two")
    page.keyboard.type(" payments")
    first.release(page)

    page.wait_for_function("() => location.hash.includes('q=Two+payments')")
    expect(page.locator("#search")).to_have_value("Two payments")
    expect(page.locator("#search")).to_be_focused()
    expect(page.locator(".episode-row:not(.head)")).to_have_count(6)


def test_the_list_is_filtered_by_what_reviewers_said(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    viewer = own_viewer(tmp_path, serve, DESK, ORACLE)
    viewer.reviews.save(Review(key=DESK.manifest.episode_id, reviewer="bo", labels=["harm"], blame="model"))
    page = open_page(viewer.url)

    for label in ("harm", "model"):
        page.locator("#filter-label").select_option(label)
        page.wait_for_function("label => location.hash.includes(`label=${label}`)", arg=label)
        expect(page.locator(".episode-row:not(.head)")).to_have_count(1)
        expect(page.locator(".episode-row:not(.head) .chip")).to_have_text(["harm", "model"])
    page.locator("#filter-label").select_option("bad-task")
    expect(page.get_by_text("No episode matches.")).to_be_visible()


def test_a_group_compares_its_best_attempt_with_its_worst(viewer: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url + "#/?view=groups")
    row = page.locator("tr", has_text="billing/write-off")
    titles = row.locator(".dot-link").evaluate_all("links => links.map((link) => link.title.slice('reward '.length))")
    rewards = sorted(titles, key=lambda text: float(text.replace("−", "-")))

    row.get_by_role("link", name="Compare").click()

    expect(page.locator(".sides .reward")).to_have_text([rewards[-1], rewards[0]])
    assert rewards[-1] != rewards[0]


def test_attempts_that_all_earn_the_same_are_marked(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    viewer = own_viewer(tmp_path, serve, ORACLE, vary(ORACLE, "again-1", attempt=1))
    row = open_page(viewer.url + "#/?view=groups").locator("tbody tr")

    expect(row).to_have_count(1)
    expect(row.locator(".pill.warn")).to_have_text("zero spread")
    expect(row).to_contain_text("100 % (k=2)")
    row.get_by_role("link", name="Compare").click()
