"""What customers thought: given by them alone, on solved tickets alone, listed and counted."""

from typing import get_args

import pytest
from zdesk import Zendesk
from zenpy import Zenpy
from zenpy.lib.api_objects import SatisfactionRating
from zenpy.lib.exception import APIException

from services.desk.schemas.satisfaction import Filter
from services.desk.tables import tickets
from tests.desk.conftest import Account
from tests.desk.office import CLOSED, LENA, NOW, OPEN, PENDING, PRIYA, SOLVED, TOMAS
from tests.desk.rulebook import audits_of, furnish, ticket


def rate(account: Account, who: int, key: int, score: str, comment: str | None = None) -> tuple[int, dict]:
    given = {"score": score} | ({} if comment is None else {"comment": comment})
    return account.as_customer(who, "POST", f"tickets/{key}/satisfaction_rating", {"satisfaction_rating": given})


def test_the_requester_of_a_solved_ticket_rates_it(account: Account) -> None:
    status, body = rate(account, PRIYA, SOLVED, "good", "Quick!")

    rating = body["satisfaction_rating"]
    assert (status, rating["score"], rating["comment"], rating["ticket_id"]) == (200, "good", "Quick!", SOLVED)
    kept = account.get(f"tickets/{SOLVED}")["ticket"]["satisfaction_rating"]
    assert kept == {"id": rating["id"], "score": "good", "comment": "Quick!"}
    assert audits_of(account.world, SOLVED)[-1]["body"]["author_id"] == PRIYA
    assert account.get("search/count", query="satisfaction:goodwithcomment")["count"] == 1


@pytest.mark.parametrize("key", [OPEN, PENDING, CLOSED])
def test_only_a_solved_ticket_is_rated(account: Account, key: int) -> None:
    who = ticket(account.world, key)["body"]["requester_id"]
    status, body = rate(account, who, key, "good")

    assert (status, body["error"]) == (422, "RecordInvalid")


def test_nobody_but_the_requester_rates(account: Account, zenpy: Zenpy) -> None:
    with pytest.raises(APIException, match="only the requester"):
        zenpy.satisfaction_ratings.create(SOLVED, SatisfactionRating(score="good", comment="We did well"))

    assert [rate(account, who, SOLVED, "good")[0] for who in (LENA, TOMAS)] == [422, 422]
    assert account.get(f"tickets/{SOLVED}")["ticket"]["satisfaction_rating"] == {"score": "unoffered"}


def test_a_score_is_good_or_bad(account: Account) -> None:
    assert rate(account, PRIYA, SOLVED, "excellent")[0] == 400


def test_a_second_rating_replaces_the_first(account: Account) -> None:
    first = rate(account, PRIYA, SOLVED, "good")[1]["satisfaction_rating"]["id"]
    second = rate(account, PRIYA, SOLVED, "bad", "Slow again")[1]["satisfaction_rating"]["id"]

    assert first == second
    assert [one["score"] for one in account.get("satisfaction_ratings")["satisfaction_ratings"]] == ["bad"]


def test_the_lead_hears_of_a_bad_rating(account: Account) -> None:
    furnish(account.world)
    rate(account, PRIYA, SOLVED, "bad", "Nobody read what I wrote")

    assert "rated_bad" in ticket(account.world, SOLVED)["body"]["tags"]


def test_ratings_are_listed_by_score_and_time(account: Account, zenpy: Zenpy, zdesk: Zendesk) -> None:
    given = (("good", None), ("good", "Nice"), ("bad", None), ("bad", "Bad"))
    row = ticket(account.world, SOLVED)
    for at, (score, comment) in enumerate(given):
        key = 900 + at
        account.world.save(tickets, {**row, "id": key}, "planted")
        rate(account, PRIYA, key, score, comment)
        account.wait(days=1)

    def listed(**query: str) -> list[int]:
        found = account.get("satisfaction_ratings", **query)["satisfaction_ratings"]
        return [one["ticket_id"] - 900 for one in found]

    assert [one.ticket_id for one in zenpy.satisfaction_ratings(score="bad")] == [902, 903]
    assert {score: listed(score=score) for score in get_args(Filter)} == {
        "good": [0, 1], "bad": [2, 3], "offered": [], "unoffered": [], "received": [0, 1, 2, 3],
        "received_with_comment": [1, 3], "received_without_comment": [0, 2],
        "good_with_comment": [1], "good_without_comment": [0], "bad_with_comment": [3], "bad_without_comment": [2],
    }  # fmt: skip
    day = 86_400
    start = NOW // 1000
    assert listed(start_time=str(start + day), end_time=str(start + 3 * day)) == [1, 2]
    assert account.get("satisfaction_ratings/count", score="good")["count"]["value"] == 2
    first = account.get("satisfaction_ratings", **{"page[size]": "3"})
    assert (len(first["satisfaction_ratings"]), first["meta"]["has_more"]) == (3, True)
    read = first["satisfaction_ratings"][0]
    assert account.get(f"satisfaction_ratings/{read['id']}")["satisfaction_rating"] == read
    assert zdesk.satisfaction_ratings_list()["satisfaction_ratings"][0] == read


def test_end_users_do_not_list_ratings(account: Account) -> None:
    assert account.as_customer(LENA, "GET", "satisfaction_ratings")[0] == 403
