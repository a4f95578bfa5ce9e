"""task.toml against its schema: values with defaults filled in, or mistakes with their lines."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from ..errors import ArgumentError
from ._kinds import Refused
from ._lines import Lines, Path
from ._mistakes import Mistake, one_of
from ._schema import REQUIRED, ROOT, Key, Named, Table

FILE = "task.toml"
_MAX_BYTES = 1 << 20
_SHOWN = 60


class Reader:
    """One reading: the values, as dicts of dicts, and everything that is wrong with them."""

    def __init__(self, text: str) -> None:
        """Read and check a file's text."""
        self.mistakes: list[Mistake] = []
        self.values: dict[str, Any] = {}
        try:
            given = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            line = re.search(r"at line (\d+)", str(error))
            number = int(line[1]) if line else text.count("\n") + 1 if "end of document" in str(error) else 0
            what = str(error).partition(" (at ")[0]
            self._add(number, what or "text nested too deeply", "TOML 1.0", "correct the line")
            self.lines = Lines("")
            return
        self.lines = Lines(text)
        self.values = self._table((), given, ROOT)

    def wrong(self, path: Path, given: str, expected: str, next_step: str, *, error: bool = True) -> None:
        """Note a mistake at a key."""
        self.mistakes.append(Mistake(FILE, self.lines.of(path), given, expected, next_step, error))

    def bad_name(self, path: Path, error: ArgumentError) -> None:
        """Note a name that is none, in the words that are used of it everywhere."""
        self.wrong(path, error.given, error.expected, error.next_step)

    def _add(self, line: int, given: str, expected: str, next_step: str) -> None:
        self.mistakes.append(Mistake(FILE, line, given, expected, next_step))

    def _table(self, path: Path, given: Any, schema: Table) -> dict[str, Any]:
        if schema.short and not isinstance(given, dict):
            given = {schema.short: given}
        if not isinstance(given, dict):
            self.wrong(path, f"{_named(path)} = {_shown(given)}", "a table", f"write [{'.'.join(path)}]")
            return {}
        for name in given:
            if name not in schema.keys:
                self._unknown(path, name, schema)
        return {name: self._entry((*path, name), given, name, entry) for name, entry in schema.keys.items()}

    def _unknown(self, path: Path, name: str, schema: Table) -> None:
        known = ", ".join(schema.keys)
        what = f"key '{name}' in [{'.'.join(path)}]" if path else f"table [{name}]"
        elsewhere = [f"[{table}]" for table in _tables_with(name)] if path else []
        hint = f"move it to {elsewhere[0]}" if elsewhere else one_of(name, schema.keys, "remove it")
        self.wrong((*path, name), what, f"one of {known}", hint)

    def _entry(self, path: Path, given: dict[str, Any], name: str, schema: Key | Table | Named) -> Any:
        if isinstance(schema, Key):
            return self._key(path, given, name, schema)
        if name not in given:
            if schema.required:
                self.wrong(
                    path[:-1], f"no [{'.'.join(path)}]", schema.doc.rstrip("."), f"add [{'.'.join(path)}]"
                )
            return (
                {}
                if isinstance(schema, Named)
                else self._table(path, {}, schema)
                if not schema.required
                else {}
            )
        if isinstance(schema, Table):
            return self._table(path, given[name], schema)
        return self._names(path, given[name], schema)

    def _key(self, path: Path, given: dict[str, Any], name: str, schema: Key) -> Any:
        if name not in given:
            if schema.default is REQUIRED:
                where = f"[{'.'.join(path[:-1])}]"
                self.wrong(path[:-1], f"{where} without '{name}'", schema.kind.expected, f"add {name} = ...")
                return None
            return schema.default
        return self._value(path, given[name], schema)

    def _value(self, path: Path, given: Any, schema: Key) -> Any:
        try:
            return schema.kind.read(given)
        except Refused as refused:
            hint = f"{path[-1]}: {schema.doc}"
            if schema.kind.choices:
                hint = one_of(str(given), schema.kind.choices, hint)
            if refused.why is not None:
                self.bad_name(path, refused.why)
            else:
                self.wrong(path, f"{_named(path)} = {_shown(given)}", schema.kind.expected, hint)
            return None if schema.default is REQUIRED else schema.default

    def _names(self, path: Path, given: Any, schema: Named) -> dict[str, Any]:
        if not isinstance(given, dict) or len(given) > schema.most or (schema.required and not given):
            what = f"{len(given)} entries" if isinstance(given, dict) else _shown(given)
            least = 1 if schema.required else 0
            self.wrong(
                path,
                f"[{'.'.join(path)}] of {what}",
                f"a table of {least} to {schema.most} entries",
                schema.doc,
            )
            return {}
        out = {}
        for name, value in given.items():
            try:
                schema.name.read(name)
            except Refused as refused:
                if refused.why is not None:
                    self.bad_name((*path, name), refused.why)
                continue
            inner = (*path, name)
            entry = schema.value
            out[name] = (
                self._value(inner, value, entry)
                if isinstance(entry, Key)
                else self._table(inner, value, entry)
            )
        return out


def read_text(data: bytes) -> tuple[str, list[Mistake]]:
    """The text of a file, or why it is none."""
    if len(data) > _MAX_BYTES:
        return "", [
            Mistake(FILE, 0, f"a file of {len(data)} bytes", "at most 1 MiB", "keep data in resources")
        ]
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return "", [Mistake(FILE, line, "bytes that are no UTF-8", "UTF-8 text", "save the file as UTF-8")]


def _named(path: Path) -> str:
    return ".".join(path)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _tables_with(name: str) -> list[str]:
    """Tables of fixed keys that know a key."""
    return [table for table, schema in ROOT.keys.items() if isinstance(schema, Table) and name in schema.keys]
