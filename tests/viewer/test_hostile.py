"""Nothing that an agent or a product wrote runs, hides or breaks the page."""

from collections.abc import Callable
from pathlib import Path

import pytest
from dayshift.cli import main
from dayshift.recorder import SCORED, Recorder
from dayshift.trajectory import Trajectory, encode_text
from playwright.sync_api import Page, expect

from tests.viewer.conftest import ServedViewer
from tests.viewer.samples import real_episode, vary

OpenPage = Callable[..., Page]
SCRIPT = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
BROKEN_OUT = "</script><script>window.hacked=1</script><!--"
TEXTS = {
    1: SCRIPT + BROKEN_OUT,
    2: '{"ticket": {"id": 1, "subject": "' + SCRIPT.replace('"', "'") + '", "tags": ["javascript:window.hacked=1"]}}',
    3: '{"stdout": "\\u001b[31mred\\u001b[0m \\u001b]0;title\\u0007 \\u001b[2J gone", "exit_code": 0}',
    4: "safe \u202egnp.exe\u2066 end \u0000 \u0007",
    5: "x" * 3_000_000,
    6: '{"properties": ' + '{"a": ' * 400 + "1" + "}" * 401,
    7: '{"results": [' + ",".join(f'{{"id": {number}, "name": "n"}}' for number in range(20_000)) + "]}",
    9: "y" * 10_000_000,
    10: "[" * 30_000 + "]" * 30_000,
    11: '{"a": [' + "[" * 30_000 + "," * 100_000,
}

LAST = max(TEXTS)


def make_hostile() -> Trajectory:
    base = real_episode("crm/correct-contact", "oracle")
    steps = [
        base.steps[0].model_copy(
            update={"number": number, "answer": text, "operation": SCRIPT, "arguments": {SCRIPT: text[:100]}}
        )
        for number, text in TEXTS.items()
    ]
    broken = base.steps[0].model_copy(update={"number": 8, "answer": encode_text(b"bad \xff\xfe utf-8 \xc3(")})
    steps.insert(7, broken)
    assert base.verdict is not None
    assert base.changes is not None
    change = base.changes[0].model_copy(
        update={"step": 1, "after": {SCRIPT: BROKEN_OUT}, "id": SCRIPT, "table": SCRIPT}
    )
    finding = base.verdict.findings[0].model_copy(update={"because": SCRIPT, "check": SCRIPT})
    verdict = base.verdict.model_copy(update={"findings": [finding], "because": SCRIPT})
    manifest = base.manifest.model_copy(update={"brief": SCRIPT + "\u202e", "open": base.manifest.open})
    hostile = vary(
        base, "hostile-1", steps=steps, changes=[change], verdict=verdict, policy=SCRIPT, policy_version=SCRIPT
    )
    return hostile.model_copy(update={"manifest": manifest.model_copy(update={"episode_id": "hostile-1"})})


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, serve: Callable[[Path], ServedViewer]) -> ServedViewer:
    folder = tmp_path_factory.mktemp("hostile")
    with Recorder(folder) as recorder:
        recorder.record(make_hostile())
    # Bytes that no recorder writes, in the middle of a line that is otherwise whole.
    with (folder / SCORED).open("ab") as file:
        line = vary(real_episode("crm/correct-contact", "oracle"), "broken-1").model_dump_json().encode()
        file.write(line.replace(b"Jihoon", b"Ji\xff\xfeon") + b"\n")
    return serve(folder)


def test_a_hostile_trajectory_renders_inert(hostile: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(f"{hostile.url}#/e/hostile-1/s/1")
    for number in range(1, LAST + 1):
        page.locator("#slider").fill(str(number))
        expect(page.locator(".position")).to_have_text(f"{number} / {LAST}")
        expect(page.get_by_label("What the product answered").locator(".answer")).to_be_visible()
        page.keyboard.press("x")
        page.keyboard.press("x")
    for tab in ("Verdict", "Brief and setup", "Steps"):
        page.get_by_role("tab", name=tab).click()
    page.goto(f"{hostile.url}#/")
    page.goto(f"{hostile.url}#/dashboard")
    page.wait_for_selector(".dashboard")

    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img, main iframe").count() == 0


def test_control_and_direction_characters_become_visible(hostile: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(f"{hostile.url}#/e/hostile-1/s/4")
    answer = page.get_by_label("What the product answered")

    expect(answer).to_contain_text("safe ⟦U+202E⟧gnp.exe⟦U+2066⟧ end ␀ ␇")
    page.locator("#slider").fill("3")
    expect(answer.locator(".terminal .ansi-1")).to_have_text("red")
    expect(answer.locator(".terminal")).to_contain_text("␛]0;title␇ ␛[2J gone")
    page.locator("#slider").fill("8")
    expect(answer).to_contain_text("bad \ufffd\ufffd utf-8 \ufffd(")


def test_a_10_mb_answer_is_shown_in_part_and_can_be_had_whole(hostile: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(f"{hostile.url}#/e/hostile-1/s/9")

    expect(page.get_by_label("What the product answered")).to_contain_text("of 10.0 MB")
    assert page.evaluate("document.body.textContent.length") < 200_000
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the whole answer").click()
    assert Path(download.value.path()).stat().st_size == 10_000_000


def test_a_line_with_broken_utf8_is_shown_with_its_signs_replaced(hostile: ServedViewer, open_page: OpenPage) -> None:
    page = open_page(f"{hostile.url}#/e/broken-1/s/1")

    expect(page.get_by_label("What the product answered")).to_contain_text("Ji\ufffd\ufffdon")


def test_a_hostile_trajectory_cannot_leave_a_shared_file(
    hostile: ServedViewer, open_page: OpenPage, tmp_path: Path
) -> None:
    file = tmp_path / "share.html"
    main(["share", str(hostile.folder), "--episodes", "hostile-1", "--output", str(file), "--raw"])

    page = open_page(f"{file.as_uri()}#/e/hostile-1/s/1", offline=True)

    expect(page.get_by_label("What the product answered")).to_contain_text("</script><script>window.hacked=1")
    assert page.evaluate("window.hacked") is None
