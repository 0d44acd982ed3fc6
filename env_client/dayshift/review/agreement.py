"""Agreement between two reviewers: Cohen's kappa."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import TypedDict

from dayshift.review.store import Review


class AgreementRow(TypedDict):
    """How far two reviewers agree on one subject, over the episodes that both have reviewed."""

    first: str
    second: str
    # "blame", "label NAME" or "question NAME".
    subject: str
    episodes: int
    agreed: int
    # None where both gave one and the same answer to all episodes: chance alone would have agreed as well.
    kappa: float | None


class Agreement(TypedDict):
    """The reviewers, how many episodes each has reviewed, and how far every two of them agree."""

    reviewers: dict[str, int]
    rows: list[AgreementRow]


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Agreement beyond chance: 1 is full, 0 is what chance gives, below 0 is worse than chance.

    None without pairs, and where both gave one and the same answer throughout.
    """
    if not pairs:
        return None
    total = len(pairs)
    observed = sum(first == second for first, second in pairs) / total
    firsts, seconds = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    by_chance = sum(firsts[answer] * seconds[answer] for answer in firsts) / total**2
    return None if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def agreement(reviews: Iterable[Review]) -> Agreement:
    """Compares every two reviewers: their blame, each label that one of them used, each question both answered."""
    by_reviewer: dict[str, dict[str, Review]] = {}
    for review in reviews:
        by_reviewer.setdefault(review.reviewer, {})[review.key] = review
    names = sorted(by_reviewer)
    return {
        "reviewers": {name: len(by_reviewer[name]) for name in names},
        "rows": [
            row
            for first, second in combinations(names, 2)
            for row in _compare(first, by_reviewer[first], second, by_reviewer[second])
        ],
    }


def _compare(
    first: str, of_first: Mapping[str, Review], second: str, of_second: Mapping[str, Review]
) -> list[AgreementRow]:
    shared = [(of_first[key], of_second[key]) for key in of_first if key in of_second]
    if not shared:
        return []
    labels = sorted({name for pair in shared for review in pair for name in review.labels})
    questions = sorted({name for a, b in shared for name in a.answers if name in b.answers})
    by_subject: dict[str, list[tuple[Hashable, Hashable]]] = {"blame": [(a.blame, b.blame) for a, b in shared]}
    by_subject |= {f"label {name}": [(name in a.labels, name in b.labels) for a, b in shared] for name in labels}
    by_subject |= {
        f"question {name}": [
            (a.answers[name], b.answers[name]) for a, b in shared if name in a.answers and name in b.answers
        ]
        for name in questions
    }
    return [
        {
            "first": first,
            "second": second,
            "subject": subject,
            "episodes": len(pairs),
            "agreed": sum(a == b for a, b in pairs),
            "kappa": cohen_kappa(pairs),
        }
        for subject, pairs in by_subject.items()
    ]
