"""Semantic search over the project's own documentation with a trained transformer,
checked against float64 NumPy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import walle_rt

from ..bench.builder import Array
from . import minilm, reference
from .report import Stopwatch, heading, line, plan_summary, progress

QUESTIONS = [
    "How do I add a new operator?",
    "Why do transposes cost nothing?",
    "What happens when a model file is damaged?",
    "Which platforms are tested?",
]
BATCH = 8
CHECKED = 24
PROFILED = 5  # runs of the last question
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Passage:
    """A paragraph of the documentation and the place it stands at."""

    place: str
    text: str


def passages(root: Path) -> list[Passage]:
    """The paragraphs of README.md and docs/**/*.md;
    code blocks and tables belong to the paragraph before them.
    """
    found: list[Passage] = []
    for file in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        if not file.exists():
            continue
        title = file.stem
        for block in re.split(r"\n\s*\n", file.read_text(encoding="utf-8")):
            headed = re.match(r"#+\s+(.*)", block)
            if headed:
                title = headed.group(1)
            text = " ".join(re.sub(r"[`*|#]|^-+$", " ", block).split())
            if len(text) > 60:
                found.append(Passage(f"{file.relative_to(root)}: {title}", text))
    return found


def embed_all(session: Any, encoder: minilm.Encoder, texts: list[str], clock: Stopwatch, what: str) -> Array:
    """Embeddings, float32 [texts, width]; texts of similar length share a batch so that little is padded."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
    out = np.zeros((len(texts), encoder.size.width), np.float32)
    for batch in progress(batches, len(batches), what):
        feeds = encoder.tokens([texts[i] for i in batch])
        with clock:
            out[batch] = session.run(feeds)["embedding"]
    return out


def check(encoder: minilm.Encoder, texts: list[str], embeddings: Array) -> float:
    """The largest absolute difference between embeddings and the float64 evaluation of their texts."""
    worst = 0.0
    for text, got in progress(zip(texts, embeddings, strict=True), len(texts), "float64 check"):
        want = reference.embed(encoder, np.array(encoder.tokenizer.encode(text).ids))
        worst = max(worst, float(np.abs(got - want).max()))
    return worst


def run(root: Path, question: str | None, threads: int) -> None:
    """Embed the documentation under ``root``, answer questions about it, compare with float64."""
    heading("A trained transformer on real text: semantic search over this project's documentation")
    encoder = minilm.load()
    found = passages(root)
    if not found:
        raise SystemExit(
            f"demo failed: no README.md and no docs/ in {root}; run it in a checkout of the project"
        )
    size = encoder.size
    line(f"{len(found)} passages of README.md and docs/; MiniLM-L6, {size.layers} layers of {size.width}")
    build, compute, ask = Stopwatch(), Stopwatch(), Stopwatch()
    with build:
        model = walle_rt.load(encoder.model())
        session = model.session(threads=threads)
    texts = [f"{passage.place.split(': ', 1)[1]}. {passage.text}" for passage in found]
    embeddings = embed_all(session, encoder, texts, compute, "embedding")
    line(f"load and plan  {build}")
    line(f"batch of {BATCH}     {compute}; {len(texts) / sum(compute.seconds):.0f} passages per second")

    for asked in [question] if question else QUESTIONS:
        feeds = encoder.tokens([asked])
        with ask:
            vector = session.run(feeds)["embedding"][0]
        scores = embeddings @ vector
        line()
        line(f"? {asked}")
        for place in np.argsort(-scores)[:2]:
            line(f"  {scores[place]:.3f}  {found[place].place}")
            line(f"         {found[place].text[:120]} ...")
    line()
    line(f"one question   {ask}")

    picked = list(range(0, len(texts), max(1, len(texts) // CHECKED)))
    worst = check(encoder, [texts[i] for i in picked], embeddings[picked])
    line(
        f"largest difference from float64 NumPy over {len(picked)} passages: "
        f"{worst:.2e} (bound {TOLERANCE:.0e})"
    )
    if not worst <= TOLERANCE:
        raise SystemExit(f"demo failed: embeddings differ from the float64 evaluation by {worst:.2e}")
    heading("What the engine planned for it")
    with session.profile():
        for _ in range(PROFILED):
            session.run(feeds)
    plan_summary(session.explain(top=10))
