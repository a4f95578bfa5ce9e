"""The server's database: tables, migrations, and what is done with them in one transaction."""

from .database import Database

__all__ = ["Database"]
