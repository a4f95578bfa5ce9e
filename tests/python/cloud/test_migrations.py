"""A database that migrations have made has the tables that the model says, on SQLite and PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from cloud.servers import opened_server
from sqlalchemy import Column, Integer, inspect

from walle_rt.cloud.model.tables import Base


def differences(engine: Any) -> list[Any]:
    """What would have to change for the tables to be those of the model; tables of the sink are its own."""

    def ours(thing: Any, name: str | None, kind: str, reflected: bool, other: Any) -> bool:
        return kind != "table" or name in Base.metadata.tables

    with engine.connect() as connection:
        given = {"compare_type": True, "compare_server_default": True, "include_object": ours}
        context = MigrationContext.configure(connection, opts=given)
        return list(compare_metadata(context, Base.metadata))


def keys(engine: Any) -> dict[str, Any]:
    """Primary keys and foreign keys, which Alembic does not compare everywhere."""
    found = inspect(engine)
    return {
        name: (
            set(found.get_pk_constraint(name)["constrained_columns"]),
            {(tuple(k["constrained_columns"]), k["referred_table"]) for k in found.get_foreign_keys(name)},
        )
        for name in Base.metadata.tables
    }


def test_migrations_make_the_tables_of_the_model(database: str | None, tmp_path: Path) -> None:
    with opened_server(tmp_path, database) as local:
        engine = local.state.database.engine
        assert differences(engine) == []
        expected = {
            name: (
                {column.name for column in table.primary_key},
                {
                    (tuple(c.name for c in key.columns), key.elements[0].column.table.name)
                    for key in table.foreign_key_constraints
                },
            )
            for name, table in Base.metadata.tables.items()
        }
        assert keys(engine) == expected


def test_a_column_that_no_migration_adds_is_found(database: str | None, tmp_path: Path) -> None:
    table = Base.metadata.tables["devices"]
    with opened_server(tmp_path, database) as local:
        table.append_column(Column("forgotten", Integer))
        try:
            assert [each[0] for each in differences(local.state.database.engine)] == ["add_column"]
        finally:
            table._columns.remove(table.c.forgotten)  # type: ignore[attr-defined]
