"""The ledger's rows."""

import sqlalchemy as sa

ledger = sa.MetaData()

episodes = sa.Table(
    "episodes",
    ledger,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("task", sa.Text),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("split", sa.Text, nullable=False),
    sa.Column("world", sa.Text, nullable=False),
    sa.Column("faults", sa.Text, nullable=False),
    sa.Column("products", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("brief", sa.Text, nullable=False),
    sa.Column("phase", sa.Text, nullable=False),
    sa.Column("steps", sa.Integer, nullable=False),
    sa.Column("clock", sa.Text, nullable=False),
    sa.Column("revisions", sa.Text, nullable=False),
    # Milliseconds of wall time, the same on every database.
    sa.Column("opened_at", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger),
    # Labels of the trainer's, for people; None in rows of the first ledgers.
    sa.Column("policy", sa.Text),
    sa.Column("policy_version", sa.Text),
    sa.Index("episodes_by_opening", "opened_at"),
    sa.Index("episodes_by_phase", "phase"),
)

verdicts = sa.Table(
    "verdicts",
    ledger,
    sa.Column("episode_id", sa.Text, sa.ForeignKey("episodes.id"), primary_key=True),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("reward", sa.Float),
    # The reward before it became a float.
    sa.Column("exact", sa.Text),
    sa.Column("because", sa.Text),
    # Whether a failure of Dayshift took part in the ending.
    sa.Column("ours", sa.Boolean, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

trajectories = sa.Table(
    "trajectories",
    ledger,
    sa.Column("episode_id", sa.Text, sa.ForeignKey("episodes.id"), primary_key=True),
    sa.Column("steps", sa.LargeBinary, nullable=False),
    sa.Column("diff", sa.LargeBinary, nullable=False),
    # JSON: the hours that the episode waited, each with the time before it; None in rows of the first ledger.
    sa.Column("waits", sa.Text),
)

faults = sa.Table(
    "faults",
    ledger,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("episode_id", sa.Text, sa.ForeignKey("episodes.id"), nullable=False),
    sa.Column("product", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("operation", sa.Integer, nullable=False),
    sa.Index("faults_by_episode", "episode_id"),
)

events = sa.Table(
    "events",
    ledger,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("episode_id", sa.Text),
    sa.Column("product", sa.Text),
    sa.Column("because", sa.Text, nullable=False),
    # Who did it, where a person did.
    sa.Column("person", sa.Text),
    sa.Index("events_by_time", "at"),
    sa.Index("events_by_episode", "episode_id"),
)

# Rows are only ever added: the last of a reviewer stands, and the history of a review stays.
reviews = sa.Table(
    "reviews",
    ledger,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("reviewer", sa.Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index("reviews_by_key", "key"),
)

taxonomies = sa.Table(
    "taxonomies",
    ledger,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)
