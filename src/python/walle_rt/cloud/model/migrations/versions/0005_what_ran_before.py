"""Which version a device ran before the one that it runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One step forward."""
    op.add_column("running", sa.Column("before", sa.String(length=64), nullable=True))
