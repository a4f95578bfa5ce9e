"""Which version of each task a device has told last that it runs, and how many did over time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One step forward."""
    op.create_table(
        "running",
        sa.Column("device", sa.String(length=64), nullable=False),
        sa.Column("scenario", sa.String(length=64), nullable=False),
        sa.Column("task", sa.String(length=64), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["device"], ["devices.id"]),
        sa.PrimaryKeyConstraint("device", "scenario", "task"),
    )
    op.create_index("running_by_version", "running", ["scenario", "task", "version"])
    op.create_table(
        "adoption_points",
        sa.Column("scenario", sa.String(length=64), nullable=False),
        sa.Column("task", sa.String(length=64), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("hour", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("devices", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scenario", "task", "version", "hour"),
    )
