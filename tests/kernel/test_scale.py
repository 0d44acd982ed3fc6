"""A thousand forks in one process, a hundred thousand writes, one unchanged file."""

from pathlib import Path

import pytest

from services.kernel.chance import Chance
from services.kernel.forks import Forks
from services.kernel.template import Template
from services.kernel.world import World
from tests.kernel.pantry import build_pantry, schema, shelves


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_pantry(tmp_path_factory.mktemp("big"), count=20_000, name="big")


@pytest.mark.slow
def test_the_fingerprint_survives_100_000_writes_from_200_forks(big: Path) -> None:
    template = Template(big, schema)
    forks = Forks(template)
    before = big.read_bytes()
    worlds = [World(forks.take(), seed) for seed in range(200)]
    drawn = Chance(1, "writes")
    for n in range(100_000):
        world = worlds[n % 200]
        world.save(shelves, {"id": drawn.below(25_000), "label": f"w{n}", "contents": {"n": n}}, "x")

    template.verify()
    assert all(world.revision == 500 for world in worlds)
    assert big.read_bytes() == before
    forks.close()
    template.close()


def test_a_thousand_forks_are_open_at_once_and_each_sees_its_own(big: Path) -> None:
    template = Template(big, schema)
    forks = Forks(template)
    worlds = [World(forks.take(), seed) for seed in range(1000)]
    for seed, world in enumerate(worlds):
        world.save(shelves, {"id": 7, "label": f"of {seed}", "contents": {}}, "x")

    assert [world.get(shelves, 7)["label"] for world in worlds] == [f"of {seed}" for seed in range(1000)]
    assert forks.open_count == 1000
    forks.close()
    template.close()
