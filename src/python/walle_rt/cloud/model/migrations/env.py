"""Environment of Alembic: steps run on the connection that ``Database.migrate`` opened."""

from alembic import context

from walle_rt.cloud.model.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite alters tables by copying them
)
with context.begin_transaction():
    context.run_migrations()
