"""A process that runs cases: one case a line on stdin, with the engines that are to answer it; one JSON
verdict per engine on stdout, in their order, so that the parent knows which one was running when the process
dies. What a case is read from and, by ours, converted to is made once for all engines.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import empty
import onnx
from compare import difference
from engines import ENGINES, Runner
from suite import Case, cases, data_sets


@lru_cache(maxsize=1)
def _read(case: Case) -> tuple[onnx.ModelProto, list[tuple[dict[str, Any], dict[str, Any]]]]:
    model = onnx.load(str(case.model))
    return model, data_sets(case, model)


def verdict(case: Case, run: Runner) -> str | None:
    """Run one case; None when every output agrees, otherwise why not."""
    try:
        model, sets = _read(case)
        for inputs, wanted in sets:
            got = run(case.model, model, inputs)
            for name, want in wanted.items():
                if name not in got:
                    return f"output '{name}' is missing"
                found = difference(got[name], want, name)
                if found:
                    return found
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main() -> None:
    """Serve cases until stdin closes."""
    # Verdicts own the real stdout; anything a library prints goes to stderr instead of into the protocol.
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    known = {case.id: case for case in cases()}
    for line in sys.stdin:
        asked, _, engines = line.rstrip("\n").partition("\t")
        case_id, _, way = asked.partition("#")
        case = known[case_id]
        for engine in engines.split(","):
            reason = empty.verdict(case, int(way)) if way else verdict(case, ENGINES[engine])
            channel.write(json.dumps({"id": asked, "engine": engine, "reason": reason}) + "\n")


if __name__ == "__main__":
    main()
