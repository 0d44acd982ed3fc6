"""Surfaces: the tools that a model is given fit a model, and a call is understood under every name."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import dayshift
import gymnasium
import pytest
from dayshift.answer_text import fit_answer
from dayshift.call_resolution import resolve_call
from dayshift.calls import Call
from dayshift.connection import AsyncConnection, Connection
from dayshift.episode import AsyncEpisode, Episode
from dayshift.errors import BadArguments
from dayshift.export import build_chat_rows, build_reinforcement_rows
from dayshift.lean_schema import describe_fields, leave_out, make_lean
from dayshift.lookup import find
from dayshift.openapi import read_operations
from dayshift.operations import Argument, ArgumentLocation, BodyEncoding, Catalogue, Operation
from dayshift.request_encoding import encode_request
from dayshift.tool_surface import NoSuchSurface, build_surface, only

from services.kernel import catalog
from services.kernel.app import create_api
from tests.client.policies import diligent
from tests.control.stack import TASK
from tests.scripted_provider.tool_rules import MOST_TOOLS, find_refused, find_schemas

PRODUCTS = catalog.all_names()
ROOT = Path(__file__).resolve().parents[2]
SURFACES = ("core", "search", "task(20)", "full", only("*.list", "*.create"))
# What is left of JSON Schema for a model: no titles, and no bounds that the product judges anyway.
KEYWORDS = {"type", "properties", "required", "description", "items", "enum", "const", "default", "maximum", "anyOf"}
KEYWORDS |= {"$defs", "$ref", "contentMediaType"}


def operations_of(product: str) -> list[Operation]:
    return read_operations(product, create_api(catalog.product(product)).openapi())


@pytest.fixture(scope="module")
def by_product() -> dict[str, Catalogue]:
    return {product: Catalogue(operations_of(product)) for product in PRODUCTS}


@pytest.fixture(scope="module")
def office(by_product: dict[str, Catalogue]) -> Catalogue:
    return Catalogue([operation for own in by_product.values() for operation in own.values() if operation.product])


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_core_of_a_product_fits_a_model(by_product: dict[str, Catalogue], product: str) -> None:
    core = by_product[product].surface("core")
    daily = [tool for tool in core.tools if tool.product]

    assert 20 <= len(daily) <= 40
    assert core.tokens <= 8_000
    assert by_product[product].surface("search").tokens <= 1_200


def test_the_core_of_the_office_fits_a_model(office: Catalogue) -> None:
    core, search = office.surface("core"), office.surface("search")

    assert core.tokens <= 25_000
    assert len(core.tools) <= MOST_TOOLS
    assert search.tokens <= 1_200
    assert [tool.name for tool in search.tools] == [
        "find_operations",
        "describe_operation",
        "call_operation",
        "finish_work",
    ]


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_readme_of_a_product_lists_its_core(product: str) -> None:
    readme = (ROOT / "services" / product / "README.md").read_text()
    section = readme.partition("## Core operations")[2].partition("\n## ")[0]
    listed = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]

    assert listed == list(catalog.product(product).core_operations)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("place", [*PRODUCTS, "office"])
def test_every_tool_of_every_surface_is_lean_described_and_taken_by_providers(
    by_product: dict[str, Catalogue], office: Catalogue, place: str, surface: str
) -> None:
    operations = office if place == "office" else by_product[place]
    built = build_surface(operations, surface, solution=operations.names[:3], seed=1)

    for tool in built.openai_tools():
        function = tool["function"]
        parameters = function["parameters"]

        assert find_refused(function["name"], function["description"], parameters) == []
        assert function["description"]
        for name, schema in parameters["properties"].items():
            assert schema.get("description"), (function["name"], name)
        for schema in find_schemas(parameters):
            assert schema.keys() <= KEYWORDS, (function["name"], schema.keys() - KEYWORDS)
            assert {"type": "null"} not in schema.get("anyOf", ()), function["name"]
            assert "null" not in schema.get("type", ()), function["name"]
            assert None not in schema.get("enum", ()), function["name"]
        text = json.dumps(parameters)
        for name in parameters.get("$defs", {}):
            assert text.count(f'"#/$defs/{name}"') > 1, (function["name"], name)
    anthropic = [(tool["name"], tool["description"], tool["input_schema"]) for tool in built.anthropic_tools()]
    assert anthropic == [tuple(tool["function"].values()) for tool in built.openai_tools()]


def test_a_parameter_that_providers_refuse_has_another_name(by_product: dict[str, Catalogue]) -> None:
    operations = by_product["desk"]
    listed, search = operations["desk.tickets.list"], operations["desk.search"]
    properties = listed.lean_schema["properties"]

    assert {"page_size", "page_after", "page_before"} <= properties.keys()
    assert not [name for name in properties if "[" in name]
    assert "filter_type" in search.core.lean_schema["properties"]
    assert "page_size?" in find("list all tickets", operations)
    for arguments in ({"page_size": 2, "sort": "id"}, {"page[size]": 2, "sort": "id"}):
        call = resolve_call(Call("desk_tickets_list", arguments), operations, {})
        assert call.arguments == {"page[size]": 2, "sort": "id"}
        assert encode_request(listed, call.arguments).target == "/api/v2/tickets?page%5Bsize%5D=2&sort=id"
    twice = resolve_call(Call("desk.tickets.list", {"page_size": 2, "page[size]": 3}), operations, {})
    with pytest.raises(BadArguments, match="takes no page_size"):
        encode_request(listed, twice.arguments)
    assert operations.surface("core").wrap("desk.search", {"query": "x", "filter[type]": "ticket"}) == (
        "desk_search",
        {"query": "x", "filter_type": "ticket"},
    )
    assert operations.surface("search").wrap("desk.tickets.list", {"page[size]": 2}) == (
        "call_operation",
        {"operation": "desk.tickets.list", "arguments": {"page_size": 2}},
    )


def test_two_parameters_keep_two_names() -> None:
    names = ("page[size]", "page_size", "page(size)", "$top", "x" * 70)
    arguments = tuple(Argument(name, ArgumentLocation.QUERY, required=True, schema={}) for name in names)
    schema = {"type": "object", "properties": {name: {} for name in names}, "required": list(names)}
    operation = Operation("a.list", "a", "GET", "/a", "List.", arguments, BodyEncoding.NONE, schema)
    given = {name: number for number, name in enumerate(names)}
    renamed = operation.rename_for_model(given)

    assert list(renamed)[:4] == ["page_size_", "page_size", "page_size__", "top"]
    assert find_refused("a_list", "List.", operation.lean_schema) == []
    assert operation.lean_schema["required"] == list(renamed)
    assert operation.rename_from_model(renamed) == given


# What the name of a field says by itself, or its values do.
PLAIN_NAMES = frozenset(
    ("body", "city", "comment", "country", "description", "line1", "line2", "phone", "postal_code", "quantity", "state")
)


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_field_within_a_parameter_is_described(by_product: dict[str, Catalogue], product: str) -> None:
    undescribed = {
        f"{tool['function']['name']}: {name}"
        for tool in by_product[product].surface("core").openai_tools()
        for schema in find_schemas(tool["function"]["parameters"])
        for name, field in schema.get("properties", {}).items()
        if name not in PLAIN_NAMES and not field.get("description") and "enum" not in field
    }

    assert undescribed == set()


def test_a_field_is_described_by_its_path_through_references_lists_and_alternatives() -> None:
    schema = {
        "properties": {
            "created": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Range"}]},
            "ended": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Range"}]},
            "lines": {
                "type": "array",
                "items": {"properties": {"type": {"type": "string"}, "id": {"description": "Its id"}}},
            },
        },
        "$defs": {"Range": {"properties": {"gte": {"type": "integer"}}}},
    }
    texts = {
        "created.gte": "From then on",
        "lines.type": "Which kind",
        "lines.id": "another",
        "nowhere.at": "never seen",
    }

    described = describe_fields(schema, texts)

    created, ended, lines = described["properties"].values()
    assert created["anyOf"][1]["properties"]["gte"] == {"description": "From then on", "type": "integer"}
    assert ended == schema["properties"]["ended"]
    assert lines["items"]["properties"] == {
        "type": {"description": "Which kind", "type": "string"},
        "id": {"description": "Its id"},
    }
    assert describe_fields(schema, {"nowhere.at": "never seen"}) is schema


def test_a_field_of_a_lists_entries_may_be_left_out() -> None:
    entry = {"properties": {"name": {}, "direction": {}}, "required": ["name"]}
    schema = {
        "properties": {"sorts": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Sort"}]}}}
    }

    left = leave_out({**schema, "$defs": {"Sort": entry}}, {"sorts.direction", "sorts.name"})

    assert left["properties"]["sorts"]["items"]["anyOf"][1]["properties"] == {"name": {}}


def test_the_description_of_a_list_stands_for_its_entries() -> None:
    entry = {"type": "object", "description": "A sort", "patternProperties": {"^a": {}}}
    schema = {"properties": {"sorts": {"items": entry, "description": "Sorts"}, "alone": {"items": entry}}}

    assert make_lean(schema)["properties"] == {
        "sorts": {"items": {"type": "object"}, "description": "Sorts"},
        "alone": {"items": {"type": "object", "description": "A sort"}},
    }


def test_the_documentation_says_how_large_the_surfaces_are(by_product: dict[str, Catalogue], office: Catalogue) -> None:
    """`.ci/integrations tokens` compares the columns of a real tokenizer, too."""
    page = (ROOT / "docs" / "client.md").read_text()
    full = office.surface("full")
    stated = re.search(r"All operations of an office episode are (\d+) tools and ([\d,]+) tokens", page)
    assert stated is not None
    assert int(stated[1]) == len(full.tools)
    assert int(stated[2].replace(",", "")) == pytest.approx(full.tokens, rel=0.05)
    for name, operations in {**by_product, "office": office}.items():
        row = re.search(rf"^\| `{name}` \|(.+)\|$", page, re.MULTILINE)
        assert row is not None, name
        columns = [int(cell.replace(",", "")) for cell in row[1].split("|")]
        counted = [operations.surface(surface).tokens for surface in ("search", "core", "full")]
        assert columns[::2] == pytest.approx(counted, rel=0.05)


def test_names_are_unique_and_their_order_is_stable(by_product: dict[str, Catalogue]) -> None:
    backwards = Catalogue([o for product in reversed(PRODUCTS) for o in reversed(operations_of(product))])
    names = [tool["function"]["name"] for tool in backwards.surface("full").openai_tools()]
    forwards = Catalogue([o for product in PRODUCTS for o in operations_of(product)])

    assert len(names) == len(set(names))
    assert names == [tool["function"]["name"] for tool in forwards.surface("full").openai_tools()]


def test_a_definition_that_is_used_once_stands_where_it_is_used() -> None:
    schema = {
        "type": "object",
        "properties": {
            "one": {"$ref": "#/$defs/Once"},
            "two": {"anyOf": [{"$ref": "#/$defs/Often"}, {"type": "null"}], "title": "Two", "default": None},
            "three": {"type": "array", "items": {"$ref": "#/$defs/Often"}},
            "title": {"type": "string", "maxLength": 5},
        },
        "required": ["one"],
        "$defs": {
            "Once": {"type": "object", "title": "Once", "properties": {"a": {"type": ["string", "null"]}}},
            "Often": {"type": "object", "properties": {"b": {"$ref": "#/$defs/Often"}}},
            "Never": {"type": "string"},
        },
    }

    assert make_lean(schema) == {
        "type": "object",
        "properties": {
            "one": {"type": "object", "properties": {"a": {"type": "string"}}},
            "two": {"$ref": "#/$defs/Often"},
            "three": {"type": "array", "items": {"$ref": "#/$defs/Often"}},
            "title": {"type": "string"},
        },
        "required": ["one"],
        "$defs": {"Often": {"type": "object", "properties": {"b": {"$ref": "#/$defs/Often"}}}},
    }


def test_a_surface_of_patterns_holds_what_they_match(by_product: dict[str, Catalogue]) -> None:
    surface = by_product["crm"].surface(only("crm.contacts.*", "crm.notes.create"))
    names = [tool.name for tool in surface.tools]

    assert surface.name == "only(crm.contacts.*,crm.notes.create)"
    assert names[-2:] == ["come_back_later", "finish_work"]
    assert {name.rpartition(".")[0] for name in names[:-2]} == {"crm.contacts", "crm.notes"}
    with pytest.raises(NoSuchSurface):
        by_product["crm"].surface(only("crm.contcats.*"))
    with pytest.raises(NoSuchSurface):
        by_product["crm"].surface("most")


def test_the_surface_of_a_task_holds_its_solution_and_seeded_distractors(by_product: dict[str, Catalogue]) -> None:
    needed = ["crm.contacts.search", "crm.contacts.update"]
    one = build_surface(by_product["crm"], "task", solution=needed, distractors=5, seed=1)
    again = build_surface(by_product["crm"], "task", solution=needed, distractors=5, seed=1)
    other = build_surface(by_product["crm"], "task", solution=needed, distractors=5, seed=2)

    assert one.assisted
    assert not by_product["crm"].surface("core").assisted
    assert set(needed) < {tool.name for tool in one.tools}
    assert len(one.tools) == 2 + 5 + 2
    assert one.tools == again.tools != other.tools
    with pytest.raises(NoSuchSurface):
        build_surface(by_product["crm"], "task")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("merge two contacts", "crm.contacts.merge"),
        ("erase a person under GDPR", "crm.contacts.gdpr_delete"),
        ("who are the owners", "crm.owners.list"),
        ("refund a charge", "billing.refunds.create"),
        ("cancel subscription", "billing.subscriptions.cancel"),
        ("redact a comment", "desk.comments.redact"),
        ("open a pull request", "ide.pulls.create"),
        ("let hours pass, come back later", "come_back_later"),
    ],
)
def test_words_find_the_operation(office: Catalogue, words: str, wanted: str) -> None:
    assert wanted in [line.partition("(")[0] for line in find(words, office).splitlines()]


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_words_of_an_operations_name_find_it(by_product: dict[str, Catalogue], product: str) -> None:
    operations = by_product[product]
    for name in operations:
        words = re.sub(r"[._]", " ", name.partition(".")[2])
        assert name in [line.partition("(")[0] for line in find(words, operations).splitlines()] or not words, name


def test_an_answer_that_fits_stays_as_it_is() -> None:
    assert fit_answer('{"a": 1}', 100) == '{"a": 1}'


@pytest.mark.parametrize("limit", [1_000, 4_000, 16_000])
def test_a_long_answer_is_shortened_at_a_json_boundary(by_product: dict[str, Catalogue], limit: int) -> None:
    rows = [{"id": n, "subject": f"Ticket {n}", "description": "é" * (n % 90), "tags": ["a"] * 5} for n in range(500)]
    answer = json.dumps({"tickets": rows, "count": 500, "next_page": "https://tallyport.zendesk.com/x", "meta": {}})
    text = fit_answer(answer, limit, by_product["desk"]["desk.tickets.list"])
    body, _, note = text.rpartition("\n[")
    shown = json.loads(body)

    assert len(text) <= limit
    assert shown["count"] == 500
    assert shown.get("next_page") == "https://tallyport.zendesk.com/x"
    assert shown["tickets"] == rows[: len(shown["tickets"])]
    assert f"the whole answer has {len(answer)} characters" in note
    assert f"{500 - len(shown['tickets'])} of 500 in tickets" in note
    assert "fewer at once with per_page" in note
    assert "the rest with page_after" in note


@pytest.mark.parametrize(
    "answer",
    [
        json.dumps("x" * 9_000),
        json.dumps([[1] * 4_000] * 3),
        json.dumps({str(n): {"a": "b" * 50} for n in range(400)}),
        json.dumps({"deep": {"deeper": {"deepest": list(range(5_000))}}}),
        "not JSON at all " * 1_000,
        "[" * 900,
    ],
)
def test_whatever_is_answered_fits(answer: str) -> None:
    for limit in (200, 500, 2_000):
        assert len(fit_answer(answer, limit)) <= limit


def test_an_episode_is_played_through_its_tools(address: object, connection: Connection) -> None:
    with Episode.open(TASK, seed=4, connection=connection, surface="core", max_answer_chars=2_000) as episode:
        core = episode.surface
        found = core.call_blocking(episode, "find_operations", '{"words": "association labels"}')
        described = core.call_blocking(episode, "find_operations", {"words": "crm.association_labels.list"})
        called = core.call_blocking(
            episode, "call_operation", {"operation": "crm.contacts.list", "arguments": {"limit": 1}}
        )
        by_name = core.call_blocking(episode, "crm.contacts.list", '{"limit": 1}')
        refused = core.call_blocking(episode, "crm_contacts_get", {"contactId": "1"})
        malformed = core.call_blocking(episode, "crm_contacts_get", '{"contactId": ')
        unknown = core.call_blocking(episode, "call_operation", {"operation": "crm.nothing"})
        long = core.call_blocking(episode, "crm_contacts_search", {"limit": 100})
        used = episode.protocol.steps_used
        finished = core.call_blocking(episode, "finish_work")

        assert "crm.association_labels.list(" in found
        assert '"fromObjectType"' in described
        assert json.loads(called)["results"] == json.loads(by_name)["results"]
        assert refused.startswith("404: ")
        assert malformed.startswith("error: the arguments are not JSON")
        assert unknown.startswith("error: there is no operation")
        assert len(long) <= 2_000
        assert "fewer at once with limit" in long
        # Looking something up is free.
        assert used == len(episode.steps) - 3
        assert finished == "Done."
        surface = episode.trajectory().manifest.surface
        assert surface is not None
        assert (surface.name, surface.tokens, surface.assisted) == ("core", core.tokens, False)


def test_an_async_episode_is_played_through_its_tools(address: Any) -> None:
    async def play() -> list[str]:
        async with (
            AsyncConnection(address) as connection,
            await AsyncEpisode.open(TASK, seed=4, connection=connection, surface="search") as episode,
        ):
            call = {"operation": "crm_contacts_list", "arguments": '{"limit": 1}'}
            first = await episode.surface.call(episode, "call_operation", call)
            return [first, await episode.surface.call(episode, "finish_work", None)]

    contacts, finished = asyncio.run(play())

    assert json.loads(contacts)["results"]
    assert finished == "Done."


def test_lookups_beyond_the_budget_cost_steps(connection: Connection) -> None:
    with Episode.open(TASK, seed=4, connection=connection) as episode:
        budget = episode.steps_left
        assert budget is not None
        for _ in range(budget + 3):
            episode.step("find_operations", words="contacts")

        assert episode.steps_left == budget - 3


def test_a_surface_is_an_option_of_gymnasium_rollouts_and_exports(address: Any, tmp_path: Path) -> None:
    env = gymnasium.make("dayshift/Crm-v0", task=TASK, surface="search", max_body_chars=3_000)
    _, _ = env.reset(seed=3)
    observation, *_ = env.step({"operation": "call_operation", "arguments": {"operation": "crm.contacts.list"}})
    tools = [tool["function"]["name"] for tool in env.unwrapped.surface.openai_tools()]  # type: ignore[attr-defined]  # our own environment
    env.close()

    async def roll() -> list[dayshift.Trajectory]:
        tasks = dayshift.tasks(TASK, seeds=range(2))
        surface = only("crm.contacts.*")
        return [t async for t in dayshift.rollouts(diligent, tasks, surface=surface, progress=False)]

    trajectories = asyncio.run(roll())
    operations = Catalogue([o for product in PRODUCTS for o in operations_of(product)])
    as_recorded = list(build_chat_rows(trajectories, operations))
    searched = list(build_chat_rows(trajectories, operations, "search"))
    prompts = list(build_reinforcement_rows(trajectories, operations, "core"))

    assert len(tools) == 4
    assert len(observation["body"]) <= 3_000
    assert "Shortened" in observation["body"]
    assert {t.manifest.surface.name for t in trajectories if t.manifest.surface} == {"only(crm.contacts.*)"}
    names = [tool["function"]["name"] for tool in as_recorded[0]["tools"]]
    assert all(name.startswith("crm_contacts_") for name in names[:-2])
    assert len(searched[0]["tools"]) == 4
    calls = [
        message["tool_calls"][0]["function"]["name"] for message in searched[0]["messages"] if "tool_calls" in message
    ]
    assert set(calls) == {"call_operation", "finish_work"}
    assert {tool["function"]["name"].partition("_")[0] for tool in prompts[0]["tools"]} <= {
        "crm",
        "find",
        "call",
        "come",
        "finish",
    }


def test_a_recorded_lookup_is_replayed(connection: Connection) -> None:
    with Episode.open(TASK, seed=4, connection=connection, surface="core") as episode:
        episode.step("find_operations", words="merge contacts")
        episode.step("call_operation", operation="crm.owners.list", arguments={"limit": 2})
        episode.submit()
        trajectory = episode.trajectory()

    assert dayshift.verify(trajectory, connection).identical
