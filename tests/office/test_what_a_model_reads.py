"""Nothing that a model reads says that this is a test: tools, briefs, answers and errors are those of a workplace."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from dayshift import job_description
from dayshift.chat_messages import ORCHESTRATOR_PROMPT, SPECIALIST_PROMPT
from dayshift.delegation import orchestrator_operations
from dayshift.episode import Episode
from dayshift.operations import ArgumentLocation, Catalogue, Operation

from fixtures.tasks.registry import families
from services.kernel import catalog
from services.kernel.errors import BodyTooLarge, Failure, KeyReused, RateLimited, Refusal, Unauthenticated, Unavailable
from services.kernel.product import RequestContext
from services.validate.attempt import TrialContext, draw_instance
from tests.company import WORLD

PRODUCTS = catalog.all_names()
SEEDS = (1, 57, 1_204)
# Words that nobody at a software company would write to an employee.
BANNED = re.compile(
    r"\bepisodes?\b|\brewards?\b|\bharness|dayshift|\bmock(s|ed)?\b|\brollouts?\b|\btrainer\b"
    r"|127\.0\.0\.1|\blocalhost\b|\[::1\]|0\.0\.0\.0",
    re.IGNORECASE,
)
# Words of ours that are words of some products, too.
OURS = {
    "task": re.compile(r"\btasks?\b", re.IGNORECASE),
    "agent": re.compile(r"\bagents?\b", re.IGNORECASE),
    "score": re.compile(r"\bscor(e[sd]?|ing)\b", re.IGNORECASE),
    "seed": re.compile(r"\bseed(s|ed)?\b", re.IGNORECASE),
    "split": re.compile(r"\bsplits?\b", re.IGNORECASE),
    # A condition tests a property.
    "test": re.compile(r"(?<!property to )\btest(s|ed|ing)?\b", re.IGNORECASE),
}
# HubSpot has tasks; Zendesk has agents, tasks and satisfaction scores; code has tests and splits text.
LEGITIMATE = {
    "billing": set[str](),
    "crm": {"task"},
    "desk": {"agent", "task", "score"},
    "ide": {"test", "split", "score", "seed"},
}


def find_giveaways(text: str, *products: str) -> list[str]:
    allowed = set().union(*(LEGITIMATE[product] for product in products)) if products else set()
    patterns = [BANNED, *(pattern for word, pattern in OURS.items() if word not in allowed)]
    return [
        text[max(0, match.start() - 60) : match.end() + 60] for pattern in patterns for match in pattern.finditer(text)
    ]


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            # `sandboxId` and `agent_wait` are names of the vendors' fields; they are read word by word.
            yield re.sub(r"[_.]", " ", str(name))
            yield from texts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner)
    elif isinstance(value, str):
        yield value


@pytest.fixture(scope="module")
def free(context: TrialContext) -> Iterator[Episode]:
    with Episode.open(None, world=WORLD, connection=context.stack) as episode:
        yield episode


def of_product(operations: Catalogue, product: str) -> list[Operation]:
    return [operation for operation in operations.values() if operation.product == product]


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_tools_of_a_product_speak_of_work(free: Episode, product: str) -> None:
    tools = [operation.openai_tool() for operation in of_product(free.operations, product)]

    assert not [giveaway for text in texts_of(tools) for giveaway in find_giveaways(text, product)]


def test_the_other_tools_and_the_prompts_speak_of_work(free: Episode) -> None:
    own = [operation.openai_tool() for operation in of_product(free.operations, "")]
    team = orchestrator_operations(PRODUCTS).openai_tools()
    report = free.operations.of_product("crm")["report"].openai_tool()
    names = [tool["function"]["name"] for tool in own]

    assert names == ["come_back_later", "finish_work"]
    texts = [*texts_of([own, team, report]), job_description.TEXT, SPECIALIST_PROMPT, ORCHESTRATOR_PROMPT]
    assert not [giveaway for text in texts for giveaway in find_giveaways(text)]


@pytest.mark.parametrize("name", sorted(families()))
def test_a_brief_speaks_of_work(context: TrialContext, name: str) -> None:
    family = families()[name]
    own = replace(context, split=family.splits[0])
    briefs = [draw_instance(own, family, seed)[0].brief for seed in SEEDS]

    assert not [giveaway for brief in briefs for giveaway in find_giveaways(brief, *family.products)]


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_answer_to_a_broken_or_declined_request_is_the_vendors(product: str) -> None:
    """Whatever the kernel refuses by itself, rendered by the product; a 500 has no prose of ours."""
    refusals: list[Refusal] = [
        Failure(),
        Unauthenticated(),
        BodyTooLarge(),
        KeyReused(),
        RateLimited(3),
        Unavailable(3),
    ]
    for refusal in refusals:
        for path in ("/", "/execute", "/api/v3/user", "/api/sandbox", "/v1/charges", "/api/v2/tickets"):
            answer = catalog.product(product).render(refusal, RequestContext(1, "POST", path, 1_790_000_000_000))
            body = answer.body.decode()

            # Stripe answers a key that was used before with 400.
            assert answer.status == refusal.status or isinstance(refusal, KeyReused)
            assert not find_giveaways(body, product), (type(refusal).__name__, body)
            if isinstance(refusal, Failure):
                assert "environment" not in body
                assert (Failure.__doc__ or "nothing") not in body


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_operation_declines_in_the_vendors_words(context: TrialContext, product: str) -> None:
    """Each operation is called with ids of nothing and without a body; the stack's own address is never answered."""
    with Episode.open(None, world=WORLD, connection=context.stack) as episode:
        for operation in of_product(episode.operations, product):
            if operation.name.startswith("ide.") and operation.method != "GET":
                continue  # those that write start programs
            arguments = dict.fromkeys(operation.names_by_location[ArgumentLocation.PATH], "999999999")
            step = episode.step(operation.name, **arguments)

            shown = step.text if step.refused else re.sub(r'"(subject|body|text)":"[^"]*"', "", step.text)[:4_000]
            is_declined = step.refused and not find_giveaways(shown, product)
            assert is_declined or not re.search(r"127\.0\.0\.1|localhost|http://", shown), (operation.name, shown)


def test_what_the_client_answers_itself_says_what_is_taken(context: TrialContext) -> None:
    with Episode.open(None, world=WORLD, connection=context.stack) as episode:
        misspelt = episode.step("crm.leads.update", leadsId="1", properties={})
        unknown = episode.step("crm.leads.updaet", leadId="1")
        unread = episode.act("please")
        waited = episode.step("wait", hours="many")
        finished = episode.step("finish_work", colour="red")

        assert [step.status for step in (misspelt, unknown, unread, waited, finished)] == [0] * 5
        assert (
            misspelt.text
            == "crm.leads.update takes no leadsId; it takes leadId, idProperty, properties, objectWriteTraceId"
        )
        assert "crm.leads.update" in unknown.text
        answers = [step.text for step in (misspelt, unknown, unread, waited, finished)]
        assert not [giveaway for text in answers for giveaway in find_giveaways(text)]


def test_a_tool_call_of_a_provider_is_understood(context: TrialContext) -> None:
    with Episode.open(None, world=WORLD, connection=context.stack) as episode:
        by_tool_name = episode.act({"name": "crm_leads_update", "arguments": '{"leadsId": "1"}'})
        by_function = episode.act({"type": "function", "function": {"name": "crm.owners.list", "arguments": "{}"}})
        by_input = episode.act({"type": "tool_use", "name": "crm_owners_list", "input": {}})

        assert (by_tool_name.status, by_tool_name.call.operation) == (0, "crm_leads_update")
        assert [by_function.status, by_input.status] == [200, 200]
        assert by_function.call == by_input.call


def test_waiting_tells_what_came_in(context: TrialContext) -> None:
    """A customer's reply is told as the desk would tell it, and a quiet hour says so."""
    with Episode.open("desk/double-charge", seed=3, world=WORLD, connection=context.stack) as episode:
        ticket = re.search(r"#?(\d{3,})", episode.brief)
        assert ticket is not None
        body = {"body": "Which invoice is it, please?", "public": True}
        asked = episode.step("desk.tickets.update", ticket_id=ticket[1], ticket={"comment": body, "status": "pending"})
        assert asked.status == 200, asked.text
        quiet = json.loads(episode.step("come_back_later", hours=0.01).text)
        answered = json.loads(episode.wait(24).text)

        assert quiet["news"] == ["Nothing new came in."]
        assert any(re.fullmatch(rf"1 new reply on ticket {ticket[1]} from .+", line) for line in answered["news"])
        assert not [giveaway for text in texts_of(answered) for giveaway in find_giveaways(text, "desk")]


def test_links_carry_the_vendors_host_and_can_be_followed(context: TrialContext) -> None:
    with Episode.open(None, world=WORLD, connection=context.stack) as episode:
        first = episode.step("desk.tickets.list", per_page=2).json()
        link = first["next_page"]
        second = episode.step(link).json()
        ticket = episode.step(first["tickets"][0]["url"]).json()
        repository = episode.step("ide.repos.list").json()[0]
        elsewhere = episode.step("https://example.com/api/v2/tickets.json")

        assert link.startswith("https://tallyport.zendesk.com/api/v2/tickets")
        assert first["tickets"][0]["id"] == ticket["ticket"]["id"]
        assert not {t["id"] for t in first["tickets"]} & {t["id"] for t in second["tickets"]}
        assert repository["clone_url"].startswith("https://code.tallyport.io/")
        assert episode.step(f"GET {repository['url']}").json()["id"] == repository["id"]
        assert elsewhere.status == 0


def test_an_sdk_without_the_host_pages_at_the_address_that_it_was_given(context: TrialContext) -> None:
    with Episode.open(None, world=WORLD, connection=context.stack) as episode:
        desk = episode.products["desk"]
        headers = {"authorization": f"Bearer {desk.credential}"}
        url: str | None = f"{desk.base_url}/api/v2/tickets.json?page[size]=2"
        seen: list[int] = []
        for _ in range(3):
            assert url is not None
            page = json.loads(context.stack.request(url, headers=headers).content)
            seen += [ticket["id"] for ticket in page["tickets"]]
            url = page["links"]["next"]

        assert str(url).startswith(desk.base_url)
        assert len(seen) == len(set(seen)) == 6
