"""Every version of every bug, through the grader: `make courier-bugs`.

As found, the service's own suite passes and the hidden cases do not; every right fix passes them, and no wrong one.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from fixtures.codebase.courier_bugs.format import courier_bugs
from fixtures.codebase.courier_bugs.instance import CourierInstance
from fixtures.codebase.courier_tree import NAME, SOURCE
from services.ide.grading.node_checks import ScenariosPass
from services.ide.sandbox import pool
from services.ide.sandbox.image import Image, ImageEntry
from services.ide.sandbox.system_files import HOME
from services.kernel.config import SandboxSettings, Settings

pytestmark = pytest.mark.anyio
_SEEDS = (1, 2)
_SUITE = ["node", "--test", "tests/*.test.ts"]


@pytest.fixture
async def sandboxes() -> AsyncIterator[pool.SandboxPool]:
    await pool.open_pool(replace(Settings(), sandbox=SandboxSettings.from_environment()))
    yield pool.current_pool()
    await pool.close_pool()


def sources(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items() if path.startswith(SOURCE)}


@pytest.mark.parametrize("name", list(courier_bugs()))
@pytest.mark.parametrize("seed", _SEEDS)
async def test_right_fixes_pass_and_wrong_ones_do_not(sandboxes: pool.SandboxPool, name: str, seed: int) -> None:
    instance = CourierInstance(courier_bugs()[name])
    check = ScenariosPass(root=NAME, kit=instance.grading_kit())
    start = sources(instance.head)
    bug = instance.bug
    rights = {"reference": instance.reference, **{way: instance.solve(edits) for way, edits in bug.rights.items()}}
    wrongs = {way: instance.solve(edits) for way, edits in bug.wrongs.items()}

    scores = {
        way: (await check.grade_sources({**start, **sources(files)}, start, seed))[0]
        for way, files in {**rights, **wrongs}.items()
    }

    assert sandboxes.grader_slots is not None
    assert scores == {**dict.fromkeys(rights, Fraction(1)), **dict.fromkeys(wrongs, Fraction(0))}


@pytest.mark.parametrize("name", list(courier_bugs()))
async def test_the_suite_does_not_show_the_bug(sandboxes: pool.SandboxPool, name: str) -> None:
    head = CourierInstance(courier_bugs()[name]).head
    sandbox = await sandboxes.take()
    await Image.of(ImageEntry(path, 0o100644, text.encode()) for path, text in head.items()).lay_out(sandbox)

    result = await sandbox.run(_SUITE, cwd=HOME, seconds=110)

    sandbox.end()
    assert result.exit_code == 0, result.text
