"""Train a team: each specialist on its own reward first, then the orchestrator that asks them.

    python examples/train_team.py --plot team.png

The task spans three products: a second charge must go back in billing, the refund's id belongs into a note in the CRM,
and whoever noticed wants an honest answer at the desk. Nobody sees more than one product, and the orchestrator sees
none: it passes on what it is told.

A specialist has a few skills, right ones and wrong ones, and learns which of them pays in its own product.
The orchestrator learns whom to ask next, and when to stop, from the verdict on the whole.
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
CURIOSITY = 0.5
NOTE_ON_A_COMPANY = 190
Facts = dict[str, Any]
Skill = Callable[[Facts], Script]


# --- skills: what a specialist could do with a request; which of them is right, it has to find out ---


def look_it_up(facts: Facts) -> Script:
    ticket = (yield dayshift.call("desk.tickets.show", ticket_id=facts["ticket"])).json()["ticket"]
    asked = dayshift.call("desk.organizations.show", organization_id=ticket["organization_id"])
    organisation = (yield asked).json()["organization"]
    return told(customer=organisation["external_id"], domain=organisation["domain_names"][0])


def answering(status: str, text: str) -> Skill:
    def answer(facts: Facts) -> Script:
        me = (yield dayshift.call("desk.users.me")).json()["user"]["id"]
        change = {"status": status, "assignee_id": me}
        if text:
            change["comment"] = {"body": text.format(amount=facts.get("amount", "the amount")), "public": True}
        yield dayshift.call("desk.tickets.update", ticket_id=facts["ticket"], ticket=change)
        return told(answered=True)

    return answer


def refunding(*which: int) -> Skill:
    """Of the two charges that are closest together in time, the earlier (0), the later (1), or both."""

    def refund(facts: Facts) -> Script:
        if "customer" not in facts:
            return told()
        listed = (yield dayshift.call("billing.charges.list", customer=facts["customer"], limit=100)).json()["data"]
        paid = sorted((one for one in listed if one["status"] == "succeeded"), key=lambda one: one["created"])
        twins = min(pairwise(paid), key=lambda pair: pair[1]["created"] - pair[0]["created"])
        for one in which:
            made = (yield dayshift.call("billing.refunds.create", charge=twins[one]["id"], reason="duplicate")).json()
        return told(refund=made["id"], amount=f"{made['amount'] / 100:.2f}") if which else told()

    return refund


def noting(*, exactly: bool) -> Skill:
    """On the company with this domain, or on the last one that looks like it."""

    def note(facts: Facts) -> Script:
        if "refund" not in facts:
            return told()
        same = [{"filters": [{"propertyName": "domain", "operator": "EQ", "value": facts["domain"]}]}]
        asked = {"filterGroups": same} if exactly else {"query": facts["domain"].partition(".")[0]}
        found = (yield dayshift.call("crm.companies.search", **asked, limit=10)).json()["results"]
        if not found:
            return told()
        kind = {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": NOTE_ON_A_COMPANY}
        yield dayshift.call(
            "crm.notes.create",
            properties={"hs_note_body": f"Refund {facts['refund']}", "hs_timestamp": facts["now"]},
            associations=[{"to": {"id": found[-1]["id"]}, "types": [kind]}],
        )
        return told(noted=True)

    return note


def do_nothing(_: Facts) -> Script:
    yield from ()
    return told()


def told(**facts: Any) -> str:
    """A report: what the orchestrator did not know before."""
    return json.dumps(facts)


SKILLS: Mapping[str, Mapping[str, Skill]] = {
    "billing": {
        "refund the later one": refunding(1),
        "refund the earlier one": refunding(0),
        "refund both": refunding(0, 1),
        "refund nothing": do_nothing,
    },
    "crm": {
        "note on the same domain": noting(exactly=True),
        "note on a similar domain": noting(exactly=False),
        "no note": do_nothing,
    },
    "desk": {
        "say what was refunded": answering("solved", "Hello, you were charged twice; {amount} goes back to you."),
        "say that it takes time": answering("pending", "Hello, we are looking into it."),
        "solve it without a word": answering("solved", ""),
    },
}


# --- what learns ---


class Values:
    """Mean returns of choices, tried where little is known: an upper confidence bound, or greedily the best."""

    def __init__(self, choices: int, chance: np.random.Generator) -> None:
        self.means = np.zeros(choices)
        self.counts = np.zeros(choices)
        self._chance = chance

    def choose(self, *, greedy: bool) -> int:
        if greedy:
            return int(np.where(self.counts > 0, self.means, -np.inf).argmax())
        if (untried := np.flatnonzero(self.counts == 0)).size:
            return int(self._chance.choice(untried))
        bonus = CURIOSITY * np.sqrt(np.log(self.counts.sum()) / self.counts)
        return int((self.means + bonus).argmax())

    def learn(self, choice: int, reward: float) -> None:
        self.counts[choice] += 1
        self.means[choice] += (reward - self.means[choice]) / self.counts[choice]


class Skilled:
    """A specialist that chooses one skill for each request, and follows it to its report."""

    def __init__(self, product: str, chance: np.random.Generator) -> None:
        self.product = product
        self.names = list(SKILLS[product])
        self.values = Values(len(self.names), chance)
        self.greedy = False
        self.chosen: int | None = None

    def __call__(self, assignment: dayshift.Assignment) -> object:
        facts = json.loads(assignment.request)
        skill = look_it_up if facts["do"] == "look" else self._chosen(fresh=not assignment.history)
        return dayshift.scripted(lambda _: skill(facts))(assignment)

    def learn(self, reward: float) -> None:
        assert self.chosen is not None, "it was asked"
        self.values.learn(self.chosen, reward)

    def __str__(self) -> str:
        learnt = zip(self.names, self.values.means, strict=True)
        return ", ".join(f"{name} {mean:+.2f}" for name, mean in learnt)

    def _chosen(self, *, fresh: bool) -> Skill:
        if fresh or self.chosen is None:
            self.chosen = self.values.choose(greedy=self.greedy)
        return SKILLS[self.product][self.names[self.chosen]]


MOVES = {"look": "desk", "refund": "billing", "note": "crm", "answer": "desk", "submit": ""}
# What must happen for a specialist to be asked for what it is to learn.
LESSONS = {
    "billing": ("look", "refund", "submit"),
    "crm": ("look", "refund", "note", "submit"),
    "desk": ("look", "refund", "answer", "submit"),
}


class Lead:
    """The orchestrator: it knows what it was told, and learns which move is worth most once certain ones are made."""

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance
        self._values: dict[tuple[str, ...], Values] = {}
        self._made: list[tuple[Values, int]] = []
        self.greedy = False

    def __call__(self, overview: dayshift.Overview) -> dayshift.Call:
        asked = {json.loads(str(turn.arguments["request"]))["do"] for turn in overview.history}
        left = [move for move in MOVES if move not in asked]
        values = self._values.setdefault(tuple(left), Values(len(left), self._chance))
        chosen = values.choose(greedy=self.greedy)
        self._made = [*(self._made if asked else ()), (values, chosen)]
        return order(left[chosen], overview)

    def learn(self, reward: float) -> None:
        for values, choice in self._made:
            values.learn(choice, reward)


def order(move: str, overview: dayshift.Overview) -> dayshift.Call:
    """A move as a call, with all that is known by now."""
    if move == "submit":
        return dayshift.call("submit")
    known: Facts = {"do": move, "ticket": ticket_in(overview.brief), "now": overview.clock}
    for turn in overview.history:
        known |= json.loads(json.loads(turn.answer)["report"] or "{}")
    return dayshift.call(f"ask_{MOVES[move]}", request=json.dumps(known))


def ticket_in(brief: str) -> int:
    found = re.search(r"(?:[Tt]icket |request |#)(\d+)", brief)
    assert found is not None, "every phrasing names the ticket"
    return int(found[1])


def by_the_book(*moves: str) -> Callable[[dayshift.Overview], dayshift.Call]:
    """An orchestrator that makes these moves in this order."""
    return lambda overview: order(moves[len(overview.history)], overview)


# --- training ---


def train_specialist(learner: Skilled, team: Mapping[str, Skilled], episodes: int, options: Mapping[str, Any]) -> None:
    """On its own reward, while somebody else leads and the colleagues do what they have learnt."""
    given = {"product": learner.product, "orchestrator": by_the_book(*LESSONS[learner.product]), "specialists": team}
    env = gymnasium.make("dayshift/Specialist-v0", **given, **options)
    for seed in range(episodes):
        env.reset(seed=seed)
        reward = played(env, lambda: learner(env.unwrapped.assignment))  # type: ignore[attr-defined]
        learner.learn(reward)
    env.close()
    learner.greedy = True


def train_orchestrator(
    lead: Lead, team: Mapping[str, Skilled], episodes: int, options: Mapping[str, Any]
) -> Iterator[float]:
    """The reward of each episode; the last ones are played as it has learnt to, on a split that it has not seen."""
    env = gymnasium.make("dayshift/Orchestrator-v0", specialists=team, **options)

    def reward(seed: int, split: str) -> float:
        env.reset(seed=seed, options={"split": split})
        return played(env, lambda: lead(env.unwrapped.overview))  # type: ignore[attr-defined]

    for seed in range(episodes):
        earned = reward(seed, "train")
        lead.learn(earned)
        yield earned
    lead.greedy = True
    yield from (reward(seed, "validation") for seed in range(HELD_OUT))
    env.close()


def played(env: gymnasium.Env[Any, Any], choose: Callable[[], object]) -> float:
    """What the agent of this environment has earned in the end."""
    while True:
        _, reward, terminated, truncated, _ = env.step(choose())
        if terminated or truncated:
            return float(reward)


def plot(rewards: list[float], path: Path) -> None:
    import matplotlib as mpl  # late: pip install 'dayshift[reports]'

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
    parser = argparse.ArgumentParser(description="Train specialists, then the orchestrator that asks them.")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lessons", type=int, default=20, help="episodes for each specialist")
    parser.add_argument("--episodes", type=int, default=100, help="episodes of the orchestrator")
    parser.add_argument("--plot", type=Path, default=Path("team.png"))
    chosen = parser.parse_args()
    options, chance = {"task": TASK, "world": chosen.world}, np.random.default_rng(chosen.seed)
    team = {product: Skilled(product, chance) for product in LESSONS}
    for product, learner in team.items():
        train_specialist(learner, team, chosen.lessons, options)
        print(f"{product}: {learner}", flush=True)
    rewards = list(train_orchestrator(Lead(chance), team, chosen.episodes, options))
    plot(rewards, chosen.plot)
    first, last = np.mean(rewards[: 2 * HELD_OUT]), np.mean(rewards[-HELD_OUT:])
    print(f"first {first:+.3f}, trained, on held-out seeds {last:+.3f}; curve in {chosen.plot}")


if __name__ == "__main__":
    main()
