"""People who open control in a browser see what runs where, and can try the playground's APIs."""

import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from html import unescape

import httpx
import pytest
import stripe

from services.kernel import catalog
from services.kernel.config import BadSetting, Settings
from tests.control.stack import PLAYGROUND, Stack

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
OTHERS = [name for name in catalog.names() if name not in ("crm", "billing")]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    running = Stack(
        tmp_path_factory.mktemp("people"), {"DAYSHIFT_PLAYGROUND_CLOCK": "wall", "DAYSHIFT_WITHOUT": ",".join(OTHERS)}
    ).start()
    yield running
    running.stop()


@pytest.fixture
def browser(stack: Stack) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{stack.base}", headers=BROWSER, timeout=120) as client:
        yield client


@pytest.fixture
def payments(stack: Stack) -> stripe.StripeClient:
    addresses = {"api": f"http://127.0.0.1:{stack.base + 3}"}
    return stripe.StripeClient(f"sk_test_{PLAYGROUND}", base_addresses=addresses)


def test_the_first_page_says_what_runs_where_with_lines_to_copy(stack: Stack, browser: httpx.Client) -> None:
    page = browser.get("/")
    lines = [unescape(text) for text in re.findall(r"<pre>(.*?)</pre>", page.text, flags=re.DOTALL)]

    assert page.status_code == 200
    for offset in (1, 3):
        assert f"http://127.0.0.1:{stack.base + offset}" in page.text
    assert any(text.endswith("dayshift doctor") for text in lines)
    assert f"Control runs at <code>http://127.0.0.1:{stack.base}</code>" in page.text
    assert f'href="http://127.0.0.1:{stack.base + 5}">The console' in page.text
    assert f"http://127.0.0.1:{stack.base + 6}/mcp" in page.text
    assert any(text.startswith("claude mcp add") for text in lines)
    assert any("from hubspot import HubSpot" in text for text in lines)
    assert "pip install hubspot-api-client stripe" in lines, "this stack has the CRM and billing"
    assert page.text.index("pip install hubspot-api-client") < page.text.index("from hubspot")
    assert PLAYGROUND not in page.text, "a credential that somebody chose is not given away"


def test_programs_still_get_the_control_api(browser: httpx.Client) -> None:
    assert browser.get("/", headers={"accept": "*/*"}).status_code == 401
    assert browser.get("/v1/tasks").status_code == 401


def test_pages_load_nothing_from_elsewhere_and_run_no_inline_script(browser: httpx.Client) -> None:
    for path in ("/", "/docs/crm", "/docs/billing"):
        page = browser.get(path)
        loaded = re.findall(r'<(?!a )[^>]+(?:src|href)="([^"]+)"', page.text)

        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert "unsafe-inline" not in page.headers["content-security-policy"]
        assert all(address.startswith("/") for address in loaded)
        assert "<script>" not in page.text
        for address in loaded:
            assert browser.get(address, follow_redirects=True).status_code == 200, address
    assert "SwaggerUIBundle" in browser.get("/docs/assets/swagger-ui-bundle.js").text
    assert browser.get("/docs/assets/..%2f..%2fcontrol.py").status_code == 404
    assert browser.get("/docs/payroll").status_code == 404


def test_requests_of_the_page_reach_the_playground_and_nothing_else(stack: Stack, browser: httpx.Client) -> None:
    key = {"authorization": f"Bearer {PLAYGROUND}"}
    opened = stack.open()
    of_episode = {"authorization": f"Bearer {opened.opened['products']['crm']['credential']}"}

    document = browser.get("/docs/api/crm/openapi.json", headers=key)
    created = browser.post(
        "/docs/api/crm/crm/v3/objects/contacts", headers=key, json={"properties": {"lastname": "Of the page"}}
    )

    assert len(document.json()["paths"]) > 50
    assert created.status_code == 201
    with stack.playground() as play:
        assert play.get(f"/crm/v3/objects/contacts/{created.json()['id']}").status_code == 200
    for wrong in ({}, of_episode, {"authorization": "Bearer nonsense"}):
        assert browser.get("/docs/api/crm/crm/v3/objects/contacts", headers=wrong).status_code == 401
    assert browser.get("/docs/api/payroll/x", headers=key).status_code == 401


def test_the_products_themselves_say_nothing_of_a_playground(stack: Stack) -> None:
    with stack.playground() as play:
        for path in ("/", "/docs"):
            answer = play.get(path, headers=BROWSER)
            assert answer.status_code == 404
            assert "playground" not in answer.text.lower()


def test_the_playground_takes_the_cards_of_the_vendors_tutorials(payments: stripe.StripeClient) -> None:
    customer = payments.v1.customers.create({"name": "Jenny Rosen", "payment_method": "pm_card_visa"})
    paid = payments.v1.payment_intents.create(
        {"amount": 2000, "currency": "eur", "payment_method": "pm_card_mastercard", "confirm": True}
    )
    attached = payments.v1.payment_methods.attach("pm_card_amex", {"customer": customer.id})
    with pytest.raises(stripe.CardError) as declined:
        payments.v1.payment_intents.create(
            {
                "amount": 2000,
                "currency": "eur",
                "payment_method": "pm_card_chargeDeclinedInsufficientFunds",
                "confirm": True,
            }
        )

    assert customer.livemode is False
    assert (paid.status, paid.livemode) == ("succeeded", False)
    assert attached.card is not None
    assert attached.card.last4 == "0005"
    assert declined.value.error is not None
    assert declined.value.error.decline_code == "insufficient_funds"


def test_an_episode_stays_in_live_mode(stack: Stack) -> None:
    opened = stack.control.post("/v1/episodes", json={"task": None, "seed": 1}).json()
    access = opened["products"]["billing"]
    payments = stripe.StripeClient(access["credential"], base_addresses={"api": access["base_url"]})

    customer = payments.v1.customers.create({"name": "Jenny Rosen"})
    with pytest.raises(stripe.InvalidRequestError):
        payments.v1.payment_methods.attach("pm_card_visa", {"customer": customer.id})
    assert customer.livemode is True


def test_the_playgrounds_clock_can_follow_the_wall_clock_while_episodes_stand_still(stack: Stack) -> None:
    def create(client: httpx.Client) -> datetime:
        made = client.post("/crm/v3/objects/contacts", json={"properties": {"lastname": "Clock"}}).json()
        return datetime.fromisoformat(made["createdAt"])

    episode = stack.open()
    with stack.playground() as play:
        before = create(play), create(episode.agent)
        after, requests, deadline = before, 0, time.monotonic() + 120
        # Every request moves a clock by a second; on a busy machine control looks at the wall clock late.
        while after[0] - before[0] < timedelta(seconds=requests + 3) and time.monotonic() < deadline:
            time.sleep(5)
            after, requests = (create(play), create(episode.agent)), requests + 1

    assert after[0] - before[0] >= timedelta(seconds=requests + 3)
    assert after[1] - before[1] == timedelta(seconds=requests)


def test_a_clock_that_is_neither_is_refused() -> None:
    with pytest.raises(BadSetting, match="neither world nor wall"):
        Settings.from_environment({"DAYSHIFT_PLAYGROUND_CLOCK": "moon", "DAYSHIFT_CONTROL_TOKEN": "x"})
