"""Hooks of the documentation site (mkdocs.yml): pages that lie elsewhere or are generated, and navigation.

A page is found by the folder it lies in, so a new one needs no line here.
"""

from __future__ import annotations

import importlib.util
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
# Title and folder, in the order of the site.
SECTIONS = [
    ("How to", "how-to"),
    ("Concepts", "concepts"),
    ("Reference", "reference"),
    ("Formats", "reference/formats"),
    ("Decisions", "adr"),
]
# Pages outside docs/, which code hosts show where they lie, and where the site has them.
PROJECT = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "schemas/README.md": "project/schemas.md",
}
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")


def nav(docs: Path) -> list[Any]:
    """Every page below ``docs``, section by section; those at the root first, project pages last."""
    entries: list[Any] = ["index.md"]
    for title, folder in SECTIONS:
        pages = {str(p.relative_to(docs)) for p in (docs / folder).glob("*.md")}
        if folder == "reference":
            pages.add("reference/ops.md")
        if pages:
            entries.append({title: sorted(pages)})
    rest = sorted(p.name for p in docs.glob("*.md") if p.name != "index.md")
    return [*entries, {"Project": [*rest, *PROJECT.values()]}]


def relinked(text: str, uri: str) -> str:
    """A page's text with links between repository files as links between pages of the site."""
    origins = {page: file for file, page in PROJECT.items()}
    here = posixpath.dirname(origins.get(uri, f"docs/{uri}"))

    def target(link: re.Match[str]) -> str:
        file = posixpath.normpath(posixpath.join(here, link[1]))
        page = PROJECT.get(file, file.removeprefix("docs/"))
        return "](" + posixpath.relpath(page, posixpath.dirname(uri) or ".")

    return LINK.sub(target, text)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let links follow the pages that moved."""
    return relinked(markdown, page.file.src_uri)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation."""
    config.nav = nav(Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the operator table, as the native core tells it now, and the root's pages."""
    spec = importlib.util.spec_from_file_location("ops_table", ROOT / "tools" / "ops_table.py")
    assert spec is not None and spec.loader is not None
    ops_table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ops_table)
    made = {"reference/ops.md": ops_table.page()}
    made |= {page: (ROOT / file).read_text() for file, page in PROJECT.items()}
    for path, content in made.items():
        known = files.get_file_from_path(path)  # `python tools/ops_table.py` may have left an older one
        if known is not None:
            files.remove(known)
        files.append(File.generated(config, path, content=content))
    return files
