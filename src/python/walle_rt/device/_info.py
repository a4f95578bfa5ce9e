"""What a device says about itself, its tasks, and what their firings have come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..stream._firing import NumberedFiring


@dataclass(frozen=True)
class TaskFailure:
    """Why a firing failed.

    Attributes:
        text: all of the below but the traceback, in one line.
        phase: start, main, preprocess, execute, postprocess or results (what was returned is made rows).
        limit: "" or the limit that was exceeded: wall, cpu, heap, stack, import, host_call, abandoned.
        allowed: what that limit was, "1000 ms" say.
        type: the exception's class, "ValueError" say.
        message: its message.
        file: of the innermost line of the task's own code; "" where none was reached.
        function: of that line.
        line: its number; 0: not known.
        source: its text; "" where the bundle came without its sources.
        traceback: as Python prints it.
    """

    text: str
    phase: str
    limit: str
    allowed: str
    type: str
    message: str
    file: str
    function: str
    line: int
    source: str
    traceback: str


@dataclass(frozen=True)
class TaskResult(NumberedFiring):
    """What one firing of a task has come to.

    Attributes:
        task: its name.
        number: of the firing: 1, 2, 3 ... of the task, the same after a crash; those that were dropped or
            folded count.
        key: a hash that no other firing of the device has.
        trigger: the name of the trigger that fired.
        seq: number of the event that completed it; of timers and trailing absences the last one before.
        ts: event time in microseconds since 1970.
        start_ts: of the match's first event.
        start_seq: number of that event; 0 where it is no longer recorded, and of timers.
        last_seq: likewise of the match's last event.
        session: of the match, as for events.
        page_instance: likewise.
        coalesced: further firings that were folded into this one.
        version: of the bundle that ran.
        value: what the task returned; None after a failure.
        error: why it failed, or None.
        rows: stored result rows.
        sends: features that wait to leave the device.
        commit: number of the step that made all of it durable.
        preprocess_us: time of the phase in microseconds, 0 where it was not entered; a task with one main
            has execute_us alone.
        execute_us: likewise.
        postprocess_us: likewise.
        waited_us: from when the task had something to do to the begin of its first phase.
        params: what walle.params gave it.
        attempt: 1, or of what is tried again 2, 3 ...
        retry_at: of a failure, when it is tried again, in microseconds since 1970; 0: it is not.
    """

    version: str
    value: Any
    error: TaskFailure | None
    rows: int
    sends: int
    commit: int
    preprocess_us: int
    execute_us: int
    postprocess_us: int
    waited_us: int
    params: dict[str, bool | int | float | str]
    attempt: int
    retry_at: int

    @property
    def ok(self) -> bool:
        """Whether the firing did not fail."""
        return self.error is None


def result_of(fields: dict[str, Any]) -> TaskResult:
    """The result that a native callback was given."""
    error = fields.pop("error")
    return TaskResult(**fields, error=None if error is None else TaskFailure(**error))


@dataclass(frozen=True)
class TriggerInfo:
    """One trigger of a task, since it was installed with this text.

    Attributes:
        name: of the trigger.
        text: of it.
        fired: how often it did.
        suppressed: how often once, cooldown or rate kept it from it.
        evicted: keys of its scope that gave way to newer ones while it had something under way in them;
            ``scope by(item) keep 20000`` keeps more.
    """

    name: str
    text: str
    fired: int
    suppressed: int
    evicted: int


@dataclass(frozen=True)
class FeatureInfo:
    """One feature that a task keeps per key, since somebody asked for it first.

    Attributes:
        name: of ``[features]``.
        keys: that are in memory.
        evicted: keys that gave way to newer ones while their newest event counted; ``keys`` of the feature
            allows more.
        reads: lookups that had to read the log, because a key had given way, or the firing ran late.
        bytes: of memory.
    """

    name: str
    keys: int
    evicted: int
    reads: int
    bytes: int


@dataclass(frozen=True)
class TaskInfo:
    """What is known of an installed task. Counts of firings are those since the device was opened.

    Attributes:
        name: of the task.
        version: of the bundle that runs.
        package: SHA-256 of the package that it came in, in hexadecimal; "" where it came as a bundle.
        question: the feature that asks the task's cloud phase; "" where it has none.
        answers: the table that its answers come into; likewise.
        status: idle, queued (waits for a worker), running, waiting (for ``missing_facts``), "set aside"
            (failed too often in a row; runs again when it is replaced) or broken (its bundle does not open).
        error: the newest failure; of a task that was set aside or is broken, why; "" without one.
        priority: 0 to 9, which runs first.
        hot: whether it has an interpreter.
        heap_bytes: of that, at the end of its last call.
        params: what walle.params gives its next firing, by name.
        features: kept per key.
        missing_facts: what its ``requires`` names and does not hold.
        firings: done.
        failures: of them failed.
        retries: attempts that failed and were put off; counted neither as firings nor as failures.
        retrying: firings that wait to be tried again.
        next_retry: when the next of them is due, in microseconds since 1970; 0: none waits.
        calls: of the application, done.
        call_failures: of them failed.
        failures_in_row: since the last one that did not.
        deaths: processes in a row that ended while this version ran. Each is a failure for its ``breaker``.
        lost_workers: calls that could not be stopped.
        isolates: interpreters that were made for it.
        replaced: versions.
        parked: firings whose execute phase waits for facts.
        busy_us: time of workers, in microseconds.
        newest: number of the newest firing.
        settled: all up to here are done.
        waiting: in the queue.
        in_flight: handed to workers.
        dropped: firings for which the queue had no room, since the task was first installed.
        coalesced: likewise folded into others.
        triggers: of its manifest.
    """

    name: str
    version: str
    package: str
    question: str
    answers: str
    status: str
    error: str
    priority: int
    hot: bool
    heap_bytes: int
    params: dict[str, bool | int | float | str]
    features: tuple[FeatureInfo, ...]
    missing_facts: tuple[str, ...]
    firings: int
    failures: int
    retries: int
    retrying: int
    next_retry: int
    calls: int
    call_failures: int
    failures_in_row: int
    deaths: int
    lost_workers: int
    isolates: int
    replaced: int
    parked: int
    busy_us: int
    newest: int
    settled: int
    waiting: int
    in_flight: int
    dropped: int
    coalesced: int
    triggers: tuple[TriggerInfo, ...]


def info_of(fields: dict[str, Any]) -> TaskInfo:
    """The task that the native device describes."""
    triggers = tuple(TriggerInfo(*each) for each in fields.pop("triggers"))
    features = tuple(FeatureInfo(*each) for each in fields.pop("features"))
    return TaskInfo(**fields, features=features, triggers=triggers)


@dataclass(frozen=True)
class DeviceStats:
    """Counters since the device was opened.

    ``last_event`` is the number of the newest event; ``trouble`` the newest failure of maintenance (a full
    disk, say), "" without one.
    """

    tasks: int
    hot: int
    workers: int
    firings: int
    failures: int
    lost_workers: int
    last_event: int
    trouble: str


@dataclass(frozen=True)
class Loss:
    """Something of a device that is gone, told at every open until somebody acknowledges it.

    Attributes:
        what: "events" of the log; "rows" of a table; "sends" of the outbox; "commits": firings whose results
            are gone and which run again; "settled": which firings are done is not known; "tasks": the list of
            what is installed; "triggers": what was under way and waited; "budgets" of what may leave;
            "accounts" of privacy; "kv": a task's state.
        kind: "journal", "damaged_segment", "missing_segment", "quota", "age" or "manifest" (a whole file).
        name: the table, the stream, the task, or of events the reader that had not come so far; "" where it
            is the device's.
        first: number of the first that is gone; 0 where there are no numbers.
        last: number of the last one.
        count: how many there were.
        exact: whether ``count`` is known; otherwise it is the most that can be lost, and 0 is not known.
        noticed: when, in microseconds since 1970; 0: at this open.
        cause: what was found.
    """

    what: str
    kind: str
    name: str
    first: int
    last: int
    count: int
    exact: bool
    noticed: int
    cause: str


@dataclass(frozen=True)
class OutboxStream:
    """One stream of what waits to leave: its counts, since it began.

    ``dropped`` records were pushed out or not taken for want of room; ``lost`` is how many, at most, a
    damaged file has taken.
    """

    name: str
    newest: int
    acknowledged: int
    waiting: int
    waiting_bytes: int
    dropped: int
    dropped_bytes: int
    lost: int


@dataclass(frozen=True)
class OutboxRecord:
    """One feature that waits to leave: its number in the stream, when it was sent (microseconds since 1970),
    its priority, whose it is, and its bytes.
    """

    seq: int
    ts: int
    priority: int
    task: str
    feature: str
    data: bytes
