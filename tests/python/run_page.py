"""Runs the blocks of one page in order in the current folder: test_docs.py's child, which gets them on stdin.

Python blocks share one namespace. A block whose first line is a comment that names a file is written there
instead (`# task/main.py`, `/* program.c */`). The first block that fails ends the process; its message names
the page's line.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

FILE_NAME = re.compile(r"^(?:#|//|/\*) ([\w./-]+\.\w+)(?: \*/)?$")


def named_file(text: str) -> Path | None:
    """The file that the first line asks for; never one outside the folder."""
    found = FILE_NAME.match(text.split("\n", 1)[0])
    if found is None or Path(found[1]).is_absolute() or ".." in Path(found[1]).parts:
        return None
    return Path(found[1])


def run_python(text: str, place: str, namespace: dict[str, Any]) -> None:
    """The line numbers of a traceback are the page's."""
    page, line = place.rsplit(":", 1)
    exec(compile("\n" * int(line) + text, page, "exec"), namespace)


def run_shell(text: str, place: str) -> None:
    done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", text], check=False)
    if done.returncode != 0:
        raise SystemExit(f"{place}: exit code {done.returncode}")


def run_c(source: Path, place: str) -> None:
    """Compile as strictly as the tests of the C API do, .cc as C++; link with this build's library, run."""
    import walle_rt

    library = Path(walle_rt.library_dir())
    compiler, standard = ("c++", "-std=c++11") if source.suffix == ".cc" else ("cc", "-std=c99")
    strict = [standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    link = ["-L", library, "-lwalle", f"-Wl,-rpath,{library}"]
    program = Path.cwd() / f"{source.stem}.program"
    for command in (
        [compiler, *strict, "-I", walle_rt.include_dir(), source, *link, "-o", program],
        [program],
    ):
        done = subprocess.run(command, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{place}: exit code {done.returncode} of {command[0]}")


def main() -> None:
    """Run what stdin holds: a list of {language, text, place}."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, block in enumerate(json.load(sys.stdin)):
        language, text, place = block["language"], block["text"], block["place"]
        file = named_file(text)
        if file is not None or language == "c":
            file = file or Path(f"block_{number}.c")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        if language == "c":
            assert file is not None
            run_c(file, place)
        elif language == "sh":
            run_shell(text, place)
        elif language == "python" and file is None:
            run_python(text, place, namespace)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
