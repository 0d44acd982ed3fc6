"""Every product of the catalogue has a lock on its action space, and the lock holds."""

import json
from pathlib import Path

import pytest

from services.kernel import catalog
from tests.contract import action_space


@pytest.mark.parametrize("product", catalog.all_names())
def test_the_action_space_of_every_product_is_locked(product: str) -> None:
    lock = action_space.read_lock(product)

    assert lock["version"] >= 1
    assert not action_space.list_differences(product, lock), (
        f"if this is meant to change, run python -m tests.contract.action_space raise {product}"
    )


def test_a_changed_action_space_is_found_and_locked_under_the_next_version(tmp_path: Path) -> None:
    lock = action_space.read_lock("crm")
    del lock["operations"]["crm.contacts.merge"]
    path = tmp_path / "action_space.json"
    path.write_text(json.dumps(lock))

    assert action_space.list_differences("crm", lock) == ["crm.contacts.merge"]
    assert action_space.raise_version("crm", path) == lock["version"] + 1
    assert not action_space.list_differences("crm", action_space.read_lock("crm", path))


def test_a_change_of_a_schema_alone_is_found() -> None:
    lock = action_space.read_lock("crm")
    lock["fingerprint"] = "another"

    assert action_space.list_differences("crm", lock) == ["the schema of an argument"]


def test_a_version_is_not_raised_without_a_change(tmp_path: Path) -> None:
    path = tmp_path / "action_space.json"

    assert action_space.raise_version("crm", path) == 1
    with pytest.raises(action_space.NothingToRaise):
        action_space.raise_version("crm", path)
