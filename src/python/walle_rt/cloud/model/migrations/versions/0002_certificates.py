"""Every certificate of a device, and not the newest alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One step forward."""
    op.create_table(
        "certificates",
        sa.Column("serial", sa.String(length=48), nullable=False),
        sa.Column("device", sa.String(length=64), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["device"], ["devices.id"]),
        sa.PrimaryKeyConstraint("serial"),
    )
    op.create_index("ix_certificates_device", "certificates", ["device"])
    op.create_index("ix_certificates_expires", "certificates", ["expires"])
    op.execute("INSERT INTO certificates (serial, device, expires) SELECT serial, id, expires FROM devices")


def downgrade() -> None:
    """One step back."""
    op.drop_table("certificates")
