"""A task as task.toml says it, and as the manifest that travels with it."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from dataclasses import fields as members
from typing import Any

from .. import _core
from ..stream import Catalog, EventKind, FeatureField, FeaturePolicy, Sensitivity
from ..stream._zones import offset_changes
from ..table import ColumnType


@dataclass(frozen=True)
class PhaseLimits:
    """Of one call: wall-clock and processor time in milliseconds; a ``cpu_ms`` of 0 is no limit."""

    wall_ms: int = 1000
    cpu_ms: int = 0


@dataclass(frozen=True)
class ResultTable:
    """A table of results: {column: type}, any type but a vector.

    ``max_bytes`` and ``max_age_us`` say what of it is kept; an age of 0 is none.
    """

    columns: dict[str, ColumnType]
    max_bytes: int = 1 << 20
    max_age_us: int = 0


@dataclass(frozen=True)
class EventDecl:
    """An event that a task needs: its kind, and {field: (type, sensitivity)}."""

    kind: EventKind
    fields: dict[str, tuple[ColumnType, Sensitivity]]


@dataclass(frozen=True)
class CloudPhaseSpec:
    """What the server runs of a task.

    Attributes:
        question: the feature whose batches it answers.
        module: where its function is.
        function: called with a question.
        answers: table of the answers' rows; "": none.
        limits: of one question.
        heap_bytes: memory of its isolate.
    """

    question: str
    module: str = "cloud"
    function: str = "answer"
    answers: str = ""
    limits: PhaseLimits = field(default_factory=lambda: PhaseLimits(10_000))
    heap_bytes: int = 256 << 20


ParamValue = bool | int | float | str


@dataclass(frozen=True)
class ParamSpec:
    """A value that the code reads in ``walle.params``.

    Attributes:
        type: "bool", "int", "float" or "text".
        default: what it is unless somebody sets it.
        min: of a number; None: any.
        max: likewise.
        one_of: what else it may not be; empty: any.
    """

    type: str
    default: ParamValue
    min: ParamValue | None = None
    max: ParamValue | None = None
    one_of: tuple[ParamValue, ...] = ()


@dataclass(frozen=True)
class RollingSpec:
    """A feature that is kept per key, for ``walle.features.get``.

    Attributes:
        event: which events count, as one step of the trigger language.
        by: fields that make up a key.
        aggregate: "count", "sum", "mean", "min" or "max".
        value: field of numbers; "": of a count.
        over_us: how old the events may be; 0: by number.
        over_events: how many of the newest count; 0: by time.
        keys: that are held in memory at most.
    """

    event: str
    by: tuple[str, ...]
    aggregate: str
    value: str = ""
    over_us: int = 0
    over_events: int = 0
    keys: int = 4096


@dataclass(frozen=True)
class RetrySpec:
    """When a firing that the task's code failed is tried again.

    Attributes:
        attempts: of one firing, in all; 1: it is not.
        first_delay_us: behind the first attempt.
        max_delay_us: the longest.
        factor: of each delay to the one before.
        waiting: firings that wait for it, at most.
    """

    attempts: int = 1
    first_delay_us: int = 10_000_000
    max_delay_us: int = 3_600_000_000
    factor: int = 2
    waiting: int = 64


@dataclass(frozen=True)
class CallSpec:
    """A function that apps may call: types of its arguments and of its answer, words of ``[call]``.

    Attributes:
        arguments: by position.
        returns: of the answer.
        limits: of one call.
        keep: rows that it appends and features that it sends stay.
    """

    arguments: tuple[str, ...] = ()
    returns: str = "any"
    limits: PhaseLimits = field(default_factory=PhaseLimits)
    keep: bool = False


@dataclass(frozen=True)
class AppSpec:
    """A function of the application that the code may call: types and limits, words of ``[app]``.

    Attributes:
        arguments: by position.
        returns: of the answer.
        wall_ms: how long the task waits for it.
        per_firing: how often one firing may call it.
    """

    arguments: tuple[str, ...] = ()
    returns: str = "any"
    wall_ms: int = 1000
    per_firing: int = 100


@dataclass(frozen=True)
class TaskSpec:
    """What a task's task.toml says; docs/reference/task-toml.md is the reference.

    Attributes:
        name: of the task.
        version: semantic version.
        vm: the Python it was written for, as "3.13"; "": any.
        priority: 0 to 9; 9 goes first.
        triggers: {name: canonical text}.
        zone: IANA time zone of ``daily`` and ``during``; "": the device's.
        queue: firings that may wait.
        when_full: "coalesce", "drop_oldest" or "drop_new".
        past: "ignored", "warmed" or "delivered".
        module: where the functions are.
        main: the one function, or "" where the task has phases.
        preprocess: function of a task with phases, or "".
        execute_function: function of a task with phases, or "".
        execute_model: resource that the engine runs, or "".
        postprocess: function of a task with phases, or "".
        postprocess_event: it is called with the firing's event behind the outputs; what its ``def`` says.
        limits: of the three phases; main has those of execute.
        heap_bytes: memory of the isolate.
        log_bytes: what one call may log.
        state_bytes: what walle.kv may keep.
        state_keys: how many keys of it.
        imports: modules of the VM's library that the code may import.
        host_calls: host calls it may use.
        results: result tables by name.
        egress: policies by feature.
        graphs: {feature: resource of the operator graph whose rows it is}.
        requires: facts that execute waits for.
        breaker: failures in a row until the task is set aside.
        app: functions of the application that the code may call.
        params: what the code reads in walle.params, by name.
        rolling: features kept per key, by name.
        retry: when a firing that failed is tried again.
        events: declarations by name.
        pages: that the triggers name.
        states: that the triggers name.
        record_events: of ``events``, that the code may record.
        record_per_firing: how many of one firing.
        record_per_day: how many of a UTC day.
        timer_names: one-off timers that the code may set.
        timers_most: how many may wait.
        cloud: what the server runs of it; None: nothing.
        calls: what apps may ask, by function.
    """

    name: str
    version: str
    vm: str = ""
    priority: int = 5
    triggers: dict[str, str] = field(default_factory=dict)
    zone: str = ""
    queue: int = 256
    when_full: str = "coalesce"
    past: str = "ignored"
    module: str = "main"
    main: str = ""
    preprocess: str = ""
    execute_function: str = ""
    execute_model: str = ""
    postprocess: str = ""
    postprocess_event: bool = False
    limits: dict[str, PhaseLimits] = field(default_factory=dict)
    heap_bytes: int = 32 << 20
    log_bytes: int = 64 << 10
    state_bytes: int = 64 << 10
    state_keys: int = 65536
    imports: list[str] = field(default_factory=list)
    host_calls: list[str] = field(default_factory=list)
    results: dict[str, ResultTable] = field(default_factory=dict)
    egress: dict[str, FeaturePolicy] = field(default_factory=dict)
    graphs: dict[str, str] = field(default_factory=dict)
    requires: list[str] = field(default_factory=list)
    breaker: int = 5
    events: dict[str, EventDecl] = field(default_factory=dict)
    pages: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    record_events: list[str] = field(default_factory=list)
    record_per_firing: int = 16
    record_per_day: int = 1000
    timer_names: list[str] = field(default_factory=list)
    timers_most: int = 64
    cloud: CloudPhaseSpec | None = None
    calls: dict[str, CallSpec] = field(default_factory=dict)
    retry: RetrySpec = field(default_factory=RetrySpec)
    params: dict[str, ParamSpec] = field(default_factory=dict)
    app: dict[str, AppSpec] = field(default_factory=dict)
    rolling: dict[str, RollingSpec] = field(default_factory=dict)

    def catalog(self) -> Catalog:
        """The declared events, pages and states, beside what every catalogue has.

        Raises:
            ArgumentError: a declaration that contradicts the built-in events.
        """
        catalog = Catalog()
        for name, decl in self.events.items():
            catalog.declare(name, decl.kind, decl.fields)
        return catalog.page(*self.pages).state(*self.states)

    def to_manifest(self) -> bytes:
        """The manifest that travels with the task (schemas/task.fbs).

        Raises:
            TaskError: what reading a task.toml would have refused.
        """
        return _core.task.pack_manifest(_manifest(self))

    @classmethod
    def from_manifest(cls, data: bytes) -> TaskSpec:
        """Read what to_manifest wrote; TaskError when it is damaged or says what no task may."""
        return _spec(_core.task.read_manifest(bytes(data)))


WHEN_FULL = ("coalesce", "drop_oldest", "drop_new")
PAST = ("ignored", "warmed", "delivered")
PHASES = ("preprocess", "execute", "postprocess")
# Of TaskSpec's members, those that a manifest says in another form.
_CONVERTED = {
    "triggers", "when_full", "past", "events", "cloud", "calls", "retry", "params", "app", "rolling",
    "zone",
}  # fmt: skip


def _plain() -> list[str]:
    """Same names, same values in both."""
    own = {member.name for member in members(TaskSpec)} - _CONVERTED
    return [name for name in _core.task.MANIFEST_FIELDS if name in own]


def _manifest(spec: TaskSpec) -> dict[str, Any]:
    out: dict[str, Any] = {name: getattr(spec, name) for name in _plain()}
    out["triggers"] = list(spec.triggers.items())
    out["when_full"], out["past"] = WHEN_FULL.index(spec.when_full), PAST.index(spec.past)
    out["zone"] = (spec.zone, offset_changes(spec.zone) if spec.zone else [])
    for phase in PHASES:
        limits = spec.limits.get(phase, PhaseLimits())
        out[f"{phase}_limits"] = (limits.wall_ms, limits.cpu_ms)
    out["tables"] = [
        (
            name,
            [(c, str(kind)) for c, kind in table.columns.items()],
            table.max_bytes,
            table.max_age_us,
        )
        for name, table in spec.results.items()
    ]
    out["features"] = [
        (
            name,
            [(f.name, str(f.type), f.max_size, int(f.highest)) for f in p.fields],
            p.bytes_per_day,
            p.sends_per_day,
            p.minimum_events,
            p.consent,
            p.expires_ts,
            spec.graphs.get(name, ""),
        )
        for name, p in spec.egress.items()
    ]
    out["events"] = [
        (name, int(e.kind), [(f, str(kind), int(label)) for f, (kind, label) in e.fields.items()])
        for name, e in spec.events.items()
    ]
    c = spec.cloud
    out["cloud"] = (
        (c.question, c.module, c.function, c.answers, (c.limits.wall_ms, c.limits.cpu_ms), c.heap_bytes)
        if c
        else ("", "", "", "", (0, 0), 0)
    )
    out["retry"] = astuple(spec.retry)
    types = _core.task.CALL_TYPES
    out["params"] = [
        (name, types.index(p.type), p.default, p.min, p.max, list(p.one_of))
        for name, p in spec.params.items()
    ]
    kinds = _core.task.ROLLING_KINDS
    out["rolling"] = [
        (
            name,
            r.event,
            list(r.by),
            kinds.index(r.aggregate),
            r.value,
            r.over_us,
            r.over_events,
            r.keys,
        )
        for name, r in spec.rolling.items()
    ]
    out["calls"] = [
        _function(name, call.arguments, call.returns, astuple(call.limits), call.keep, 0)
        for name, call in spec.calls.items()
    ]
    out["app"] = [
        _function(name, app.arguments, app.returns, (app.wall_ms, 0), False, app.per_firing)
        for name, app in spec.app.items()
    ]
    return out


def _function(name: str, arguments: tuple[str, ...], returns: str, *more: Any) -> tuple[Any, ...]:
    types = _core.task.CALL_TYPES
    return (name, [types.index(kind) for kind in arguments], types.index(returns), *more)


def _spec(given: dict[str, Any]) -> TaskSpec:
    features = {}
    for name, fields, size, sends, events, consent, expires, _ in given["features"]:
        columns = [
            FeatureField(column, ColumnType(kind), max_size=most, highest=Sensitivity(label))
            for column, kind, most, label in fields
        ]
        features[name] = FeaturePolicy(
            feature=name,
            fields=columns,
            bytes_per_day=size,
            sends_per_day=sends,
            minimum_events=events,
            consent=consent,
            expires_ts=expires,
        )
    question, module, function, answers, limits, heap = given["cloud"]
    types = _core.task.CALL_TYPES
    return TaskSpec(
        cloud=CloudPhaseSpec(question, module, function, answers, PhaseLimits(*limits), heap)
        if question
        else None,
        **{name: given[name] for name in _plain()},
        triggers=dict(given["triggers"]),
        when_full=WHEN_FULL[given["when_full"]],
        past=PAST[given["past"]],
        zone=given["zone"][0],
        limits={phase: PhaseLimits(*given[f"{phase}_limits"]) for phase in PHASES},
        results={
            name: ResultTable({c: ColumnType(kind) for c, kind in columns}, size, age)
            for name, columns, size, age in given["tables"]
        },
        egress=features,
        graphs={f[0]: f[7] for f in given["features"] if f[7]},
        events={
            name: EventDecl(
                EventKind(kind), {f: (ColumnType(of), Sensitivity(label)) for f, of, label in fields}
            )
            for name, kind, fields in given["events"]
        },
        retry=RetrySpec(*given["retry"]),
        params={
            name: ParamSpec(types[of], default, low, high, tuple(choices))
            for name, of, default, low, high, choices in given["params"]
        },
        rolling={
            name: RollingSpec(event, tuple(by), _core.task.ROLLING_KINDS[kind], *rest)
            for name, event, by, kind, *rest in given["rolling"]
        },
        calls={
            name: CallSpec(
                tuple(types[kind] for kind in arguments), types[returns], PhaseLimits(*limits), keep
            )
            for name, arguments, returns, limits, keep, _ in given["calls"]
        },
        app={
            name: AppSpec(tuple(types[kind] for kind in arguments), types[returns], limits[0], per_firing)
            for name, arguments, returns, limits, _, per_firing in given["app"]
        },
    )
