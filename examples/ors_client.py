"""Plays an episode through ORS with the client of the `openreward` package.

pip install './env_client[ors]'
python -m dayshift.integrations.ors --task crm/correct-contact --port 8080
python examples/ors_client.py --url http://127.0.0.1:8080
"""

import argparse

from openreward import OpenReward
from scripted_agent import work


def play(url: str, split: str, index: int) -> None:
    env = OpenReward(api_key="none").environments.get("officework", base_url=url)
    with env.session(task=env.get_task(split, index)) as session:
        agent = work(session.get_prompt()[0].text)
        tool, arguments = next(agent)
        while not (answer := session.call_tool(tool, arguments)).finished:
            tool, arguments = agent.send(answer.blocks[0].text)
    print(f"{answer.metadata['outcome']}, reward {answer.reward}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--split", default="train")
    parser.add_argument("--index", type=int, default=0)
    options = parser.parse_args()
    play(options.url, options.split, options.index)
