"""Expected outcomes of a task beside its events: written by ``--update``, compared by ``walle task test``."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

from ..errors import ModelError
from ..task._trial import Trial
from .task_author import plain


def outcome(trial: Trial) -> dict[str, Any]:
    """What of a trial is the same whenever it runs: firings, rows, sends, answers; no measured times."""
    firings = [
        {
            "trigger": f.trigger,
            "number": f.number,
            "ts": f.ts,
            "error": "" if f.error is None else f.error.type,
        }
        | ({"attempt": f.attempt} if f.attempt > 1 else {})
        for f in trial.firings
    ]
    sent = [{"feature": s.feature, "columns": plain(s.columns)} for s in trial.sent]
    out: dict[str, Any] = {
        "firings": firings,
        "tables": {name: [plain(row) for row in rows] for name, rows in trial.tables.items()},
        "sent": sent,
    }
    if trial.answers:
        out["answers"] = [{"rows": plain(a.rows), "error": a.error} for a in trial.answers]
    return out


def write(path: Path, trial: Trial) -> None:
    """Write what is expected from now on: an entry a line, so that a change shows in a diff."""
    path.write_text("\n".join(_lines(outcome(trial))) + "\n", encoding="utf-8")


def differences(path: Path, trial: Trial) -> list[str]:
    """Lines of a diff between what is expected and what came; none where they agree.

    Raises:
        ModelError: the file is no such outcome.
        OSError: it cannot be read.
    """
    try:
        expected = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError.of(
            f"a file that is no JSON ({error})", "what --update writes", str(path), "write it anew: --update"
        ) from None
    # As JSON has it: a tuple is a list there.
    came = json.loads(json.dumps(outcome(trial)))
    if came == expected or not isinstance(expected, dict):
        return [] if came == expected else ["- a file of another kind"]
    return [
        line
        for line in difflib.unified_diff(_lines(expected), _lines(came), "expected", "came", lineterm="", n=1)
        if not line.startswith(("---", "+++"))
    ]


def _lines(outcome: dict[str, Any]) -> list[str]:
    """JSON, each entry of a list on a line of its own."""
    out = ["{"]
    parts = [f"  {json.dumps(key)}: {_block(value, '  ')}" for key, value in outcome.items()]
    out += ",\n".join(parts).split("\n")
    return [*out, "}"]


def _block(value: Any, indent: str) -> str:
    if isinstance(value, list) and value:
        inner = ",\n".join(f"{indent}  {json.dumps(each)}" for each in value)
        return f"[\n{inner}\n{indent}]"
    if isinstance(value, dict) and any(isinstance(each, list) for each in value.values()):
        parts = [f"{indent}  {json.dumps(key)}: {_block(each, indent + '  ')}" for key, each in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return json.dumps(value)
