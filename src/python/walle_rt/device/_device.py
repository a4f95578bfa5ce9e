"""A device: one folder in which events are recorded and tasks run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import ArgumentError
from ..link import HEADER
from ..stream import Catalog, ColumnType, EventKind, Sensitivity
from ..stream._catalog import Value
from ..stream._zones import offset_changes
from ..task import Task
from ..vm import TaskBundle, library_path
from ._cloud import (
    CloudState,
    Transport,
    epoch_said,
    make_transport,
    os_version,
    root_bytes,
    state_of,
)
from ._info import (
    DeviceStats,
    Loss,
    OutboxRecord,
    OutboxStream,
    TaskInfo,
    TaskResult,
    info_of,
    result_of,
)
from ._results import Results
from ._watch import Watch

if TYPE_CHECKING:
    from ._tunnel import Answer, Tunnel

Log = Callable[[str, int, str], None]
OnResult = Callable[[TaskResult], None]

_NativeDevice = _core.device.Device
_NativeCloud = _core.device.Cloud


def _end(native: _NativeDevice, process: int) -> None:
    # A child of fork() exits, too, and the device is its parent's. In one of its own callbacks it is closed
    # by another thread, when the native half goes.
    if os.getpid() == process:
        with contextlib.suppress(ArgumentError):
            native.close()


def _leave(cloud: _NativeCloud, process: int) -> None:
    if os.getpid() == process:
        cloud.stop()


def _callable(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    if callable(function):
        return function
    raise ArgumentError.of(f"{function!r} as '{name}'", "a function", "Device.provide", "pass one")


class _Listeners:
    """Whom results are told to. Not the device itself: its native half holds this, and must not keep it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._each: dict[object, OnResult] = {}

    def add(self, key: object, listener: OnResult) -> None:
        with self._lock:
            self._each = {**self._each, key: listener}

    def remove(self, key: object) -> None:
        with self._lock:
            self._each = {k: each for k, each in self._each.items() if k is not key}

    def tell(self, fired: dict[str, Any]) -> None:
        """From a worker, for one firing after the other of a task."""
        listeners = list(self._each.values())
        if not listeners:
            return
        result = result_of(fired)
        for listener in listeners:
            listener(result)


class Device:
    """One folder in which events are recorded, and tasks run whose triggers they complete.

    Every method may be called from any thread; a firing's results are durable before anybody is told of them.
    A folder has one device at a time; a child of ``os.fork`` cannot use its parent's.

    Args:
        path: the folder; made when it is missing.
        catalog: what may be recorded; extends the one that is stored there. What tasks declare in their
            manifests is added when they are installed.
        workers: threads that run tasks, 1 to 64.
        ready: warm interpreters that wait for a task, 0.4 MB each.
        hot_tasks: tasks that keep their interpreter between firings.
        cold_after_s: seconds after which an unused interpreter is given back.
        grace_ms: milliseconds beyond a phase's wall-clock limit after which its thread is given up.
        background: a native thread advances time and keeps the folder in order; without it call ``advance``
            often.
        recorded: times of events are those of a recording: the clock has no say in which are late, nothing
            grows too old, and time passes by events and ``advance`` alone.
        zone: an IANA time zone such as "Europe/Berlin", by which ``daily`` and ``during`` go; None: the
            host's.
        key: 32 bytes with which everything that is written is sealed; None: nothing is. A folder keeps the
            choice it began with.
        log: called with (task, level, line) on the thread that runs the task; level 0 debug, 1 info, 2
            warning, 3 error. None: lines go to the logger ``walle_rt``.
        app: functions that tasks may call, by name, as ``provide`` takes them one by one: these are there
            before what waits in the folder begins.
        vm_library: another VM library than the package's device flavour.

    Raises:
        ArgumentError: an option out of bounds, or a catalogue that contradicts the stored one.
        BackendError: the VM library is missing.
        ResourceError: another process has the folder open, or the disk is full or read-only.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        catalog: Catalog | None = None,
        *,
        workers: int = 2,
        ready: int = 2,
        hot_tasks: int = 32,
        cold_after_s: float = 60.0,
        grace_ms: int = 1000,
        background: bool = True,
        recorded: bool = False,
        zone: str | None = None,
        key: bytes | None = None,
        log: Log | None = None,
        app: Mapping[str, Callable[..., Any]] | None = None,
        vm_library: str | PathLike[str] | None = None,
    ) -> None:
        """Open or make the folder, and take up what was under way."""
        if key is not None and not key:
            raise ArgumentError.of(
                "a key of 0 bytes", "32 bytes, or None", "Device", "draw it with os.urandom(32)"
            )
        for name, value in (("workers", workers), ("ready", ready), ("hot_tasks", hot_tasks)):
            if value < 0:
                raise ArgumentError.of(f"{name}={value}", "zero or a positive number", "Device", "pass one")
        self._native: _NativeDevice = _NativeDevice.open(
            fspath(path),
            fspath(vm_library or library_path("device")),
            (catalog or Catalog())._core,
            workers=workers,
            ready=ready,
            hot_tasks=hot_tasks,
            cold_after_s=cold_after_s,
            grace_ms=grace_ms,
            background=background,
            recorded=recorded,
            local=None if zone is None else offset_changes(zone),
            key=b"" if key is None else bytes(key),
            log=log,
            app={name: _callable(name, function) for name, function in (app or {}).items()},
        )
        self.path = Path(path)
        self._process = os.getpid()
        self._listeners = _Listeners()
        self._watches: weakref.WeakSet[Watch] = weakref.WeakSet()
        self._cloud: _NativeCloud | None = None
        self._tunnel: Tunnel | None = None
        self._native.on_result(self._listeners.tell)
        # A device that nobody closes ends in order all the same, before Python does.
        self._finalizer = weakref.finalize(self, _end, self._native, os.getpid())

    # -- events ------------------------------------------------------------------------------------------

    def declare(
        self,
        name: str,
        kind: EventKind = EventKind.CUSTOM,
        fields: Mapping[str, ColumnType | tuple[ColumnType, Sensitivity]] | None = None,
    ) -> None:
        """Declare an event, or append fields to a declared one, durably; see ``Catalog.declare``.

        Raises:
            ArgumentError: a declaration that contradicts an earlier one.
        """
        columns = []
        for field, given in (fields or {}).items():
            type_of, sensitivity = given if isinstance(given, tuple) else (given, Sensitivity.PERSONAL)
            columns.append((field, str(type_of), int(sensitivity)))
        self._native.declare(name, int(kind), columns)

    def declare_page(self, *names: str) -> None:
        """Declare pages, durably."""
        for name in names:
            self._native.page(name)

    def declare_state(self, *names: str) -> None:
        """Declare states that ``when`` clauses test, durably."""
        for name in names:
            self._native.state(name)

    @property
    def catalog(self) -> Catalog:
        """What may be recorded now; a copy."""
        return Catalog.from_bytes(self._native.catalog.serialize())

    def record(
        self,
        event: str,
        page: str = "",
        contents: Mapping[str, Value] | None = None,
        *,
        ts: int | None = None,
        on: bool = True,
        durable: bool = False,
    ) -> int:
        """Record one event; tasks that it triggers run on the workers, and this does not wait for them.

        Args:
            event: a declared name.
            page: a declared page ("" for none); of ``app_state`` a declared state.
            contents: values of declared fields; text of at most 16,384 bytes.
            ts: microseconds since 1970; default: now.
            on: of ``app_state``: whether the state begins or ends.
            durable: return when the event survives a power loss; otherwise it survives a killed process.

        Returns:
            The event's number.

        Raises:
            ArgumentError: a name that is not declared, a value of another type, or a closed device.
            ResourceError: the disk is full.
        """
        given = None if contents is None else dict(contents)
        if on:
            return self._native.record(event, page, given, ts, durable, on=True)
        return self._native.record(event, page, given, ts, durable)

    def advance(self, now: int | None = None) -> None:
        """Device time has reached ``now`` (microseconds since 1970; default: the clock) without an event.

        What is due fires, and maintenance is done. Only needed with ``background=False``.
        """
        self._native.advance(now)

    # -- tasks -------------------------------------------------------------------------------------------

    def install(self, task: str | PathLike[str] | bytes | TaskBundle) -> str:
        """Install a task, or replace the one of its name; durable when it returns.

        A firing that runs ends on the old version, the next begins on the new. After an error all is as
        before.

        Args:
            task: a task's folder (compiled here, which needs the full VM), a ``.wtask`` file, its bytes, a
                bundle, or a ``.walp`` file beside the folder ``blobs``, as ``walle task pack`` writes them.

        Returns:
            The task's name.

        Raises:
            ArgumentError: no such file or folder.
            TaskError: the folder or the bundle is none that can be installed; the message says where.
        """
        if isinstance(task, TaskBundle):
            return self._native.install(task.data)
        if isinstance(task, (bytes, bytearray, memoryview)):
            return self._native.install(bytes(task))
        if Path(task).is_dir():
            return self._native.install(Task(fspath(task)).compile(sources=True).data)
        return self._native.install_file(fspath(task))

    def call(self, task: str, function: str, *arguments: Any, timeout_s: float | None = None) -> Any:
        """Ask a task: run a function that its ``[call]`` names, and take what it returns.

        It runs on this thread, in the task's own isolate with its module's state and models, between two
        firings - at once where none is under way - and under the limits, the breaker and the version of the
        task. It leaves rows or sends only where its ``[call]`` says ``keep = true``.

        Args:
            task: an installed task.
            function: one that its task.toml names in ``[call]``.
            arguments: None, bool, int, float, str, bytes, lists, dictionaries with str keys, arrays; as
                declared. Arrays share their memory with the task.
            timeout_s: for waiting and running together; none by default, and the declared ``wall_ms``
                holds anyway.

        Returns:
            What the function returned: like the arguments, tensors as arrays.

        Raises:
            ArgumentError: no such task or function, other arguments than declared, or a call from one of
                the device's own callbacks.
            TaskError: the function raised, or the task does not run; the message has the line.
            DeadlineError: it was not done within ``timeout_s`` or the declared limit; a TimeoutError too.
        """
        return self._native.call(task, function, arguments, timeout_s)

    def install_package(self, manifest: bytes, blobs: str | PathLike[str]) -> str:
        """Install a task from the parts of a package; as install() in all else.

        Sizes, digests and names are verified before anything runs. Files get a second name where the file
        system allows and are copied elsewhere: nobody may write in place to what lies in the folder; it may
        be removed.

        Args:
            manifest: the bytes of a ``.walp`` file.
            blobs: a folder with every file of the package under its SHA-256 in hexadecimal.

        Returns:
            The task's name.

        Raises:
            TaskError: the manifest is damaged or for another VM, a file is missing, damaged or another one,
                or the task is none that can be installed; the message says which.
            ResourceError: the disk is full.
        """
        return self._native.install_package(bytes(manifest), fspath(blobs))

    def remove(self, task: str) -> None:
        """Remove a task. What waits is dropped; its tables, its state and what waits to leave stay.

        Raises:
            ArgumentError: there is no such task.
        """
        self._native.remove(task)

    def tasks(self) -> dict[str, TaskInfo]:
        """Every installed task by name."""
        return {row["name"]: info_of(row) for row in self._native.tasks()}

    def task(self, name: str) -> TaskInfo:
        """One installed task.

        Raises:
            ArgumentError: there is no such task.
        """
        return info_of(self._native.task(name))

    def provide(self, name: str, function: Callable[..., Any] | None) -> None:
        """Let tasks call a function of the application as ``walle.app.NAME``, where ``[app]`` declares it.

        It is called from threads of the device's own, several at once, with what the task passes, and what
        it returns goes back; an exception reaches the task as a RuntimeError with its type and text. A task
        waits as long as its ``[app]`` says; the function itself cannot be stopped. In it, as in every
        callback of the device, what would wait for the task is refused: ``call``, ``wait``, ``close``. What
        tasks need for firings that have waited since the last open is given when the device is opened.

        Args:
            name: in place of the function that had this name.
            function: None: it is not provided any more.

        Raises:
            ArgumentError: a name that no function may have, no function, more than 256 of them, or a closed
                device.
        """
        self._native.provide(name, None if function is None else _callable(name, function))

    def set_params(self, task: str, params: Mapping[str, bool | int | float | str | None]) -> None:
        """Set values that the task's code reads in ``walle.params``; durable when it returns.

        They hold from the task's next firing on, over restarts and over versions that declare them alike.
        After an error all are as before.

        Args:
            task: its name.
            params: {name: value} within what ``[params]`` of its task.toml declares; None goes back to the
                default, and what is not named stays as it is.

        Raises:
            ArgumentError: no such task, a name that it does not declare, a value of another type or outside
                its bounds.
            TaskError: the task's bundle does not open.
        """
        self._native.set_params(task, dict(params))

    def features(self, task: str, name: str, keys: Sequence[Any]) -> list[int | float | None]:
        """Look up a feature that a task keeps per key, for many keys in one call, behind the newest event.

        Args:
            task: its name.
            name: one that its task.toml declares in ``[features]``.
            keys: values of the field that ``by`` names, or tuples of the values of several.

        Returns:
            For each key, in their order: a count, 0 where there is no event that counts; or the aggregate,
            None where there is none.

        Raises:
            ArgumentError: no such task or feature, or a key of another type or length.
        """
        return self._native.features(task, name, list(keys))

    def set_facts(self, **facts: bool) -> None:
        """What holds on this device - ``charging=True, unmetered=False`` - for tasks that require it.

        A fact that was never set does not hold.
        """
        for name, holds in facts.items():
            self._native.set_fact(name, holds)

    @property
    def facts(self) -> dict[str, bool]:
        """What was set."""
        return self._native.facts()

    def set_zone(self, zone: str | None = None) -> None:
        """Local time, by which ``daily`` and ``during`` go, is another from now on; durable when it returns.

        Call it when the system says that its zone has changed. A day's time that the new zone has not reached
        comes, though the old one had it. A device begins with the zone of its constructor at every open.

        Args:
            zone: an IANA time zone; None: the host's, asked anew.

        Raises:
            ArgumentError: there is no such zone, or the device is closed.
            ResourceError: the disk is full; then local time is as before.
        """
        self._native.set_local(None if zone is None else offset_changes(zone))

    def stats(self) -> DeviceStats:
        """Counters since the device was opened."""
        return DeviceStats(**self._native.stats())

    def trim(self) -> None:
        """Let go of the interpreters of tasks that do not run: for a device that is short of memory."""
        self._native.trim()

    # -- results -----------------------------------------------------------------------------------------

    def on_result(self, callback: OnResult) -> Callable[[], None]:
        """Have ``callback`` called with a ``TaskResult`` behind every firing; returns what ends that.

        It is called by the workers, for one task's firings in their order, and its worker waits for it; what
        it raises goes to ``sys.unraisablehook``. It may record events and read results; what would wait for
        it - ``close``, ``disconnect``, ``pull``, ``wait`` - is an ArgumentError there.
        After a crash it is not called again: what must not be missed is in the tables.
        """
        key = object()
        self._listeners.add(key, callback)
        return lambda: self._listeners.remove(key)

    def watch(self, task: str | None = None, *, limit: int = 1024) -> Watch:
        """Results of firings (of one task, or of all) for the running event loop; see ``Watch``.

        Raises:
            RuntimeError: no event loop runs on this thread.
        """

        def subscribe(watch: Watch) -> Callable[[], None]:
            here = weakref.ref(watch)

            def send(result: TaskResult) -> None:
                alive = here()
                if alive is not None:
                    alive._send(result)

            self._watches.add(watch)
            return self.on_result(send)

        return Watch(subscribe, task, limit)

    def results(self, task: str, table: str | None = None) -> Results:
        """A task's result table; without ``table`` its only one.

        Raises:
            ArgumentError: there is no such table, or the task has none or several; the message names them.
        """
        names = self._native.tables(task)
        if table is None and len(names) == 1:
            table = names[0]
        if table is None:
            expected = f"one of {', '.join(names)}" if names else "a task that declares result tables"
            raise ArgumentError.of(
                f"task '{task}' and no table", expected, "Device.results", "name the table"
            )
        found = Results(self._native, task, table)
        found.types  # noqa: B018 (an unknown table is an error now, not when it is read)
        return found

    def tables(self, task: str) -> list[str]:
        """Names of a task's result tables; of a removed task, too."""
        return self._native.tables(task)

    def outbox(self) -> dict[str, OutboxStream]:
        """What waits to leave the device, by stream."""
        return {row[0]: OutboxStream(*row) for row in self._native.outbox_streams()}

    def read_outbox(self, stream: str, start: int = 0, limit: int | None = None) -> list[OutboxRecord]:
        """Records of a stream with numbers from ``start`` on that wait, oldest first."""
        return [OutboxRecord(*row) for row in self._native.outbox_read(stream, start, limit)]

    def acknowledge(self, stream: str, seq: int) -> None:
        """Records of a stream up to ``seq`` (inclusive) have arrived and need not be kept."""
        self._native.outbox_acknowledge(stream, seq)

    def losses(self, *, verify: bool = False) -> list[Loss]:
        """What is gone, of any file of the folder, told at every open until acknowledged.

        A segment of a table whose bytes were damaged is noticed when somebody reads it; ``verify`` reads all
        of them first.
        """
        return [Loss(*row) for row in self._native.losses(verify)]

    def acknowledge_losses(self, *, spent: Mapping[str, float] | None = None) -> None:
        """Forget what ``losses()`` tells now, durably.

        Args:
            spent: epsilon that each privacy account is known to have spent, for a loss of "accounts": without
                it that one stays, and the accounts stay closed.

        Raises:
            ResourceError: the disk is full; what was forgotten before is.
        """
        self._native.acknowledge_losses(None if spent is None else dict(spent))

    def set_consents(self, *consents: str) -> None:
        """All classes of consent that the user has given, durably; those not named are taken back."""
        self._native.set_consents(list(consents))

    @property
    def consents(self) -> list[str]:
        """What the user has agreed to."""
        return self._native.consents()

    # -- the cloud -----------------------------------------------------------------------------------------

    def connect(
        self,
        url: str,
        *,
        root: bytes | str | PathLike[str] | None,
        app: str,
        app_version: str,
        enrol_code: str | None = None,
        device: str = "",
        transport: str | Transport = "auto",
        authorities: str | PathLike[str] | None = None,
        broker: str | None = None,
        on_answer: Callable[[Answer], object] | None = None,
        report_after_s: float = 20.0,
        pull_every_h: float = 12.0,
        plain_enrolment: bool = False,
    ) -> CloudState:
        """Follow a server: its plans decide from now on which tasks run here.

        A thread pulls at once, when ``saw`` hears of a newer plan, and every ``pull_every_h`` hours, give or
        take a half. What it installs is signed by its author, was fetched whole, and has run here on recorded
        events; what fails gives way to the last good version.

        Args:
            url: of the server; ``https://``, or ``http://`` for one on the same machine.
            root: the server's ``root.json``, or its path, which comes with the app; None: the one that
                enrolling brings, which is as believable as that connection.
            app: the app's name, for policies.
            app_version: its version, "10.30.4".
            enrol_code: lets the device in, once; not needed again for this folder.
            device: model of the device, for policies.
            transport: "auto": libcurl where it is installed, else "python" (``http.client``); either name, or
                the app's own.
            authorities: PEM file of those who may vouch for the server's name; None: the system's.
            broker: address for the tunnel, ``mqtts://host:port``; None: the one that the server named when
                the device enrolled, "": no tunnel.
            on_answer: called with each answer of the cloud phase, on the tunnel's thread and behind its
                commit; after a crash it is not called again: what must not be missed is in the tables.
            report_after_s: seconds that a new version runs without a firing before the server is told that it
                does.
            pull_every_h: hours between two pulls that nobody asked for.
            plain_enrolment: whether ``enrol_code`` may go to another machine over ``http://``, where whoever
                listens on the way can use it first.

        Returns:
            How things stand before the first pull; ``cloud`` tells later.

        Raises:
            ArgumentError: an address, a name, a version or a transport that is none; no code where one is
                needed, or one that would go to another machine over ``http://``; a device that is connected.
            NetworkError: the server cannot be reached, or refuses the code, while the device enrols.
            ResourceError: no libcrypto, or no libcurl where it was asked for.
        """
        if self._cloud is not None:
            raise ArgumentError.of(
                "a device that is connected", "one that is not", "Device.connect", "disconnect() it first"
            )
        vouching = "" if authorities is None else fspath(authorities)
        self._cloud = _NativeCloud.connect(
            self._native,
            url,
            root=root_bytes(root),
            app=app,
            app_version=app_version,
            os_version=os_version(),
            model=device,
            enrol_code=enrol_code or "",
            transport=make_transport(transport, vouching),
            authorities=vouching,
            report_after_s=report_after_s,
            pull_every_s=pull_every_h * 3600.0,
            plain_enrolment=plain_enrolment,
        )
        # Behind the device's own, and so called before it.
        self._cloud_finalizer = weakref.finalize(self, _leave, self._cloud, os.getpid())
        state = state_of(self._cloud.status())
        try:
            self._open_tunnel(self._cloud, state.device, broker, on_answer)
        except BaseException:
            self.disconnect()
            raise
        return state

    def _open_tunnel(
        self,
        cloud: _NativeCloud,
        device_id: str,
        broker: str | None,
        on_answer: Callable[[Answer], object] | None,
    ) -> None:
        host, port = cloud.broker()
        moved = cloud.broker_file() if broker is None else None  # the server may name another one later
        if broker is None and port:
            broker = f"mqtts://[{host}]:{port}" if ":" in host else f"mqtts://{host}:{port}"
        if not broker:
            return
        from ._tunnel import Tunnel

        authority, certificate, key = cloud.files()
        self._tunnel = Tunnel(
            self,
            broker,
            device_id,
            authorities=authority,
            certificate=certificate,
            key=key,
            session=self.path / "cloud" / "tls-session",
            moved=moved,
            on_epoch=lambda said: cloud.heard(*said),
            on_answer=on_answer,
        )

    def disconnect(self) -> None:
        """Follow nobody any more; tasks stay as they are, and what waits in the outbox.

        Waits for the step under way, which is cut short.

        Raises:
            ArgumentError: in one of the device's own callbacks.
            ResourceError: in a child of ``os.fork``.
        """
        self._native.may_end("disconnect")
        tunnel, self._tunnel = self._tunnel, None
        if tunnel is not None:
            tunnel.close()
        cloud, self._cloud = self._cloud, None
        if cloud is not None:
            self._cloud_finalizer.detach()
            cloud.stop()

    @property
    def cloud(self) -> CloudState | None:
        """How the device stands with its server; None where it is not connected."""
        return None if self._cloud is None else state_of(self._cloud.status())

    @property
    def tunnel(self) -> Tunnel | None:
        """The connection on which the outbox leaves; None where there is none."""
        return self._tunnel

    @property
    def request_headers(self) -> dict[str, str]:
        """What to send with the app's own requests to its server, for ``saw`` to hear of newer plans.

        One header of 48 characters; empty where the device is not connected.
        """
        return {} if self._cloud is None else {HEADER: self._cloud.header()}

    def saw(self, headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
        """Look at the headers of a reply to the app: one that says that a newer plan is there means a pull.

        Costs nothing otherwise, and waits for nothing.
        """
        said = None if self._cloud is None else epoch_said(headers)
        if said is not None and self._cloud is not None:
            self._cloud.saw(said)

    def pull(self, timeout_s: float = 60.0) -> CloudState:
        """Pull now, and wait until that has ended.

        Raises:
            ArgumentError: the device is not connected, or this is one of its own callbacks.
            TimeoutError: it takes longer; it goes on.
        """
        self._native.may_end("pull")
        if self._cloud is None:
            raise ArgumentError.of(
                "a device that is not connected", "connect() first", "Device.pull", "connect it to its server"
            )
        state = state_of(self._cloud.status())
        # One that is under way may have read the plan already.
        wanted = state.pulls + (2 if state.pulling else 1)
        self._cloud.pull()
        if not self._cloud.wait_pulls(wanted, timeout_s):
            raise TimeoutError(f"a pull that takes more than {timeout_s} s")
        return state_of(self._cloud.status())

    # -- the end -----------------------------------------------------------------------------------------

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until no task is queued or running; False: not within that time.

        Tasks that wait for facts or are set aside do not count.

        Raises:
            ArgumentError: in ``on_result`` or ``log``, whose own task it would wait for.
        """
        return self._native.wait(timeout_s)

    def close(self) -> None:
        """End the firings that run, leave others for the next open, and write everything.

        Every later call is an ArgumentError, but for another ``close``.

        Raises:
            ArgumentError: in one of the device's own callbacks, whose end it would wait for.
            ResourceError: in a child of ``os.fork``, which cannot end its parent's device.
        """
        self._native.may_end("close")
        self.disconnect()
        self._finalizer.detach()
        self._native.close()
        for watch in list(self._watches):
            watch._end()

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._native.closed

    def __enter__(self) -> Device:
        """The device itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it. A child of ``os.fork`` that leaves the block leaves its parent's device alone."""
        if os.getpid() == self._process:
            self.close()

    # -- the same for asyncio ----------------------------------------------------------------------------

    async def arecord(
        self,
        event: str,
        page: str = "",
        contents: Mapping[str, Value] | None = None,
        *,
        ts: int | None = None,
        on: bool = True,
        durable: bool = False,
    ) -> int:
        """``record`` on a thread of the event loop's executor, for a disk that may take its time."""
        return await asyncio.to_thread(self.record, event, page, contents, ts=ts, on=on, durable=durable)

    async def ainstall(self, task: str | PathLike[str] | bytes | TaskBundle) -> str:
        """``install``, likewise."""
        return await asyncio.to_thread(self.install, task)

    async def await_idle(self, timeout_s: float | None = None) -> bool:
        """``wait``, likewise."""
        self._native.may_wait("await_idle")
        return await asyncio.to_thread(self.wait, timeout_s)

    async def aclose(self) -> None:
        """``close``, likewise."""
        self._native.may_end("aclose")
        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> Device:
        """The device itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it without stopping the event loop; as ``__exit__`` in a child of ``os.fork``."""
        if os.getpid() == self._process:
            await self.aclose()

    def __repr__(self) -> str:
        """Short description."""
        return f"Device({str(self.path)!r}{', closed' if self.closed else ''})"
