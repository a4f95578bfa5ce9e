"""Which manifest names the files of a version's server's half: devices' manifests do not."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One step forward."""
    op.add_column("versions", sa.Column("whole", sa.String(length=64), nullable=True))
