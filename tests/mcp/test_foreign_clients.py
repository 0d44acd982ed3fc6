"""MCP clients that the project does not depend on, each in a virtual environment of its own: `.ci/integrations mcp`."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dayshift.connection import Connection
from dayshift.episode import Episode

from tests.control.stack import TASK
from tests.judges import JUDGES, python_of
from tests.mcp.agents import Endpoint, office, product

pytestmark = pytest.mark.integration
PROGRAMS = Path(__file__).parent / "judges"
# Each client once, at one of the two endpoints: both endpoints are one implementation, and starting a client is slow.
CLIENTS = [
    ("mcp1", "mcp_package", product),
    ("mcp1", "fastmcp_client", office),
    ("mcp1", "langchain_tools", product),
    ("mcp2", "fastmcp_client", product),
    ("mcp2", "openai_agents", office),
    ("mcp2", "inspect_tools", office),
]


def run(command: list[str], endpoint: Endpoint) -> str:
    environment = {**os.environ, "MCP_URL": endpoint.url, "MCP_CREDENTIAL": endpoint.credential}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    return ran.stdout


@pytest.mark.parametrize(("group", "client", "choose"), CLIENTS)
def test_a_foreign_client_does_its_work(
    connection: Connection, group: str, client: str, choose: Callable[[Any], Endpoint]
) -> None:
    with Episode.open(TASK, seed=7, connection=connection) as episode:
        surface = [tool.tool_name for tool in episode.operations.surface("core").tools]
        printed = run([str(python_of(group)), str(PROGRAMS / f"{client}.py")], choose(episode))
        verdict = episode.submit()

    report = json.loads(printed.splitlines()[-1])
    assert report["tools"] == surface
    assert report["errors"] == [False, False, True, False, False]
    assert "404: " in report["refused"]
    assert report["done"] == "Done."
    assert verdict.outcome == "failed"
    assert len(verdict.collateral) == 1


def test_the_inspector_lists_and_calls(connection: Connection) -> None:
    """Claude Code and others speak through the same TypeScript package."""
    inspector = str(JUDGES / "inspector" / "node_modules" / ".bin" / "mcp-inspector")
    with Episode.open(TASK, seed=7, connection=connection) as episode:
        endpoint = office(episode).choose(surface="search")
        common = [inspector, "--cli", endpoint.url, "--header", f"Authorization: Bearer {endpoint.credential}"]
        listed = json.loads(run([*common, "--transport", "http", "--method", "tools/list"], endpoint))
        call = ["--method", "tools/call", "--tool-name", "call_operation", "--tool-arg", "operation=crm.contacts.list"]
        called = json.loads(
            run([*common, "--transport", "http", *call, "--tool-arg", 'arguments={"limit":1}'], endpoint)
        )

    assert [tool["name"] for tool in listed["tools"]] == [
        "find_operations",
        "describe_operation",
        "call_operation",
        "finish_work",
    ]
    assert len(json.loads(called["content"][0]["text"])["results"]) == 1
