"""Gather the sources of the task library: the whitelist below with the edits of library_edits.py.

    library.py CPYTHON_LIB OWN_LIB OUT    writes OUT/<name>.py and OUT/list.txt ("name file package" per line)

Replacements name their anchors; a missing one ends the build.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from pathlib import Path

import library_trims
from edits.engine import apply
from library_edits import EDITS, REGIONS

# From the standard library. The first is the one that the others are packed behind (pack.py): large, and
# imported by nearly every task, through re.
STANDARD = [
    "enum",
    "abc",
    "base64",
    "bisect",
    "calendar",
    "codecs",
    "collections",
    "colorsys",
    "contextlib",
    "contextvars",
    "copy",
    "copyreg",
    "csv",
    "dataclasses",
    "datetime",
    "fnmatch",
    "fractions",
    "functools",
    "graphlib",
    "heapq",
    "hmac",
    "json",
    "json.decoder",
    "json.encoder",
    "json.scanner",
    "keyword",
    "logging",
    "numbers",
    "operator",
    "pprint",
    "queue",
    "random",
    "re",
    "re._casefix",
    "re._compiler",
    "re._constants",
    "re._parser",
    "reprlib",
    "secrets",
    "shlex",
    "statistics",
    "string",
    "struct",
    "textwrap",
    "threading",
    "types",
    "typing",
    "urllib",
    "urllib.parse",
    "uuid",
    "warnings",
    "weakref",
    "_collections_abc",
    "_strptime",
    "_threading_local",
    "_weakrefset",
]

# Ours, in place of modules that would drag in files, locale or a compiler.
OWN = [
    "_bootstrap",
    "_instead",
    "_warm",
    "encodings",
    "hashlib",
    "io",
    "locale",
    "os",
    "traceback",
    "walle",
    "walle.app",
    "walle.engine",
    "walle.params",
    "walle.stream",
]

# Imports that are not there, and why nothing is lost: each is tried and done without, or belongs to a part
# that tasks have no use for (decimals, Unicode names).
OPTIONAL = {
    "abc": {"_py_abc"},
    "datetime": {"_pydatetime"},
    "fractions": {"decimal"},
    "heapq": {"doctest"},
    "logging": {"asyncio", "multiprocessing"},
    "hmac": {"_hashlib"},
    "queue": {"_queue"},
    "re._parser": {"unicodedata"},
    "warnings": {"linecache", "tracemalloc"},
}
IMPORT = re.compile(r"^\s*(?:import|from)\s+([A-Za-z_][\w.]*)\s*(?:import\b|as\b|,|#|$)", re.MULTILINE)


def check_imports(texts: dict[str, str], built_in: set[str]) -> None:
    """End the build when a module asks for one that does not exist: a task would fail of it on the device."""
    known = (
        set(texts) | built_in | {"sys", "builtins", "_warnings", "_walle", "__future__", "collections.abc"}
    )
    for name, text in texts.items():
        missing = set(IMPORT.findall(text)) - known - OPTIONAL.get(name, set())
        if missing:
            raise SystemExit(
                f"{name}: imports {', '.join(sorted(missing))}, which the VM has not; edit it or say why not"
            )


def check_names(texts: dict[str, str], own_os: str) -> None:
    """End the build where a module takes from `os` what ours has not, or asks for its own file."""
    there = set(re.findall(r"^(?:def |class )?(\w+)(?:\(| = )", own_os, re.MULTILINE)) | {"urandom"}
    for name, text in texts.items():
        # Tokens and not a tree: the Python that builds may be older than the syntax.
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        for before, dot, token in zip(tokens, tokens[1:], tokens[2:], strict=False):
            missing = "__file__" if before.string == "__file__" else ""
            if (before.string, dot.string) == ("os", ".") and token.string not in there:
                missing = f"os.{token.string}"
            if missing:
                raise SystemExit(f"{name}, line {before.start[0]}: {missing}, which the VM has not; edit it")


def adapted(name: str, text: str, own: Path) -> str:
    """The module's text after its edits. SystemExit: what they look for is not there."""
    text = apply({"library": EDITS, "trims": library_trims.EDITS}, name, text)
    for region in REGIONS + library_trims.REGIONS:
        if region.module == name:
            text = region.apply(text, own)
    return text


def locate(root: Path, name: str) -> tuple[Path, bool]:
    path = root.joinpath(*name.split("."))
    return (path / "__init__.py", True) if path.is_dir() else (path.with_suffix(".py"), False)


def main() -> int:
    standard, own, out = (Path(argument) for argument in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    lines, texts = [], {}
    for root, names in ((standard, STANDARD), (own, OWN)):
        for name in names:
            path, is_package = locate(root, name)
            text = adapted(name, path.read_text(encoding="utf-8"), own)
            texts[name] = text
            target = out / f"{name}.py"
            target.write_text(text, encoding="utf-8")
            lines.append(f"{name} {target} {int(is_package)}\n")
    inittab = (own.parent / "inside" / "boot" / "inittab.c").read_text(encoding="utf-8")
    check_imports(texts, set(re.findall(r"X\((\w+)\)", inittab)))
    check_names({name: texts[name] for name in STANDARD}, texts["os"])
    (out / "list.txt").write_text("".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
