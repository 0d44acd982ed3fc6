"""The search language, clause by clause, on real rows."""

import pytest

from services.billing.errors import InvalidRequest
from services.billing.operations import customers, records
from services.billing.operations.search import search as run_search
from services.billing.tables import charges
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoices as invoice_rows
from services.kernel.world import World


def found(world: World, query: str, table=customer_rows) -> list[str]:
    return [body.get("name") or body["id"] for body in run_search(world, table, query, 100, None).bodies]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("name:'CASA LUMEN'", ["Casa Lumen"]),
        ("name~'lumen'", ["Casa Lumen"]),
        ("email~'corvane' OR email~'kilbride'", ["Kilbride Foods", "Corvane GmbH"]),
        ("name~'casa' AND email~'corvane'", []),
        ("-name~'a'", None),
        ("phone:null AND name:'Casa Lumen'", ["Casa Lumen"]),
        ("-phone:null", ["Hollis & Pine"]),
        ('metadata["tier"]:"gold"', ["Casa Lumen"]),
        ("metadata['tier']~'gol'", ["Casa Lumen"]),
        ("-metadata['tier']:null", ["Casa Lumen"]),
        ("name~'hollis' name~'pine'", ["Hollis & Pine"]),
        ("created>0 AND name:'Casa Lumen'", ["Casa Lumen"]),
        ("created<1", []),
    ],
)
def test_a_query_finds_what_it_says(world: World, query: str, names: list[str] | None) -> None:
    everyone = {one["name"]: one["id"] for one in records.select(world, customer_rows)}
    customers.update(world, everyone["Casa Lumen"], {"metadata": {"tier": "gold"}})
    customers.update(world, everyone["Hollis & Pine"], {"phone": "+44 113 496 0000"})

    if names is None:
        with pytest.raises(InvalidRequest):
            found(world, query)
    else:
        assert found(world, query) == names


@pytest.mark.parametrize(
    "query",
    ["", "name", "name:", "name:'a", "name:'a' AND", "shoe:'9'", "name>'a'", "name:'a' XOR name:'b'", "created:'soon'",
     "(name:'a')", "metadata['a']>1", "name~'ab'", " AND ".join(["name:'a'"] * 11), "created>null"],
)  # fmt: skip
def test_a_query_that_cannot_be_read_is_refused(world: World, query: str) -> None:
    with pytest.raises(InvalidRequest):
        found(world, query)


def test_numbers_and_flags_are_compared_as_such(world: World) -> None:
    assert len(found(world, "amount>=4000 AND amount<8000", charges)) == 2
    assert found(world, "amount>=999999999999999999", charges) == []
    assert (
        len(found(world, "refunded:'false' AND disputed:'false' AND payment_method_details.card.last4:'1486'", charges))
        == 4
    )
    assert len(found(world, "status:'paid' AND total>2000", invoice_rows)) == 3


def test_pages_follow_each_other_to_the_end(world: World) -> None:
    page, names = None, []
    for _ in range(10):
        got = run_search(world, customer_rows, "created>0", 2, page)
        names += [body["name"] for body in got.bodies]
        page = got.next_page
        if not got.has_more:
            break

    assert len(names) == len(set(names)) == 5
    assert page is None
    with pytest.raises(InvalidRequest):
        run_search(world, customer_rows, "created>0", 2, "nonsense")


def test_a_lagging_index_has_not_seen_the_last_requests(world: World) -> None:
    world.search_lag = 1
    casa = next(one for one in records.select(world, customer_rows) if one["name"] == "Casa Lumen")
    world.actor = "agent"
    world.begin()
    customers.update(world, casa["id"], {"name": "Renamed"})
    world.keep()

    assert found(world, "name:'casa lumen'") == ["Casa Lumen"]
    for _ in range(2):
        world.begin()
        world.keep()
    assert found(world, "name:'renamed'") == ["Renamed"]
