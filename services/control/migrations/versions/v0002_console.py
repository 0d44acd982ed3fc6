"""What the console needs: reviews, the taxonomy, who did something, and the hours that an episode waited."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "reviews",
        sa.Column("id", _ROW_NUMBER, primary_key=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("reviewer", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("reviews_by_key", "reviews", ["key"])
    op.create_table(
        "taxonomies",
        sa.Column("id", _ROW_NUMBER, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    with op.batch_alter_table("events") as events:
        events.add_column(sa.Column("person", sa.Text))
    op.create_index("events_by_episode", "events", ["episode_id"])
    with op.batch_alter_table("trajectories") as trajectories:
        trajectories.add_column(sa.Column("waits", sa.Text))


def downgrade() -> None:
    with op.batch_alter_table("trajectories") as trajectories:
        trajectories.drop_column("waits")
    op.drop_index("events_by_episode", "events")
    with op.batch_alter_table("events") as events:
        events.drop_column("person")
    for table in ("taxonomies", "reviews"):
        op.drop_table(table)
