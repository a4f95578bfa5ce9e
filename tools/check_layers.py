"""Every #include in src/cpp points to its own room or to a room below that it may use; prints what climbs.

The table is the architecture's. A room may use the rooms named here and whatever those may use; rooms of
floor 8 never include each other, which the table already says by not naming them.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "cpp"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Room:
    """A folder's floor and the rooms it may use directly."""

    floor: float
    uses: tuple[str, ...]


# search stands on backends/backend.h in the same row of the table, hence the half floor.
ROOMS: dict[str, Room] = {
    "base": Room(0, ()),
    "tensor": Room(1, ("base",)),
    "store": Room(1, ("base",)),
    "raster": Room(2, ("tensor",)),
    "kernels": Room(2, ("tensor",)),
    "ir": Room(3, ("tensor",)),
    "ops": Room(4, ("ir", "raster")),
    "backends": Room(5, ("ops", "store")),
    "search": Room(5.5, ("ops", "store", "backends")),
    "backends/cpu": Room(6, ("kernels", "backends")),
    "backends/opencl": Room(6, ("kernels", "backends")),
    "backends/metal": Room(6, ("kernels", "backends")),
    "backends/null": Room(6, ("kernels", "backends")),
    "runtime": Room(7, ("search",)),
    "train": Room(8, ("runtime",)),
    "array": Room(8, ("runtime",)),
    "vision": Room(8, ("runtime",)),
    "vm": Room(8, ("runtime", "store")),
    "stream/event": Room(8, ("store", "tensor")),
    "stream/trigger": Room(8.1, ("stream/event",)),
    "stream/match": Room(8.2, ("stream/trigger",)),
    "stream/operators": Room(8.2, ("stream/trigger",)),
    "stream/egress": Room(8.3, ("stream/operators",)),
    "link": Room(8, ("store",)),
    "container": Room(9, ("train", "array", "vision", "vm", "stream/match", "stream/egress", "link")),
    "capi": Room(10, ("container", "runtime")),
    "pybind": Room(10, ("container", "runtime")),
}
GENERATED = {"schemas", "walle"}  # FlatBuffers headers made while building; the public C header


def room_of(path: str) -> str | None:
    """The room a path relative to src/cpp lies in, or None where no room owns it."""
    parts = path.split("/")
    for depth in (2, 1):
        name = "/".join(parts[:depth])
        if len(parts) > depth and name in ROOMS:
            return name
    return None


def reach(room: str) -> set[str]:
    """All rooms that ``room`` may include: its own and everything below the ones it uses."""
    found, waiting = {room}, [room]
    while waiting:
        for lower in ROOMS[waiting.pop()].uses:
            if lower not in found:
                found.add(lower)
                waiting.append(lower)
    return found


def table_problems() -> list[str]:
    """The table itself must not climb."""
    return [
        f"table: {name} (floor {room.floor:g}) uses {lower} (floor {ROOMS[lower].floor:g})"
        for name, room in ROOMS.items()
        for lower in room.uses
        if ROOMS[lower].floor >= room.floor
    ]


def include_problems() -> tuple[list[str], int]:
    """Violations and the number of includes read."""
    problems: list[str] = []
    count = 0
    files = [f for f in sorted(SOURCE.rglob("*")) if f.suffix in {".h", ".cc", ".c", ".inc", ".hpp"}]
    for file in files:
        relative = file.relative_to(SOURCE).as_posix()
        own = room_of(relative)
        if own is None:
            if not relative.startswith("include/"):
                problems.append(f"{relative}: lies in no room of the table")
            continue
        allowed = reach(own)
        for match in INCLUDE.finditer(file.read_text(encoding="utf-8")):
            target = match.group(1)
            count += 1
            if target.split("/")[0] in GENERATED:
                continue
            if target.startswith(".") or not (SOURCE / target).exists():
                problems.append(f"{relative}: '{target}' is not a path from src/cpp")
                continue
            other = room_of(target)
            if other not in allowed:
                problems.append(
                    f"{relative}: {own} must not include {other or 'a file outside the rooms'} ('{target}')"
                )
    return problems, count


def link_problems() -> list[str]:
    """The CMake rooms link only what the table allows."""
    problems = []
    texts = [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))]
    call = re.compile(r"^\s*walle_room\(([^)]*)\)", re.MULTILINE)
    for file in texts:
        for match in call.finditer(file.read_text(encoding="utf-8")):
            words = match.group(1).split()
            room, uses, inside = words[0], [], False
            for word in words[1:]:
                if word.isupper():
                    inside = word == "USES"
                elif inside:
                    uses.append(word)
            if room not in ROOMS:
                problems.append(f"{file.name}: walle_room({room}) is not in the table")
                continue
            # runtime reaches backends only through backend_list.inc, but it has to link them.
            extra = {name for name in ROOMS if name.startswith("backends/")} if room == "runtime" else set()
            for lower in uses:
                if lower not in reach(room) | extra:
                    problems.append(f"{file.name}: {room} must not link {lower}")
    return problems


def main() -> int:
    problems, count = include_problems()
    problems = table_problems() + problems + link_problems()
    for problem in problems:
        print(problem)
    print(f"{count} includes of {len(ROOMS)} rooms read: {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
