"""Every product of the catalogue serves its operations at `/mcp` of its own agent API, and `up` says how to connect."""

import re
import shlex
from collections.abc import Iterator

import pytest
from dayshift.openapi import read_operations
from dayshift.operations import Catalogue

from services.kernel import catalog
from services.kernel.app import create_api
from tests.company import small_company
from tests.control.stack import PLAYGROUND, Stack
from tests.mcp.agents import REVISIONS, Endpoint, Revision, call, connect, tool_names
from tests.scripted_provider.tool_rules import find_refused

pytestmark = pytest.mark.anyio
# An operation of each product that reads, and takes no arguments.
READS = {
    "crm": "crm.contacts.list",
    "desk": "desk.tickets.list",
    "billing": "billing.customers.list",
    "ide": "ide.repos.list",
}


@pytest.fixture(scope="module")
def whole_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    var = tmp_path_factory.mktemp("mcp-all")
    (var / "worlds").symlink_to(small_company(tmp_path_factory) / "worlds", target_is_directory=True)
    started = Stack(var, {"DAYSHIFT_WITHOUT": "console"}).start()
    yield started
    started.stop()


@pytest.mark.parametrize("revision", REVISIONS)
async def test_every_product_lists_and_serves_its_tools(whole_stack: Stack, revision: Revision) -> None:
    assert READS.keys() == set(catalog.all_names())
    for name in catalog.all_names():
        declared = catalog.product(name)
        port = whole_stack.base + declared.port - 8700
        own = Catalogue(read_operations(name, create_api(declared).openapi()))
        async with connect(Endpoint(f"http://127.0.0.1:{port}/mcp", PLAYGROUND), revision) as client:
            tools = (await client.list_tools()).tools
            names = [tool.name for tool in tools]
            failed, answer = await call(client, own[READS[name]].tool_name)
            missing, _ = await call(client, f"{name}_no_such_tool")

        daily = [own[operation].tool_name for operation in own if own[operation].is_core]
        assert [tool for tool in names if tool.startswith(f"{name}_")] == daily, name
        assert (failed, missing) == (False, True), (name, answer)
        assert [
            each for tool in tools for each in find_refused(tool.name, tool.description or "", tool.input_schema)
        ] == []


async def test_the_lines_that_up_prints_connect_agents(whole_stack: Stack) -> None:
    """The address and the credential of each line are those with which a client lists tools."""
    printed, url = whole_stack.output(), f"http://127.0.0.1:{whole_stack.base + 6}/mcp"
    (claude,) = re.findall(r"^claude mcp add .*$", printed, re.MULTILINE)
    (codex,) = re.findall(r"^export .*; codex mcp add .*$", printed, re.MULTILINE)
    (inspector,) = re.findall(r"^npx @modelcontextprotocol/inspector .*$", printed, re.MULTILINE)
    export, _, added = codex.partition("; ")
    variable, _, token = export.removeprefix("export ").partition("=")

    header = f"Authorization: Bearer {PLAYGROUND}"
    assert shlex.split(claude) == ["claude", "mcp", "add", "--transport", "http", "office", url, "--header", header]
    assert token == PLAYGROUND
    assert shlex.split(added) == ["codex", "mcp", "add", "office", "--url", url, "--bearer-token-env-var", variable]
    assert shlex.split(inspector)[2:] == ["--cli", url, "--header", header, "--method", "tools/list"]
    async with connect(Endpoint(url, token)) as client:
        assert {name.partition("_")[0] for name in await tool_names(client)} >= set(catalog.all_names())
