"""What a host gives that is out of range, or no file, is an error of ours with what was expected."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from walle_rt import ArgumentError, ResourceError
from walle_rt.vm import VM, Isolate, Limits, TaskBundle

NUMBERS = ["heap_bytes", "wall_ms", "cpu_ms", "depth", "stack_bytes", "state_bytes", "log_bytes"]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [-1, 1 << 64, 1.5, "5", None])
def test_limits_out_of_range(vm: VM, name: str, value: object) -> None:
    with pytest.raises(ArgumentError, match=f"{name}=.*zero or a positive integer up to"):
        Isolate(vm, limits=Limits(**{name: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["wall_ms", "cpu_ms", "depth", "stack_bytes"])
def test_limits_of_32_bits(vm: VM, name: str) -> None:
    with pytest.raises(ArgumentError, match="up to"):
        Isolate(vm, limits=Limits(**{name: 1 << 32}))
    Isolate(vm, limits=Limits(**{name: (1 << 31) - 1})).close()


@pytest.mark.parametrize("name", ["", "a b", "a..b", ".a", "a.", "a\0b", "1a", "a-b", "\udc80", 5])
def test_names_that_no_module_has(vm: VM, name: Any) -> None:
    with pytest.raises(ArgumentError, match="names of modules"):
        TaskBundle.from_source({name: "x = 1\n"}, vm)


def test_a_source_that_is_no_text(vm: VM) -> None:
    with pytest.raises(ArgumentError, match="its source text"):
        TaskBundle.from_source({"main": b"x = 1\n"}, vm)  # type: ignore[dict-item]


KEEP = "import walle\ndef f(n):\n    walle.kv.put('n', n)\n    return walle.kv.get('n')\n"


def test_state_behind_a_link_is_written_where_it_lies(task: Any, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, chain = tmp_path / "link", tmp_path / "chain"
    link.symlink_to("there/state")
    chain.symlink_to(link)
    for number in (1, 2):
        assert task(KEEP, state=str(chain)).call("f", number) == number
    assert link.is_symlink() and chain.is_symlink()
    assert (tmp_path / "there" / "state").read_bytes().startswith(b"WALKV001")
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["state"]


def test_state_that_is_no_file_is_refused(task: Any, tmp_path: Path) -> None:
    fifo, link, loop = tmp_path / "fifo", tmp_path / "link", tmp_path / "loop"
    os.mkfifo(fifo)
    link.symlink_to(fifo)
    loop.symlink_to(loop)
    for path in (fifo, link, loop, tmp_path, Path("/dev/null")):
        with pytest.raises(ResourceError, match="no regular file"):
            task(KEEP, state=str(path))
    assert fifo.is_fifo() and Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ("[1 << 40, 1 << 40]", "64 bits"),
        ("[1 << 40]", "a tensor of 4398046511104 bytes, beyond the heap limit"),
    ],
)
def test_shapes_that_are_too_large_say_so(task: Any, shape: str, says: str) -> None:
    source = f"import walle\ndef f():\n    try: walle.Tensor('float32', {shape})\n"
    source += "    except MemoryError as e: return str(e)"
    assert says in task(source, heap_bytes=64 << 20).call("f")
