"""Harbor itself runs an exported task in containers: `.ci/integrations harbor_containers`, where an engine exists."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control.stack import Stack
from tests.integrations.conftest import ROOT, SCRIPTS, Judge
from tests.judges import python_of

pytestmark = pytest.mark.integration
# The image holds the same worlds as the stack that exports: both are those of `make worlds`.
WORLD = "small"


@pytest.fixture(scope="module")
def exporter() -> Iterator[Stack]:
    started = Stack(ROOT / "var", {"DAYSHIFT_WITHOUT": "desk,ide"}).start()
    yield started
    started.stop()


def test_harbor_plays_an_exported_task_with_the_stack_as_a_sidecar_and_reads_its_reward(
    exporter: Stack, tmp_path: Path
) -> None:
    tasks, jobs = tmp_path / "tasks", tmp_path / "jobs"
    options = ("--tasks", "crm/correct-contact", "--seeds", "1", "--world", WORLD, "--into", tasks)
    Judge(exporter, Path(sys.executable)).run("-m", "dayshift.integrations.harbor", *options)
    judge = Judge(exporter, python_of("harbor"))
    run = (
        "run",
        "-p",
        tasks,
        "-a",
        "harbor_agent:OfficeAgent",
        *choose_compose(),
        "-o",
        jobs,
        "--job-name",
        "one",
        "-y",
    )
    # Without the network it would wait for a list of prices.
    settings = {"PYTHONPATH": f"{ROOT / 'examples'}:{SCRIPTS}", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    judge.run_tool("harbor", *run, seconds=900, **settings)

    [trial] = [json.loads(file.read_text()) for file in jobs.glob("one/*/result.json")]
    assert trial["exception_info"] is None
    assert trial["verifier_result"]["rewards"] == {"reward": 1.0, "passed": 1.0}


def choose_compose() -> tuple[str, ...]:
    """Harbor's own environment, or where the engine has Compose 1 only, one that can do with it."""
    second = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return () if second.returncode == 0 else ("-e", "compose_v1:ComposeV1")
