"""What src/cpp may include: nothing that climbs, and nothing that comes back to where it started.

    check_layers.py [ROOT]

The table below is that of docs/concepts/house.md. A room may use the rooms named here and whatever those may
use; rooms of floor 8 never include each other, which the table already says by not naming them. Prints every
violation and ends with status 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
SUFFIXES = {".h", ".cc", ".c", ".inc", ".hpp"}

# From each file, the files it includes; paths relative to src/cpp.
Includes = Mapping[str, Iterable[str]]


@dataclass(frozen=True)
class Room:
    """A folder's floor and the rooms it may use directly."""

    floor: float
    uses: tuple[str, ...]


# search stands on backends/backend.h in the same row of the table, hence the half floor; backends/gpu is what
# OpenCL and Metal will share, below both; array has a half because rooms of floor 8 may compute with it; the
# stages of stream/ are a staircase of their own inside floor 8, and so are the steps of vm/inside/, whose C
# calls nothing undeclared; those of container/ lie inside floor 9.
ROOMS: dict[str, Room] = {
    "base": Room(0, ()),
    "tensor": Room(1, ("base",)),
    "store": Room(2, ("tensor",)),
    "raster": Room(2, ("tensor",)),
    "kernels": Room(2, ("tensor",)),
    "ir": Room(3, ("tensor",)),
    "ops": Room(4, ("ir", "raster")),
    "backends": Room(5, ("ops", "store")),
    "search": Room(5.5, ("ops", "store", "backends")),
    "backends/cpu": Room(6, ("kernels", "backends")),
    "backends/gpu": Room(6, ("backends",)),
    "backends/opencl": Room(6.1, ("kernels", "backends/gpu")),
    "backends/metal": Room(6.1, ("kernels", "backends/gpu")),
    "backends/null": Room(6, ("kernels", "backends")),
    "runtime": Room(7, ("search",)),
    "train": Room(8, ("runtime",)),
    "array": Room(7.5, ("kernels",)),
    "audio": Room(8, ("runtime", "kernels")),
    "vision": Room(8, ("runtime", "kernels")),
    "vm": Room(8, ("tensor",)),
    "vm/inside/run": Room(8.1, ("vm",)),
    "vm/inside/values": Room(8.2, ("vm/inside/run",)),
    "vm/inside/code": Room(8.2, ("vm/inside/run",)),
    "vm/inside/boot": Room(8.3, ("vm/inside/values", "vm/inside/code")),
    "stream/event": Room(8, ("store", "tensor")),
    "stream/trigger": Room(8.1, ("stream/event",)),
    "stream/match": Room(8.2, ("stream/trigger",)),
    "stream/operators": Room(8.2, ("stream/trigger",)),
    "stream/graph": Room(8.3, ("stream/operators",)),
    "stream/egress": Room(8.3, ("stream/operators",)),
    "stream/rolling": Room(8.2, ("stream/trigger",)),
    "stream/processor": Room(8.4, ("stream/match", "stream/rolling")),
    "link": Room(8, ("store",)),
    "container/host": Room(
        9,
        (
            "train",
            "array",
            "audio",
            "vision",
            "runtime",
            "vm",
            "stream/match",
            "stream/rolling",
            "stream/graph",
            "stream/egress",
        ),
    ),
    "container/task": Room(9.1, ("container/host", "stream/processor")),
    "container/device": Room(9.2, ("container/task", "link")),
    "container/link": Room(9.3, ("container/device", "link")),
    "capi": Room(10, ("container/link",)),
    "pybind": Room(10, ("container/link",)),
}
# FlatBuffers headers and tables of letters made while building; the public C header.
GENERATED = {"schemas", "unicode", "walle"}

# Components that need each other, and why they are apart all the same. A component is a header with its
# sources.
MUTUAL: dict[frozenset[str], str] = {
    frozenset({"runtime/graph_runner", "runtime/node_context"}): (
        "a control operator's body is a graph: the runner runs nodes, and a node runs bodies"
    ),
    frozenset({"runtime/model", "runtime/session"}): "a model makes the sessions that hold it",
}


def room_of(path: str) -> str | None:
    """The room a path relative to src/cpp lies in, or None where no room owns it."""
    parts = path.split("/")
    for depth in (3, 2, 1):
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


def read_includes(source: Path) -> dict[str, list[str]]:
    """Every file below ``source`` and the texts between the quotes of its #include lines."""
    return {
        file.relative_to(source).as_posix(): INCLUDE.findall(file.read_text(encoding="utf-8"))
        for file in sorted(source.rglob("*"))
        if file.suffix in SUFFIXES
    }


def table_problems() -> list[str]:
    """The table itself must not climb."""
    return [
        f"table: {name} (floor {room.floor:g}) uses {lower} (floor {ROOMS[lower].floor:g})"
        for name, room in ROOMS.items()
        for lower in room.uses
        if ROOMS[lower].floor >= room.floor
    ]


def include_problems(includes: Includes) -> list[str]:
    """Includes that climb, that are no path from src/cpp, or that stand in no room."""
    problems = []
    for path, targets in includes.items():
        own = room_of(path)
        if own is None:
            if not path.startswith("include/"):
                problems.append(f"{path}: lies in no room of the table")
            continue
        allowed = reach(own)
        for target in targets:
            if target.split("/")[0] in GENERATED:
                continue
            other = room_of(target)
            if target not in includes:
                problems.append(f"{path}: '{target}' is not a path from src/cpp")
            elif other not in allowed:
                problems.append(
                    f"{path}: {own} must not include {other or 'a file outside the rooms'} ('{target}')"
                )
    return problems


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components of two nodes or more, and nodes that point to themselves (Tarjan)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        path.append(node)
        for other in graph.get(node, ()):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in path:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            at = path.index(node)
            if len(path) - at > 1 or node in graph.get(node, ()):
                found.append(sorted(path[at:]))
            del path[at:]

    for node in graph:
        if node not in order:
            visit(node)
    return sorted(found)


def round_trip(graph: Mapping[str, Iterable[str]], circle: list[str]) -> str:
    """A shortest way from the first member of a circle back to it: "a -> b -> a"."""
    start, inside = circle[0], set(circle)
    ways = [[start]]
    for way in ways:
        for other in sorted(set(graph.get(way[-1], ())) & inside):
            if other == start:
                return " -> ".join([*way, start])
            if other not in {step for known in ways for step in known}:
                ways.append([*way, other])
    raise AssertionError(f"no circle: {circle}")


def component_names(includes: Includes) -> Callable[[str], str]:
    """Which component a file belongs to: its name without suffix, so that foo.h and foo.cc are one.

    A file without a partner whose name extends another one's and that includes its header implements a part
    of it: matcher_timers.cc belongs to `matcher`, and so does matcher_group.h, which nobody else includes.
    """
    files: dict[str, list[str]] = {}
    readers: dict[str, list[str]] = {}
    for path, targets in includes.items():
        files.setdefault(str(PurePosixPath(path).with_suffix("")), []).append(path)
        for target in targets:
            readers.setdefault(target, []).append(path)

    def name(path: str) -> str:
        own = str(PurePosixPath(path).with_suffix(""))
        head = own
        while len(files.get(own, ())) == 1 and "_" in PurePosixPath(head).name:
            head = head.rpartition("_")[0]
            inside = all(reader.startswith((f"{head}.", f"{head}_")) for reader in readers.get(path, ()))
            if head in files and f"{head}.h" in includes.get(path, ()) and inside:
                return head
        return own

    return name


def circle_problems(includes: Includes) -> list[str]:
    """Files that include themselves in the end; components in a circle that MUTUAL gives no reason for."""
    files = {path: [t for t in targets if t in includes] for path, targets in includes.items()}
    problems = [f"circle of files: {round_trip(files, circle)}" for circle in circles(files)]
    name = component_names(includes)
    components: dict[str, set[str]] = {}
    for path, targets in files.items():
        components.setdefault(name(path), set()).update({name(t) for t in targets} - {name(path)})
    for circle in circles(components):
        if frozenset(circle) not in MUTUAL:
            problems.append(f"circle of components: {round_trip(components, circle)} ({', '.join(circle)})")
    return problems


def link_problems(root: Path) -> list[str]:
    """The CMake rooms link only what the table allows."""
    problems = []
    texts = [root / "CMakeLists.txt", *sorted((root / "cmake").glob("*.cmake"))]
    call = re.compile(r"^\s*walle_room\(([^)]*)\)", re.MULTILINE)
    for file in filter(Path.is_file, texts):
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
            problems += [
                f"{file.name}: {room} must not link {lower}"
                for lower in uses
                if lower not in reach(room) | extra
            ]
    return problems


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    includes = read_includes(root / "src" / "cpp")
    problems = table_problems() + include_problems(includes) + circle_problems(includes) + link_problems(root)
    for problem in problems:
        print(problem)
    count = sum(map(len, includes.values()))
    print(f"{count} includes of {len(includes)} files in {len(ROOMS)} rooms read: {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
