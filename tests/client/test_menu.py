"""The menu: candidate calls with features of what the agent has read."""

from collections.abc import Iterator
from typing import Any

import dayshift
import gymnasium
import numpy as np
import pytest
from dayshift.call_features import FEATURES
from dayshift.call_signs import compute_signs
from dayshift.calls import SUBMIT
from dayshift.errors import NoMenu

from tests.client.faulty_server import FaultyServer
from tests.client.policies import find_correction
from tests.control.stack import TASK


@pytest.fixture
def menu(address: Any) -> Iterator[dayshift.Menu]:
    menu_env = dayshift.Menu(gymnasium.make("dayshift/Crm-v0", task=TASK))
    yield menu_env
    menu_env.close()


def test_each_step_offers_calls_and_submit(menu: dayshift.Menu) -> None:
    observation, _ = menu.reset(seed=1)

    assert observation in menu.observation_space
    assert sum(call.operation == SUBMIT for call in menu.calls) == 1
    assert len(menu.calls) == observation["offered"].sum() <= menu.k
    kinds = {call.operation.rpartition(".")[2] for call in menu.calls}
    assert {"get", "update", "archive", "finish_work"} <= kinds


def test_choosing_the_right_calls_earns_the_whole_reward(menu: dayshift.Menu) -> None:
    menu.reset(seed=3)
    right = str(find_correction(dayshift.OpenRequest(task=TASK, seed=3))[0])

    menu.step([str(call) for call in menu.calls].index(right))
    observation, reward, terminated, _, _ = menu.step([call.operation for call in menu.calls].index(SUBMIT))

    assert (reward, terminated) == (1.0, True)
    assert observation in menu.observation_space


def test_the_good_call_can_have_any_index(menu: dayshift.Menu) -> None:
    places = set()
    for seed in range(12):
        menu.reset(seed=seed)
        right = str(find_correction(dayshift.OpenRequest(task=TASK, seed=seed))[0])
        places.add([str(call) for call in menu.calls].index(right))

    assert len(places) >= 5


def test_the_same_seed_offers_the_same_in_the_same_order(menu: dayshift.Menu) -> None:
    runs = []
    for _ in range(2):
        first, _ = menu.reset(seed=5)
        calls = [str(call) for call in menu.calls]
        second, *_ = menu.step(0)
        runs.append((calls, first["features"].tolist(), second["features"].tolist()))

    assert runs[0] == runs[1]


def test_reading_a_record_is_reflected_in_the_features(menu: dayshift.Menu) -> None:
    menu.reset(seed=3)
    target = find_correction(dayshift.OpenRequest(task=TASK, seed=3))[0].arguments["contactId"]
    read = next(
        place for place, call in enumerate(menu.calls) if call == dayshift.call("crm.contacts.get", contactId=target)
    )

    observation, *_ = menu.step(read)

    named = FEATURES.index("its record shares words with the brief")
    about = {
        str(call.arguments.get("contactId")): observation["features"][n][named] for n, call in enumerate(menu.calls)
    }
    assert about[target] == 1.0
    assert all(value == 0.0 for contact, value in about.items() if contact != target)


def test_an_update_does_not_take_back_what_reading_the_record_has_shown(menu: dayshift.Menu) -> None:
    menu.reset(seed=3)
    right = find_correction(dayshift.OpenRequest(task=TASK, seed=3))[0]
    read = dayshift.call("crm.contacts.get", contactId=right.arguments["contactId"])
    menu.step(list(menu.calls).index(read))

    observation, *_ = menu.step([str(call) for call in menu.calls].index(str(right)))

    named = FEATURES.index("its record shares words with the brief")
    assert observation["features"][list(menu.calls).index(read)][named] == 1.0


def test_signs_tell_operations_fields_and_keywords_apart_and_not_people() -> None:
    def sign(operation: str, **properties: object) -> tuple[float, ...]:
        return compute_signs(dayshift.call(operation, contactId="17", properties=properties))

    phone = sign("crm.contacts.update", phone="+49 30 901820")

    assert phone == sign("crm.contacts.update", phone="030 5550")
    assert phone != sign("crm.deals.update", phone="030 5550")
    assert phone != sign("crm.contacts.update", email="marta@corvane.eu")
    assert sign("crm.tasks.update", status="COMPLETED") != sign("crm.tasks.update", status="NOT_STARTED")
    assert sign("crm.contacts.update", lastname="Brandt") == sign("crm.contacts.update", lastname="Okafor")
    # Models that were trained in another process read the same numbers.
    assert phone[:8] == (1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0)
    assert all(-1.0 <= number <= 1.0 for number in phone)


def test_choosing_an_empty_row_wastes_a_step(address: Any) -> None:
    menu = dayshift.Menu(gymnasium.make("dayshift/Crm-v0", task=TASK), k=30)
    observation, _ = menu.reset(seed=1)
    empty = int(np.flatnonzero(observation["offered"] == 0)[0])

    _, reward, terminated, _, info = menu.step(empty)

    assert (reward, terminated, info["refused"]) == (0.0, False, True)
    menu.close()


def test_a_short_menu_still_ends_with_submit(address: Any) -> None:
    menu = dayshift.Menu(gymnasium.make("dayshift/Crm-v0", task=TASK), k=4)
    menu.reset(seed=1)

    assert len(menu.calls) == 4
    assert SUBMIT in {call.operation for call in menu.calls}
    menu.close()


def test_a_task_without_a_menu_raises(faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", "any")
    menu = dayshift.Menu(gymnasium.make("dayshift/Crm-v0", task="crm/any", control_url=faulty_server.address.url))

    with pytest.raises(NoMenu):
        menu.reset(seed=1)
    menu.close()
