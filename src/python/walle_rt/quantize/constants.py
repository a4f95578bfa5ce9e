"""Constants that a model computes from constants: weights that are reshaped or transposed before use."""

from __future__ import annotations

from onnx import NodeProto, helper

from ..values import Array
from .graph import Graph

_MOVES = ("Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze")


def fold_constants(graph: Graph) -> None:
    """Make a constant of each result of moving one, so that weights are seen as what they are."""
    kept = []
    for node in graph.nodes:
        found = _moved(graph, node) if node.op_type in _MOVES and not node.domain else None
        if found is None or node.output[0] in graph.outputs:
            kept.append(node)
            continue
        name = graph.add(node.output[0], found)
        for reader in graph.readers.get(node.output[0], []):
            for i, read in enumerate(reader.input):
                if read == node.output[0]:
                    reader.input[i] = name
        if node.output[0] in graph.in_bodies:
            kept.append(node)
    graph.nodes = kept
    graph.index()


def _moved(graph: Graph, node: NodeProto) -> Array | None:
    from onnx.reference import ReferenceEvaluator

    arrays = {name: graph.array(name) for name in node.input if name}
    if not arrays or any(array is None for array in arrays.values()):
        return None
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
              for n, a in arrays.items() if a is not None]  # fmt: skip
    outputs = [helper.make_tensor_value_info(node.output[0], inputs[0].type.tensor_type.elem_type, None)]
    alone = helper.make_model(
        helper.make_graph([node], "constant", inputs, outputs), opset_imports=graph.model.opset_import
    )
    (result,) = ReferenceEvaluator(alone).run(None, arrays)
    found: Array = result
    return found
