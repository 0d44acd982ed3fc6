"""`dayshift/Office-v0` as its users run it: one stack, every product but the IDE, one episode."""

from collections.abc import Iterator
from pathlib import Path

import dayshift
import gymnasium
import pytest

from tests.company import WORLD
from tests.control.stack import TOKEN, Stack


@pytest.fixture(scope="module")
def stack(company: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    var = tmp_path_factory.mktemp("office")
    (var / "worlds").symlink_to(company / "worlds")
    started = Stack(var, {"DAYSHIFT_WITHOUT": "ide", "DAYSHIFT_WORLDS": WORLD}).start()
    yield started
    started.stop()


@pytest.mark.parametrize(("name", "product"), [("Desk-v0", "desk"), ("Billing-v0", "billing")])
def test_a_product_without_a_task_draws_families_of_its_own(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, name: str, product: str
) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_URL", f"http://127.0.0.1:{stack.base}")
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", TOKEN)
    env = gymnasium.make(f"dayshift/{name}", world=WORLD)
    drawn = {env.reset(seed=seed)[1]["task"] for seed in range(6)}
    env.close()

    assert len(drawn) > 1
    assert all(task.startswith(f"{product}/") for task in drawn)


def test_without_a_task_the_office_draws_work_that_spans_products(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_URL", f"http://127.0.0.1:{stack.base}")
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", TOKEN)
    env = gymnasium.make("dayshift/Office-v0", world=WORLD)
    drawn = {env.reset(seed=seed)[1]["task"] for seed in range(8)}
    _, told = env.reset(seed=1, options={"task": "office/onboard-customer"})
    read, _, _, _, _ = env.step(dayshift.call("billing.prices.list", limit=3))
    _, reward, terminated, _, info = env.step(dayshift.call("submit"))
    env.close()

    assert len(drawn) > 2
    assert all(task.startswith("office/") for task in drawn)
    # What needs the IDE is not offered where there is none.
    assert "office/fix-for-customer" not in drawn
    assert (told["task"], read["status"], reward, terminated) == ("office/onboard-customer", 200, 0.0, True)
    assert {found["product"] for found in info["verdict"]["findings"]} == {"crm", "desk", "billing"}
