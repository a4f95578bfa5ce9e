"""The tables of docs/reference/task-toml.md, made of the schema. To write them anew:

python -m walle_rt.task._page docs/reference/task-toml.md
"""

from __future__ import annotations

import sys
from pathlib import Path

from ._schema import REQUIRED, ROOT, Key, Named, Table

BEGIN, END = "<!-- made of walle_rt/task/_schema.py -->\n", "<!-- end -->\n"


def reference() -> str:
    """Every table of task.toml with its keys, as Markdown."""
    return "\n".join(_section(name, entry) for name, entry in ROOT.keys.items())


def _section(name: str, entry: Key | Table | Named) -> str:
    if isinstance(entry, Named) and isinstance(entry.value, Table):
        head = f"## `[{name}.NAME]`\n{entry.value.doc} {_count(entry)}; NAME is {entry.name.expected}.\n"
        return head + _table(entry.value)
    if isinstance(entry, Named):
        return f"## `[{name}]`\n{entry.doc} {_count(entry)}. Names: {entry.name.expected}.\n"
    assert isinstance(entry, Table)
    return f"## `[{name}]`\n{entry.doc}{' Required.' if entry.required else ''}\n{_table(entry)}"


def _count(entry: Named) -> str:
    return f"{'From 1 to' if entry.required else 'At most'} {entry.most}"


def _table(table: Table) -> str:
    rows = "".join(row for name, entry in table.keys.items() for row in _rows(name, entry))
    return f"\n| key | value | meaning | default |\n|---|---|---|---|\n{rows}"


def _rows(name: str, entry: Key | Table | Named) -> list[str]:
    if isinstance(entry, Key):
        default = "required" if entry.default is REQUIRED else entry.shown or "none"
        return [f"| `{name}` | {_cell(entry.kind.expected)} | {_cell(entry.doc)} | {_cell(default)} |\n"]
    if isinstance(entry, Named):
        default = "required" if entry.required else "none"
        expected = f"a table of at most {entry.most}; names: {entry.name.expected}"
        out = [f"| `{name}` | {_cell(expected)} | {_cell(entry.doc)} | {default} |\n"]
        inner = entry.value.keys if isinstance(entry.value, Table) else {"NAME": entry.value}
        prefix = f"{name}.NAME" if isinstance(entry.value, Table) else name
        return out + [row for key, value in inner.items() for row in _rows(f"{prefix}.{key}", value)]
    return [row for key, value in entry.keys.items() for row in _rows(f"{name}.{key}", value)]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def rewritten(page: str) -> str:
    """A page with its tables as the schema has them."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "\n" + reference() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(rewritten(target.read_text(encoding="utf-8")), encoding="utf-8")
