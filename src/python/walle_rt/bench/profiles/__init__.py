"""What an engine says of its own steps, told in nodes of the ONNX file it was given.

One file per engine. A row's nodes are those whose work it does, as far as the engine names them: what it
fuses, it names by one of them, and what it adds (changes of layout) by those it stands beside.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from ..peers import Feeds, Unavailable

NAMES = ("onnxruntime", "openvino", "MNN")  # whose wheels offer a profile; ncnn's are built without
RUNS = 8
_RECURRENT = ("GRU", "LSTM", "RNN")


@dataclass
class Row:
    """One step of an engine, the least of the profiled runs."""

    nodes: tuple[str, ...]  # of the ONNX file; empty: not known
    kind: str  # the engine's own word for what it does
    ms: float
    moves: bool = False  # it only changes where values lie
    algorithm: str = ""
    output: str = ""
    parameters: dict[str, int] | None = None
    flops: float = 0.0
    bytes: float = 0.0
    workspace_bytes: int = 0


class Nodes:
    """The nodes of an ONNX graph, found by what engines make of their names."""

    def __init__(self, model: onnx.ModelProto) -> None:
        """Nodes without a name are called by their first result; names are those of ``name``."""
        self.order: list[str] = []
        self.ops: dict[str, str] = {}
        self.inputs: dict[str, list[str]] = {}
        self._known: dict[str, str] = {}
        self.values = {value.name for value in (*model.graph.input, *model.graph.initializer)}
        for node in model.graph.node:
            name = self.name(node)
            self.order.append(name)
            self.ops[name] = node.op_type
            self.inputs[name] = list(node.input)
            for value in node.output:
                self._known.setdefault(value, name)
                self.values.add(value)
        for name in self.order:
            self._known[name] = name
        self.place = {name: i for i, name in enumerate(self.order)}

    @staticmethod
    def name(node: onnx.NodeProto) -> str:
        """What a node is called here."""
        return str(node.name or next((value for value in node.output if value), node.op_type))

    def producer(self, value: str) -> str | None:
        """The node that computes a value, or that has this name."""
        return self._known.get(value)

    def find(self, text: str) -> str | None:
        """The node that an engine's name for a step means: the name, or the longest part of it that is one.

        Engines put something behind names ("conv_3/WithoutBiases", "v8_nchwc"), and call a step between two
        nodes by both ("relu_8_abcd_acdb_conv_9": the last one counts, whose input it makes).
        """
        parts = re.split(r"([/_.:,])", text)
        for length in range(len(parts), 0, -1):
            for start in range(len(parts) - length, -1, -1):
                found = self._known.get("".join(parts[start : start + length]))
                if found is not None:
                    return found
        return None


def claim(rows: list[Row], nodes: Nodes) -> None:
    """Give recurrent layers that an engine calls by a name of its own to the file's nodes, in their order."""
    taken = {name for row in rows for name in row.nodes}
    for row in rows:
        if row.nodes:
            continue
        for name in nodes.order:
            if nodes.ops[name] in _RECURRENT and row.kind.startswith(nodes.ops[name]) and name not in taken:
                row.nodes = (name,)
                taken.add(name)
                break


def profile(engine: str, model: Path, feeds: Feeds, cache: Path) -> list[Row]:
    """The rows of one run on one thread.

    Raises:
        Unavailable: the engine is missing, cannot run the model, or offers no profile.
    """
    if engine not in ("walle", *NAMES):
        raise Unavailable(f"{engine} offers no profile in its wheel")
    module: Any = importlib.import_module(f".{engine.lower()}", __name__)
    nodes = Nodes(onnx.load(str(model), load_external_data=False))
    rows: list[Row] = module.profile(model, nodes, feeds, cache, RUNS)
    claim(rows, nodes)
    return rows
