"""Who plays: the labels of a policy, which the console filters and compares by."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_LABELS = ("policy", "policy_version")


def upgrade() -> None:
    with op.batch_alter_table("episodes") as episodes:
        for name in _LABELS:
            episodes.add_column(sa.Column(name, sa.Text))


def downgrade() -> None:
    with op.batch_alter_table("episodes") as episodes:
        for name in reversed(_LABELS):
            episodes.drop_column(name)
