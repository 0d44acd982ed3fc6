"""What every call shares: errors, keys, paging, expansion, encodings."""

import base64
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import stripe

from tests.billing.test_sdk_payments import charge_of
from tests.contract.unreadable_forms import send_unreadable_forms


def test_the_key_is_taken_as_bearer_or_as_user_name(account) -> None:
    basic = base64.b64encode(f"{account.key}:".encode()).decode()

    answers = [
        httpx.get(f"{account.running.url}/v1/customers", headers={"authorization": value})
        for value in (f"Bearer {account.key}", f"Basic {basic}", "Bearer sk_live_wrong", "")
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 401, 401]
    assert answers[2].json()["error"]["type"] == "invalid_request_error"
    assert answers[2].headers["request-id"].startswith("req_")


def test_a_wrong_key_raises_the_right_class(account) -> None:
    client = stripe.StripeClient("sk_live_wrong", base_addresses={"api": account.running.url})

    with pytest.raises(stripe.AuthenticationError):
        client.v1.customers.list()


@pytest.mark.parametrize(
    ("call", "status", "code", "param"),
    [
        (lambda v1: v1.customers.retrieve("cus_x"), 404, "resource_missing", "id"),
        (lambda v1: v1.refunds.create({"charge": "ch_x"}), 400, "resource_missing", "charge"),
        (lambda v1: v1.refunds.create({}), 400, "parameter_missing", "charge"),
        (lambda v1: v1.customers.create({"nom": "x"}), 400, "parameter_unknown", "nom"),
        (lambda v1: v1.payment_intents.create({"currency": "eur"}), 400, "parameter_missing", "amount"),
        (
            lambda v1: v1.payment_intents.create({"amount": "ten", "currency": "eur"}),
            400,
            "parameter_invalid_integer",
            "amount",
        ),
        (
            lambda v1: v1.subscriptions.create({"customer": "cus_x", "items": [{"quantity": 1}]}),
            400,
            "parameter_missing",
            "items[0][price]",
        ),
        (lambda v1: v1.customers.list({"starting_after": "cus_x"}), 400, "resource_missing", "starting_after"),
        (lambda v1: v1.customers.list({"limit": 101}), 400, None, "limit"),
        (lambda v1: v1.customers.search({"query": "shoe:'9'"}), 400, None, "query"),
        (lambda v1: v1.customers.search({"query": "name:'a' AND email:'b' OR phone:'c'"}), 400, None, "query"),
        (lambda v1: v1.customers.list({"expand": ["data.shoe"]}), 400, None, "expand"),
    ],
)
def test_a_mistake_is_told_with_code_and_parameter(v1, call, status: int, code: str | None, param: str) -> None:
    with pytest.raises(stripe.InvalidRequestError) as refused:
        call(v1)

    assert (refused.value.http_status, refused.value.code, refused.value.param) == (status, code, param)
    assert refused.value.request_id.startswith("req_")


def test_a_bad_expansion_is_named(v1) -> None:
    with pytest.raises(stripe.InvalidRequestError, match=r"This property cannot be expanded \(data.shoe\)."):
        v1.customers.list({"expand": ["data.shoe"]})


def test_an_unknown_address_and_a_wrong_media_type_are_refused_in_the_vendors_shape(account) -> None:
    nowhere = account.http.get("/v1/nothing")
    json = account.http.post("/v1/customers", json={"name": "x"})

    assert (nowhere.status_code, "Unrecognized request URL" in nowhere.json()["error"]["message"]) == (404, True)
    assert (json.status_code, json.json()["error"]["type"]) == (400, "invalid_request_error")


def test_auto_paging_ends_in_both_directions(v1) -> None:
    for number in range(7):
        v1.customers.create({"email": "many@corvane.eu", "name": f"Many {number}"})

    down = [one.name for one in v1.customers.list({"email": "many@corvane.eu", "limit": 2}).auto_paging_iter()]
    last = v1.customers.list({"email": "many@corvane.eu", "limit": 100}).data[-1].id
    up = [
        one.name
        for one in v1.customers.list({"email": "many@corvane.eu", "limit": 2, "ending_before": last}).auto_paging_iter()
    ]
    found = [
        one.name for one in v1.customers.search({"query": "email:'many@corvane.eu'", "limit": 3}).auto_paging_iter()
    ]

    assert down == [f"Many {number}" for number in reversed(range(7))]
    assert up == [f"Many {number}" for number in range(1, 7)]
    assert found == down


def test_lists_narrow_to_a_stretch_of_time(v1) -> None:
    everyone = v1.customers.list({"limit": 100}).data
    third = everyone[2].created

    assert [one.id for one in v1.customers.list({"created": {"gte": third, "lt": third + 1}}).data] == [everyone[2].id]
    assert [one.id for one in v1.customers.list({"created": third}).data] == [everyone[2].id]
    assert len(v1.customers.list({"created": {"gt": third}}).data) == 2


def test_expansion_takes_every_spelling(account) -> None:
    answers = [
        account.http.get(f"/v1/charges?limit=1&{written}").json()["data"][0]["customer"]["object"]
        for written in ("expand=data.customer", "expand[]=data.customer", "expand[0]=data.customer")
    ]

    assert answers == ["customer"] * 3


def test_twenty_retries_at_once_charge_once(account, v1) -> None:
    casa = next(one for one in v1.customers.list({"limit": 100}).data if one.name == "Casa Lumen")
    client = stripe.StripeClient(account.key, base_addresses={"api": account.running.url})
    asked = {"amount": 2000, "currency": "eur", "customer": casa.id, "confirm": True}
    asked["payment_method"] = casa.invoice_settings.default_payment_method

    with ThreadPoolExecutor(20) as pool:
        made = list(pool.map(lambda _: client.v1.payment_intents.create(asked, {"idempotency_key": "same"}), range(20)))

    assert len({one.id for one in made}) == 1
    assert len([one for one in v1.charges.list({"customer": casa.id}).data if one.amount == 2000]) == 1
    replayed = [one.last_response.headers.get("Idempotent-Replayed") for one in made]
    assert sorted(map(str, replayed)) == ["None"] + ["true"] * 19
    assert {one.last_response.idempotency_key for one in made} == {"same"}


def test_twenty_refund_retries_at_once_refund_once(account, v1) -> None:
    charge = charge_of(v1)
    client = stripe.StripeClient(account.key, base_addresses={"api": account.running.url})

    with ThreadPoolExecutor(20) as pool:
        made = list(
            pool.map(
                lambda _: client.v1.refunds.create({"charge": charge.id, "amount": 100}, {"idempotency_key": "r"}),
                range(20),
            )
        )

    assert len({one.id for one in made}) == 1
    assert v1.charges.retrieve(charge.id).amount_refunded == 100


def test_a_key_used_with_other_parameters_is_refused(v1) -> None:
    charge = charge_of(v1)
    first = v1.refunds.create({"charge": charge.id, "amount": 100}, {"idempotency_key": "K"})

    with pytest.raises(stripe.IdempotencyError) as refused:
        v1.refunds.create({"charge": charge.id, "amount": 200}, {"idempotency_key": "K"})

    assert refused.value.http_status == 400
    again = v1.refunds.create({"charge": charge.id, "amount": 100}, {"idempotency_key": "K"})
    assert again.last_response.headers["Original-Request"] == first.last_response.request_id


def test_rejected_parameters_use_up_no_key_and_a_decline_does(v1, account) -> None:
    nordvik = next(one for one in v1.customers.list({"limit": 100}).data if one.name == "Nordvik Shipping")
    asked = {"amount": 2000, "currency": "eur", "customer": nordvik.id, "confirm": True}
    asked["payment_method"] = nordvik.invoice_settings.default_payment_method

    with pytest.raises(stripe.InvalidRequestError):
        v1.payment_intents.create({**asked, "amount": 0}, {"idempotency_key": "K"})
    for _ in range(2):
        with pytest.raises(stripe.CardError):
            v1.payment_intents.create(asked, {"idempotency_key": "K"})

    assert len(v1.charges.list({"customer": nordvik.id}).data) == 1


def test_two_calls_without_a_key_are_two_operations(v1) -> None:
    charge = charge_of(v1)

    v1.refunds.create({"charge": charge.id, "amount": 100})
    v1.refunds.create({"charge": charge.id, "amount": 100})

    assert v1.charges.retrieve(charge.id).amount_refunded == 200


def test_planned_faults_raise_what_the_sdk_knows_and_retries_heal(running) -> None:
    account = running.open(faults="storm", seed=3)
    client = stripe.StripeClient(account.key, base_addresses={"api": running.url}, max_network_retries=4)
    seen: set[str] = set()
    for number in range(40):
        try:
            client.v1.customers.create({"email": f"s{number}@storm.ie"}, {"idempotency_key": f"k{number}"})
        except stripe.StripeError as error:
            seen.add(type(error).__name__)

    made = account.world.rows("SELECT email, count(*) FROM customers WHERE email LIKE '%@storm.ie' GROUP BY email")
    account.close()

    assert seen <= {"RateLimitError", "APIError", "APIConnectionError"}
    assert made
    assert all(count == 1 for _, count in made)


def test_answers_do_not_say_what_they_are(v1, account) -> None:
    text = "".join(
        account.http.get(path).text.lower()
        for path in (
            "/v1/customers?limit=100",
            "/v1/invoices?limit=100",
            "/v1/events?limit=100",
            "/v1/charges",
            "/openapi.json",
        )
    )

    assert not [
        word
        for word in ("mock", "fake", "simulat", "episode", "reward", "example.com", "_refuses_with", '"_')
        if word in text
    ]


def test_the_same_calls_get_the_same_bytes_in_every_episode_of_a_seed(running) -> None:
    said = []
    for _ in range(2):
        account = running.open(seed=1)
        made = account.http.post("/v1/customers", data={"name": "Twice", "metadata[a]": "b"})
        charge = account.http.get("/v1/charges?limit=1").json()["data"][0]["id"]
        refund = account.http.post(
            "/v1/refunds", data={"charge": charge, "amount": "10"}, headers={"idempotency-key": "k"}
        )
        account.wait(40)
        events = account.http.get("/v1/events?limit=100")
        refused = account.http.post("/v1/refunds", data={"charge": "ch_x"})
        said.append(
            [(one.content, one.headers["request-id"], one.headers["date"]) for one in (made, refund, events, refused)]
        )
        account.close()

    assert said[0] == said[1]


def test_a_form_that_cannot_be_read_is_the_senders_mistake_and_spoils_nothing(account) -> None:
    assert send_unreadable_forms(account.http, "/v1/files") == {400}
