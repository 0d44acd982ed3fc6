"""`python -m tests.viewer.make_recordings` plays the episodes that the viewer's tests show, and writes recordings.jsonl.gz.

They are committed, so that the tests of the pages need no stack: oracles, half solutions, harm, faults, a team.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path

from dayshift.errors import EpisodeOver
from dayshift.trajectory import Trajectory, group_id
from dayshift.wire import Verdict

from fixtures.tasks.registry import family
from services.kernel import catalog
from services.kernel.config import Settings
from services.validate import policies
from services.validate.attempt import Attempt, Stuck, TrialContext, attempt
from services.validate.in_process_stack import InProcessStack

FILE = Path(__file__).with_name("recordings.jsonl.gz")
WORLD = "small"
_FAMILIES = (
    ("crm/correct-contact", 1, "none"),
    ("desk/double-charge", 3, "none"),
    ("billing/write-off", 2, "none"),
    ("office/fix-for-customer", 1, "none"),
    ("office/quote-to-cash", 2, "rough"),
)
_UNKNOWN_ROWS = {"crm.contacts.get": {"contactId": "999999999"}, "desk.tickets.show": {"ticket_id": 999999999}}


def stumble(attempted: Attempt) -> Verdict:
    """Calls that are refused first, then the oracle, then harm."""
    attempted.episode.act({"operation": "crm.contacts.frobnicate", "arguments": "{"})
    for name, arguments in _UNKNOWN_ROWS.items():
        if name in attempted.episode.operations:
            attempted.episode.step(name, **arguments)
    return policies.solve_with_collateral(attempted)


_POLICIES = (
    ("oracle", policies.oracle),
    ("half", policies.part_of_oracle(1)),
    ("stumbling", stumble),
    ("idle", policies.nothing),
)


def play() -> Iterator[Trajectory]:
    with InProcessStack(Settings.from_environment().var, catalog.all_names(), WORLD) as stack:
        for name, seed, faults in _FAMILIES:
            chosen = family(name)
            for number, (policy_name, policy) in enumerate(_POLICIES):
                context = TrialContext(stack, WORLD, chosen.splits[0])
                with attempt(context, chosen, seed, faults) as attempted:
                    try:
                        policy(attempted)
                    except (Stuck, EpisodeOver) as stuck:
                        print(name, policy_name, stuck)
                        continue
                    attempted.episode.fetch_diff()
                    trajectory = attempted.episode.trajectory(policy_version=f"v{number % 2 + 1}")
                    group = group_id(trajectory.manifest.open)
                    yield trajectory.model_copy(update={"policy": policy_name, "group": group, "attempt": number})


def main() -> None:
    with gzip.open(FILE, "wt", encoding="utf-8", compresslevel=9) as file:
        for trajectory in play():
            print(trajectory.group, trajectory.policy, trajectory.ending, trajectory.reward)
            file.write(trajectory.model_dump_json() + "\n")


if __name__ == "__main__":
    main()
