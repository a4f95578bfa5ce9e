"""A process that runs cases: ids come in on stdin, one JSON verdict per case goes out on stdout.

Before each case its id is announced, so that the parent knows which one was running when the process dies.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import empty
import onnx
from compare import difference
from engines import ENGINES, Runner
from suite import Case, cases, data_sets


def verdict(case: Case, run: Runner) -> str | None:
    """Run one case; None when every output agrees, otherwise why not."""
    try:
        model = onnx.load(str(case.model))
        for inputs, wanted in data_sets(case, model):
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
    """Serve ids until stdin closes."""
    # Verdicts own the real stdout; anything a library prints goes to stderr instead of into the protocol.
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    known = {case.id: case for case in cases()}
    for line in sys.stdin:
        case_id, _, way = line.strip().partition("#")
        case = known[case_id]
        reason = empty.verdict(case, int(way)) if way else verdict(case, ENGINES[sys.argv[1]])
        channel.write(json.dumps({"id": line.strip(), "reason": reason}) + "\n")


if __name__ == "__main__":
    main()
