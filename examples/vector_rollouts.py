"""Many episodes at once: behind Gymnasium's vector API, and as a stream of finished trajectories.

python examples/vector_rollouts.py --episodes 200 --into runs/example
"""

import argparse
import asyncio
import re
import time
from collections import Counter
from pathlib import Path

import dayshift
import gymnasium

TASK = "crm/correct-contact"


def search_and_correct(policy_input: dayshift.PolicyInput) -> dayshift.Call:
    """Searches the person by the email address in the brief, and corrects the phone number."""
    email = re.search(r"[\w.+-]+@[\w.-]+\w", policy_input.brief)[0]
    phone = re.search(r"(?<![\w@.])\+?\(?\d[\d ()./-]{5,}\d", policy_input.brief.replace(email, ""))[0]
    if policy_input.last is None:
        same_address = {"propertyName": "email", "operator": "EQ", "value": email}
        return dayshift.call("crm.contacts.search", filterGroups=[{"filters": [same_address]}], limit=1)
    contacts = policy_input.last.json().get("results")
    if not contacts:
        return dayshift.call("submit")
    return dayshift.call("crm.contacts.update", contactId=contacts[0]["id"], properties={"phone": phone})


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
    envs.reset(seed=0)
    _, _, _, _, infos = envs.step([dayshift.call("crm.contacts.list", limit=1)] * envs.num_envs)
    _, rewards, terminated, _, _ = envs.step([dayshift.call("submit")] * envs.num_envs)
    revisions = set(infos["revision"])
    print(f"vector: {envs.num_envs} episodes, revisions {revisions}, ended {terminated.sum()}, {rewards.sum()}")
    envs.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Many episodes at once.")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--into", type=Path, default=Path("runs/example"))
    args = parser.parse_args()
    vector(args.world)
    asyncio.run(stream(args.episodes, args.world, args.into))


if __name__ == "__main__":
    main()
