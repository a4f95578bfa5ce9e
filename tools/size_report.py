"""Sizes of the libraries built, beside their targets; status 1 when one exceeds its limit
(sizes of the source: check_style.py).
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tempfile
import zlib
from bisect import bisect_left
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


# Bytes of what users receive, stripped: target and limit. What is over its target stays as small as it has
# become: four instruction sets of every kernel are 2.4 MB of libwalle.
LIBRARY_LIMITS = {
    ("libwalle", "x86_64"): (5_500_000, 8_700_000),
    ("_core", "x86_64"): (1_500_000, 1_500_000),
    ("libwalle", "aarch64"): (4_800_000, 7_500_000),
    ("_core", "aarch64"): (1_500_000, 1_500_000),
}

ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
# binutils of one machine strip no other's files.
STRIPS = {"aarch64": "aarch64-linux-gnu-strip"}


def machine_of(library: Path) -> str:
    """What an ELF file is for."""
    return ELF_MACHINES.get(struct.unpack_from("<H", library.read_bytes()[:20], 18)[0], "unknown")


def package_of(build: Path) -> Path:
    """The Python package with a build's extension: its own where it is for another machine."""
    own = build / "python" / "walle_rt"
    return own if own.is_dir() else ROOT / "src" / "python" / "walle_rt"


def libraries(build: Path) -> list[Path]:
    """The artefacts that users receive."""
    found = [f for f in build.rglob("libwalle.so*") if not f.is_symlink()]
    return sorted(found + list(package_of(build).glob("_core*.so")))


def stripped(library: Path) -> int:
    """Bytes of the file without the symbols that only a debugger reads."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "stripped"
        subprocess.run([STRIPS.get(machine_of(library), "strip"), "-o", copy, library], check=True)
        return copy.stat().st_size


def judged(size: int, limits: tuple[int, int] | None) -> tuple[str, bool]:
    """Words for a size beside its target and limit, and whether it is over the limit."""
    if limits is None:
        return "", False
    target, limit = limits
    aim = f"{'within' if size <= target else 'over'} its target of {target / 1e6:.3f} MB"
    return f"  {aim}, {'OVER' if size > limit else 'within'} its limit of {limit / 1e6:.3f} MB", size > limit


def library_report(build: Path) -> int:
    """Print the libraries and return how many exceed their limit."""
    over = 0
    for library in libraries(build):
        size = stripped(library)
        verdict, exceeds = judged(size, LIBRARY_LIMITS.get((library.name.split(".")[0], machine_of(library))))
        over += exceeds
        text = sections(library)["text"] / 1e6
        print(f"{f'{library.name}, stripped':45s} {size / 1e6:7.3f} MB  (text {text:.2f} MB){verdict}")
    return over


# The Python VM all in, per flavour and machine:
# bytes raw and deflated that may not be exceeded (docs/concepts/vm.md).
VM_LIMITS = {("device", "x86_64"): (2_600_000, 1_100_000), ("device", "aarch64"): (2_300_000, 950_000)}


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
        machine = machine_of(library)
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


# Bytes of libwalle that come from a room, which it would be smaller by without: target and limit. What
# connects a device with its server is over its target; until it is smaller, the limit keeps it so: measured
# 363 KB, of which connections that the app brings (stream_socket.cc) are 6 and all that stands between
# libsodium and OpenSSL 3.
ROOM_LIMITS = {"link": (250_000, 365_000)}

# Parts of the map that no library has in memory, or not in its file.
NOT_IN_FILE = re.compile(r"\.(bss|tbss|comment|symtab|strtab|shstrtab|debug|gnu\.build|gnu_debuglink)")
INPUT_SECTION = re.compile(r"^ (\S+)?\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$")
RELOCATION_BYTES = 24  # Elf64_Rela
ENTRY_BYTES = 8  # a function's in the table by which its unwinding is found


def map_of(build: Path) -> list[tuple[str, int, int, str]]:
    """Every input section that GNU's linker has kept: output section, address, bytes, object."""
    lines = (build / "libwalle.map").read_text(errors="replace").splitlines()
    found: list[tuple[str, int, int, str]] = []
    output = ""
    name_above = False  # a long name has a line of its own
    for line in lines[lines.index("Linker script and memory map") :]:
        if line and not line[0].isspace():
            output = line.split()[0]
        match = INPUT_SECTION.match(line)
        if match and (match[1] or name_above) and int(match[2], 16) and not NOT_IN_FILE.match(output):
            found.append((output, int(match[2], 16), int(match[3], 16), match[4]))
        name_above = re.fullmatch(r" \S+", line) is not None
    return found


def relocations(library: Path) -> list[int]:
    """Addresses that the loader has to fill in, sorted."""
    listed = subprocess.run(["readelf", "-rW", library], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^([0-9a-f]{12,16})  [0-9a-f]{12,16} R_", listed, re.MULTILINE)
    return sorted(int(row, 16) for row in rows)


def unwound_functions(library: Path) -> list[int]:
    """Addresses of the functions in .eh_frame_hdr, sorted as they lie there."""
    listed = subprocess.run(["readelf", "-SW", library], capture_output=True, text=True, check=True).stdout
    place = re.search(r"\.eh_frame_hdr\s+PROGBITS\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", listed)
    if not place:
        return []
    base, offset, size = (int(word, 16) for word in place.groups())
    table = library.read_bytes()[offset : offset + size]
    # Behind its version, encodings, frame pointer and count: pairs of offsets from its own start.
    return [base + start for start, _ in struct.iter_unpack("<ii", table[12 : len(table) // 4 * 4])]


OBJECT_OF_A_ROOM = re.compile(r"walle_(\w+)\.(?:dir/|a\()")  # libsodium comes as an archive
KINDS = {".text": "code", ".eh_frame": "unwinding", ".gcc_except_table": "unwinding"}


def rooms(build: Path, library: Path) -> dict[str, Counter[str]]:
    """Bytes that each room adds to libwalle, by kind.

    By the linker's map: code, constants, unwinding tables, and the relocations that fill in their pointers. A
    template that other rooms use, too, counts for the room whose copy was kept, so these are upper bounds (of
    link/ by 1 %); what other rooms hold for one alone does not count for it.
    """
    found: dict[str, Counter[str]] = {}
    filled_in, unwound = relocations(library), unwound_functions(library)
    for output, address, size, object_file in map_of(build):
        match = OBJECT_OF_A_ROOM.search(object_file)
        parts = found.setdefault(match[1] if match else "what the compiler brings", Counter())
        parts[KINDS.get(output, "constants")] += size
        for each, bytes_each, name in (
            (filled_in, RELOCATION_BYTES, "relocations"),
            (unwound, ENTRY_BYTES, "unwinding"),
        ):
            inside = bisect_left(each, address + size) - bisect_left(each, address)
            parts[name] += bytes_each * inside
    return found


def room_report(build: Path) -> int:
    """Print what each room adds to libwalle, largest first, and return how many exceed their limit."""
    over = 0
    library = build / "libwalle.so"
    if not (build / "libwalle.map").exists() or not library.exists():
        return 0
    found = rooms(build, library)
    for room in sorted(found, key=lambda name: -found[name].total()):
        parts = found[room]
        text = ", ".join(f"{name} {parts[name] / 1e3:.0f}" for name in sorted(parts))
        verdict, exceeds = judged(parts.total(), ROOM_LIMITS.get(room))
        over += exceeds
        print(f"{f'  {room} of libwalle':45s} {parts.total() / 1e6:7.3f} MB  ({text} KB){verdict}")
    return over


def main() -> int:
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "release"
    return 1 if library_report(build) + vm_report(build) + room_report(build) else 0


if __name__ == "__main__":
    sys.exit(main())
