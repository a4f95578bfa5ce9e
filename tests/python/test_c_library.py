"""Where the C library lies: a checkout names its sources and its build; an error says what is absent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import walle_rt
from walle_rt import c_library

ROOT = Path(__file__).resolve().parents[2]


def test_a_checkout_answers_with_its_build() -> None:
    assert Path(walle_rt.include_dir()) == ROOT / "src" / "cpp" / "include"
    assert (Path(walle_rt.library_dir()) / "libwalle.so").is_file(), "build first (make build)"
    assert (Path(walle_rt.cmake_dir()) / "walle_targets.cmake").is_file()


@pytest.mark.parametrize("ask", [walle_rt.include_dir, walle_rt.library_dir, walle_rt.cmake_dir])
def test_absent(ask: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_PACKAGE", "_CHECKOUT", "_BUILD"):
        monkeypatch.setattr(c_library, name, tmp_path / name)
    with pytest.raises(walle_rt.ResourceError) as caught:
        ask()
    assert "make build" in caught.value.next_step and str(tmp_path) in caught.value.expected
