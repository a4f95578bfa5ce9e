"""Seeds of random tests: a test that fails shows the command that repeats it among its captured output."""

from __future__ import annotations

import os
import random
import shlex
import sys


def random_seed(fixed: int | None = None) -> int:
    """The seed of a test's random cases: WALLE_TEST_SEED, else ``fixed``, else another one each time."""
    given = os.environ.get("WALLE_TEST_SEED")
    if given is not None:
        seed = int(given)
    else:
        seed = random.SystemRandom().randrange(2**32) if fixed is None else fixed
    print(f"repeat with: {command(seed)}")
    return seed


def command(seed: int) -> str:
    """What runs the test that runs, or this program, with a seed again; from the folder it was run in."""
    others = [
        f"{name}={shlex.quote(value)}"
        for name, value in sorted(os.environ.items())
        if name.startswith("WALLE_") and name != "WALLE_TEST_SEED"
    ]
    # pytest keeps it while a test runs: "tests/python/x.py::test_x[param] (call)".
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    what = ["-m", "pytest", test] if test else sys.argv
    return " ".join([f"WALLE_TEST_SEED={seed}", *others, shlex.join([sys.executable, *what])])
