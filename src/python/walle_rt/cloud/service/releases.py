"""ReleaseService: what operators decide and devices report, and the plans that follow.

The controller (``walle_rt.cloud.release``) is logic alone; here it meets the database, the signing keys and
the tunnel. One thread at a time, and one transaction per call: what a call changed and the plan that follows
from it are durable together. Signing comes after, and is made up for by the next turn, or the next start,
when the process dies between.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
from collections import Counter as Count
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from ... import _core
from ...errors import ArgumentError, Error, ResourceError
from .. import metrics
from ..model.tables import Counter, Device, Epoch, RampPoint, ReportDetail
from ..release import (
    LIVE,
    Controller,
    Package,
    Params,
    Plan,
    Preview,
    Report,
    State,
    Wish,
    read_wish,
    unpack_reports,
)
from . import adoption
from .catalogue import PublishedPackages, find_version
from .listing import list_again
from .profiles import Profiles, words
from .rates import Rates
from .release_store import DatabaseStore
from .state import ServerState

LOG = logging.getLogger("walle_rt.cloud")

# Of an operator, as pages offer them; those that stop something wait for nothing.
_ACTS = ("pause", "resume", "full", "halt", "rollback")
_STOPS = ("pause", "halt", "kill")
_SAMPLE = 100  # of the reports that tell of no failure one in so many is kept as it came
_REST = 20  # failures a minute and release that count no more and are kept all the same
_RAMP_STEP = 0.005  # of a share, between two points of the plot
Replies = list[dict[str, Any]]


class ReleaseService:
    """The controller over the database. Any thread may call; they wait for each other.

    Args:
        state: the server's folder.
        announce: tells devices on the tunnel of an epoch; ``True`` for a kill.
    """

    def __init__(self, state: ServerState, announce: Callable[[int, bool], None]) -> None:
        """Go on where the process before stopped."""
        self._state, self._announce = state, announce
        self._lock = threading.RLock()
        self._drawn: dict[str, float] = {}
        self._urgent = False
        # Actor, act, subject, detail of what is done, and the transaction that it is done in.
        self.on_act: Callable[[Session, str, str, str, Mapping[str, Any]], None] = lambda *_: None
        self._out: tuple[int, Any] | None = None  # the plan that is signed, to look devices up in
        self._rest = Rates(_REST, _REST / 60)
        self.profiles = Profiles()
        self._words: dict[adoption.Word, str] = {}  # of the batches that are being stored
        self._adopted_h = -1
        self._load()

    def _load(self) -> None:
        with self._state.database.reading() as session:
            self._store = DatabaseStore()
            self._store.enter(session, "", self._state.now())
            self._controller = Controller(self._store)
            self._store.epoch()

    # -- operators -----------------------------------------------------------------------------------------

    def start(
        self, scenario: str, task: str, version: str, text: str, by: str, reason: str = "",
        epoch: int | None = None,
    ) -> str:  # fmt: skip
        """A release of a published version; ``text`` is its TOML. Returns its id.

        ``epoch`` is that of the preview that somebody has seen, if somebody has.

        Raises:
            ArgumentError: an unknown version, a mistake in the text, a parameter that the version does not
                declare or not so, or another release of the task is gray.
            ResourceError: devices would not believe the version; another plan than that of ``epoch`` is out.
        """
        wish, package = self._wish(scenario, task, version, text)
        with self._state.signing, self._transaction(by) as now:
            self._need_epoch(epoch)
            self._controller.preview_start(wish, package, now, {})  # before anything is written
            list_again(self._state.repository, package)
            made = self._controller.draft(wish, package, by, now)
            self._controller.start(made.id, by, now, reason)
        self._state.wake()
        return made.id

    def _wish(self, scenario: str, task: str, version: str, text: str) -> tuple[Wish, Package]:
        wish = _wish(scenario, task, version, text)
        row = find_version(self._state, scenario, task, version)
        if wish.params:
            fitting = PublishedPackages(self._state).fitting_params(row.sha256, wish.params)
            wish = replace(wish, params=fitting)
        return wish, Package(scenario, task, version, row.sha256, row.size)

    def preview_start(self, scenario: str, task: str, version: str, text: str) -> tuple[int, Preview]:
        """The epoch now, and whom a release would change; nothing is done.

        Raises:
            ArgumentError: as `start`.
        """
        wish, package = self._wish(scenario, task, version, text)
        with self._lock:
            devices = self._devices(scenario, task)
            preview = self._controller.preview_start(wish, package, self._state.now(), devices)
            return self._controller.epoch, preview

    def preview(self, number: str, act: str) -> tuple[int, Preview]:
        """The epoch now, and whom an act would change; nothing is done.

        Raises:
            ArgumentError: the release is in no state for that.
        """
        with self._lock:
            package = self._controller.release(number).package
            devices = self._devices(package.scenario, package.task)
            preview = self._controller.preview(number, act, self._state.now(), devices)
            return self._controller.epoch, preview

    def _devices(self, scenario: str, task: str) -> dict[str, int]:
        with self._state.database.reading() as session:
            return adoption.now_running(session, scenario, task, self._state.now())

    def act(self, number: str, act: str, reason: str, by: str, epoch: int | None = None) -> str:
        """Pause, resume, full, halt, rollback, kill or revive; returns the release to look at.

        ``epoch`` is that of the preview that somebody has seen; what stops something is done all the same.

        Raises:
            ArgumentError: the release is in no state for that.
            ResourceError: devices would not believe what a rollback names; another plan than that of
                ``epoch`` is out.
        """
        epoch = None if act in _STOPS else epoch
        if act == "rollback":
            number = self._roll_back(number, reason, by, epoch)
        else:
            self._change(number, act, reason, by, epoch)
        self._state.wake()
        return number

    def _roll_back(self, number: str, reason: str, by: str, epoch: int | None) -> str:
        with self._state.signing, self._transaction(by) as now:
            self._need_epoch(epoch)
            old = self._controller.behind(number)
            if old is not None and self._controller.allows(number, "rollback", now):
                list_again(self._state.repository, old.package)
            return self._controller.roll_back(number, by, now, reason).id

    def _change(self, number: str, act: str, reason: str, by: str, epoch: int | None) -> None:
        with self._transaction(by) as now:
            self._need_epoch(epoch)
            package = self._controller.release(number).package
            if act in ("kill", "revive"):
                self._urgent = self._urgent or act == "kill"
                change = self._controller.kill if act == "kill" else self._controller.revive
                change(package.scenario, package.task, by, now, reason)
            else:
                getattr(self._controller, act)(number, by, now, reason)

    def restored(self, by: int, actor: str) -> list[str]:
        """Go on from a backup with a higher epoch; returns the releases that are paused by this."""
        with self._transaction(actor) as now:
            return self._controller.restored(by, actor, now)

    @property
    def epoch(self) -> int:
        """Of the newest plan, signed or not."""
        with self._lock:
            return self._controller.epoch

    def _need_epoch(self, seen: int | None) -> None:
        now = self._controller.epoch
        if seen is not None and seen != now:
            raise ResourceError.of(
                f"a preview of epoch {seen}", f"one of epoch {now}, which is out", "release",
                "look at what it changes now: walle release list SCENARIO",
            )  # fmt: skip

    def params(self, number: str) -> Params:
        """What a release sets of its task's ``walle.params``."""
        with self._lock:
            return self._controller.release(number).params

    def progress(self, number: str) -> dict[str, Any]:
        """How far a release is, in figures."""
        with self._lock, self._state.database.reading() as session:
            now = self._state.now()
            release = self._controller.release(number)
            self._store.enter(session, "", now)  # for a release whose trial is over and not in memory
            trial = self._controller.trial(number)
            treated, control = trial.counts(), trial.counts(True)
            return {
                "share": release.share(now),
                "control_share": release.control(now),
                "claimed": treated.claimed,
                "good": treated.good,
                "bad": treated.bad,
                "missing": treated.missing,
                "outstanding": trial.outstanding(),
                "most_outstanding": trial.most_outstanding(),
                "control_good": control.good,
                "control_bad": control.bad,
                "evidence": trial.sprt.sum,
                "halts_at": trial.sprt.upper,
                "killed": (release.package.scenario, release.package.task) in self._controller.kills(),
            }

    def possible(self, number: str) -> list[str]:
        """What may be done with a release."""
        with self._lock:
            release = self._controller.release(number)
            key = (release.package.scenario, release.package.task)
            if key in self._controller.kills():
                return ["revive"]
            now = self._state.now()
            found = [act for act in _ACTS if self._controller.allows(number, act, now)]
            return [*found, "kill"] if release.state in LIVE else found

    def adoption(self, number: str) -> dict[str, int]:
        """Devices by version of a release's task, as they told last, most first."""
        package = self._package(number)
        with self._state.database.reading() as session:
            return adoption.now_running(session, package.scenario, package.task, self._state.now())

    def adoption_over_time(self, number: str) -> dict[str, list[tuple[float, float]]]:
        """Devices of each version by the hour, and now, for the plot."""
        package, now = self._package(number), self._state.now()
        with self._state.database.reading() as session:
            found = adoption.over_time(session, package.scenario, package.task)
        for version, count in self.adoption(number).items():
            found.setdefault(version, []).append((now, float(count)))
        return found

    def why_taken_back(self, scenario: str, task: str, version: str) -> tuple[str, str]:
        """(why, release) of a version that devices are told to have no more; ("", "") of any other."""
        with self._lock:
            return self._controller.why_taken_back(scenario, task, version)

    def _package(self, number: str) -> Package:
        with self._lock:
            return self._controller.release(number).package

    def ramp(self, number: str) -> dict[str, list[tuple[float, float]]]:
        """The share of devices over time, in percent, for the plot."""
        with self._state.database.reading() as session:
            chosen = select(RampPoint).where(RampPoint.release_id == number).order_by(RampPoint.at)
            points = [(row.at, 100 * row.share) for row in session.scalars(chosen)]
        if points:
            points.append((self._state.now(), points[-1][1]))
        return {"share": points} if points else {}

    # -- devices -------------------------------------------------------------------------------------------

    def decode(self, device: str, body: bytes) -> list[Report]:
        """The reports of a batch.

        Raises:
            ArgumentError: it is none, or tells of another device.
        """
        reports = unpack_reports(body)
        pseudonym = _core.policy.device_pseudonym(device)
        if any(report.device != pseudonym for report in reports):
            raise ArgumentError.of(
                "reports of another device", f"those of '{device}'", "/v1/reports", "send your own"
            )
        return reports

    def store(self, given: list[tuple[str, list[Report]]]) -> Replies:
        """Count the batches of several devices, durably; one reply each."""
        with self._transaction("") as now:
            session = self._session
            ids = {device for device, _ in given}
            known = {row.id: row for row in session.scalars(select(Device).where(Device.id.in_(ids)))}
            counters: Count[tuple[str, int, str, str]] = Count()
            self._words = {}
            replies = [self._take(known[device], reports, now, counters) for device, reports in given]
            _add_counters(session, counters)
            adoption.note(session, self._words, now)
        for (_, _, _, status), count in counters.items():
            metrics.REPORTS.labels(status).inc(count)
        return replies

    def _take(
        self, device: Device, reports: list[Report], now: float, counters: Count[tuple[str, int, str, str]]
    ) -> dict[str, Any]:
        reply: dict[str, Any] = {"taken": 0, "granted": True, "wait_s": 0}  # whole: devices read no other
        device.seen = max(device.seen, now)
        for report in reports:
            # A claim may overtake reports that wait on the device, and asking twice changes nothing.
            if report.status != "claim":
                if report.seq <= device.report_seq:
                    metrics.REPEATED.inc()
                    continue
                device.report_seq = report.seq
            if not self._is_ours(report):
                continue
            answer = self._controller.report(now, report)
            if not answer.granted:
                reply["granted"], reply["wait_s"] = False, max(reply["wait_s"], math.ceil(answer.wait_s))
                continue
            reply["taken"] += 1
            if (word := adoption.said(device.id, report)) is not None:
                self._words[word[0]] = word[1]
            device.epoch = max(device.epoch, min(report.epoch, self._controller.epoch))
            cohort = "control" if report.control else "treated"
            if answer.counted:
                counters[report.release, int(now // 60), cohort, report.status] += 1
            else:
                metrics.UNCOUNTED.inc()
            if self._is_kept(report, answer.counted, now):
                self._session.add(_detail(report, cohort, now))
        return reply

    def _is_kept(self, report: Report, counted: bool, now: float) -> bool:
        """Whether it is kept as it came: a device's first failure, a sample of what else counts, and a few
        of the rest, as nobody is to fill the disk."""
        if counted and report.status not in ("ok", "claim"):
            return True
        if counted:
            return (report.seq + report.device) % _SAMPLE == 0
        return report.status not in ("ok", "claim") and self._rest.allow(report.release, 1, now) == 0

    def _is_ours(self, report: Report) -> bool:
        try:
            package = self._controller.release(report.release).package
        except ArgumentError:
            return False
        return (package.scenario, package.task) == (report.scenario, report.task)

    def newer(self, header: str) -> int | None:
        """The epoch for whom a device header says it has not carried out what it should; None: it has.

        Costs a microsecond, allocates nothing but the answer, and waits for nobody.
        """
        out = self._out
        if out is None or out[1].check(header, int(self._state.now())) != 1:
            return None
        return out[0]

    # -- the loop ------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Count what is missing, draw the ramps, sign and tell a plan that is new."""
        with self._transaction("") as now:
            for number in self._controller.tick(now):
                LOG.warning("release halted", extra={"release": number})
            self._draw(now)
            if self._adopted_h != (hour := int(now // adoption.EVERY_S)):
                adoption.draw(self._session, now)
                self._adopted_h = hour
            self._count_profiles(now)
        self._sign()
        states = Count(str(release.state) for release in self._controller.releases())
        for state in State:
            metrics.RELEASES.labels(str(state)).set(states.get(str(state), 0))

    def _count_profiles(self, now: float) -> None:
        """By the plan that is out."""
        if self._out is not None and (told := self.profiles.take()):
            given = (
                self._session,
                self._out[1],
                told,
                lambda number: self._controller.release(number).package,
            )
            adoption.note(self._session, words(*given, now), now)

    def _draw(self, now: float) -> None:
        for release in self._controller.releases():
            share = release.share(now)
            if release.state == State.DRAFT or abs(share - self._drawn.get(release.id, -1.0)) < _RAMP_STEP:
                continue
            if release.id not in self._drawn and not release.gray:
                self._drawn[release.id] = share  # of a process before: its points are there
                if release.state != State.FULL or not release.replaces:
                    continue
            self._drawn[release.id] = share
            self._session.merge(RampPoint(release_id=release.id, at=now, share=share))

    def _sign(self) -> None:
        """Sign the newest plan, unless it is out, and tell devices of it, unless they were told."""
        with self._state.database.reading() as session:
            row = session.scalars(select(Epoch).order_by(Epoch.number.desc()).limit(1)).first()
        if row is None:
            return
        if row.signed is None:
            with self._state.signing:
                self._state.repository.direct_plan(row.plan)
            self._mark(row.number, signed=self._state.now())
            LOG.info("plan signed", extra={"epoch": row.number, "reason": row.reason})
        if self._out is None or self._out[0] != row.number:
            self._out = (row.number, Plan(row.plan))
        metrics.EPOCH.set(row.number)
        if row.announced is None:
            self._announce(row.number, row.urgent)
            self._mark(row.number, announced=self._state.now())

    def announce_again(self) -> None:
        """A broker that has just begun knows of no epoch."""
        with self._state.database.reading() as session:
            chosen = select(func.max(Epoch.number)).where(Epoch.signed.is_not(None))
            number = session.scalar(chosen)
        if number is not None:
            self._announce(number, False)

    def _mark(self, number: int, **values: float) -> None:
        with self._state.database.writing() as session:
            session.execute(update(Epoch).where(Epoch.number == number).values(**values))

    # -- transactions --------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, by: str) -> Iterator[float]:
        """The controller's changes and the plan that follows, as one transaction; yields the time."""
        now = self._state.now()
        with self._lock:
            try:
                with self._state.database.writing() as session:
                    self._session = session
                    self._store.enter(session, by, now)
                    yield now
                    self._store.leave()
                    if self._store.raised:
                        session.add(self._new_epoch(by, now))
                    for noted in self._store.noted:
                        self.on_act(session, *noted)
            except Error:
                if self._store.raised:
                    self._load()
                raise  # refused before anything was changed
            except BaseException:
                self._load()  # the controller is ahead of the database
                raise

    def _new_epoch(self, by: str, now: float) -> Epoch:
        plan = self._controller.plan()
        urgent, self._urgent = self._urgent, False
        digest = hashlib.sha256(plan).hexdigest()
        return Epoch(
            number=self._controller.epoch,
            plan=plan,
            sha256=digest,
            reason=by or self._controller.last_actor,
            urgent=urgent,
            created=now,
        )


def _wish(scenario: str, task: str, version: str, text: str) -> Wish:
    """The TOML text of a release, in which names that the request says may be left out."""
    wish = read_wish(text, {"scenario": scenario, "task": task, "version": version})
    if (wish.scenario, wish.task, wish.version) != (scenario, task, version):
        raise ArgumentError.of(
            f"a text for {wish.scenario}/{wish.task} {wish.version}",
            f"one for {scenario}/{task} {version}",
            "[release]",
            "leave scenario, task and version out of it",
        )
    return wish


def _detail(report: Report, cohort: str, now: float) -> ReportDetail:
    return ReportDetail(
        release_id=report.release,
        at=now,
        bucket=f"{report.device:016x}",
        cohort=cohort,
        status=report.status,
        task=report.task,
        version=report.version,
        phase=report.phase,
        error=report.error_type or report.limit,
        firings=report.firings,
        failures=report.failures,
    )


def _add_counters(session: Session, counters: Count[tuple[str, int, str, str]]) -> None:
    if not counters:
        return
    keys = ["release_id", "minute", "cohort", "status"]
    rows = [{**dict(zip(keys, key, strict=True)), "count": count} for key, count in counters.items()]
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    made = insert(Counter.__table__)  # type: ignore[arg-type]  # the table, as an ORM insert costs ten times as much
    more = {"count": Counter.count + made.excluded.count}
    session.connection().execute(made.on_conflict_do_update(index_elements=keys, set_=more), rows)
