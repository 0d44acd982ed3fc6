"""Train a team: each specialist on its own reward first, then the orchestrator that delegates to them.

    python examples/train_team.py --plot runs/team.png

The task spans three products: the second of two charges must be refunded in billing, a note in the CRM must name the
refund, and the customer needs a reply at the desk. A specialist sees one product, and the orchestrator sees none: it
passes on what the reports say.

A specialist has a few skills, right ones and wrong ones, and learns which of them earns most in its own product.
The orchestrator learns which specialist to ask next, and when to stop, from the reward of the whole.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import dayshift
import gymnasium
import numpy as np
from dayshift.specialists import Script

TASK = "office/double-charge"
HELD_OUT = 5
EXPLORATION = 0.5
NOTE_TO_COMPANY = 190
Facts = dict[str, Any]
Skill = Callable[[Facts], Script]


# --- skills: what a specialist can do with a request; it must learn which of them is right ---


def look_up(facts: Facts) -> Script:
    ticket = (yield dayshift.call("desk.tickets.show", ticket_id=facts["ticket"])).json()["ticket"]
    show = dayshift.call("desk.organizations.show", organization_id=ticket["organization_id"])
    organisation = (yield show).json()["organization"]
    return report(customer=organisation["external_id"], domain=organisation["domain_names"][0])


def make_reply(status: str, text: str) -> Skill:
    def reply(facts: Facts) -> Script:
        me = (yield dayshift.call("desk.users.me")).json()["user"]["id"]
        change = {"status": status, "assignee_id": me}
        if text:
            change["comment"] = {"body": text.format(amount=facts.get("amount", "the amount")), "public": True}
        yield dayshift.call("desk.tickets.update", ticket_id=facts["ticket"], ticket=change)
        return report(answered=True)

    return reply


def make_refund(*which: int) -> Skill:
    """Refunds the earlier (0) or the later (1) of the two charges that are closest in time, or both."""

    def refund(facts: Facts) -> Script:
        if "customer" not in facts:
            return report()
        listed = (yield dayshift.call("billing.charges.list", customer=facts["customer"], limit=100)).json()["data"]
        paid = sorted(
            (charge for charge in listed if charge["status"] == "succeeded"), key=lambda charge: charge["created"]
        )
        pair = min(pairwise(paid), key=lambda pair: pair[1]["created"] - pair[0]["created"])
        for index in which:
            create = dayshift.call("billing.refunds.create", charge=pair[index]["id"], reason="duplicate")
            created = (yield create).json()
        return report(refund=created["id"], amount=f"{created['amount'] / 100:.2f}") if which else report()

    return refund


def make_note(*, exactly: bool) -> Skill:
    """Writes a note on the company with this domain, or on the last company with a similar domain."""

    def note(facts: Facts) -> Script:
        if "refund" not in facts:
            return report()
        filters = [{"filters": [{"propertyName": "domain", "operator": "EQ", "value": facts["domain"]}]}]
        query = {"filterGroups": filters} if exactly else {"query": facts["domain"].partition(".")[0]}
        companies = (yield dayshift.call("crm.companies.search", **query, limit=10)).json()["results"]
        if not companies:
            return report()
        kind = {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": NOTE_TO_COMPANY}
        yield dayshift.call(
            "crm.notes.create",
            properties={"hs_note_body": f"Refund {facts['refund']}", "hs_timestamp": facts["now"]},
            associations=[{"to": {"id": companies[-1]["id"]}, "types": [kind]}],
        )
        return report(noted=True)

    return note


def do_nothing(_: Facts) -> Script:
    yield from ()
    return report()


def report(**facts: Any) -> str:
    """Returns the text of a report: the facts that the orchestrator does not know yet."""
    return json.dumps(facts)


SKILLS: Mapping[str, Mapping[str, Skill]] = {
    "billing": {
        "refund the later one": make_refund(1),
        "refund the earlier one": make_refund(0),
        "refund both": make_refund(0, 1),
        "refund nothing": do_nothing,
    },
    "crm": {
        "note on the same domain": make_note(exactly=True),
        "note on a similar domain": make_note(exactly=False),
        "no note": do_nothing,
    },
    "desk": {
        "say what was refunded": make_reply("solved", "Hello, you were charged twice; {amount} goes back to you."),
        "say that it takes time": make_reply("pending", "Hello, we are looking into it."),
        "solve it without a word": make_reply("solved", ""),
    },
}


# --- learners ---


class Values:
    """Estimates the mean reward of each choice, and chooses by upper confidence bound or greedily."""

    def __init__(self, choices: int, chance: np.random.Generator) -> None:
        self.means = np.zeros(choices)
        self.counts = np.zeros(choices)
        self._chance = chance

    def choose(self, *, greedy: bool) -> int:
        if greedy:
            return int(np.where(self.counts > 0, self.means, -np.inf).argmax())
        if (untried := np.flatnonzero(self.counts == 0)).size:
            return int(self._chance.choice(untried))
        bonus = EXPLORATION * np.sqrt(np.log(self.counts.sum()) / self.counts)
        return int((self.means + bonus).argmax())

    def learn(self, choice: int, reward: float) -> None:
        self.counts[choice] += 1
        self.means[choice] += (reward - self.means[choice]) / self.counts[choice]


class SkillSpecialist:
    """A specialist that chooses one skill for each request and follows it to its report."""

    def __init__(self, product: str, chance: np.random.Generator) -> None:
        self.product = product
        self.names = list(SKILLS[product])
        self.values = Values(len(self.names), chance)
        self.greedy = False
        self.choice: int | None = None

    def __call__(self, specialist_input: dayshift.SpecialistInput) -> object:
        facts = json.loads(specialist_input.request)
        skill = look_up if facts["do"] == "look" else self._choose_skill(is_new=not specialist_input.history)
        return dayshift.specialist_from_script(lambda _: skill(facts))(specialist_input)

    def learn(self, reward: float) -> None:
        assert self.choice is not None, "it had a request"
        self.values.learn(self.choice, reward)

    def __str__(self) -> str:
        learned = zip(self.names, self.values.means, strict=True)
        return ", ".join(f"{name} {mean:+.2f}" for name, mean in learned)

    def _choose_skill(self, *, is_new: bool) -> Skill:
        if is_new or self.choice is None:
            self.choice = self.values.choose(greedy=self.greedy)
        return SKILLS[self.product][self.names[self.choice]]


MOVES = {"look": "desk", "refund": "billing", "note": "crm", "answer": "desk", "submit": ""}
# The moves of the orchestrator that lead to the request that a specialist trains on.
LESSONS = {
    "billing": ("look", "refund", "submit"),
    "crm": ("look", "refund", "note", "submit"),
    "desk": ("look", "refund", "answer", "submit"),
}


class Orchestrator:
    """Knows the facts of the reports, and learns which move earns most after certain others."""

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance
        self._values: dict[tuple[str, ...], Values] = {}
        self._choices: list[tuple[Values, int]] = []
        self.greedy = False

    def __call__(self, orchestrator_input: dayshift.OrchestratorInput) -> dayshift.Call:
        tried = {json.loads(str(turn.arguments["request"]))["do"] for turn in orchestrator_input.history}
        remaining = [move for move in MOVES if move not in tried]
        values = self._values.setdefault(tuple(remaining), Values(len(remaining), self._chance))
        choice = values.choose(greedy=self.greedy)
        self._choices = [*(self._choices if tried else ()), (values, choice)]
        return delegate(remaining[choice], orchestrator_input)

    def learn(self, reward: float) -> None:
        for values, choice in self._choices:
            values.learn(choice, reward)


def delegate(move: str, orchestrator_input: dayshift.OrchestratorInput) -> dayshift.Call:
    """Returns the call of a move, with all facts that are known so far."""
    if move == "submit":
        return dayshift.call("submit")
    facts: Facts = {"do": move, "ticket": find_ticket(orchestrator_input.brief), "now": orchestrator_input.clock}
    for turn in orchestrator_input.history:
        facts |= json.loads(json.loads(turn.answer)["report"] or "{}")
    return dayshift.call(f"ask_{MOVES[move]}", request=json.dumps(facts))


def find_ticket(brief: str) -> int:
    match = re.search(r"(?:[Tt]icket |request |#)(\d+)", brief)
    assert match is not None, "every phrasing names the ticket"
    return int(match[1])


def follow_script(*moves: str) -> Callable[[dayshift.OrchestratorInput], dayshift.Call]:
    """Returns an orchestrator that makes these moves in this order."""
    return lambda orchestrator_input: delegate(moves[len(orchestrator_input.history)], orchestrator_input)


# --- training ---


def train_specialist(
    learner: SkillSpecialist, team: Mapping[str, SkillSpecialist], episodes: int, options: Mapping[str, Any]
) -> None:
    """Trains a specialist on its own reward, with a scripted orchestrator and the other specialists as they are."""
    roles = {"product": learner.product, "orchestrator": follow_script(*LESSONS[learner.product]), "specialists": team}
    env = gymnasium.make("dayshift/Specialist-v0", **roles, **options)
    for seed in range(episodes):
        env.reset(seed=seed)
        reward = play(env, lambda: learner(env.unwrapped.specialist_input))  # type: ignore[attr-defined]
        learner.learn(reward)
    env.close()
    learner.greedy = True


def train_orchestrator(
    orchestrator: Orchestrator, team: Mapping[str, SkillSpecialist], episodes: int, options: Mapping[str, Any]
) -> Iterator[float]:
    """Yields the reward of each episode; the last ones are greedy, on a split that training does not use."""
    env = gymnasium.make("dayshift/Orchestrator-v0", specialists=team, **options)

    def play_seed(seed: int, split: str) -> float:
        env.reset(seed=seed, options={"split": split})
        return play(env, lambda: orchestrator(env.unwrapped.orchestrator_input))  # type: ignore[attr-defined]

    for seed in range(episodes):
        train_reward = play_seed(seed, "train")
        orchestrator.learn(train_reward)
        yield train_reward
    orchestrator.greedy = True
    yield from (play_seed(seed, "validation") for seed in range(HELD_OUT))
    env.close()


def play(env: gymnasium.Env[Any, Any], choose: Callable[[], object]) -> float:
    """Plays an episode and returns the reward of the environment's agent."""
    while True:
        _, reward, terminated, truncated, _ = env.step(choose())
        if terminated or truncated:
            return float(reward)


def plot(rewards: list[float], path: Path) -> None:
    import matplotlib as mpl  # pip install './env_client[reports]'

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    width = min(10, len(rewards))
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(rewards, ".", alpha=0.4, label="an episode")
    axes.plot(
        range(width - 1, len(rewards)), np.convolve(rewards, np.ones(width) / width, "valid"), label="running mean"
    )
    axes.axvline(len(rewards) - HELD_OUT, linestyle="--", linewidth=1, label="held out from here on")
    axes.set(xlabel="episodes of the orchestrator", ylabel="reward", title=TASK)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train specialists, then the orchestrator that delegates to them.")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lessons", type=int, default=20, help="episodes for each specialist")
    parser.add_argument("--episodes", type=int, default=100, help="episodes of the orchestrator")
    parser.add_argument("--plot", type=Path, default=Path("runs/team.png"), help="where the curve is drawn")
    args = parser.parse_args()
    options, chance = {"task": TASK, "world": args.world}, np.random.default_rng(args.seed)
    team = {product: SkillSpecialist(product, chance) for product in LESSONS}
    for product, learner in team.items():
        train_specialist(learner, team, args.lessons, options)
        print(f"{product}: {learner}", flush=True)
    rewards = list(train_orchestrator(Orchestrator(chance), team, args.episodes, options))
    args.plot.parent.mkdir(parents=True, exist_ok=True)
    plot(rewards, args.plot)
    first, last = np.mean(rewards[: 2 * HELD_OUT]), np.mean(rewards[-HELD_OUT:])
    print(f"first {first:+.3f}, trained, on held-out seeds {last:+.3f}; curve in {args.plot}")


if __name__ == "__main__":
    main()
