"""Harbor: exports task folders whose environment is a stack of its own, as a sidecar.

    python -m dayshift.integrations.harbor --tasks crm/correct-contact --seeds 5 --into tasks/
    harbor run -p tasks/ -a claude-code -m anthropic/claude-opus-4

The agent's container reaches the work through one MCP server and nothing else. The verifier asks the sidecar for the
verdict with a token that the agent does not have; an episode without a reward leaves no reward file.
"""

import argparse
import json
import secrets
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from dayshift.argument_types import parse_positive
from dayshift.connection import Connection
from dayshift.episode import Episode
from dayshift.integrations.sessions import SPLITS
from dayshift.job_description import TEXT
from dayshift.rollout import tasks
from dayshift.tool_surface import DEFAULT_SURFACE
from dayshift.wire import OpenRequest

SCHEMA_VERSION = "1.4"
GATEWAY_PORT = 8720
# Built by `make image`.
STACK_IMAGE = "dayshift"
AGENT_IMAGE = "python:3.11-slim-bookworm"

_COMPOSE = """\
services:
  main:
    depends_on:
      office:
        condition: service_healthy
  office:
    image: {image}
    entrypoint: ["python", "-m", "dayshift.integrations.harbor_sidecar"]
    environment:
      HARBOR_OPEN_REQUEST: {request}
      HARBOR_SURFACE: {surface}
      HARBOR_VERIFIER_TOKEN: {token}
    tmpfs: [/tmp, "/var/lib/dayshift:uid=10001,mode=0700"]
    healthcheck:
      test: ["CMD", "python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:{port}/health')"]
      interval: 2s
      timeout: 5s
      start_period: 180s
      retries: 5
"""

_TASK = """\
schema_version = "{schema}"

[task]
name = "dayshift/{name}"
description = {title}

[metadata]
family = "{family}"
seed = {seed}
split = "{split}"
world = "{world}"

[agent]
timeout_sec = 1800.0

[verifier]
timeout_sec = 300.0

[verifier.env]
HARBOR_VERIFIER_TOKEN = "{token}"

[environment]
build_timeout_sec = 600.0
cpus = 2
memory_mb = 4096

[[environment.mcp_servers]]
name = "office"
transport = "streamable-http"
url = "http://office:{port}/mcp"
"""

_DOCKERFILE = f"FROM {AGENT_IMAGE}\nWORKDIR /work\n"

_TEST = """\
#!/bin/sh
# Without a reward file Harbor reports an error and not a reward of 0.
exec python3 /tests/verdict.py
"""

# Standard library alone: it runs in the agent's container.
_VERDICT = '''\
"""Asks the sidecar for the verdict and writes the reward; an episode without one leaves no file."""

import json
import math
import os
import pathlib
import sys
import urllib.error
import urllib.request

url = os.environ.get("HARBOR_GATEWAY", "http://office:{port}") + "/verdict"
logs = pathlib.Path(os.environ.get("HARBOR_VERIFIER_LOGS", "/logs/verifier"))
headers = {{"authorization": "Bearer " + os.environ["HARBOR_VERIFIER_TOKEN"]}}
try:
    with urllib.request.urlopen(urllib.request.Request(url, b"", headers), timeout=240) as answer:
        verdict = json.load(answer)
except urllib.error.HTTPError as error:
    sys.exit("unscored: " + error.read().decode(errors="replace"))
except OSError as error:
    sys.exit("unscored: the environment does not answer: " + str(error))
if not isinstance(verdict["reward"], (int, float)) or not math.isfinite(verdict["reward"]):
    sys.exit("unscored: " + str(verdict))
logs.mkdir(parents=True, exist_ok=True)
(logs / "verdict.json").write_text(json.dumps(verdict, indent=1))
passed = float(verdict["outcome"] == "passed")
(logs / "reward.json").write_text(json.dumps({{"reward": verdict["reward"], "passed": passed}}))
'''


def export_tasks(
    requests: Iterable[OpenRequest], folder: Path, *, surface: str = DEFAULT_SURFACE, image: str = STACK_IMAGE
) -> list[Path]:
    """Writes a folder for each instance; the running stack is asked for the briefs."""
    with Connection() as connection:
        titles = {family.id: family.title for family in connection.run(connection.address.control.families()).families}
        folders = []
        for request in requests:
            with Episode.open(request, connection=connection) as episode:
                brief = episode.brief
            folders.append(_write_task(request, brief, titles.get(request.task or "", ""), folder, surface, image))
    return folders


def _write_task(request: OpenRequest, brief: str, title: str, folder: Path, surface: str, image: str) -> Path:
    name = f"{str(request.task).replace('/', '-')}-{request.split}-{request.seed}"
    place, token = folder / name, secrets.token_hex(24)
    if place.exists():
        shutil.rmtree(place)
    values = {"name": name, "schema": SCHEMA_VERSION, "token": token, "port": GATEWAY_PORT, "image": image}
    about = request.model_dump(include={"seed", "split", "world"}) | {
        "family": request.task,
        "title": json.dumps(title),
    }
    compose = _COMPOSE.format(**values, request=json.dumps(request.model_dump_json()), surface=json.dumps(surface))
    files = {
        "instruction.md": f"{TEXT}\n\nThe tools are those of the MCP server `office`.\n\n{brief}\n",
        "task.toml": _TASK.format(**values, **about),
        "environment/Dockerfile": _DOCKERFILE,
        "environment/docker-compose.yaml": compose,
        "tests/test.sh": _TEST,
        "tests/verdict.py": _VERDICT.format(port=GATEWAY_PORT),
    }
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text, encoding="utf-8")
    (place / "tests/test.sh").chmod(0o755)
    return place


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m dayshift.integrations.harbor", description="export task folders")
    parser.add_argument("--tasks", nargs="+", required=True, help="ids of families")
    parser.add_argument("--seeds", type=parse_positive, default=1, help="instances of each family (default 1)")
    parser.add_argument("--split", choices=SPLITS, default="test")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--surface", default=DEFAULT_SURFACE)
    parser.add_argument("--image", default=STACK_IMAGE, help="the image of the stack (default dayshift, by make image)")
    parser.add_argument("--into", type=Path, required=True, help="the folder that gets one folder for each instance")
    options = parser.parse_args(arguments)
    chosen = tasks(*options.tasks, seeds=range(options.seeds), split=options.split, world=options.world)
    written = export_tasks(chosen, options.into, surface=options.surface, image=options.image)
    print(f"{len(written)} tasks in {options.into}")


if __name__ == "__main__":
    main()
