"""Plays the rows of a dataset against the NeMo Gym server as one of NeMo Gym's agents does.

pip install './env_client[nemo-gym]'
python -m dayshift.integrations.nemo_gym --port 8010
python -m dayshift.integrations.nemo_gym_rows --tasks crm/correct-contact --seeds 2 --output rows.jsonl
python examples/nemo_gym_rollout.py rows.jsonl --url http://127.0.0.1:8010
"""

import argparse
import json
from pathlib import Path
from typing import Any

import httpx
from scripted_agent import work


def play(client: httpx.Client, row: dict[str, Any]) -> dict[str, Any]:
    """Returns what a trainer learns from: the reward, and whether the sample is to be masked."""
    # The session is a cookie, which the client keeps.
    client.post("/seed_session", json=row).raise_for_status()
    brief = row["responses_create_params"]["input"][-1]["content"]
    output, answer, agent = [], None, work(brief)
    while True:
        try:
            tool, arguments = next(agent) if answer is None else agent.send(answer)
        except StopIteration:
            break
        answer = client.post(f"/{tool}", json=arguments).text
        output.append({"type": "function_call", "name": tool, "arguments": json.dumps(arguments)})
    verified = client.post("/verify", json=row | {"response": {"output": output}})
    return verified.raise_for_status().json()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:8010")
    options = parser.parse_args()
    with httpx.Client(base_url=options.url, timeout=60, trust_env=False) as session:
        for line in options.rows.read_text().splitlines():
            result = play(session, json.loads(line))
            print(f"reward {result['reward']}, masked: {result['mask_sample']}")
