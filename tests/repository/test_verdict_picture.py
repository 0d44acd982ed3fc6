"""The README's picture shows what its first episode really prints."""

from pathlib import Path

import pytest

from services.docs_site.verdict_picture import PICTURE, SEED, TASK, WORLD, draw_verdicts
from tests.company import build_company

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_is_of_the_episode_that_the_readme_plays() -> None:
    readme = (ROOT / "README.md").read_text()

    assert f'dayshift.Episode.open("{TASK}", seed={SEED})' in readme
    assert f"({PICTURE.relative_to(ROOT)})" in readme


def test_the_picture_is_current(tmp_path_factory: pytest.TempPathFactory) -> None:
    drawn = draw_verdicts(build_company(tmp_path_factory, WORLD))

    assert drawn == PICTURE.read_text(encoding="utf-8"), "python -m services.docs_site.verdict_picture draws it anew"
