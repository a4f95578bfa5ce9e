"""The functions of ``walle_rt.quantize``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..convert.source import require_onnx
from ..errors import ArgumentError
from .inputs import Inputs, Kept, Source, opened
from .quantised import Quantised
from .ranges import METHODS
from .report import LayerReport, Report
from .settings import between, one_of

if TYPE_CHECKING:
    from onnx import ModelProto

    from .observe import Advance
    from .sensitivity import Quantisable

# A path, bytes or onnx.ModelProto, whose package is not imported before it is needed.
ModelSource = Any
Progress = Callable[[str, int, int | None], None]


def static(
    model: ModelSource,
    calibration: Source,
    *,
    method: str = "minmax",
    percentile: float = 99.99,
    activations: str = "uint8",
    per_channel: bool = True,
    leave_out: Iterable[str] = (),
    goal_db: float | None = None,
    max_drop: float | None = None,
    test: Source | None = None,
    labels: Any = None,
    batch: int = 8,
    compared: int = 4,
    progress: Progress | None = None,
) -> Quantised:
    """Quantise weights and activations to 8 bits, with scales that are measured beforehand.

    Weights become int8, symmetric, with a scale per output channel; activations get one scale each and a code
    for zero; biases are int32. Nothing is random: the same inputs give the same bytes.

    Args:
        model: an ONNX model in float32, as path, bytes or ``onnx.ModelProto``.
        calibration: inputs like those the model will meet, a hundred or so: a folder, an .npz file whose
            arrays have one sample per entry of their first axis, a dictionary of such arrays, or an
            iterable of {input name: array}, one per run. An iterator is read once.
        method: how ranges come from what was seen: "minmax", "percentile", "entropy" or "mse".
        percentile: the share of numbers in percent that "percentile" keeps inside.
        activations: "uint8" or "int8".
        per_channel: a scale per output channel of weights, not one for all.
        leave_out: nodes, or operator types, that stay in float32.
        goal_db: signal to noise of every result, in decibels, to reach by leaving the most sensitive
            layers in float32.
        max_drop: accuracy in points (percent) that may be lost, to be held by the same means; needs labels.
        test: labelled inputs to measure accuracy on, of the kinds of ``calibration``.
        labels: the index of the right class of each sample of ``test``; or an array "labels" in its .npz
            file.
        batch: samples of arrays that are run at a time, where the model does not fix it.
        compared: batches of ``calibration`` that the report compares both models on.
        progress: called after each part of the work: what is done, how many parts, of how many (None: not
            known before).

    Raises:
        ArgumentError: an option or input is wrong; NaN and infinities are refused by name, as is an empty
            calibration, and a goal that no choice of layers reaches.
        ModelError: the model is damaged, unsupported or quantised already.
        ResourceError: the extra ``convert`` is missing, or a file cannot be read.
    """
    one_of("method", method, METHODS)
    between("percentile", percentile, 50, 100)
    one_of("activations", activations, ("uint8", "int8"))
    between("batch", batch, 1, 1 << 20)
    between("compared", compared, 1, 1 << 20)
    require_onnx()
    from .calibrated import StaticModel, StaticSettings, as_settings
    from .observe import Advance, loaded
    from .source import read

    source = read(model)
    native = loaded(source)
    advance = Advance(progress)
    settings = StaticSettings(method, float(percentile), activations, per_channel)
    kept = Kept(opened(calibration, native, batch), compared)
    tests = tested(test, labels, native, batch)
    made = StaticModel.calibrated(source, settings, leave_out, kept, advance)
    work = _Work(source, kept, tests, advance, goal_db, max_drop)
    return work.done(made, as_settings(settings))


def dynamic(
    model: ModelSource,
    inputs: Source | None = None,
    *,
    operators: Iterable[str] | None = None,
    per_channel: bool = True,
    leave_out: Iterable[str] = (),
    goal_db: float | None = None,
    max_drop: float | None = None,
    test: Source | None = None,
    labels: Any = None,
    batch: int = 8,
    compared: int = 4,
    progress: Progress | None = None,
) -> Quantised:
    """Quantise weights to int8, and activations in each run, with the scale of what it meets.

    Needs no calibration. For products of matrices, as transformers have them; tables of embeddings get a
    scale per row. Written with DynamicQuantizeLinear and MatMulInteger.

    Args:
        model: an ONNX model in float32, as path, bytes or ``onnx.ModelProto``.
        inputs: inputs to compare both models on, of the kinds that ``static`` takes; nothing is measured
            without.
        operators: what to quantise, of "MatMul", "Gemm", "Gather" and "Conv"; all but "Conv" by default.
        per_channel: a scale per output channel of weights, not one for all.
        leave_out: nodes, or operator types, that stay in float32.
        goal_db: as for ``static``.
        max_drop: as for ``static``.
        test: as for ``static``.
        labels: as for ``static``.
        batch: as for ``static``.
        compared: batches of ``inputs`` that are compared.
        progress: as for ``static``.

    Raises:
        ArgumentError: an option or input is wrong.
        ModelError: the model is damaged, unsupported or quantised already.
        ResourceError: the extra ``convert`` is missing, or a file cannot be read.
    """
    require_onnx()
    from .int_products import OPERATORS, USUAL, DynamicModel

    chosen = _operators(operators, OPERATORS, USUAL)
    work = _Work.of(model, inputs, test, labels, batch, compared, progress, goal_db, max_drop)
    made = DynamicModel.made(work.source, chosen, per_channel, leave_out)
    return work.done(made, {"mode": "dynamic", "operators": list(chosen), "per_channel": per_channel})


def weights(
    model: ModelSource,
    inputs: Source | None = None,
    *,
    bits: int = 4,
    block: int = 32,
    symmetric: bool = False,
    method: str = "rtn",
    layout: str = "packed",
    accuracy_level: int = 0,
    operators: Iterable[str] | None = None,
    leave_out: Iterable[str] = (),
    goal_db: float | None = None,
    max_drop: float | None = None,
    test: Source | None = None,
    labels: Any = None,
    batch: int = 8,
    compared: int = 4,
    progress: Progress | None = None,
) -> Quantised:
    """Quantise weights alone, in blocks of few bits; activations and arithmetic stay in float32.

    For models that are bound by the bytes of their weights, as decoders of language are.

    Args:
        model: an ONNX model in float32, as path, bytes or ``onnx.ModelProto``.
        inputs: inputs to compare both models on, and what "gptq" calibrates with; of the kinds that
            ``static`` takes.
        bits: 2, 4 or 8 per weight.
        block: weights along the sum that share a scale: a power of two from 16 to 256.
        symmetric: zero in the middle of the codes, instead of a zero point per block.
        method: "rtn" rounds each weight to the nearest code; "gptq" lets later weights make up for the
            errors of earlier ones, and needs ``inputs``.
        layout: "packed" writes MatMulNBits and GatherBlockQuantized of com.microsoft, "dequantize" ONNX's
            own DequantizeLinear in blocks (opset 21; 4 or 8 bits, no tables).
        accuracy_level: what MatMulNBits may compute with: 0 for float32, 4 for int8 activations.
        operators: what to quantise, of "MatMul", "Gemm" and "Gather" (tables of embeddings); all by default.
        leave_out: nodes, or operator types, that stay in float32.
        goal_db: as for ``static``.
        max_drop: as for ``static``.
        test: as for ``static``.
        labels: as for ``static``.
        batch: as for ``static``.
        compared: batches of ``inputs`` that are compared.
        progress: as for ``static``.

    Raises:
        ArgumentError: an option or input is wrong.
        ModelError: the model is damaged, unsupported or quantised already, or its opset cannot be raised.
        ResourceError: the extra ``convert`` is missing, or a file cannot be read.
    """
    require_onnx()
    from .blocks import BITS, Grid
    from .weight_only import LAYOUTS, METHODS_OF_ROUNDING, OPERATORS, WeightModel, WeightSettings

    one_of("layout", layout, LAYOUTS)
    one_of("bits", bits, BITS if layout == "packed" else (4, 8))
    one_of("block", block, (16, 32, 64, 128, 256))
    one_of("method", method, METHODS_OF_ROUNDING)
    one_of("accuracy_level", accuracy_level, range(5))
    if method == "gptq" and inputs is None:
        raise ArgumentError.of(
            "method='gptq' without inputs",
            "inputs like those the model will meet",
            "quantize",
            "pass inputs=",
        )
    chosen = _operators(operators, OPERATORS, OPERATORS)
    settings = WeightSettings(Grid(bits, block, symmetric), method, layout, accuracy_level, chosen)
    work = _Work.of(model, inputs, test, labels, batch, compared, progress, goal_db, max_drop)
    made = WeightModel.made(work.source, settings, leave_out, work.inputs, work.advance)
    return work.done(made, settings.as_dict())


def storage(
    model: ModelSource,
    inputs: Source | None = None,
    *,
    dtype: str = "bfloat16",
    leave_out: Iterable[str] = (),
    goal_db: float | None = None,
    max_drop: float | None = None,
    test: Source | None = None,
    labels: Any = None,
    batch: int = 8,
    compared: int = 4,
    progress: Progress | None = None,
) -> Quantised:
    """Store weights in 16 bits: half the file; the arithmetic is float32's.

    Args:
        model: an ONNX model in float32, as path, bytes or ``onnx.ModelProto``.
        inputs: inputs to compare both models on, of the kinds that ``static`` takes.
        dtype: "bfloat16", 8 bits of precision and float32's range, or "float16", 11 bits up to 65,504;
            layers with larger weights stay as they are.
        leave_out: nodes, or operator types, whose weights stay in float32.
        goal_db: as for ``static``.
        max_drop: as for ``static``.
        test: as for ``static``.
        labels: as for ``static``.
        batch: as for ``static``.
        compared: batches of ``inputs`` that are compared.
        progress: as for ``static``.

    Raises:
        ArgumentError: an option or input is wrong.
        ModelError: the model is damaged, unsupported or quantised already.
        ResourceError: the extra ``convert`` is missing, or a file cannot be read.
    """
    require_onnx()
    one_of("dtype", dtype, ("bfloat16", "float16"))
    work = _Work.of(model, inputs, test, labels, batch, compared, progress, goal_db, max_drop)
    from .short_floats import StoredModel

    made = StoredModel.made(work.source, dtype, leave_out)
    return work.done(made, {"mode": "storage", "dtype": dtype})


def _operators(
    given: Iterable[str] | None, known: tuple[str, ...], usual: tuple[str, ...]
) -> tuple[str, ...]:
    chosen = usual if given is None else tuple(given)
    for name in chosen:
        one_of("operators", name, known)
    return chosen


@dataclass
class _Work:
    """What all kinds of quantisation have: a model, inputs, and how far they are."""

    source: ModelProto
    inputs: Kept | None
    tests: Inputs | None
    advance: Advance
    goal_db: float | None
    max_drop: float | None

    @classmethod
    def of(
        cls,
        model: ModelSource,
        inputs: Source | None,
        test: Source | None,
        labels: Any,
        batch: int,
        compared: int,
        progress: Progress | None,
        goal_db: float | None,
        max_drop: float | None,
    ) -> _Work:
        """Read the model and open the inputs."""
        between("batch", batch, 1, 1 << 20)
        between("compared", compared, 1, 1 << 20)
        from .observe import Advance, loaded
        from .source import read

        source = read(model)
        native = loaded(source)
        kept = None if inputs is None else Kept(opened(inputs, native, batch, "inputs"), compared)
        tests = tested(test, labels, native, batch)
        return cls(source, kept, tests, Advance(progress), goal_db, max_drop)

    def done(self, made: Quantisable, settings: dict[str, Any]) -> Quantised:
        """Quantise as far as the goal allows, compare, and report."""
        from .sensitivity import Goal, reach

        kept = None if self.inputs is None else self.inputs.first()
        goal = Goal(self.goal_db, self.max_drop, kept, self.tests)
        quantised, layers = reach(made, goal, self.advance)
        report = Report(settings, layers)
        size = self.source.ByteSize()
        return finished(made.float_, quantised, report, kept, self.tests, self.advance, size)


def tested(test: Source | None, labels: Any, native: Any, batch: int) -> Inputs | None:
    """The labelled inputs; None without any."""
    if test is None:
        if labels is not None:
            raise ArgumentError.of("labels without test", "the inputs they are of", "test", "pass test= too")
        return None
    found = opened(test, native, batch, "test")
    if labels is not None:
        found.labels = labels
    if found.labels is None:
        raise ArgumentError.of(
            "test without labels", "a label per sample", "test", "pass labels=, or 'labels' in the .npz file"
        )
    return found


def finished(
    float_: ModelProto,
    quantised: ModelProto,
    report: Report,
    inputs: Inputs | None,
    tests: Inputs | None,
    advance: Advance,
    float_bytes: int,
) -> Quantised:
    """Compare both models where there is something to compare them on, and complete the report."""
    from .compare import accuracy, side_by_side

    report = replace(report, float_bytes=float_bytes, bytes=quantised.ByteSize())
    if inputs is not None:
        outputs = [value.name for value in float_.graph.output]
        names = [layer.value for layer in report.layers]
        found = side_by_side(float_, quantised, [*names, *outputs], inputs, advance)
        layers = [_measured(layer, found) for layer in report.layers]
        shown = [found[name] for name in outputs if name in found]
        report = replace(report, layers=layers, outputs=shown, compared=inputs.count or 0)
    if tests is not None:
        before, count = accuracy(float_, tests, advance)
        after, _ = accuracy(quantised, tests, advance)
        report = replace(report, float_accuracy=before, accuracy=after, labelled=count)
    return Quantised(quantised, report)


def _measured(layer: LayerReport, found: dict[str, Any]) -> LayerReport:
    return replace(layer, snr_db=found[layer.value].snr_db) if layer.value in found else layer
