"""The native core; use the public classes of walle_rt instead."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from . import device as device
from . import mqtt as mqtt
from . import names as names
from . import package as package
from . import policy as policy
from . import results as results
from . import stream as stream
from . import task as task
from . import tunnel as tunnel
from . import vm as vm

_Value = tuple[str, str, str, tuple[int | str | None, ...] | None]
_Pairs = Sequence[tuple[str, str]]

class _Step(TypedDict):
    plan: int
    graph: str
    node: str
    op: str
    backend: str
    algorithm: str
    parameters: dict[str, int]
    arithmetic: str
    weights: str
    output: str
    memory: str
    storage: str
    offset: int
    workspace_bytes: int
    flops: float
    bytes: float
    predicted_ms: float
    measured_runs: int
    measured_ms: float
    losers: list[tuple[str, float]]
    choices: list[_Choice]

class _Choice(TypedDict):
    backend: str
    algorithm: str
    kernel: str
    isa: str
    features: dict[str, float]
    threads: int
    predicted_ms: float
    measured_ms: float
    taken: bool

class _Plans(TypedDict):
    rows: list[_Step]
    plans: int
    arena_bytes: int
    arenas: dict[str, int]
    activation_bytes: int
    aliases: int
    predicted_ms: float
    search_ms: float
    costs: str
    plan_sources: dict[str, int]
    weight_sources: dict[str, int]
    profiled_runs: int
    wall_ms: float
    program: str

class _CoreKind(TypedDict):
    name: str
    count: int
    speed: int

class _Machine(TypedDict):
    processors: int
    cores: list[_CoreKind]
    capabilities: list[str]
    backends: dict[str, str]

class _Profile(TypedDict):
    device: str
    isa: str
    flop: float
    step: float
    l1_byte: float
    l2_byte: float
    l3_byte: float
    memory_byte: float
    bf16_flop: float  # 0 without such products

class _Operator(TypedDict):
    name: str
    op_class: str
    family: str
    inputs: tuple[int, int]
    outputs: tuple[int, int]
    numeric: str
    deterministic: bool

class ModelData:
    """A finished graph with signatures and metadata, ready to become a model."""

    def serialize(self) -> bytes: ...
    def text(self) -> str: ...

class MappedFile:
    """A file as read-only memory; constants made of it are not copied."""

    def __init__(self, path: str) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class GraphBuilder:
    """A graph under construction; values are numbers, -1 is an omitted one."""

    def __init__(self, name: str) -> None: ...
    def input(self, name: str, kind: str, dtype: str, shape: Sequence[int | str | None] | None) -> int: ...
    def constant(self, name: str, array: Any, dtype: str) -> int: ...
    def share_constant(self, source: GraphBuilder, value: int) -> int: ...
    def node(
        self,
        op: str,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[str],
        attributes: Sequence[tuple[str, str, Any]],
    ) -> list[int]: ...
    def describe(
        self, value: int, kind: str, dtype: str, shape: Sequence[int | str | None] | None
    ) -> None: ...
    def rename(self, value: int, name: str) -> None: ...
    def name_of(self, value: int) -> str: ...
    def is_constant(self, value: int) -> bool: ...
    def constant_array(self, value: int) -> np.ndarray[Any, Any] | None: ...
    def outputs(self, values: Sequence[int]) -> None: ...
    def overridable(self, values: Sequence[int]) -> None: ...
    @property
    def node_count(self) -> int: ...
    def text(self) -> str: ...
    def finish(
        self, signatures: Sequence[tuple[str, _Pairs, _Pairs]], metadata: Mapping[str, str]
    ) -> ModelData: ...

class CancelToken:
    """Ends runs from any thread."""

    def __init__(self) -> None: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

class Session:
    """A model made ready to run."""

    def run(self, inputs: dict[str, Any], outputs: Iterable[str] | None = None) -> dict[str, Any]: ...
    def run_with(
        self,
        inputs: dict[str, Any],
        outputs: Iterable[str] | None,
        timeout: float | None,
        cancel: CancelToken | None,
        out: Any,
    ) -> dict[str, Any]: ...
    def prepare(self, shapes: dict[str, Any]) -> None: ...
    def state(self, name: str) -> np.ndarray[Any, Any]: ...
    def set_state(self, name: str, value: Any) -> None: ...
    def reset_states(self) -> None: ...
    def trim(self) -> int: ...
    def explain(self) -> _Plans: ...
    def memory(self) -> dict[str, int]: ...
    def start_profile(self) -> None: ...
    def stop_profile(self) -> list[tuple[str, str, str, str, float, float]]: ...

class Model:
    """A verified graph; immutable, shared by sessions."""

    @staticmethod
    def create(data: ModelData, fold: bool = True) -> Model: ...
    @property
    def inputs(self) -> list[_Value]: ...
    @property
    def outputs(self) -> list[_Value]: ...
    @property
    def overridable(self) -> list[_Value]: ...
    @property
    def states(self) -> list[_Value]: ...
    def with_states(self, states: Sequence[tuple[str, str, Any]]) -> Model: ...
    @property
    def signatures(self) -> list[tuple[str, list[tuple[str, str]], list[tuple[str, str]]]]: ...
    @property
    def metadata(self) -> dict[str, str]: ...
    @property
    def ops(self) -> list[str]: ...
    @property
    def node_count(self) -> int: ...
    def save(self, path: str) -> None: ...
    def serialize(self) -> bytes: ...
    def expose_all(self) -> ModelData: ...
    def text(self) -> str: ...
    def session(
        self,
        *,
        debug: str = "",
        backend: str = "cpu",
        threads: int = 1,
        precision: str = "float32",
        accuracy: str = "normal",
        tune: int = 0,
        max_plans: int = 64,
        max_plan_bytes: int = 0,
        plan_cache: str = "",
        weights_cache: str = "",
    ) -> Session: ...

def available_processors() -> int: ...
def dtypes() -> dict[str, tuple[int, str]]: ...
def limits() -> dict[str, int]: ...
def trim_sessions() -> int: ...
def machine() -> _Machine: ...
def machine_profile() -> _Profile: ...
def set_log_sink(sink: Callable[[int, str], None] | None) -> None: ...
def set_log_level(least: int) -> None: ...
def log(level: int, text: str) -> None: ...
def op_set() -> str: ...
def op_table() -> list[_Operator]: ...
def load_walle(path: str, verify: bool = False) -> ModelData: ...
def parse_walle(data: bytes) -> ModelData: ...
def file_looks_like_walle(path: str) -> bool: ...
def start_trace(events_per_thread: int) -> None: ...
def stop_trace() -> tuple[bytes, int, int, int]: ...
def trace_span(name: str, start_ns: int) -> None: ...
def trace_clock() -> int: ...
