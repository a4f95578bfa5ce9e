"""The files of a task's folder, sorted into modules and resources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ArgumentError


@dataclass
class Sources:
    """What a bundle is compiled from: {module: (file, text, is a package)} and {resource: bytes}."""

    modules: dict[str, tuple[str, str, bool]] = field(default_factory=dict)
    resources: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def below(cls, root: Path, leave_out: Callable[[str], bool] | None = None) -> Sources:
        """Every file below ``root`` but hidden ones, __pycache__, and those whose name, relative and with
        '/' between folders, is to be left out.
        """
        found = cls()
        for path in sorted(root.rglob("*")):
            inside = path.relative_to(root)
            if not path.is_file() or any(_left_out(part) for part in inside.parts):
                continue
            if leave_out is not None and leave_out(inside.as_posix()):
                continue
            if path.suffix != ".py":
                found.resources[inside.as_posix()] = path.read_bytes()
                continue
            name, package = _module(inside)
            if name:
                found.modules[name] = (inside.as_posix(), path.read_text(encoding="utf-8"), package)
        return found

    @classmethod
    def of(cls, modules: dict[str, str], resources: dict[str, bytes]) -> Sources:
        """Modules given as {name: source text}; none is a package. ArgumentError: names that no import
        statement can have, or what is no text.
        """
        for name, text in modules.items():
            if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
                raise ArgumentError.of(
                    f"module {name!r}",
                    "names of modules, as 'main' or 'shop.visits'",
                    "TaskBundle.from_source",
                    "rename it",
                )
            if not isinstance(text, str):
                raise ArgumentError.of(
                    f"module '{name}' of type {type(text).__name__}",
                    "its source text",
                    "TaskBundle.from_source",
                    "pass a str",
                )
        named = {name: (name.replace(".", "/") + ".py", text, False) for name, text in modules.items()}
        return cls(named, resources)


def _left_out(part: str) -> bool:
    return part.startswith(".") or part == "__pycache__"


def _module(file: Path) -> tuple[str, bool]:
    """Its dotted name, empty for the root's own __init__.py, and whether it is a package."""
    parts = list(file.with_suffix("").parts)
    package = parts[-1] == "__init__"
    return ".".join(parts[:-1] if package else parts), package
