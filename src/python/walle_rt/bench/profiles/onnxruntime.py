"""ONNX Runtime's profile: its JSON of kernel times, told by the optimised graph that it saves."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import onnx

from ..peers import Feeds, Unavailable, need
from . import Nodes, Row

_SUFFIX = "_kernel_time"
_MOVES = ("Reorder", "Transpose", "Reshape", "Concat", "Split", "Slice", "Squeeze", "Unsqueeze", "Identity")


def profile(model: Path, nodes: Nodes, feeds: Feeds, cache: Path, runs: int) -> list[Row]:
    """The least kernel times of the last runs; the first one is left out."""
    ort = need("onnxruntime", "onnxruntime")
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # it warns that a graph optimised for this machine was saved
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder) / "profile")
        options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
        try:
            session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            for _ in range(runs + 1):
                session.run(None, feeds)
        except Exception as error:  # its exceptions have no common base but this
            raise Unavailable(f"onnxruntime cannot profile this model: {str(error)[:160]}") from error
        events = json.loads(Path(session.end_profiling()).read_text())
        optimised = onnx.load(str(Path(folder) / "optimised.onnx"), load_external_data=False)
    return rows_of(events, optimised, nodes, runs)


def rows_of(events: list[dict], optimised: onnx.ModelProto, nodes: Nodes, runs: int) -> list[Row]:  # type: ignore[type-arg]
    """One row per kernel, in the order of a run, from the events of the last ``runs`` runs."""
    by_name = {node.name: node for node in optimised.graph.node if node.name}
    starts = [e["ts"] for e in events if e.get("name") == "model_run"]
    since = sorted(starts)[-runs] if len(starts) >= runs else 0
    rows: dict[str, Row] = {}
    calls: dict[str, list[float]] = {}
    for event in events:
        name = event.get("name", "")
        if event.get("cat") != "Node" or not name.endswith(_SUFFIX) or event["ts"] < since:
            continue
        name = name.removesuffix(_SUFFIX)
        kind = event.get("args", {}).get("op_name", "?")
        if name not in rows:
            found = covered(by_name.get(name), nodes) or ((nodes.find(name),) if nodes.find(name) else ())
            rows[name] = Row(tuple(n for n in found if n), kind, 0.0, kind.startswith(_MOVES))
        calls.setdefault(name, []).append(event["dur"] / 1e3)
    for name, times in calls.items():
        # A kernel in a loop is called several times in a run.
        rows[name].ms = min(times) * max(round(len(times) / runs), 1)
    return list(rows.values())


def covered(node: onnx.NodeProto | None, nodes: Nodes) -> tuple[str, ...]:
    """The nodes of the file whose work a node of the optimised graph does.

    Values that it shares with the file say so: those from which its results are computed, back to its own
    inputs. A node between two layouts has no result of the file's, and stands for the maker of its input.
    """
    if node is None:
        return ()
    ends = [n for value in node.output if (n := nodes.producer(value))]
    if not ends and (named := nodes.find(node.name)) is not None and not node.op_type.startswith("Reorder"):
        return (named,)
    if not ends:
        return tuple(n for value in node.input[:1] if (n := nodes.producer(value)))
    if node.op_type.startswith("Reorder"):
        return tuple(ends)
    borders, found, waiting = set(node.input), set(), list(ends)
    if not node.input or node.input[0] not in nodes.values:
        return tuple(ends)  # its input is of another layout: how far it reaches back is not known
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for value in nodes.inputs[name]:
            maker = nodes.producer(value)
            if value not in borders and maker is not None:
                waiting.append(maker)
    # One that reaches back to the beginning went past an input under another name.
    return tuple(sorted(found, key=nodes.place.__getitem__)) if len(found) <= 40 else tuple(ends)
