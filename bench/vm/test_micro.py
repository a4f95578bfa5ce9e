"""Single-thread speed of an isolate beside the host's own CPython: pytest bench/vm/test_micro.py -s."""

from __future__ import annotations

import platform
import statistics

import pytest
from vm_programs import MICRO, MICRO_NAMES, isolate_of, on_host, seconds

from walle_rt.vm import VM

HOST = on_host(MICRO)


@pytest.mark.parametrize("name", MICRO_NAMES)
def test_micro_program(vm: VM, name: str) -> None:
    """Interleaved rounds meet the same machine; three isolates,
    as the place of their memory decides some percent.
    """
    isolates = [isolate_of(vm, MICRO) for _ in range(3)]
    bodies = [lambda i=isolate: i.call(name) for isolate in isolates] + [HOST[name]]
    rounds = [[seconds(body) for body in bodies] for _ in range(50)]
    *each, host = (min(times) for times in zip(*rounds, strict=True))
    inside = statistics.median(each)
    ours, theirs = (
        f"{vm.flavour} VM {inside * 1e3:.2f} ms",
        f"CPython {platform.python_version()} {host * 1e3:.2f} ms",
    )
    print(f"\n{name}: {ours}, {theirs}, {host / inside:.2f}x (bar 0.9)")
    assert isolates[0].call(name) == HOST[name]()
    assert host / inside >= 0.9
