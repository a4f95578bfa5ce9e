"""Find every loop in the C files of CPython that the VM is made of, and whether it asks.

    python tests/python/vm/c_loops.py EDITED_SOURCE [--write]

EDITED_SOURCE is vm/cpython of a build folder. Without --write it prints rows that the table beside this file
lacks; with it, the table is written anew, and the words of rows that were there stay.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TABLE = Path(__file__).with_suffix(".tsv")
# Templates and the interpreter's instructions are included by files of the lists.
INCLUDED = (
    "Modules/_sre/sre_lib.h",
    "Objects/stringlib/codecs.h",
    "Objects/stringlib/fastsearch.h",
    "Objects/stringlib/find_max_char.h",
    "Objects/stringlib/join.h",
    "Objects/stringlib/partition.h",
    "Objects/stringlib/replace.h",
    "Objects/stringlib/split.h",
    "Objects/stringlib/transmogrify.h",
    "Objects/stringlib/unicode_format.h",
)
# What looks at the interrupt itself.
_ASKS = re.compile(
    r"\b(wvm_interrupted(_call)?|wvm_must_stop|wvm_raise_if_interrupted|wvm_sleep|wvm_wait_for_lock|wvm_lock"
    r"|PyErr_CheckSignals|SIGCHECK|MAYBE_CHECK_SIGNALS|_?Py_EnterRecursiveCall(Tstate)?)\b"
)
# What calls the task's code or counts a level of recursion, both of which look at it.
_THROUGH = re.compile(
    r"\b(PyIter_Next|wvm_next|PyObject_(Call|Vectorcall|RichCompare|Repr|Str|ASCII|Hash|IsInstance|IsSubclass"
    r"|GetIter|Format)\w*|sre_(search|match)|_PyObject_(Call|Vectorcall|MakeTpCall)\w*|PyNumber_(Add|Multiply|InPlace)\w*"
    r"|PyFile_Write\w+|PySequence_Contains|tp_iternext|iternext)\s*\("
)
_LOOP = re.compile(r"\b(for|while|do)\b")
_NOISE = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_NAME = re.compile(r"(\w+(?:\(\w+\))?)\s*$")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_WORDS = frozenset(["for", "while", "if", "switch", "return", "sizeof", "do", "else"])


@dataclass(frozen=True)
class Loops:
    """The loops of one function."""

    file: str
    function: str
    asks: str  # "itself", "through" what it calls, or "no"
    nested: int  # how deep its loops lie in each other
    calls: frozenset[str]  # what is called inside a loop


def _name(head: str) -> str:
    """Of the function that this stands in front of the body of, or "": what stands before its parameters."""
    head = head.rstrip()
    depth = 0
    for position in range(len(head) - 1, -1, -1):
        depth += (head[position] == ")") - (head[position] == "(")
        if depth == 0:
            found = _NAME.search(head[:position]) if head.endswith(")") else None
            return found[1] if found else ""
    return ""


def _bodies(text: str) -> list[tuple[str, str]]:
    """(name, body) of the functions of a file without comments, texts and directives."""
    found, depth, start, name, last = [], 0, 0, "", 0
    for match in re.finditer(r"[{};]", text):
        if match[0] == ";":
            last = match.end() if depth == 0 else last
            continue
        if match[0] == "{":
            if depth == 0:
                name, start = _name(text[last : match.start()]), match.end()
            depth += 1
            continue
        depth = max(0, depth - 1)
        if depth == 0:
            last = match.end()
            if name:
                found.append((name, text[start : match.start()]))
    return found


def _end_of(body: str, at: int) -> int:
    """Where the statement of the loop whose keyword begins at `at` ends."""
    depth = 0
    for position in range(at, len(body)):
        letter = body[position]
        if letter in "({":
            depth += 1
        elif letter in ")}":
            depth -= 1
            if depth == 0 and letter == "}":
                return position + 1
        elif letter == ";" and depth == 0:
            return position + 1
    return len(body)


def _loops(body: str) -> tuple[int, frozenset[str], str]:
    spans = [(match.start(), _end_of(body, match.start())) for match in _LOOP.finditer(body)]
    # The condition behind `do { } while` is a loop of no statement.
    spans = [
        (a, b)
        for a, b in spans
        if not re.fullmatch(r"while\s*\(.*\)\s*;", body[a:b], re.DOTALL) or not re.search(r"\}\s*$", body[:a])
    ]
    nested = max((sum(a <= at < b for a, b in spans) for at, _ in spans), default=0)
    called = {name for a, b in spans for name in _CALL.findall(body[a:b])} - _WORDS
    return nested, frozenset(called), " ".join(body[a:b] for a, b in spans)


def files(source: Path) -> list[str]:
    """The C files of the VM, as cmake/part_vm.cmake lists them, without the compiler's."""
    text = (ROOT / "cmake" / "part_vm.cmake").read_text()
    listed = re.findall(r"set\(vm_(?:hot|cold)\s+([^)]*)\)", text)
    listed += re.findall(r"walle_vm_objects\(vm_core_(?:floats|numbers|loop) \S+ ([^)]*)\)", text)
    names = {f"{name}.c" for part in listed for name in part.split() if "/" in name and "$" not in name}
    names |= set(INCLUDED)
    return sorted(name for name in names if (source / name).is_file())


def scan(source: Path) -> dict[tuple[str, str], Loops]:
    """Every function with a loop."""
    found: dict[tuple[str, str], Loops] = {}
    for name in files(source):
        text = _NOISE.sub(" ", (source / name).read_text(errors="replace"))
        for function, body in _bodies(text):
            nested, calls, within = _loops(body)
            if not nested:
                continue
            asks = "itself" if _ASKS.search(body) else "through" if _THROUGH.search(within) else "no"
            found[name, function] = Loops(name, function, asks, nested, calls)
    return found


def products(found: dict[tuple[str, str], Loops]) -> set[tuple[str, str]]:
    """Those that do not ask and walk something in each step of a walk: what must say why it ends."""
    quiet = {key[1]: each for key, each in found.items() if each.asks == "no"}
    return {
        key
        for key, each in found.items()
        if each.asks == "no" and (each.nested > 1 or any(name in quiet for name in each.calls))
    }


def read_table() -> dict[tuple[str, str], tuple[str, str]]:
    """{(file, function): (asks, bounded by)}."""
    rows = [line.split("\t") for line in TABLE.read_text().splitlines()[1:]]
    return {(file, function): (asks, bound) for file, function, asks, bound in rows}


def main() -> int:
    """The command."""
    found = scan(Path(sys.argv[1]))
    known = read_table() if TABLE.is_file() else {}
    product = products(found)
    lines = ["file\tfunction\tasks\tbounded by"]
    for key, each in sorted(found.items()):
        usual = {"itself": "the limit", "through": "the limit"}.get(
            each.asks, "one walk of what is in the heap"
        )
        if key in product:
            usual = "?"
        bound = known.get(key, ("", ""))[1]
        lines.append("\t".join((*key, each.asks, bound if bound and bound != "?" else usual)))
    if "--write" in sys.argv:
        TABLE.write_text("\n".join(lines) + "\n")
    else:
        print("\n".join(line for line in lines if line.endswith("?")))
    print(len(found), "functions,", len(product), "of them to explain", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
