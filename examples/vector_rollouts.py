"""Many episodes at once: in lockstep behind Gymnasium's vector API, and as a stream of finished trajectories.

python examples/vector_rollouts.py --episodes 200 --into runs/example
"""

import argparse
import asyncio
import json
import re
import time
from collections import Counter
from pathlib import Path

import dayshift
import gymnasium

TASK = "crm/correct-contact"


def read_brief(brief: str) -> tuple[str, str]:
    """Returns the address of a person, which stands in parentheses, and the right phone number.

    Some addresses in the company's data lack their @, as in any CRM; a pattern that insists on one would find nothing.
    """
    email = re.search(r"\((\S*[A-Za-z]\S*)\)", brief)[1]
    phone = re.search(r"(?<!\w)\+?\(?\d[\d ()./-]{5,}\d", brief.replace(email, ""))[0]
    return email, phone


def search(email: str) -> dayshift.Call:
    same_address = {"propertyName": "email", "operator": "EQ", "value": email}
    return dayshift.call("crm.contacts.search", filterGroups=[{"filters": [same_address]}], limit=1)


def correct(contacts: list[dict[str, str]], phone: str) -> dayshift.Call:
    if not contacts:
        return dayshift.call("submit")
    return dayshift.call("crm.contacts.update", contactId=contacts[0]["id"], properties={"phone": phone})


def search_and_correct(policy_input: dayshift.PolicyInput) -> dayshift.Call:
    """Searches, then corrects; a rollout submits when it ends."""
    email, phone = read_brief(policy_input.brief)
    if policy_input.last is None:
        return search(email)
    if len(policy_input.history) > 1:
        return dayshift.call("submit")
    return correct(policy_input.last.json()["results"], phone)


async def stream(episodes: int, world: str, folder: Path) -> None:
    tasks = dayshift.tasks(TASK, seeds=range(episodes), world=world)
    start, endings = time.perf_counter(), Counter()
    with dayshift.Recorder(folder) as recorder:
        async for trajectory in dayshift.rollouts(search_and_correct, tasks, concurrency=32, recorder=recorder):
            endings[trajectory.ending] += 1
    print(f"rollouts: {dict(endings)}, {episodes / (time.perf_counter() - start):.0f} episodes/s, in {folder}")


def vector(world: str) -> None:
    envs = gymnasium.make_vec(
        "dayshift/Crm-v0", num_envs=8, vectorization_mode="vector_entry_point", task=TASK, world=world
    )
    observations, _ = envs.reset(seed=0)
    corrections = [read_brief(brief) for brief in observations["brief"]]
    observations, *_ = envs.step([search(email) for email, _ in corrections])
    results = [json.loads(body)["results"] for body in observations["body"]]
    envs.step([correct(contacts, phone) for contacts, (_, phone) in zip(results, corrections, strict=True)])
    _, rewards, _, _, _ = envs.step([dayshift.call("submit")] * envs.num_envs)
    print(f"vector: {envs.num_envs} episodes in lockstep, rewards {rewards.tolist()}")
    envs.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Many episodes at once.")
    parser.add_argument("--world", default="standard", help="the company's size (default %(default)s)")
    parser.add_argument("--episodes", type=int, default=200, help="of the stream (default %(default)s)")
    parser.add_argument("--into", type=Path, default=Path("runs/example"), help="recordings (default %(default)s)")
    args = parser.parse_args()
    vector(args.world)
    asyncio.run(stream(args.episodes, args.world, args.into))


if __name__ == "__main__":
    main()
