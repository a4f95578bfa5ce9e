"""Layers side by side, what engines' names mean, and the reasons of a loss."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from walle_rt.bench.layers import ELSEWHERE, Layer, homes, side_by_side
from walle_rt.bench.profiles import Nodes, Row, claim
from walle_rt.bench.profiles.onnxruntime import covered, rows_of
from walle_rt.bench.profiles.openvino import origins
from walle_rt.bench.reasons import AT_ROOF, LEVEL_MS, filled, judge, packing_ms, useful
from walle_rt.bench.roof import Roof

ROOF = Roof(100e9, 10e9, 100e9)


def graph() -> onnx.ModelProto:
    """conv_1 -> relu_2 -> conv_3 -> add_4 (with relu_2) -> softmax_5; shape_6 of the input beside them."""
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["v1"], name="conv_1"),
        helper.make_node("Relu", ["v1"], ["v2"], name="relu_2"),
        helper.make_node("Conv", ["v2", "w3"], ["v3"], name="conv_3"),
        helper.make_node("Add", ["v3", "v2"], ["v4"], name="add_4"),
        helper.make_node("Softmax", ["v4"], ["y"], name="softmax_5"),
        helper.make_node("Shape", ["x"], ["s"], name="shape_6"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y", "s")]
    return helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]))


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("conv_1", "conv_1"),
        ("v3", "conv_3"),
        ("conv_3/WithoutBiases", "conv_3"),
        ("v3_nchwc", "conv_3"),
        ("relu_2_abcd_acdb_conv_3", "conv_3"),  # between two: the one whose input it makes
        ("conv_3.1", "conv_3"),
        ("reorder_token_7", None),
        ("", None),
    ],
)
def test_names_of_engines(text: str, node: str | None) -> None:
    assert Nodes(graph()).find(text) == node


def test_nodes_without_names_are_called_by_their_results() -> None:
    model = graph()
    model.graph.node[0].name = ""
    assert Nodes(model).order[0] == "v1"


def test_a_layer_reaches_to_the_next_beginning() -> None:
    found = homes(Nodes(graph()))
    assert found == {
        "conv_1": "conv_1",
        "relu_2": "conv_1",
        "conv_3": "conv_3",
        "add_4": "conv_3",
        "softmax_5": "softmax_5",
    }


def test_side_by_side() -> None:
    ours = [Row(("conv_1",), "Conv", 3.0), Row(("conv_3",), "Conv", 2.0), Row((), "call", 0.5)]
    theirs = [
        Row(("relu_2", "conv_1"), "Conv", 1.0),
        Row(("conv_3",), "Conv", 2.5),
        Row(("shape_6",), "S", 0.1),
    ]
    first, second, last = side_by_side(Nodes(graph()), ours, theirs)
    assert (first.nodes, first.lost_ms) == (["conv_1"], 2.0)
    assert (second.nodes, second.lost_ms) == (["conv_3"], -0.5)
    assert (last.nodes, last.ours_ms, last.theirs_ms) == ([ELSEWHERE], 0.5, 0.1)


def test_a_step_over_two_layers_unites_them() -> None:
    ours = [Row(("conv_1",), "Conv", 3.0), Row(("conv_3",), "Conv", 2.0)]
    theirs = [Row(("conv_1", "conv_3"), "Fused", 4.0)]
    (only,) = side_by_side(Nodes(graph()), ours, theirs)
    assert (only.nodes, only.ours_ms, only.theirs_ms) == (["conv_1", "conv_3"], 5.0, 4.0)


def test_kernels_of_an_optimised_graph_are_told_in_the_files_nodes() -> None:
    nodes = Nodes(graph())
    fused = helper.make_node("FusedConv", ["x", "w1"], ["v2"], name="fused")
    assert covered(fused, nodes) == ("conv_1", "relu_2")
    reorder = helper.make_node("ReorderOutput", ["token_1"], ["v3"], name="ReorderOutput_token_9")
    assert covered(reorder, nodes) == ("conv_3",)
    inside = helper.make_node("ReorderInput", ["v2"], ["token_2"], name="ReorderInput")
    assert covered(inside, nodes) == ("relu_2",)
    blocked = helper.make_node("Conv", ["token_2", "token_3"], ["token_4"], name="v3_nchwc")
    assert covered(blocked, nodes) == ("conv_3",)
    assert covered(None, nodes) == ()


def test_events_become_rows_of_the_last_runs() -> None:
    optimised = helper.make_model(
        helper.make_graph([helper.make_node("FusedConv", ["x", "w1"], ["v2"], name="fused")], "o", [], [])
    )

    def kernel(at: int, duration: int) -> dict[str, object]:
        return {
            "cat": "Node",
            "name": "fused_kernel_time",
            "ts": at,
            "dur": duration,
            "args": {"op_name": "F"},
        }

    runs = [{"cat": "Session", "name": "model_run", "ts": at, "dur": 90} for at in (0, 100, 200)]
    events = [*runs, kernel(5, 9999), kernel(105, 40), kernel(205, 60)]
    (row,) = rows_of(events, optimised, Nodes(graph()), 2)
    assert row.nodes == ("conv_1", "relu_2") and row.ms == pytest.approx(
        0.040
    )  # the least, the first left out
    loop = [*runs, *(kernel(at, 10) for at in (101, 102, 201, 202))]
    assert rows_of(loop, optimised, Nodes(graph()), 2)[0].ms == pytest.approx(0.020)  # twice in a run


def test_origins_are_what_was_fused() -> None:
    nodes = Nodes(graph())
    assert origins("conv_3/WithoutBiases", "conv_3/WithoutBiases,conv_3,add_4", nodes) == ("conv_3", "add_4")
    assert origins("x_abcd_acdb_conv_1/WithoutBiases", "", nodes) == ("conv_1",)
    assert origins("Constant_7", "Constant_7", nodes) == ()


def test_recurrent_layers_are_claimed_in_order() -> None:
    model = graph()
    for i, op in ((0, "GRU"), (2, "GRU"), (3, "LSTM")):
        model.graph.node[i].op_type = op
    rows = [
        Row((), "GRUSequence", 1.0),
        Row((), "LSTM", 1.0),
        Row((), "GRUSequence", 2.0),
        Row((), "Add", 1.0),
    ]
    claim([*rows, late := Row((), "GRUCell", 1.0)], Nodes(model))
    assert [row.nodes for row in rows] == [("conv_1",), ("add_4",), ("conv_3",), ()]
    assert late.nodes == ()  # there are two


def layer(ms: float, peer_ms: float, **row: object) -> Layer:
    own = Row(("conv_1",), **({"kind": "Conv", "ms": ms} | row))  # type: ignore[arg-type]
    return Layer(["conv_1"], "Conv", [own], [Row(("conv_1",), "Conv", peer_ms)])


def test_level_is_no_loss_up_to_the_limit() -> None:
    assert judge(layer(1.029, 1.0), ROOF).reason == ""
    assert judge(layer(1.031, 1.0), ROOF).reason != ""
    assert judge(layer(0.001 + 0.99 * LEVEL_MS, 0.001), ROOF).reason == ""
    assert judge(layer(0.5, 1.0), ROOF).reason == ""


def test_reasons() -> None:
    busy = {"flops": 100e9 * 1e-3}  # one millisecond at the roof
    assert judge(layer(1.0 / AT_ROOF - 0.001, 0.5, **busy), ROOF).reason == "roof"
    # Scratch of 20 MB at 100 GB/s is 0.4 ms, written and read.
    assert judge(layer(2.0, 1.0, **busy, workspace_bytes=20_000_000), ROOF).reason == "packing"
    tiled = {"algorithm": "conv_pointwise_f32_8x32_avx512", "output": "float32[1, 64, 7, 7]"}
    assert judge(layer(2.0, 1.5, **busy, **tiled), ROOF).reason == "tails"
    assert judge(layer(2.0, 1.0, moves=True), ROOF).reason == "layout"
    assert judge(layer(0.009, 0.002), ROOF).reason == "overhead"
    assert judge(layer(0.2, 0.01, kind="call"), ROOF).reason == "overhead"
    assert judge(layer(2.0, 1.0, **busy), ROOF).reason == "kernel"


def test_lanes_in_use() -> None:
    def row(algorithm: str, output: str, kind: str = "Conv") -> Row:
        return Row((), kind, 1.0, algorithm=algorithm, output=output)

    # 49 pixels in tiles of 32 columns fill 49 of 64 lanes; 64 channels fill rows of 8.
    assert useful(row("conv_f32_8x32_avx512", "float32[1, 64, 7, 7]")) == pytest.approx(49 / 64)
    # Channels in lanes: 49 pixels by 14 are 49 of 56, 64 channels by 32 all.
    assert useful(row("conv_lanes_f32_14x32_avx512", "float32[1, 64, 7, 7]")) == pytest.approx(49 / 56)
    assert useful(row("gemm_f32_8x48_avx512", "float32[128, 80]", "MatMul")) == pytest.approx(80 / 96)
    assert useful(row("conv_reference", "float32[1, 64, 7, 7]")) == 1.0
    assert useful(row("eltwise_8x32_x", "float32[1, 64, 7, 7]", "Add")) == 1.0
    assert useful(row("gemm_8x48_x", "float32[]", "MatMul")) == 1.0
    assert filled(0, 8) == 1.0 and filled(8, 8) == 1.0 and filled(9, 8) == pytest.approx(9 / 16)


def test_packing_is_half_a_step_at_most() -> None:
    assert packing_ms(Row((), "Conv", 1.0, workspace_bytes=10**9), ROOF) == pytest.approx(0.5)


def test_roof() -> None:
    assert ROOF.seconds(100e9, 0) == pytest.approx(1.0)
    assert ROOF.seconds(0, 10e9) == pytest.approx(1.0)
    assert ROOF.seconds(0, 1e6) == pytest.approx(1e-5)  # small enough for a cache
    assert ROOF.bound(1e9, 1e6) == "arithmetic" and ROOF.bound(1e6, 1e9) == "memory"
