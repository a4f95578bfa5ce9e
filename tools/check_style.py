"""What clang-format and ruff do not see: long lines, comma statements, defaults for kinds, bindings of many
positional arguments, figures per room.

    check_style.py [ROOT]

A comma statement is two statements in one: `a = 1, b = 2;`. Declarations of several variables and the header
of a `for` are none. A `default` among the kinds of an enumeration gives a kind that somebody adds later an
answer that nobody chose, and keeps the compiler from naming it. A call of a binding with six values side by
side cannot be read, and two of one type are exchanged without an error: further ones go by keyword.

Ends with status 1 if a line is too long anywhere, or a room or a stub has one of the others. The figures are
for watching; none of them fails.
"""

from __future__ import annotations

import ast
import itertools
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = 110
POSITIONAL = 5  # arguments of a binding
STUBS = Path("src/python/walle_rt/_core")  # which tests/python/test_stubs.py compares with the bindings
LANGUAGES = {".cc", ".h", ".c", ".inc", ".py", ".cmake", ".sh", ".kt", ".kts", ".swift"}
BY_RUFF = ("src/python", "tests", "tools", "bench", "examples")  # which knows exceptions for Python
FOLDERS = ["src", "tests", "tools", "bench", "cmake", "toolchains", "examples"]
NAMES = ["Makefile", "CMakeLists.txt"]

ROOMS = (
    *("base", "tensor", "store", "raster", "kernels", "array", "ir", "ops", "backends", "search", "runtime"),
    *("vm", "stream", "link", "container", "capi", "pybind"),
)

TOKEN = re.compile(
    r"""
    (?P<skip> //[^\n]* | /\*.*?\*/ | \s+ | ^[ \t]*\#(?:\\\n|[^\n])* )
  | (?P<text> (?:u8|[uUL])? (?: R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)" | "(?:\\.|[^"\\\n])*" )
            | '(?:\\.|[^'\\\n])+' )
  | (?P<number> \.?[0-9](?:'?[\w.]|[eEpP][+-])* )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<sign> <<=|>>=|<=>|\.\.\.|->\*|->|::|\+\+|--|[-+*/%&|^=!<>]=|&&|\|\||<<|. )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
# Statements that begin so declare something, or end before an expression could follow.
DECLARES = {
    *("template", "using", "typedef", "friend", "extern", "static", "inline", "thread_local", "goto"),
    *("const", "constexpr", "consteval", "constinit", "auto", "struct", "class", "union", "enum"),
    *("unsigned", "signed", "typename"),
}
# Switches over kinds that need a `default` all the same, and why.
NEED_DEFAULT = {
    "src/cpp/capi/device.cc": "the number is a caller's, who may write any",
    "src/cpp/vm/inside/values/values.c": "the number came across the boundary of the VM",
}
# K::add, base::ErrorKind::overflow; of C, whose enumerators stand alone, those of our headers.
ENUMERATOR = re.compile(r"(\w+::)+(?!k[A-Z])\w+|(WVM|WALLE)_[A-Z0-9_]+")
CLOSING = {"(": ")", "[": "]", "{": "}"}
# A definition that starts in the first column and ends with a brace in the first column.
FUNCTION = re.compile(r"^[A-Za-z_][^\n;{}#]*\([^;{}]*\)[^;{}]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Token:
    """A word, number, sign or text, or a group: `()`, `[]`, `{}` or `<>` with everything between."""

    text: str
    line: int
    kind: str


def tokens(text: str) -> Iterator[Token]:
    """The tokens of C or C++ without comments, blanks and preprocessor lines."""
    line = 1
    for match in TOKEN.finditer(text):
        if match.lastgroup != "skip" and match["skip"] is None:
            kind = "text" if match["text"] is not None else str(match.lastgroup)
            yield Token(match.group(), line, kind)
        line += match.group().count("\n")


@dataclass
class _Scope:
    """What is open: the statement so far, and the brackets inside it."""

    statement: list[Token] = field(default_factory=list)
    brackets: list[Token] = field(default_factory=list)
    statements: int = 0


def statements(text: str) -> Iterator[list[Token]]:
    """Every statement that ends with a semicolon, those of lambdas included; brackets as one token."""
    scopes = [_Scope()]
    for token in tokens(text):
        scope = scopes[-1]
        if token.text == "{":
            scopes.append(_Scope())
        elif token.text == "}":
            closed = scopes.pop() if len(scopes) > 1 else scope
            scope = scopes[-1]
            last = scope.statement[-1] if scope.statement else None
            if scope.brackets:
                continue
            # `x = {1, 2}` and `Shape{1, 2}` go on; blocks and bodies end what they stand in.
            if (
                closed.statements == 0
                and last is not None
                and (last.text in {"=", ",", "return", "<>"} or last.kind == "word")
            ):
                scope.statement.append(Token("{}", token.line, "group"))
            else:
                scope.statement = []
        elif token.text in "([":
            scope.brackets.append(token)
        elif token.text in ")]":
            if scope.brackets:
                opening = scope.brackets.pop()
                if not scope.brackets:
                    scope.statement.append(Token(opening.text + token.text, opening.line, "group"))
        elif scope.brackets:
            continue
        elif token.text == ";":
            scope.statements += 1
            if scope.statement:
                yield scope.statement
            scope.statement = []
        else:
            scope.statement.append(token)


def without_templates(statement: list[Token]) -> list[Token]:
    """The statement with each `<...>` behind a name as one token where it can only be template arguments."""
    out: list[Token] = []
    at = 0
    while at < len(statement):
        token = statement[at]
        out.append(token)
        at += 1
        if token.kind != "word" or at >= len(statement) or statement[at].text != "<":
            continue
        depth, end = 0, at
        while end < len(statement):
            inner = statement[end]
            depth += {"<": 1, ">": -1}.get(inner.text, 0)
            if inner.kind == "sign" and inner.text not in {
                "<",
                ">",
                "::",
                ",",
                "*",
                "&",
                "...",
                "&&",
                "+",
                "-",
                "/",
            }:
                break
            end += 1
            if depth == 0:
                break
        if depth == 0:
            out.append(Token("<>", statement[at].line, "group"))
            at = end
    return out


def body(statement: list[Token]) -> list[Token]:
    """The statement without the headers and labels in front of it."""
    at = 0
    while at < len(statement):
        word = statement[at].text
        if word in {"if", "while", "for", "switch", "catch"}:
            at += 1
            while at < len(statement) and statement[at].text != "()":
                at += 1  # if constexpr (...)
            at += 1
        elif word in {"else", "do", "try", "[]"} and (
            word != "[]" or statement[at : at + 2][-1].kind == "word"
        ):
            at += 1
        elif word in {"case", "default", "public", "private", "protected"}:
            while at < len(statement) and statement[at].text != ":":
                at += 1
            at += 1
        else:
            break
    return statement[at:]


def comma_of(statement: list[Token]) -> Token | None:
    """The first comma outside all brackets of a statement that is an expression."""
    rest = body(without_templates(statement))
    at = next((i for i, token in enumerate(rest) if token.text == ","), None)
    if at is None or rest[0].text in DECLARES:
        return None
    if rest[0].text in {"return", "co_return", "throw", "++", "--", "*", "()"}:
        return rest[at]
    first = rest[:at]
    left = first[: next((i for i, token in enumerate(first) if token.text in ASSIGNMENTS), len(first))]
    if any(token.text == ":" for token in left):
        return None  # bit fields, initialisers of a constructor
    # A type and a name side by side, or with `*`, `&` or template arguments between them: a declaration.
    for before, after in itertools.pairwise(left):
        if after.kind == "word" and (before.kind == "word" or before.text in {"<>", "*", "&", "&&"}):
            return None
    return rest[at]


def comma_statements(text: str) -> list[int]:
    """The lines of the first comma of every comma statement."""
    return [comma.line for comma in map(comma_of, statements(text)) if comma is not None]


@dataclass
class _Switch:
    """What is known of a switch whose body is open."""

    depth: int  # of braces, inside it
    default: int | None = None  # its line
    labels: list[str] = field(default_factory=list)


def kind_defaults(text: str) -> list[int]:
    """The lines of `default` in switches whose other labels are all enumerators, those of lists included."""
    found = []
    depth = 0
    switches: list[_Switch] = []
    code = list(tokens(text))
    announced = False  # a `switch` whose body is yet to open
    for at, token in enumerate(code):
        if token.text == "switch":
            announced = True
        elif token.text == "{":
            depth += 1
            if announced:
                switches.append(_Switch(depth))
            announced = False
        elif token.text == "}":
            if switches and switches[-1].depth == depth:
                closed = switches.pop()
                if closed.default is not None and all(map(ENUMERATOR.fullmatch, closed.labels)):
                    found.append(closed.default)
            depth -= 1
        elif switches and token.text == "case":
            label = itertools.takewhile(lambda part: part.text != ":", code[at + 1 :])
            switches[-1].labels.append("".join(part.text for part in label))
        elif switches and token.text == "default" and code[at + 1].text == ":":
            switches[-1].default = token.line
    return sorted(found)


@dataclass
class Figures:
    """What is counted in one room."""

    files: list[int] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)
    lines: int = 0
    comments: int = 0
    casts: int = 0
    problems: list[str] = field(default_factory=list)
    commas: int = 0


def quantile(values: list[int], share: float) -> int:
    """The value below which ``share`` of the values lie."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0


def look_at(root: Path, folder: Path) -> Figures:
    """The figures of a folder of C and C++."""
    figures = Figures()
    for file in sorted(f for f in folder.rglob("*") if f.suffix in {".cc", ".h", ".c", ".inc"}):
        text = file.read_text(encoding="utf-8")
        filled = [line.strip() for line in text.splitlines() if line.strip()]
        figures.files.append(text.count("\n"))
        figures.functions += [match.group(1).count("\n") for match in FUNCTION.finditer(text)]
        figures.lines += len(filled)
        figures.comments += sum(line.startswith(("//", "/*", "*")) for line in filled)
        figures.casts += text.count("static_cast<size_t>")
        path = file.relative_to(root).as_posix()
        commas = comma_statements(text)
        figures.commas += len(commas)
        figures.problems += [
            f"{path}:{line}: comma statement; write one statement per line" for line in commas
        ]
        if path not in NEED_DEFAULT:
            figures.problems += [
                f"{path}:{line}: default among kinds; write a case for each, or make them from their list"
                for line in kind_defaults(text)
            ]
    return figures


def long_lines(root: Path) -> list[str]:
    """Lines of more than COLUMNS characters, as "path:line: columns"."""
    files = [f for folder in FOLDERS for f in (root / folder).rglob("*") if f.suffix in LANGUAGES]
    files += [f for f in (root / name for name in NAMES) if f.is_file()]
    python = tuple(str(root / folder) for folder in BY_RUFF)
    return [
        f"{file.relative_to(root)}:{number}: {len(line)} columns, at most {COLUMNS}"
        for file in sorted(files)
        if file.suffix != ".py" or not str(file).startswith(python)
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > COLUMNS
    ]


def positional(stub: str) -> list[tuple[int, str, int]]:
    """Line, name and count of every function of a stub that takes too many arguments by position."""
    functions = [n for n in ast.walk(ast.parse(stub)) if isinstance(n, ast.FunctionDef)]
    given = [(f, [a for a in f.args.posonlyargs + f.args.args if a.arg != "self"]) for f in functions]
    return [(f.lineno, f.name, len(names)) for f, names in given if len(names) > POSITIONAL]


def long_calls(root: Path) -> list[str]:
    """Bindings that take too many arguments by position."""
    return [
        f"{file.relative_to(root)}:{line}: {name} takes {count} arguments by position, at most {POSITIONAL}; "
        "py::kw_only()"
        for file in sorted((root / STUBS).glob("*.pyi"))
        for line, name, count in positional(file.read_text(encoding="utf-8"))
    ]


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    problems = long_lines(root) + long_calls(root)
    print("room      files  lines  p90  functions median/p90  comments  size_t casts  comma statements")
    for room in ROOMS:
        found = look_at(root, root / "src" / "cpp" / room)
        if not found.files:
            continue
        middle = int(statistics.median(found.functions)) if found.functions else 0
        print(
            f"{room:9s} {len(found.files):5d} {sum(found.files):6d} {quantile(found.files, 0.9):4d}"
            f"  {f'{middle} / {quantile(found.functions, 0.9)}':>20s} {found.comments / found.lines:9.0%}"
            f" {found.casts:13d} {found.commas:17d}"
        )
        problems += found.problems
    for problem in problems:
        print(problem)
    print(f"style: {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
