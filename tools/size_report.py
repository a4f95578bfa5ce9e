"""Sizes of the libraries built, beside their targets; status 1 when one exceeds its limit
(sizes of the source: check_style.py).
"""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def libraries(build: Path) -> list[Path]:
    """The stripped-down artefacts that users receive."""
    found = [f for f in build.rglob("libwalle.so*") if not f.is_symlink()]
    return sorted(found + list((ROOT / "src" / "python" / "walle_rt").glob("_core*.so")))


# The Python VM all in, per flavour and machine:
# bytes raw and deflated that may not be exceeded (docs/concepts/vm.md).
VM_LIMITS = {("device", "x86_64"): (2_600_000, 1_100_000), ("device", "aarch64"): (2_300_000, 950_000)}


ELF_MACHINES = {62: "x86_64", 183: "aarch64"}


def vm_libraries(build: Path) -> list[Path]:
    """Those of the package, of ``build`` where it was cross-compiled, and of an arm64 build."""
    found = set((ROOT / "src" / "python" / "walle_rt" / "vm").glob("libwalle_vm_*.so"))
    for folder in {build.resolve(), ROOT / "build" / "arm64"}:
        found |= set(folder.glob("libwalle_vm_*.so"))
    return sorted(found)


def vm_report(build: Path) -> int:
    """Print the VM libraries and return how many exceed their limit."""
    over = 0
    for library in vm_libraries(build):
        content = library.read_bytes()
        raw = len(content)
        packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
        packed = len(packer.compress(content) + packer.flush())
        machine = ELF_MACHINES.get(struct.unpack_from("<H", content, 18)[0], "unknown")
        limits = VM_LIMITS.get((library.stem.rsplit("_", 1)[1], machine))
        verdict = ""
        if limits is not None:
            verdict = "within" if raw <= limits[0] and packed <= limits[1] else "OVER"
            over += verdict == "OVER"
            verdict += f" {limits[0] / 1e6:.2f} / {limits[1] / 1e6:.2f} MB"
        print(
            f"{f'{library.name} ({machine})':45s} {raw / 1e6:7.3f} MB  deflated {packed / 1e6:.3f} MB  "
            f"{verdict}"
        )
    return over


def sections(library: Path) -> dict[str, int]:
    """Bytes of text, data and bss."""
    text = subprocess.run(["size", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(zip(("text", "data", "bss"), (int(word) for word in text[1].split()[:3]), strict=True))


# Bytes of a room of libwalle: its target and its limit. Text and data of its objects, before the linker drops
# what is unused or stands in several (of link/ 0.32 MB are left). What connects a device with its server grew
# over its target with the agent and the tunnel: until it is smaller, the limit keeps it from growing on.
ROOM_SIZES = {"link": (250_000, 600_000)}


def room_report(build: Path) -> int:
    """Print what these rooms add and return how many exceed their limit."""
    over = 0
    for room, (target, limit) in ROOM_SIZES.items():
        objects = sorted((build / "CMakeFiles" / f"walle_{room}.dir").rglob("*.o"))
        if not objects:
            continue
        found = [sections(o) for o in objects]
        size = sum(parts["text"] + parts["data"] for parts in found)
        over += size > limit
        verdict = "within" if size <= target else "over"
        name = f"{room}/ of libwalle"
        print(
            f"{name:45s} {size / 1e6:7.3f} MB  {verdict} its target of {target / 1e6:.3f} MB, "
            f"limit {limit / 1e6:.3f} MB"
        )
    return over


def main() -> int:
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "release"
    for library in libraries(build):
        parts = sections(library)
        print(f"{library.name:45s} {library.stat().st_size / 1e6:7.2f} MB  text {parts['text'] / 1e6:.2f} MB")
    return 1 if vm_report(build) + room_report(build) else 0


if __name__ == "__main__":
    sys.exit(main())
