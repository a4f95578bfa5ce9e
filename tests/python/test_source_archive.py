"""Unpacking archives of source, with and without the extraction filters that Debian 12's Python lacks."""

from __future__ import annotations

import contextlib
import io
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import source_archive
from fetch_libsodium import LIBSODIUM


@pytest.fixture(params=["filters", "no filters"])
def fetch(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "no filters":
        extractall = tarfile.TarFile.extractall

        def plain(self: tarfile.TarFile, path: Any = ".", members: Any = None) -> None:
            extractall(self, path, members)  # refuses the argument `filter`, as 3.11.2 does

        monkeypatch.delattr(tarfile, "data_filter", raising=False)
        monkeypatch.setattr(tarfile.TarFile, "extractall", plain)
    return source_archive


def archive(*members: tuple[str, bytes, str]) -> tarfile.TarFile:
    """Members as (name, type, content or link target)."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, 0o4777
            member.linkname = content if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            member.size = len(content) if kind == tarfile.REGTYPE else 0
            tar.addfile(member, io.BytesIO(content.encode()))
    return tarfile.open(fileobj=io.BytesIO(packed.getvalue()))


def test_files_and_folders_are_unpacked(fetch: Any, tmp_path: Path) -> None:
    fetch.unpack(archive(("P", tarfile.DIRTYPE, ""), ("P/a.c", tarfile.REGTYPE, "int a;")), tmp_path)
    assert (tmp_path / "P" / "a.c").read_text() == "int a;"
    assert (tmp_path / "P" / "a.c").stat().st_mode & 0o7022 == 0


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("../outside", tarfile.REGTYPE, "x"),
        ("P/../../outside", tarfile.REGTYPE, "x"),
        ("P/link", tarfile.SYMTYPE, "/etc/passwd"),
        ("P/hard", tarfile.LNKTYPE, "../../outside"),
        ("P/device", tarfile.CHRTYPE, ""),
    ],
)
def test_members_that_leave_the_folder_are_refused(
    fetch: Any, tmp_path: Path, name: str, kind: bytes, content: str
) -> None:
    inner = tmp_path / "inner"
    with pytest.raises((tarfile.TarError, OSError)):
        fetch.unpack(archive((name, kind, content)), inner)
    assert not (tmp_path / "outside").exists()


def test_absolute_names_stay_below_the_folder(fetch: Any, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    with contextlib.suppress(tarfile.TarError):
        fetch.unpack(archive((f"{tmp_path}/outside", tarfile.REGTYPE, "x")), inner)
    assert not (tmp_path / "outside").exists()


def test_libsodium_is_where_debian_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its makers' own address is none of them, so there is a mirror where apt names none."""
    monkeypatch.setattr(source_archive, "debian_mirrors", lambda: [])
    [address] = LIBSODIUM.sources()
    assert address.endswith("/pool/main/libs/libsodium/libsodium_1.0.18.orig.tar.gz")


def test_another_archive_of_libsodium_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "libsodium.tar.gz"
    wrong.write_bytes(b"not the archive")
    monkeypatch.setenv(LIBSODIUM.variable, str(wrong))
    assert LIBSODIUM.find(tmp_path) is None
    assert "WALLE_LIBSODIUM_TARBALL" in capsys.readouterr().err
    assert "is not the expected archive" in LIBSODIUM.where(tmp_path)
