"""What notebooks show of models and explanations: short tables, every text escaped, headers marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from .explain_text import REST

if TYPE_CHECKING:
    from .explain import ExplainRow, Explanation
    from .model import Model
    from .values import ValueInfo

_BEST_ROWS = 10  # shown without opening anything
_MOST_ROWS = 500  # of a collapsed table: notebooks keep every cell's output in their file
_MOST_OPS = 12  # kinds of operators named; the others are counted


def _row(cells: Sequence[object]) -> str:
    head, *rest = (escape(str(cell)) for cell in cells)
    data = "".join(f"<td>{cell}</td>" for cell in rest)
    return f'<tr><th scope="row" style="text-align:left">{head}</th>{data}</tr>'


def _table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "".join(map(_row, rows))
    return (
        f'<table><caption style="text-align:left">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _collapsed(summary: str, content: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def _values(values: Iterable[tuple[str, ValueInfo]]) -> list[tuple[str, str, str]]:
    return [(value.name, role, str(value).removeprefix(f"{value.name}: ")) for role, value in values]


def model_html(model: Model, ops: Sequence[str]) -> str:
    """Inputs, states and outputs, then how many operators of which kind."""
    roles = {"input": model.inputs, "state": model.states, "output": model.outputs}
    values = [(role, v) for role, infos in roles.items() for v in infos]
    table = _table("Model", ("name", "role", "type"), _values(values))
    counts = Counter(ops).most_common()
    named = [f"{op} {count}" for op, count in counts[:_MOST_OPS]]
    if len(counts) > _MOST_OPS:
        named.append(f"{len(counts) - _MOST_OPS} other kinds {sum(count for _, count in counts[_MOST_OPS:])}")
    text = f"{len(ops)} nodes: {', '.join(named)}" if ops else "no nodes: outputs are inputs or constants"
    return f"<div>{table}<p>{escape(text)}</p></div>"


def _step(row: ExplainRow) -> tuple[object, ...]:
    times = (f"{row.ms * 1e3:.1f}", "yes" if row.measured_runs else "no")
    return (row.op, row.algorithm, row.backend, row.output, *times, row.node)


def explanation_html(found: Explanation) -> str:
    """Time by algorithm first, then the costliest rows; all rows behind a line that opens them."""
    total = found.total_ms or 1.0
    how = "measured" if found.profiled_runs else "predicted"
    shares = found.by_algorithm()
    if found.profiled_runs:
        shares = [*shares, (REST, found.unaccounted_ms)]
    times = [(name, f"{ms * 1e3:.1f}", f"{ms / total:.0%}") for name, ms in shares]
    table = _table(f"Time by algorithm, {how}", ("algorithm", "us", "share"), times)
    summary = "".join(f"<p>{escape(line)}</p>" for line in found.summary())
    columns = ("op", "algorithm", "backend", "result", "us", "measured", "node")
    best = found.costliest(found.top or _BEST_ROWS)
    costliest = _table("The costliest rows", columns, map(_step, best)) if len(found.rows) > len(best) else ""
    shown = found.rows[:_MOST_ROWS]
    cut = f"the first {len(shown)} of " if len(shown) < len(found.rows) else ""
    of = f"{cut}{len(found.rows)} steps"
    steps = _collapsed(of, _table("Steps of the plans", columns, map(_step, shown)))
    return f"<div>{table}{summary}{costliest}{steps}</div>"
