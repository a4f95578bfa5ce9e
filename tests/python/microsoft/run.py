"""The cases by name, and what becomes of them without elements: `python -m microsoft.run` in tests/python.

Each dimension of each input is made 0 in its turn; what went wrong is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from . import attention, layers, packed, quantised
from .case import Case

FAMILIES = (layers, quantised, packed, attention)


def all_cases() -> dict[str, Case]:
    """By name; no two have the same."""
    found: dict[str, Case] = {}
    for family in FAMILIES:
        for case in family.cases():
            assert case.name not in found, case.name
            found[case.name] = case
    return found


def emptied(feeds: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same inputs with one dimension of one of them 0, or with all dimensions of one size 0."""
    for name, array in feeds.items():
        for axis in range(array.ndim):
            yield {**feeds, name: array.take([], axis=axis)}
    for size in {size for array in feeds.values() for size in array.shape if size}:
        less = {
            name: array[tuple(slice(0, 0) if s == size else slice(None) for s in array.shape)]
            for name, array in feeds.items()
        }
        yield less


def fault(case: Case, feeds: dict[str, Any]) -> str | None:
    """What is neither a result nor an error that says what is wrong with the model or its inputs."""
    import walle_rt

    try:
        walle_rt.load(case.model()).session(threads=1).run(feeds)
    except walle_rt.InternalError as error:
        return f"{case.name}: {error}"
    except walle_rt.Error:
        return None
    except Exception as error:
        return f"{case.name}: {type(error).__name__}: {error}"
    return None


def main() -> int:
    """Print the faults and how many ways there were."""
    count, faults = 0, []
    for case in all_cases().values():
        for feeds in emptied(case.feeds()):
            count += 1
            faults.append(fault(case, feeds))
    for line in filter(None, faults):
        print(line)
    print(f"{count} ways")
    return 1 if any(faults) else 0


if __name__ == "__main__":
    sys.exit(main())
