"""Alembic's steps, oldest first; each is frozen once it was released."""
