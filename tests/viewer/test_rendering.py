"""Answers are shown as what they are: a thread, a ticket, a deal, a diff; and whose failure or whose row it was."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from dayshift.recorder import Recorder
from playwright.sync_api import Page, expect

from tests.viewer.conftest import ServedViewer
from tests.viewer.samples import KINDS, every_kind

OpenPage = Callable[..., Page]
OPERATIONS = [operation for operation, _, _ in KINDS]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory, serve: Callable[[Path], ServedViewer]) -> ServedViewer:
    folder = tmp_path_factory.mktemp("kinds")
    with Recorder(folder) as recorder:
        recorder.record(every_kind())
    return serve(folder)


@pytest.fixture
def show(kinds: ServedViewer, open_page: OpenPage) -> Callable[[int], Page]:
    return lambda step: open_page(f"{kinds.url}#/e/kinds-1/s/{step}")


def test_a_thread_tells_replies_from_internal_notes(show: Callable[[int], Page]) -> None:
    comments = show(1).locator(".thread .comment")

    expect(comments).to_have_count(2)
    expect(comments.nth(0)).to_contain_text("Public reply by 7")
    expect(comments.nth(1)).to_contain_text("Internal note by 8")
    expect(comments.nth(1)).to_contain_text("Finance says yes.")


def test_a_ticket_and_a_deal_are_cards(show: Callable[[int], Page]) -> None:
    ticket = show(2).locator(".card.ticket")
    expect(ticket.locator("h4")).to_have_text("#41 Charged twice")
    expect(ticket.locator(".chip")).to_have_text(["open", "vip"])
    deal = show(3).locator(".pane .card")
    expect(deal.locator("h4")).to_have_text("Autumn project")
    expect(deal.locator(".chip")).to_have_text(["closedwon", "2350.00"])


@pytest.mark.parametrize("step", [4, 5, 6])
def test_patches_and_what_git_diff_prints_are_diffs(show: Callable[[int], Page], step: int) -> None:
    page = show(step)

    expect(page.locator(".diff .removed", has_text="-return hits[0]")).to_have_count(1)
    expect(page.locator(".diff .added", has_text="+return hits[-1]")).to_have_count(1)
    expect(page.locator(".diff .hunk")).to_have_text("@@ -1,3 +1,3 @@ def rank")
    if step == 4:
        expect(page.locator(".card h4")).to_have_text(["src/rank.py modified +1 −1", "logo.png added +0 −0"])
    if step == 6:
        expect(page.locator(".terminal-box")).to_contain_text("$ git diff")
        expect(page.locator(".terminal-box")).to_contain_text("exit code 0")


def test_what_only_resembles_a_diff_stays_a_terminal(show: Callable[[int], Page]) -> None:
    page = show(len(KINDS))

    expect(page.locator(".terminal")).to_contain_text("@@ not a diff")
    expect(page.locator(".diff")).to_have_count(0)


def test_our_own_error_has_a_lane_of_its_own(show: Callable[[int], Page]) -> None:
    step = OPERATIONS.index("crm.contacts.get") + 1

    lane = show(step).locator(".step-item.current .lane")

    expect(lane).to_have_class("lane error")
    expect(lane).to_have_text("error")


def test_a_colleagues_row_says_whose_it_is(show: Callable[[int], Page]) -> None:
    rows = show(1).get_by_label("What changed in the company").locator(".row-change")

    expect(rows.filter(has_text="crm objects 77").locator(".actor")).to_have_text("colleague")
    expect(rows.first.locator(".actor")).to_have_text("agent")


def test_an_issue_and_a_person_are_cards_and_not_tables_of_their_parts(show: Callable[[int], Page]) -> None:
    issue = show(OPERATIONS.index("ide.issues.get") + 1).locator(".answer .card")
    expect(issue.locator("h4")).to_have_text("#7 Wrong rank")
    expect(issue.locator(".chip")).to_have_text(["open", "bug"])
    expect(issue.locator("blockquote")).to_have_text("It ranks wrongly.")
    person = show(OPERATIONS.index("desk.users.me") + 1).locator(".answer .card")
    expect(person.locator("h4")).to_have_text("Leigh Holloway")
    expect(person.locator(".facts")).to_contain_text("l@x.io")
    person.locator("summary").click()
    expect(person.locator(".fields dt", has_text="tags")).to_have_count(0)


def test_a_long_answer_is_shown_as_what_it_is_as_far_as_it_is_whole(
    tmp_path: Path, serve: Callable[[Path], ServedViewer], open_page: OpenPage
) -> None:
    """A page of a hundred tickets is longer than what is read of an answer at once."""
    base = every_kind()
    tickets = [{"id": number, "subject": f'"{number}", ] in quotes', "body": "x" * 2_000} for number in range(100)]
    long = base.steps[0].model_copy(update={"answer": json.dumps({"tickets": tickets, "count": 100})})
    with Recorder(tmp_path) as recorder:
        recorder.record(base.model_copy(update={"steps": [long]}))
    page = open_page(f"{serve(tmp_path).url}#/e/kinds-1/s/1")

    whole = 65_536 // len(json.dumps(tickets[50]))
    expect(page.locator(".records tbody tr")).to_have_count(whole)
    expect(page.locator(".records tbody tr").last).to_contain_text(f'"{whole - 1}", ] in quotes')
    expect(page.locator(".note").first).to_contain_text("as far as it is whole")
    page.keyboard.press("x")
    expect(page.locator(".answer .text")).to_contain_text('{"tickets": [{"id": 0')
