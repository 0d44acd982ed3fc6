"""Exactness, piece by piece."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.billing import money
from services.billing.objects.catalogue import Interval, new_recurring
from services.billing.operations import journal, periods, totals
from services.billing.operations.search import Clause, parse


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        (4000, "eur", "€40.00"),
        (4000, "jpy", "¥4,000"),
        (40_005, "kwd", "40.005 KWD"),
        (-5, "usd", "-$0.05"),
        (7, "sek", "0.07 SEK"),
    ],
)
def test_amounts_are_spelt_with_the_decimals_of_their_currency(amount: int, currency: str, text: str) -> None:
    assert money.format_amount(amount, currency) == text


@given(st.integers(-(10**9), 10**9), st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_what_is_spread_adds_up(total: int, weights: list[int]) -> None:
    parts = money.distribute(total, weights)

    assert sum(parts) == (total if sum(weights) else 0)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_a_total_meets_a_balance_without_loss(total: int, balance: int) -> None:
    settled = totals.settle(total, balance)

    assert settled.due + settled.ending_balance == total + balance
    assert settled.due >= 0 >= settled.ending_balance


@given(st.integers(0, 10**9), st.integers(0, 10**7), st.integers(1, 10**7))
def test_a_part_of_an_amount_is_cut_down_to_the_unit(amount: int, part: int, whole: int) -> None:
    cut = money.share(amount, part, whole)

    assert cut <= Fraction(amount * part, whole) < cut + 1


def test_halves_round_away_from_zero_on_both_sides() -> None:
    assert (money.round_half_up(Fraction(5, 2)), money.round_half_up(Fraction(-5, 2))) == (3, -3)


@given(st.integers(1, 10**9), st.sampled_from(["eur", "jpy", "kwd"]))
def test_a_fee_is_never_more_than_the_charge(amount: int, currency: str) -> None:
    assert 0 <= money.fee(amount, currency) <= amount


@given(
    st.integers(0, 2 * 10**9),
    st.sampled_from(["day", "week", "month", "year"]),
    st.integers(1, 3),
    st.integers(0, 10**8),
)
def test_the_next_boundary_is_the_first_after_the_moment(
    anchor: int, interval: Interval, count: int, ahead: int
) -> None:
    after = anchor + ahead
    end = periods.next_period_end(anchor, new_recurring(interval, count), after)

    assert end > after
    assert periods.next_period_end(anchor, new_recurring(interval, count), end - 1) == end


def test_an_unbalanced_posting_is_our_bug() -> None:
    with pytest.raises(journal.Unbalanced):
        journal.posting_rows(journal.Posting("in_1", 0, "eur", {"cash": 5, "revenue": -4}), 1, 1)


def test_the_search_language_is_read() -> None:
    clauses, joined = parse("""-status:'open' OR metadata["k'1"]~'a\\'b' OR total>=12""")

    assert joined == "OR"
    assert clauses == [
        Clause("status", False, ":", "open", True),
        Clause("k'1", True, "~", "a'b", False),
        Clause("total", False, ">=", "12", False),
    ]
