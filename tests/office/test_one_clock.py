"""An episode has one clock: whatever product is asked next, it is never earlier than before."""

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import pairwise

from dayshift.episode import Episode

from services.validate.attempt import TrialContext
from tests.company import WORLD

CALLS = ("crm.contacts.list", "desk.tickets.count", "billing.customers.list", "ide.repos.list")


def test_every_request_is_a_second_later_than_the_one_before_whatever_product_it_goes_to(context: TrialContext) -> None:
    with Episode.open(None, world=WORLD, connection=context.stack) as episode:
        order = [*CALLS, *reversed(CALLS), CALLS[0], CALLS[0], CALLS[2]]
        times = [_seconds(episode.step(name).clock) for name in order]
        episode.wait(3)
        after = _seconds(episode.clock)
        later = [_seconds(episode.step(name).clock) for name in CALLS]

    assert [b - a for a, b in pairwise(times)] == [1] * (len(order) - 1)
    assert later == [after + number for number in (1, 2, 3, 4)]


def test_what_is_written_in_two_products_has_times_in_the_order_of_the_calls(context: TrialContext) -> None:
    with Episode.open(None, world=WORLD, connection=context.stack) as episode:
        for _ in range(5):
            episode.step("billing.customers.list")
        customer = episode.step("billing.customers.create", name="Norra AB").json()
        note = episode.step(
            "crm.notes.create", properties={"hs_note_body": "made", "hs_timestamp": "2026-11-09"}
        ).json()

    assert note["createdAt"] > _iso(customer["created"])


def test_a_client_without_the_count_sees_each_products_clock_go_on(context: TrialContext) -> None:
    """An SDK sends no count; a count that cannot be true is not believed."""
    with Episode.open("crm/correct-contact", seed=1, world=WORLD, connection=context.stack) as episode:
        crm = episode.products["crm"]
        url = f"{crm.base_url}/crm/v3/objects/contacts?limit=1"
        headers = {"authorization": f"Bearer {crm.credential}"}
        counts = ({}, {}, {"x-request-number": "7"}, {}, {"x-request-number": "2"}, {"x-request-number": "999999999"},
                  {"x-request-number": "-4"}, {"x-request-number": "٣"})  # fmt: skip
        dates = []
        for count in counts:
            encoded = {name: value.encode().decode("latin-1") for name, value in count.items()}
            answer = context.stack.request(url, headers={**headers, **encoded})
            assert answer.status == 200, json.loads(answer.content)
            dates.append(parsedate_to_datetime(answer.headers["date"]).timestamp())

    assert [date - dates[0] for date in dates] == [0, 1, 6, 7, 8, 9, 10, 11]


def _seconds(clock: str) -> int:
    return round(datetime.fromisoformat(clock).timestamp())


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]
