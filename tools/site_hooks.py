"""Hooks of the documentation site (mkdocs.yml): pages that lie elsewhere or are generated, and navigation.

A page is found by the folder it lies in, so a new one needs no line here.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
# Title and folder, in the order of the site.
SECTIONS = [
    ("How to", "how-to"),
    ("Concepts", "concepts"),
    ("Reference", "reference"),
    ("Formats", "reference/formats"),
    ("Decisions", "adr"),
]
# Pages of the repository's root, which code hosts show from there.
PROJECT = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]


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
    return [*entries, {"Project": [*rest, *(f"project/{name.lower()}" for name in PROJECT)]}]


def moved(text: str) -> str:
    """A root page's text with its links as they are from project/."""
    text = re.sub(r"\]\(docs/", "](../", text)
    return re.sub(r"\]\((" + "|".join(map(re.escape, PROJECT)) + r")\)", lambda m: f"]({m[1].lower()})", text)


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
    made |= {f"project/{name.lower()}": moved((ROOT / name).read_text()) for name in PROJECT}
    for path, content in made.items():
        known = files.get_file_from_path(path)  # `python tools/ops_table.py` may have left an older one
        if known is not None:
            files.remove(known)
        files.append(File.generated(config, path, content=content))
    return files
