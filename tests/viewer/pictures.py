"""The pictures of the guides: made with `DAYSHIFT_SCREENSHOTS=1`, and otherwise compared with the page as it is."""

import os
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page

DOCS = Path(__file__).parents[2] / "docs"
_LARGEST = 120_000
_COLOURS = 96
_MOST_PICTURES = 20
# Pages are compared as small grey pictures: other fonts and ids stay the same, another layout does not.
_SMALL = (68, 42)
# Of 255, the mean over the picture; a page that lost its list or has another one differs by more.
LARGEST_DIFFERENCE = 6.0


def assert_like_the_guide(page: Page, name: str, guide: str, folder: Path) -> None:
    # The folder of a test's recordings has a random name.
    page.locator("#source").evaluate("node => { node.textContent = 'runs'; }")
    taken, kept = folder / "taken.png", DOCS / "pictures" / f"{name}.png"
    taken.write_bytes(take_when_still(page))
    if os.environ.get("DAYSHIFT_SCREENSHOTS"):
        Image.open(taken).convert("RGB").quantize(_COLOURS).save(kept, optimize=True)
    assert f"pictures/{name}.png" in (DOCS / guide).read_text()
    assert kept.stat().st_size < _LARGEST
    difference = compare_pictures(taken, kept)
    assert difference <= LARGEST_DIFFERENCE, (
        f"{kept} differs by {difference:.1f}: make it anew with DAYSHIFT_SCREENSHOTS=1"
    )


def take_when_still(page: Page) -> bytes:
    """A picture of the page as soon as it no longer changes; what changes all the time is taken as it is."""
    picture = page.screenshot()
    for _ in range(_MOST_PICTURES):
        before, picture = picture, page.screenshot()
        if picture == before:
            break
    return picture


def compare_pictures(first: Path, second: Path) -> float:
    """The mean difference of their brightness, after both were made small; 255 where their sizes differ."""
    with Image.open(first) as one, Image.open(second) as other:
        if one.size != other.size:
            return 255.0
        small = [
            np.asarray(each.convert("L").resize(_SMALL, Image.Resampling.BOX), dtype=float) for each in (one, other)
        ]
    return float(np.abs(small[0] - small[1]).mean())
