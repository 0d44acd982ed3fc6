"""The pages of control in a real browser, with the playground's usual credential."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.control.stack import Stack
from tests.viewer.conftest import browser, open_page, problems

__all__ = ["browser", "open_page", "problems"]

OpenPage = Callable[..., Page]
CREDENTIAL = "playground"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    running = Stack(tmp_path_factory.mktemp("browser"), {"DAYSHIFT_PLAYGROUND_TOKEN": CREDENTIAL}).start()
    yield running
    running.stop()


def test_the_first_page_leads_to_swagger_of_each_product(stack: Stack, open_page: OpenPage) -> None:
    page = open_page(f"http://127.0.0.1:{stack.base}/", ready="h1")

    assert page.get_by_role("link", name="try it").count() == 2
    page.get_by_role("link", name="try it").last.click()
    expect(page.locator(".swagger-ui .title").first).to_be_visible()


@pytest.mark.parametrize("product", ["crm", "billing"])
def test_swagger_shows_every_operation_without_an_error_and_with_the_credential(
    stack: Stack, open_page: OpenPage, product: str
) -> None:
    """An error in the page's console fails `open_page`."""
    page = open_swagger(stack, open_page, product)

    expect(page.locator("#credential")).to_have_value(CREDENTIAL)
    assert page.locator(".opblock-tag").count() >= 5


def test_the_first_page_fits_a_phone_and_shows_its_credentials(stack: Stack, open_page: OpenPage) -> None:
    page = open_page(f"http://127.0.0.1:{stack.base}/", ready="h1")
    page.set_viewport_size({"width": 390, "height": 844})

    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for text in (CREDENTIAL, "pat-na1-" + CREDENTIAL, "try it"):
        place = page.locator("td").get_by_text(text, exact=True).first.bounding_box()
        assert place is not None
        assert 0 <= place["x"] <= 390 - place["width"]


def test_swagger_is_dark_where_the_page_is(stack: Stack, open_page: OpenPage) -> None:
    page = open_swagger(stack, open_page, "crm")
    page.emulate_media(color_scheme="dark")

    assert "invert" in page.locator("#swagger").evaluate("each => getComputedStyle(each).filter")
    page.emulate_media(color_scheme="light")
    assert page.locator("#swagger").evaluate("each => getComputedStyle(each).filter") == "none"


def test_an_operation_can_be_tried_and_is_answered_by_the_playground(stack: Stack, open_page: OpenPage) -> None:
    page = open_swagger(stack, open_page, "crm")
    page.locator(".operation-filter-input").fill("owners")
    page.locator(".opblock-tag").first.click()
    page.locator(".opblock-get").first.click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()

    expect(page.locator(".live-responses-table .response-col_status").last).to_contain_text("200")
    assert "/docs/api/crm/crm/v3/owners" in page.locator(".responses-inner").first.inner_text()


def open_swagger(stack: Stack, open_page: OpenPage, product: str) -> Page:
    page = open_page(f"http://127.0.0.1:{stack.base}/docs/{product}", ready="#swagger")
    page.wait_for_selector(".opblock-tag")
    return page
