"""The first ledger: episodes, verdicts, trajectories, faults, events."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "episodes",
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
        sa.Column("opened_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
    )
    op.create_index("episodes_by_opening", "episodes", ["opened_at"])
    op.create_index("episodes_by_phase", "episodes", ["phase"])
    op.create_table(
        "verdicts",
        sa.Column("episode_id", sa.Text, sa.ForeignKey("episodes.id"), primary_key=True),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("reward", sa.Float),
        sa.Column("exact", sa.Text),
        sa.Column("because", sa.Text),
        sa.Column("ours", sa.Boolean, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "trajectories",
        sa.Column("episode_id", sa.Text, sa.ForeignKey("episodes.id"), primary_key=True),
        sa.Column("steps", sa.LargeBinary, nullable=False),
        sa.Column("diff", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "faults",
        sa.Column("id", _ROW_NUMBER, primary_key=True),
        sa.Column("episode_id", sa.Text, sa.ForeignKey("episodes.id"), nullable=False),
        sa.Column("product", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("operation", sa.Integer, nullable=False),
    )
    op.create_index("faults_by_episode", "faults", ["episode_id"])
    op.create_table(
        "events",
        sa.Column("id", _ROW_NUMBER, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("episode_id", sa.Text),
        sa.Column("product", sa.Text),
        sa.Column("because", sa.Text, nullable=False),
    )
    op.create_index("events_by_time", "events", ["at"])


def downgrade() -> None:
    for table in ("events", "faults", "trajectories", "verdicts", "episodes"):
        op.drop_table(table)
