"""What an error tells to do can be done: commands, their options and routes that texts name exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="no package 'fastapi' (the extra [cloud])")

import typer
from fastapi import FastAPI

from walle_rt.cli import app
from walle_rt.cloud.web import accounts, cloud_phase, devices, pages, releases, scenarios, tables
from walle_rt.cloud.web.app import root as server_routes

ROOT = Path(__file__).resolve().parents[2]
PYTHON, NATIVE = ROOT / "src" / "python" / "walle_rt", ROOT / "src" / "cpp"
_COMMAND = re.compile(r"(?<![.\w])walle((?: [a-z][a-z-]+)+)((?: (?:\{\}|[A-Z]+|[A-Z]+/[A-Z]+|--[a-z-]+))*)")
_ROUTE = re.compile(r"(?:(GET|POST|PUT|PATCH|DELETE) )?(/api/v1(?:/[A-Za-z0-9_.{}-]+)+)")
_ENGLISH = ("or", "that", "needs")  # behind the module and the program
_PAGE_TEXT = re.compile(r"`(walle [^`\n]*)`|^(?:\$ )?(walle .*)$", re.MULTILINE)
_NATIVE_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_TREE = typer.main.get_command(app.build())


def texts() -> Iterator[tuple[str, str]]:
    """Every string of the sources, every command of the pages: where it stands, and itself, with ``{}`` for
    what is filled in."""
    for file in sorted(PYTHON.rglob("*.py")):
        inside = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = [p.value if isinstance(p, ast.Constant) else "{}" for p in node.values]
                inside |= {id(part) for part in ast.walk(node)}
                yield f"{file.relative_to(ROOT)}:{node.lineno}", "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
                yield f"{file.relative_to(ROOT)}:{node.lineno}", node.value
    for page in sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]):
        for found in _PAGE_TEXT.finditer(page.read_text()):
            yield str(page.relative_to(ROOT)), found.group(1) or found.group(2)
    for native in sorted([*NATIVE.rglob("*.cc"), *NATIVE.rglob("*.h")]):
        for found in _NATIVE_TEXT.finditer(native.read_text()):
            yield str(native.relative_to(ROOT)), found.group(1)


def command_of(words: list[str]) -> Any:
    """The command that words begin with; None where there is none."""
    at: Any = _TREE
    for word in words:
        if not hasattr(at, "commands"):
            return at  # what follows is an argument, or the sentence goes on
        if word not in at.commands:
            return None
        at = at.commands[word]
    return at


def wrong_command(text: str) -> str | None:
    """What of a text names no command, or an option that its command has not."""
    for found in _COMMAND.finditer(text):
        words = found.group(1).split()
        command = command_of(words)
        if words[0] in _ENGLISH:
            continue
        of_task = re.match(r"(?:\{\}|[A-Z]+)/", text[found.end(1) :].lstrip())
        if command is None or (of_task and command.params[0].name == "number"):
            return found.group(0)
        known = {name for each in command.params for name in each.opts} | {"--help"}
        unknown = set(re.findall(r"--[a-z-]+", found.group(2))) - known
        if unknown:
            return f"{found.group(0)} ({unknown})"
    return None


def routes() -> dict[str, set[str]]:
    """Methods by path, with ``{}`` for every parameter."""
    api = FastAPI()
    api.include_router(server_routes)
    for module in (accounts, scenarios, releases, devices, tables, cloud_phase):
        api.include_router(module.router, prefix="/api/v1")
    api.include_router(pages.router)
    found = {re.sub(r"\{\w+\}", "{}", path): set(each) for path, each in api.openapi()["paths"].items()}
    return {path: {method.upper() for method in each} for path, each in found.items()} | {
        "/api/v1/openapi.json": {"GET"}
    }


def wrong_route(text: str, known: dict[str, set[str]]) -> str | None:
    """What of a text names no route of the admin API."""
    for method, path in _ROUTE.findall(text):
        generic = re.sub(r"/(?:\{\}|[A-Z]+)(?=/|$)", "/{}", path.rstrip("."))
        if generic not in known or (method and method not in known[generic]):
            return f"{method} {path}".strip()
    return None


def test_every_command_that_a_text_names_exists() -> None:
    wrong = [f"{where}: {found}" for where, text in texts() if (found := wrong_command(text))]
    assert not wrong, "\n".join(wrong)


def test_every_route_that_a_text_names_exists() -> None:
    known = routes()
    wrong = [f"{where}: {found}" for where, text in texts() if (found := wrong_route(text, known))]
    assert not wrong, "\n".join(wrong)


def test_what_is_wrong_is_found() -> None:
    assert wrong_command("say walle release undo {}") and wrong_command("walle kill {}")
    assert wrong_command("walle release kill {}/{}") and not wrong_command("walle release kill {}")
    assert wrong_command("walle serve --plan") and not wrong_command("walle serve --port")
    assert wrong_route("see /api/v1/nothing", routes()) and not wrong_route("see /api/v1/tables", routes())
    assert wrong_route("DELETE /api/v1/audit", routes())
    assert sum(bool(_COMMAND.search(text)) for _, text in texts()) > 60
