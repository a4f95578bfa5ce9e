"""The code blocks of the project's pages, as Markdown sees them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = {DOCS / "reference" / "ops.md"}


@dataclass(frozen=True)
class Block:
    """One block: where it is, the language its fence names ("" without), its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def first_line(self) -> str:
        """What the tables of exceptions name a block by."""
        return self.text.split("\n", 1)[0]

    def __str__(self) -> str:
        """Like ``docs/tiers.md:12 (python)``."""
        return f"{self.page}:{self.line} ({self.language or 'no language'})"


def pages() -> list[Path]:
    """Every page in git's care: those at the root and all below docs/."""
    return [*sorted(ROOT.glob("*.md")), *sorted(set(DOCS.rglob("*.md")) - GENERATED)]


def blocks(page: Path) -> list[Block]:
    """Fenced and indented blocks, in order."""
    tokens = MarkdownIt("commonmark").parse(page.read_text())
    name = str(page.relative_to(ROOT))
    return [
        Block(name, (t.map or [0])[0] + 1, t.info.strip(), t.content)
        for t in tokens
        if t.type in ("fence", "code_block")
    ]
