"""The first and the last entry of an episode in the ledger."""

from fractions import Fraction

from dayshift.wire import EpisodePhase, PolicyLabels, Verdict

from services.control.evidence import Evidence
from services.control.ledger import Beginning, Ending
from services.control.open_episode import FinalReplies, OpenEpisode, gather_evidence, merge_steps
from services.control.verdicts import ScoredVerdict, make_unscored
from services.kernel.clock import iso


def make_beginning(episode: OpenEpisode, labels: PolicyLabels) -> Beginning:
    request, setup = episode.request, episode.setup
    return Beginning(
        id=episode.id,
        task=request.task,
        seed=request.seed,
        split=request.split,
        world=request.world,
        faults=request.faults,
        products=tuple(episode.owners),
        fingerprint=setup.fingerprint,
        brief="" if setup.instance is None else setup.instance.brief,
        clock=iso(setup.clock_ms),
        policy=labels.policy,
        policy_version=labels.policy_version,
    )


def make_scored_ending(
    episode: OpenEpisode, scored: ScoredVerdict, replies: FinalReplies, *, ours: bool = False
) -> Ending:
    return _make_ending(episode, EpisodePhase.JUDGED, scored.verdict, replies, exact=scored.exact, ours=ours)


def make_unscored_ending(episode: OpenEpisode, because: str, replies: FinalReplies, *, ours: bool) -> Ending:
    """`ours` says that Dayshift failed, not that the trainer ended the episode."""
    evidence = gather_evidence(replies) if replies else Evidence({}, {}, [], 0, iso(episode.setup.clock_ms))
    return _make_ending(episode, EpisodePhase.CLOSED, make_unscored(because, evidence), replies, ours=ours)


def _make_ending(
    episode: OpenEpisode,
    phase: EpisodePhase,
    verdict: Verdict,
    replies: FinalReplies,
    *,
    exact: Fraction | None = None,
    ours: bool = False,
) -> Ending:
    return Ending(
        id=episode.id,
        phase=phase,
        verdict=verdict.model_copy(
            update={"salt": episode.setup.salt, "flags": [*verdict.flags, *episode.interventions]}
        ),
        exact=exact,
        ours=ours,
        steps=merge_steps({product: reply.get("trajectory", []) for product, reply in replies.items()}),
        diff={product: reply["changes"]["history"] for product, reply in replies.items()},
        revisions={product: reply["revision"] for product, reply in replies.items()},
        waits=episode.waits,
    )
