"""Where the C library, its headers and its CMake package lie, for programs built against them.

    cmake -S . -B build -Dwalle_DIR="$(python -c 'import walle_rt; print(walle_rt.cmake_dir())')"

An installed wheel carries all three below ``walle_rt/``; a checkout answers with its sources and its
release build.
"""

from __future__ import annotations

from pathlib import Path

from .errors import ResourceError

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[2]  # of src/python/walle_rt; any folder at all when this is an installed wheel
_BUILD = _CHECKOUT / "build" / "release"


def _first(what: str, wanted: str, *folders: Path) -> str:
    for folder in folders:
        if (folder / wanted).is_file():
            return str(folder)
    raise ResourceError.of(
        f"no {what} beside {_PACKAGE}",
        f"'{wanted}' in {' or '.join(map(str, folders))}",
        "walle_rt.c_library",
        "install the wheel, or build the checkout (make build)",
    )


def include_dir() -> str:
    """The folder for ``-I``: it holds ``walle/walle.h`` and ``walle/vm.h``. ResourceError when absent."""
    return _first("C headers", "walle/walle.h", _PACKAGE / "include", _CHECKOUT / "src" / "cpp" / "include")


def library_dir() -> str:
    """The folder for ``-L`` and ``-rpath``: it holds ``libwalle.so``. ResourceError when absent."""
    return _first("C library", "libwalle.so", _PACKAGE / "lib", _BUILD)


def cmake_dir() -> str:
    """The folder for ``-Dwalle_DIR=``, where ``find_package(walle)`` looks. ResourceError when absent."""
    return _first("CMake package", "walle-config.cmake", _PACKAGE / "lib" / "cmake" / "walle", _BUILD)
