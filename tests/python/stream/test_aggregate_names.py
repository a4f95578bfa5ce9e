"""Aggregates are told once, in src/cpp/stream: what Python and the pages say of them is that."""

from __future__ import annotations

import re

import pytest
from places import ROOT

import walle_rt
from walle_rt import _core
from walle_rt.stream import Batch, Graph, Trigger, aggregate, counted, distinct, event, summed

DOCS = ROOT / "docs"


def page(path: str) -> str:
    return " ".join((DOCS / path).read_text(encoding="utf-8").split())


def test_operators_and_their_pages_have_the_same_aggregates() -> None:
    names = _core.stream.AGGREGATES
    numbered = ", ".join(f"{number} {name}" for number, name in enumerate(names))
    assert f"`function` {numbered}, a `column`" in page("reference/formats/graph.md")
    assert aggregate.__doc__ is not None
    told = re.sub(r" \([^()]*\)", "", page("concepts/stream.md"))
    assert f"Aggregates - {', '.join(names)} - can be merged" in told
    rows = Batch({"ts": [1, 2], "x": [3, 4]})
    for name in names:
        assert re.search(rf"\b{name}\b", aggregate.__doc__), name
        assert len(Graph().reduce(aggregate(name, "x")).run(rows)) == 1
    with pytest.raises(walle_rt.ArgumentError, match=", ".join(names)):
        Graph().reduce(aggregate("median", "x"))


def test_the_grammar_has_the_aggregates_of_triggers() -> None:
    words = _core.stream.TRIGGER_AGGREGATES
    grammar = page("reference/trigger-language.md")
    head = grammar[grammar.index("aggregate =") : grammar.index("patterns =")]
    assert sorted(re.findall(r'"(\w+)" "\("', head)) == sorted(words)
    steps = (counted(event("a"), 2), summed("x", 1), distinct("x", 2))
    assert [Trigger(s).text.partition("(")[0] for s in steps] == list(words)[: len(steps)]
    assert [Trigger(f"{word}(x) > 1").text for word in words] == [f"{word}(x) > 1" for word in words]
    with pytest.raises(walle_rt.ArgumentError, match=f"one of {', '.join(words)}"):
        Trigger("mean(x) > 1")
