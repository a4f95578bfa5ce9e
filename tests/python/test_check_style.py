"""tools/check_style.py: comma statements, defaults among kinds, long lines, bindings of many arguments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def check(root: Path, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    command = [sys.executable, ROOT / "tools" / "check_style.py", root]
    return subprocess.run(command, capture_output=True, text=True, check=False)


COMMA = [
    "a = 1, b = 2;",
    "++i, ++j;",
    "--n, at[i] = at[n];",
    "x.y->z[3](4) += f(1, 2), w = 0;",
    "f(a), g(b);",
    "(void)a, (void)b;",
    "*p = 1, *q = 2;",
    "if (a < b) x = 1, y = 2;",
    "if constexpr (kA) x = 1, y = 2;",
    "for (int i = 0; i < n; ++i) x += i, y -= i;",
    "for (int i = 0, j = 1; i < j; ++i, --j) ++a, ++b;",
    "while (go()) { step(), rest(); }",
    "else x = 1, y = 2;",
    "switch (k) { case kA: x = 1, y = 2; break; default: z = 1, w = 2; }",
    "return sqlite3_bind(s, 1), *this;",
    "const auto next = [&](int n) { p += n, size -= n; };",
    "each(list, [&](int v) { put(v), out += v; });",
    "s = {1, 2}, t = {3, 4};",
    "x = a < b ? a : b, y = 2;",
]
PLAIN = [
    "int a = 1, b = 2;",
    "const uint64_t start = 0, last = 0;",
    "uint8_t depth : 4 = 0, chained : 1 = 0;",
    "std::vector<int> a, b;",
    "std::map<int, std::vector<float>> m;",
    "std::array<uint32_t, 2 * kWords / kLine + 1> out{};",
    "char *a = nullptr, *b = nullptr;",
    "unsigned long long a = 1, b = 2;",
    "auto [a, b] = pair(1, 2);",
    "for (int i = 0, j = 1; i < j; ++i, --j) {}",
    "Shape s{1, 2};",
    "x = Shape{1, 2};",
    "x = std::pair<int, int>(1, 2);",
    "return std::pair<int, int>{1, 2};",
    "return {1, 2};",
    "f(a, b);",
    "enum class Kind : uint8_t { a = 1, b = 2 };",
    "Walk(const Trie& t, int n) : trie_(t), n_(n) {}",
    "struct A : B, C { int x = 0; };",
    "template <class A, class B> void f(A a, B b);",
    "using Pair = std::pair<int, int>;",
    'const char* text = "a = 1, b = 2;";',
    "x = ','; // a = 1, b = 2;",
    "/* a = 1, b = 2; */ x = 1;",
    "#define TWICE(x) x = 1, x = 2;\n",
    'auto s = R"(a = 1, b = 2;)";',
    "each(list, [a, b](int v, int w) { put(v, w); });",
]


@pytest.mark.parametrize("code", COMMA)
def test_two_statements_in_one(tmp_path: Path, code: str) -> None:
    done = check(tmp_path, {"src/cpp/ir/a.cc": f"void f() {{\n  {code}\n}}\n"})
    assert done.returncode == 1 and done.stderr == ""
    assert "src/cpp/ir/a.cc:2: comma statement" in done.stdout


@pytest.mark.parametrize("code", PLAIN)
def test_one_statement_or_a_declaration(tmp_path: Path, code: str) -> None:
    done = check(tmp_path, {"src/cpp/ir/a.cc": f"void f() {{\n  {code}\n}}\n", "src/cpp/ir/b.h": code + "\n"})
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


DEFAULT_AMONG_KINDS = [
    "case K::add: return 1;\n  default: return 2;",
    "default: break;\n  case base::ErrorKind::overflow: return 1;",
    "case WVM_NONE:\n  case WVM_INT: return 1;\n  default: return 2;",
    '#define ROW(kind) case K::kind:\n#include "kinds/unary.inc"\n  default: return 2;',
    "case K::add:\n    switch (n) { case 1: return 1; default: break; }\n    break;\n  default: return 2;",
]
DEFAULT_AMONG_NUMBERS = [
    "case 1: return 1;\n  default: return 2;",
    "case 'a':\n  case ':': return 1;\n  default: return 2;",
    "case kWide: return 1;\n  default: return 2;",
    "case base::kWide: return 1;\n  default: return 2;",
    "case K::add: switch (n) { case 1: return 1; default: return 2; }",
    "case K::add: { A& operator=(const A&) = default; }",
    "case K::add: break; // default: none",
]


@pytest.mark.parametrize("body", DEFAULT_AMONG_KINDS)
def test_a_default_among_kinds(tmp_path: Path, body: str) -> None:
    done = check(tmp_path, {"src/cpp/ir/a.cc": f"int f() {{\n  switch (k) {{\n  {body}\n  }}\n}}\n"})
    assert done.returncode == 1 and done.stderr == ""
    line = 2 + next(i for i, row in enumerate(body.splitlines(), 1) if row.lstrip().startswith("default"))
    assert f"src/cpp/ir/a.cc:{line}: default among kinds" in done.stdout


@pytest.mark.parametrize("body", DEFAULT_AMONG_NUMBERS)
def test_a_default_among_numbers_or_none(tmp_path: Path, body: str) -> None:
    done = check(tmp_path, {"src/cpp/ir/a.cc": f"int f() {{\n  switch (k) {{\n  {body}\n  }}\n}}\n"})
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_a_default_with_a_reason_is_left(tmp_path: Path) -> None:
    code = "int f() { switch (k) { case WALLE_KIND_INT: return 1; default: return 2; } }\n"
    assert check(tmp_path, {"src/cpp/capi/device.cc": code}).returncode == 0


@pytest.mark.parametrize("path", ["src/cpp/ir/a.inc", "cmake/a.cmake", "tools/a.sh", "Makefile", "tests/a.c"])
def test_lines_have_at_most_110_columns(tmp_path: Path, path: str) -> None:
    assert check(tmp_path, {path: "é" * 110 + "\n"}).returncode == 0
    done = check(tmp_path, {path: "\n" + "#" * 111 + "\n"})
    assert done.returncode == 1
    assert f"{path}:2: 111 columns, at most 110" in done.stdout


def test_a_binding_takes_five_arguments_by_position(tmp_path: Path) -> None:
    stub = "class A:\n    def f(self, a: int, b: int, c: int, d: int, e: int{}) -> int: ...\n"
    path = "src/python/walle_rt/_core/a.pyi"
    for more in ("", ", *, g: int", " = 0, *, g: int, h: int = 1"):
        assert check(tmp_path, {path: stub.format(more)}).returncode == 0
    done = check(tmp_path, {path: stub.format(", g: int")})
    assert done.returncode == 1
    assert f"{path}:2: f takes 6 arguments by position, at most 5" in done.stdout


def test_python_that_ruff_checks_is_left_to_it(tmp_path: Path) -> None:
    assert check(tmp_path, {"tools/a.py": "#" * 111}).returncode == 0
    assert check(tmp_path, {"src/cpp/vm/lib/a.py": "#" * 111}).returncode == 1


def test_figures_are_printed_and_never_fail(tmp_path: Path) -> None:
    code = "// Why.\nint f(int a) {\n  x = static_cast<size_t>(a);\n  return 1;\n}\n"
    done = check(tmp_path, {"src/cpp/ir/a.cc": code})
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].split() == [*["ir", "1", "5", "5", "2", "/", "2", "20%", "1", "0"]]


def test_this_repository_is_in_style() -> None:
    command = [sys.executable, ROOT / "tools" / "check_style.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
