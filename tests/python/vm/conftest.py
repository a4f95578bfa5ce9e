"""Fixtures for the VM tests. Without a VM library every test here is skipped, and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from walle_rt.vm import VM, Isolate, Limits, TaskBundle, library_path


@pytest.fixture(scope="session")
def vm() -> VM:
    if not VM.available("full"):
        pytest.skip(
            f"no VM library at {library_path()}: it was built with WALLE_VM=OFF or without the CPython source"
        )
    return VM("full")


@pytest.fixture(scope="session")
def device(vm: VM) -> VM:
    return VM("device")


@pytest.fixture
def isolate(vm: VM) -> Iterator[Isolate]:
    with Isolate(vm) as made:
        yield made


Make = Callable[..., Isolate]


@pytest.fixture
def task(vm: VM) -> Make:
    """task(source, **limits): an isolate with `source` as its main module."""

    def make(
        source: str,
        *,
        log: Callable[[int, str], None] | None = None,
        state: str | None = None,
        **limits: object,
    ) -> Isolate:
        made = Isolate(vm, limits=Limits(**limits), log=log, state=state)  # type: ignore[arg-type]
        made.load(TaskBundle.from_source({"main": source}, vm))
        return made

    return make
