"""What the quantiser returns: the model, where to write it, and what was lost."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArgumentError
from ..paths import path_text
from .report import Report

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..model import Model


@dataclass(frozen=True)
class Quantised:
    """A quantised model: ``onnx`` as other runtimes read it, ``report`` with what each layer lost."""

    onnx: ModelProto
    report: Report

    def load(self) -> Model:
        """The model, ready to make sessions of."""
        from .observe import loaded

        return loaded(self.onnx)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model: a path that ends in .walle or .onnx says as what; an existing file is replaced.

        Raises:
            ArgumentError: another ending.
            ResourceError: the file cannot be written.
        """
        target = Path(path_text(path, "save"))
        if target.suffix == ".walle":
            self.load().save(target)
        elif target.suffix == ".onnx":
            from .source import write

            write(self.onnx, target)
        else:
            raise ArgumentError.of(
                f"the path '{target}'", "one that ends in .walle or .onnx", "save", "choose one of the two"
            )
