"""What the console keeps in the ledger and reads from it, on SQLite and on a real PostgreSQL."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dayshift.calls import WAIT
from dayshift.review.store import Review, find_blamed_on_harness, load_reviews
from dayshift.review.taxonomy import DEFAULT_TAXONOMY
from dayshift.trajectory import Trajectory

from services.console.mirror import LedgerMirror
from services.console.review_store import LedgerReviewStore
from services.control.database import create_engine
from services.control.ledger import Ending, Ledger
from tests.control.conftest import postgres_url
from tests.control.test_ledger import beginning, ending, ledger, url

__all__ = ["ledger", "postgres_url", "url"]

pytestmark = pytest.mark.anyio
CLOCK_MS = 1_790_000_000_000


def step(number: int, **values: Any) -> dict[str, Any]:
    served = {
        "product": "crm",
        "operation": "crm.contacts.update",
        "method": "PATCH",
        "path": "/crm/v3/objects/contacts/7",
        "query": "idProperty=email",
        "request": '{"properties": {"city": "Oslo"}}',
        "status": 200,
        "answer": "{}",
        "revision": number,
        "clock_ms": CLOCK_MS + 1000 * number,
        "fault": None,
        "milliseconds": 1.0,
        "key": None,
        "replayed": False,
    }
    return {**served, **values}


def played(number: int, **values: Any) -> Ending:
    change = {
        "revision": 1,
        "at": CLOCK_MS + 1000,
        "actor": "agent",
        "event": "updated",
        "table": "objects",
        "id": 7,
        "before": json.dumps({"city": "Bergen"}),
        "after": json.dumps({"city": "Oslo"}),
    }
    steps: Any = [step(1), step(2, clock_ms=CLOCK_MS + 3_602_000)]
    whole = replace(ending(number), steps=steps, diff={"crm": [change]}, waits=[(CLOCK_MS + 1000, 3_600_000)])  # type: ignore[list-item]
    return replace(whole, **values)


def read(mirror: LedgerMirror) -> list[Trajectory]:
    return [Trajectory.model_validate_json(line) for line in mirror.path.read_text().splitlines()]


async def test_an_episode_of_the_ledger_becomes_a_trajectory_with_its_waits_and_rows(
    ledger: Ledger, url: str, tmp_path: Path
) -> None:
    await ledger.begin(beginning(1))
    await ledger.end(played(1))
    mirror = LedgerMirror(url, tmp_path)

    assert mirror.update() == 1
    (trajectory,) = read(mirror)
    mirror.close()

    assert [each.operation for each in trajectory.steps] == ["crm.contacts.update", WAIT, "crm.contacts.update"]
    assert trajectory.steps[1].arguments == {"hours": 1.0}
    assert trajectory.steps[0].arguments == {"idProperty": "email", "properties": {"city": "Oslo"}}
    assert trajectory.verdict == played(1).verdict
    (change,) = trajectory.changes or []
    assert (change.step, change.before, change.after) == (1, {"city": "Bergen"}, {"city": "Oslo"})


async def test_the_mirror_reads_on_where_it_was_and_repeats_nothing(ledger: Ledger, url: str, tmp_path: Path) -> None:
    for number in range(3):
        await ledger.begin(beginning(number))
        await ledger.end(played(number))
    first = LedgerMirror(url, tmp_path)
    assert (first.update(), first.update()) == (3, 0)
    first.close()
    await ledger.begin(beginning(9))
    await ledger.end(played(9))

    # As after a crash that left half a line.
    with first.path.open("a") as file:
        file.write('{"manifest": ')
    second = LedgerMirror(url, tmp_path)
    assert second.update() == 1

    assert [each.manifest.episode_id for each in read(second)] == [beginning(number).id for number in (0, 1, 2, 9)]
    second.close()


async def test_who_played_is_in_the_ledger_and_in_the_mirror(ledger: Ledger, url: str, tmp_path: Path) -> None:
    await ledger.begin(replace(beginning(1), policy="grpo-\x00Łucja", policy_version="step-40"))
    await ledger.end(played(1))
    await ledger.begin(beginning(2))
    await ledger.end(played(2))
    mirror = LedgerMirror(url, tmp_path)
    mirror.update()

    labels = [(each.policy, each.policy_version) for each in read(mirror)]
    assert labels == [("grpo-\ufffdŁucja", "step-40"), (None, None)]
    mirror.close()


async def test_reviews_stand_beside_the_mirrored_episodes_where_exports_read_them(
    ledger: Ledger, url: str, tmp_path: Path
) -> None:
    engine = create_engine(url)
    store = LedgerReviewStore(engine)
    await ledger.begin(beginning(1))
    await ledger.end(played(1))
    mirror = LedgerMirror(url, tmp_path)
    mirror.update()
    assert load_reviews(mirror.folder) == []

    store.save(Review(key=beginning(1).id, reviewer="ada", blame="harness"))
    mirror.update()
    assert find_blamed_on_harness(load_reviews(mirror.folder)) == {beginning(1).id}
    store.delete(beginning(1).id, "ada")
    mirror.update()
    assert load_reviews(mirror.folder) == []
    mirror.close()
    engine.dispose()


async def test_reviews_are_listed_page_by_page_in_the_order_of_saving(ledger: Ledger, url: str) -> None:
    engine = create_engine(url)
    store = LedgerReviewStore(engine)
    for number in range(3):
        store.save(Review(key=str(number), reviewer="ada", blame="model"))

    first = await ledger.list_reviews(0, 2)
    rest = await ledger.list_reviews(first[-1][0], 2)

    assert [json.loads(body)["key"] for _, body in [*first, *rest]] == ["0", "1", "2"]
    engine.dispose()


async def test_an_unscored_episode_tells_who_is_to_blame(ledger: Ledger, url: str, tmp_path: Path) -> None:
    for number, ours in ((1, True), (2, False)):
        await ledger.begin(beginning(number))
        await ledger.end(replace(ending(number, "unscored", "abandoned", ours=ours), steps=[], diff={}))
    mirror = LedgerMirror(url, tmp_path)
    mirror.update()

    blames = [each.quarantine.blame for each in read(mirror) if each.quarantine]
    assert blames == ["harness", "caller"]
    mirror.close()


async def test_a_review_is_added_and_never_overwritten(ledger: Ledger, url: str) -> None:
    engine = create_engine(url)
    store = LedgerReviewStore(engine)

    store.save(Review(key="one", reviewer="ada", blame="model", note="NUL \x00 and 東京"))
    store.save(Review(key="one", reviewer="ada", blame="harness"))
    store.save(Review(key="two", reviewer="bob", labels=["harm"]))

    assert [(each.key, each.blame) for each in store.reviews()] == [("one", "harness"), ("two", None)]
    assert [each.key for each in store.reviews(["two", "three"])] == ["two"]
    store.delete("two", "bob")
    assert [each.key for each in store.reviews()] == ["one"]
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM reviews").scalar() == 4
    engine.dispose()


async def test_the_last_taxonomy_stands(ledger: Ledger, url: str) -> None:
    engine = create_engine(url)
    store = LedgerReviewStore(engine)
    assert store.taxonomy() == DEFAULT_TAXONOMY

    own = DEFAULT_TAXONOMY.model_copy(update={"questions": []})
    store.save_taxonomy(own)

    assert store.taxonomy() == own
    engine.dispose()


async def test_the_audit_log_has_who_did_it(ledger: Ledger) -> None:
    await ledger.record_event("paused", "after step 3", beginning(1).id, person="Łucja")
    await ledger.record_event("product gone", "crm process died", product="crm")

    (gone, paused) = await ledger.list_events(None, 10)

    assert (paused.kind, paused.person, paused.episode_id) == ("paused", "Łucja", beginning(1).id)
    assert (gone.person, gone.product) == (None, "crm")
    assert [event.kind for event in await ledger.list_events(beginning(1).id, 10)] == ["paused"]
