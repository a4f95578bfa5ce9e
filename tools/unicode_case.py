"""Write the table of upper and lower case that src/cpp/base/unicode_case.cc includes.

    unicode_case.py OUTPUT

Of every letter the mapping that str.lower() and str.upper() give it alone, from the Unicode data of the
Python that builds: runs of letters at equal distances, and those that become several letters.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

LAST = 0x110000


def mapped(change: str) -> tuple[dict[int, int], dict[int, str]]:
    """Letters that become another one, by how far it is, and letters that become several."""
    one: dict[int, int] = {}
    many: dict[int, str] = {}
    for code in range(LAST):
        if 0xD800 <= code < 0xE000:
            continue
        out = getattr(chr(code), change)()
        if len(out) > 1:
            many[code] = out
        elif ord(out) != code:
            one[code] = ord(out) - code
    return one, many


def runs(one: dict[int, int]) -> list[tuple[int, int, int, int]]:
    """(first, last, step, distance) with a step of 1 or 2."""
    out: list[tuple[int, int, int, int]] = []
    for code, distance in sorted(one.items()):
        if out:
            first, last, step, known = out[-1]
            gap = code - last
            if known == distance and (gap == step or (first == last and gap in (1, 2))):
                out[-1] = (first, code, gap, known)
                continue
        out.append((code, code, 1, distance))
    return out


def literal(text: str) -> str:
    """The letters of a string as escapes of C++."""
    return "".join(f"\\U{ord(letter):08X}" for letter in text)


def table(change: str) -> str:
    one, many = mapped(change)
    rows = ",\n".join(f"{{0x{a:X}, 0x{b:X}, {step}, {d}}}" for a, b, step, d in runs(one))
    text = ",\n".join(f'{{0x{code:X}, U"{literal(out)}"}}' for code, out in sorted(many.items()))
    name = change.capitalize()
    return (
        f"constexpr CaseRun k{name}Runs[] = {{\n{rows}}};\n"
        f"constexpr CaseExpansion k{name}Expansions[] = {{\n{text}}};\n"
    )


def main() -> None:
    head = f"// Unicode {unicodedata.unidata_version}, written by tools/unicode_case.py.\n"
    Path(sys.argv[1]).write_text(head + table("lower") + table("upper"), encoding="utf-8")


if __name__ == "__main__":
    main()
