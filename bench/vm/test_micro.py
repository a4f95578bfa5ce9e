"""Single-thread speed of an isolate beside the host's own CPython: pytest bench/vm/test_micro.py -s."""

from __future__ import annotations

import platform

import pytest
from vm_programs import MICRO, MICRO_NAMES, isolate_of, on_host, seconds

from walle_rt.vm import VM

HOST = on_host(MICRO)


@pytest.mark.parametrize("name", MICRO_NAMES)
def test_micro_program(vm: VM, name: str) -> None:
    """Interleaved rounds, so that both meet the same machine."""
    isolate = isolate_of(vm, MICRO)
    rounds = [(seconds(lambda: isolate.call(name)), seconds(HOST[name])) for _ in range(25)]
    inside, host = (min(times) for times in zip(*rounds, strict=True))
    ours, theirs = f"{vm.flavour} VM {inside * 1e3:.2f} ms", f"CPython {platform.python_version()} {host * 1e3:.2f} ms"
    print(f"\n{name}: {ours}, {theirs}, {host / inside:.2f}x (bar 0.9)")
    assert isolate.call(name) == HOST[name]()
    assert host / inside >= 0.9
