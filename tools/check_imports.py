"""No modules of walle_rt import each other in a circle, the server's rooms keep their floors, and
`import walle_rt` brings NumPy alone along.

Read from the sources, nothing is imported. An import inside a function counts like one at the top: it hides
a circle, it does not remove it. One under `if TYPE_CHECKING:` does not count, as it never runs. Whoever takes
a module from another package runs that package's __init__.py first; inside the package it has begun already.

Only the package itself and the commands for it import walle_rt.cloud.

    check_imports.py [SOURCE]    SOURCE holds the package walle_rt; default: this checkout's src/python
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "python"
PACKAGE = "walle_rt"
ALLOWED = {"numpy"}  # besides the standard library, for whoever installs no extra
SERVER = f"{PACKAGE}.cloud"  # the server's side, which no device has
# Those that import it when they run.
SERVER_COMMANDS = {
    f"{PACKAGE}.cli.{name}" for name in ("backup", "demo", "keys", "restore", "serve", "task_package")
}
NATIVE = f"{PACKAGE}._core"  # the extension module, which imports nothing while it is loaded


@dataclass(frozen=True)
class Room:
    """A package or module of walle_rt.cloud: its floor, and all rooms that it may import, which lie below."""

    floor: int
    uses: tuple[str, ...] = ()


# The table of docs/concepts/house.md.
ROOMS = {
    "metrics": Room(0),
    "model": Room(0),
    "blobs": Room(0),
    "trust": Room(0),
    "release": Room(0),
    "sink": Room(0),
    "phase": Room(0),
    "broker": Room(0),
    "piggyback": Room(0),
    "git": Room(1, ("blobs",)),
    "service": Room(2, ("metrics", "model", "blobs", "trust", "release", "sink", "phase", "broker", "git")),
    "web": Room(3, ("metrics", "model", "blobs", "trust", "sink", "phase", "git", "service")),
    "serve": Room(4, ("metrics", "trust", "service", "web")),
    "loop": Room(4, ("git", "service")),
    "backup": Room(4, ("trust", "service")),
}


@dataclass(frozen=True)
class Import:
    """One name imported by a module; `at_top` when it runs as soon as the module is loaded."""

    name: str
    line: int
    at_top: bool


def module_name(file: Path, source: Path) -> str:
    """Its dotted name; a package's for its __init__.py."""
    parts = file.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(node: ast.If) -> bool:
    """Whether this is `if TYPE_CHECKING:`."""
    test = node.test
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")) == "TYPE_CHECKING"


def imports(tree: ast.AST, package: str, at_top: bool = True) -> Iterator[Import]:
    """Everything imported below `tree`, relative names resolved against `package`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, at_top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = parents[: len(parents) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from (Import(f"{source}.{alias.name}", node.lineno, at_top) for alias in node.names)
        elif isinstance(node, ast.If) and is_type_checking(node):
            for other in node.orelse:
                yield from imports(ast.Module([other], []), package, at_top)
        else:
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports(node, package, at_top and not function)


def owner(name: str, modules: set[str]) -> str | None:
    """The module that an imported name is or lies in; None for what is not ours."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


def executed(target: str, importer: str, modules: set[str]) -> list[str]:
    """The modules that run when `importer` takes `target`: its packages from the top, then itself."""
    parts = target.split(".")
    chain = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
    begun = f"{importer}."
    return [m for m in chain if m in modules and (m == target or not begun.startswith(f"{m}."))]


def shown(room: str) -> str:
    """A room with its floor."""
    return f"{room} (floor {ROOMS[room].floor})" if room in ROOMS else f"'{room}'"


def table_problems() -> list[str]:
    """The table itself must not climb."""
    return [
        f"table: {shown(name)} uses {shown(lower)}"
        for name, room in ROOMS.items()
        for lower in room.uses
        if ROOMS[lower].floor >= room.floor
    ]


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Sets of modules each of which reaches all others of its set."""
    reached: dict[str, set[str]] = {}
    for start in edges:
        seen: set[str] = set()
        waiting = list(edges[start])
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting += edges.get(module, ())
        reached[start] = seen
    found = {frozenset(n for n in reached[m] if m in reached[n]) for m in edges if m in reached[m]}
    return sorted(sorted(circle) for circle in found)


def loaded_by(start: str, edges: dict[str, set[str]]) -> set[str]:
    """`start` and everything it loads at once."""
    seen, waiting = {start}, [start]
    while waiting:
        for module in edges[waiting.pop()] - seen:
            seen.add(module)
            waiting.append(module)
    return seen


def is_server(module: str) -> bool:
    """Whether a module is of the server's side."""
    return f"{module}.".startswith(f"{SERVER}.")


def room_of(module: str) -> str:
    """The room of the server that a module lies in; "" for what is in none: other modules, the package."""
    return module.removeprefix(f"{SERVER}.").partition(".")[0] if module.startswith(f"{SERVER}.") else ""


class Tree:
    """Which module of a source tree imports which, and what of other packages."""

    def __init__(self, source: Path) -> None:
        """Read every file below ``source``/walle_rt."""
        self.files = {module_name(f, source): f for f in sorted((source / PACKAGE).rglob("*.py"))}
        self.modules = set(self.files)
        self.edges: dict[str, set[str]] = {name: set() for name in self.files}
        self.at_once: dict[str, set[str]] = {name: set() for name in self.files}  # without those in functions
        self.lines: dict[tuple[str, str], int] = {}
        self.foreign: list[tuple[str, str, int]] = []  # module, package, line
        for name, file in self.files.items():
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            for found in imports(ast.parse(file.read_text(encoding="utf-8")), package):
                self.note(name, found)

    def note(self, name: str, found: Import) -> None:
        """File one import of module ``name``."""
        if f"{found.name}.".startswith(f"{NATIVE}."):
            return
        target = owner(found.name, self.modules)
        if target is None:
            top = found.name.partition(".")[0]
            if found.at_top and top not in {PACKAGE, *ALLOWED} | sys.stdlib_module_names:
                self.foreign.append((name, top, found.line))
            return
        for module in executed(target, name, self.modules):
            self.edges[name].add(module)
            self.lines.setdefault((name, module), found.line)
            if found.at_top:
                self.at_once[name].add(module)

    def climbs(self) -> list[str]:
        """Modules in no room of the server, and imports that the table of its rooms does not have."""
        told = []
        for module in sorted(filter(room_of, self.edges)):
            room = room_of(module)
            if room not in ROOMS:
                told.append(f"{self.files[module]}: lies in no room of the server's table")
                continue
            may = {"", room, *ROOMS[room].uses}
            first: dict[str, int] = {}  # line of a room's first import
            for other in self.edges[module]:
                line = self.lines[module, other]
                first[room_of(other)] = min(line, first.get(room_of(other), line))
            told += [
                f"{self.files[module]}:{first[other]}: {shown(room)} must not import {shown(other)}"
                for other in sorted(first.keys() - may)
            ]
        return told

    def problems(self) -> list[str]:
        """Circles, climbs, and foreign packages that the first import would bring along."""
        told = []
        for circle in circles(self.edges):
            steps = [(m, n) for m in circle for n in sorted(self.edges[m]) if n in circle]
            lines = [f"  {self.files[m]}:{self.lines[m, n]} imports {n}" for m, n in steps]
            told.append("\n".join([f"circle of {', '.join(circle)}:", *lines]))
        told += [
            f"{self.files[m]}:{self.lines[m, n]}: {m} must not import {n}, which is the server's side"
            for m in sorted(self.edges)
            for n in sorted(self.edges[m])
            if is_server(n) and not is_server(m) and m not in SERVER_COMMANDS
        ]
        told += table_problems() + self.climbs()
        first = loaded_by(PACKAGE, self.at_once)
        told += [
            f"{self.files[name]}:{line}: `import {PACKAGE}` must not need {top}"
            for name, top, line in self.foreign
            if name in first
        ]
        return told


def main() -> int:
    tree = Tree(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
    found = tree.problems()
    for problem in found:
        print(problem)
    print(f"{len(tree.files)} modules read: {len(found)} circles, climbing and foreign imports")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
