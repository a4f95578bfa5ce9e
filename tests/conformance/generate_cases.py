"""Write the node cases that the imported onnx generates: FOLDER/<case>/model.onnx, test_data_set_<n>/*.pb."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

from onnx import TensorProto, TypeProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases


def encoded(value: Any, declared: TypeProto, name: str) -> bytes:
    """One input or output as the bytes of the message that fits its declared type."""
    if declared.HasField("sequence_type"):
        message: Any = numpy_helper.from_list(value, name)
    elif declared.HasField("optional_type"):
        message = numpy_helper.from_optional(value, name)
    elif isinstance(value, TensorProto):
        message = value
    else:
        message = numpy_helper.from_array(value, name)
    return bytes(message.SerializeToString())


def main() -> None:
    """Generate everything; warnings of NumPy about the infinities that cases are made of stay unsaid."""
    warnings.simplefilter("ignore")
    target = Path(sys.argv[1])
    for case in collect_testcases(None):
        folder = target / case.name
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(case.model.SerializeToString())
        for index, (inputs, outputs) in enumerate(case.data_sets):
            data = folder / f"test_data_set_{index}"
            data.mkdir()
            for kind, values, infos in (
                ("input", inputs, case.model.graph.input),
                ("output", outputs, case.model.graph.output),
            ):
                for i, (value, info) in enumerate(zip(values, infos, strict=False)):
                    (data / f"{kind}_{i}.pb").write_bytes(encoded(value, info.type, info.name))


if __name__ == "__main__":
    main()
