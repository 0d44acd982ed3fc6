"""Coding agents, unmodified and each in a virtual environment of its own, solve an episode of the IDE."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.company import WORLD, small_company
from tests.control.stack import Stack
from tests.integrations.conftest import Judge
from tests.judges import python_of
from tests.scripted_provider import ScriptedProvider

pytestmark = pytest.mark.integration
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def with_ide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    started = Stack(small_company(tmp_path_factory), {"DAYSHIFT_WITHOUT": "crm,desk,billing,mcp"}).start()
    yield started
    started.stop()


@pytest.mark.parametrize(
    ("environment", "example", "model"),
    [("mini_swe", "agent_mini_swe.py", "shell-repairer"), ("aider", "agent_aider.py", "block-repairer")],
)
def test_an_agent_repairs_what_an_issue_reports(
    with_ide: Stack, provider: ScriptedProvider, tmp_path: Path, environment: str, example: str, model: str
) -> None:
    output = Judge(with_ide, python_of(environment)).run(
        EXAMPLES / example,
        *("--world", WORLD, "--model", f"openai/{model}", "--api-base", f"{provider.url}/v1"),
        # Neither reads nor leaves settings of whoever runs this.
        HOME=str(tmp_path),
        # The prices of models would be fetched otherwise.
        LITELLM_LOCAL_MODEL_COST_MAP="True",
        seconds=180,
    )

    assert "passed, reward 1.0" in output.splitlines(), output[-2000:]
