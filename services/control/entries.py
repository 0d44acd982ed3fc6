"""The first and the last entry of an episode in the ledger."""

from fractions import Fraction
from typing import Any

from dayshift.wire import EpisodePhase, Verdict

from services.control.ledger import Beginning, Ending
from services.control.live import Live, seen_by, steps_of
from services.control.verdicts import Reckoned, Seen, unscored
from services.kernel.clock import iso

Said = dict[str, dict[str, Any]]


def beginning(live: Live) -> Beginning:
    request, plot = live.request, live.plot
    return Beginning(
        id=live.id,
        task=request.task,
        seed=request.seed,
        split=request.split,
        world=request.world,
        faults=request.faults,
        products=tuple(live.owners),
        fingerprint=plot.fingerprint,
        brief="" if plot.instance is None else plot.instance.brief,
        clock=iso(plot.clock_ms),
    )


def judged(live: Live, reckoned: Reckoned, said: Said) -> Ending:
    return _ending(live, EpisodePhase.JUDGED, reckoned.verdict, said, exact=reckoned.exact)


def unjudged(live: Live, because: str, said: Said, *, ours: bool) -> Ending:
    seen = seen_by(said) if said else Seen({}, {}, [], 0, iso(live.plot.clock_ms))
    return _ending(live, EpisodePhase.CLOSED, unscored(because, seen), said, ours=ours)


def _ending(
    live: Live,
    phase: EpisodePhase,
    verdict: Verdict,
    said: Said,
    *,
    exact: Fraction | None = None,
    ours: bool = False,
) -> Ending:
    return Ending(
        id=live.id,
        phase=phase,
        verdict=verdict,
        exact=exact,
        ours=ours,
        steps=steps_of(said),
        diff={product: one["changes"]["history"] for product, one in said.items()},
        revisions={product: one["revision"] for product, one in said.items()},
    )
