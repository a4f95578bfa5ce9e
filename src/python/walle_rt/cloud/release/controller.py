"""Releases from draft to full: what operators do, what devices report, and the plan that follows."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ...errors import ArgumentError
from .acts import ALLOWED, after_act, of_task
from .named import behind
from .plan import write_plan
from .policy import Policy
from .preview import Preview, Standing, previewed
from .release import LIVE, Package, Release, State, Wish
from .reports import Report
from .store import Detail, Store
from .taken_back import Why, taken_back
from .trial import Claim, Trial

# The actors of what the controller does by itself.
GUARD = "guard"
POLICY = "policy"

_SAID = {"rollback": "roll back"}  # in the audit log, where it is another word


def _detail_of(release: Release) -> Detail:
    """What of it the audit log tells beside its version."""
    return {"params": json.dumps(release.params, sort_keys=True)} if release.params else {}


class Controller:
    """All releases of a server, as logic alone: time is an argument, the database a `Store`.

    Every change of what devices should run raises `epoch` and makes another `plan`; the growth of a ramp does
    not.
    Not synchronised: one caller at a time.
    """

    def __init__(self, store: Store) -> None:
        """As the store has it."""
        self._store = store
        self._releases = {release.id: release for release in store.releases()}
        self._kills = set(store.kills())
        self._trials: dict[str, Trial] = {}
        self._last_actor = ""
        self._plan: tuple[int, bytes] | None = None
        for release in self._releases.values():
            if release.gray:
                self._trials[release.id] = Trial(release, store)

    # ---- what is ----

    @property
    def epoch(self) -> int:
        """Of the newest plan; 0 before anything was released."""
        return self._store.epoch()

    @property
    def last_actor(self) -> str:
        """Who did what was done last; "" before anybody did anything since the controller was made."""
        return self._last_actor

    def plan(self) -> bytes:
        """The plan of this epoch (docs/reference/formats/plan.md), to be signed as ``director/plan.wale``."""
        epoch = self.epoch
        if self._plan is None or self._plan[0] != epoch:
            self._plan = (epoch, write_plan(epoch, self._releases.values(), self._kills))
        return self._plan[1]

    def releases(self) -> list[Release]:
        """All there ever were, oldest first."""
        return sorted(self._releases.values(), key=lambda release: release.number)

    def release(self, release_id: str) -> Release:
        """One by its id.

        Raises:
            ArgumentError: there is none.
        """
        found = self._releases.get(release_id)
        if found is None:
            raise ArgumentError.of(
                f"release '{release_id}'", "one that was made", "release", "walle release list shows them"
            )
        return found

    def trial(self, release_id: str) -> Trial:
        """The numbers of a release that is or was gray."""
        release = self.release(release_id)
        if release_id not in self._trials:
            self._trials[release_id] = Trial(release, self._store)
        return self._trials[release_id]

    def behind(self, release_id: str) -> Release | None:
        """What a rollback of this one goes back to; None where nothing before it was full."""
        return behind(self.release(release_id), self._releases.values())

    def why_taken_back(self, scenario: str, task: str, version: str) -> tuple[str, str]:
        """(why, release) of a version that devices are told to have no more; ("", "") of any other."""
        for release in taken_back(self._releases.values()):
            if release.task_key == (scenario, task) and release.package.version == version:
                return release.taken, release.id
        return (str(Why.KILLED), "") if (scenario, task) in self._kills else ("", "")

    def kills(self) -> list[tuple[str, str]]:
        """(scenario, task) of all that is killed."""
        return sorted(self._kills)

    # ---- what operators do ----

    def draft(self, wish: Wish, package: Package, actor: str, now_s: float) -> Release:
        """A new release of ``package``, which is in no plan yet.

        Raises:
            ArgumentError: the wish is for another package; a mistake in its policy.
        """
        if (wish.scenario, wish.task, wish.version) != (package.scenario, package.task, package.version):
            raise ArgumentError.of(
                f"package {package.path}",
                f"{wish.scenario}/{wish.task} {wish.version}",
                "release",
                "publish it first",
            )
        release = self._drafted(wish, package, now_s)
        self._put(release)
        self._note(now_s, actor, "draft", release.id, {"version": package.version, **_detail_of(release)})
        return release

    def start(self, release_id: str, actor: str, now_s: float, reason: str = "") -> Release:
        """Draft to gray: its ramp begins now.

        Raises:
            ArgumentError: it is no draft, or another release of the task is gray.
        """
        return self._act("start", release_id, actor, now_s, reason)

    def pause(self, release_id: str, actor: str, now_s: float, reason: str = "") -> Release:
        """Gray to paused: who is in stays in."""
        return self._act("pause", release_id, actor, now_s, reason)

    def resume(self, release_id: str, actor: str, now_s: float, reason: str = "") -> Release:
        """Paused to gray: the ramp goes on from where it stood."""
        return self._act("resume", release_id, actor, now_s, reason)

    def full(self, release_id: str, actor: str, now_s: float, reason: str = "") -> Release:
        """Gray to full: everybody whom its policy suits, without claims and without a guard."""
        return self._act("full", release_id, actor, now_s, reason)

    def halt(self, release_id: str, actor: str, now_s: float, reason: str = "") -> Release:
        """Out of the plan: devices that have it go back to what lies behind it, nobody gets it any more."""
        return self._act("halt", release_id, actor, now_s, reason)

    def roll_back(self, release_id: str, actor: str, now_s: float, reason: str = "") -> Release:
        """A new release, full at once, that points at the newest older content that was full.

        Raises:
            ArgumentError: there was none; `kill` the task instead. Or a newer release of the task has come.
        """
        return self._act("rollback", release_id, actor, now_s, reason)

    def allows(self, release_id: str, act: str, now_s: float) -> bool:
        """Whether an act on a release may be done now."""
        try:
            self._after(act, release_id, now_s, "")
        except ArgumentError:
            return False
        return True

    def preview(self, release_id: str, act: str, now_s: float, devices: Mapping[str, int]) -> Preview:
        """Whom an act on a release would change; nothing is done.

        Args:
            release_id: that it would be done to.
            act: of `ALLOWED`, ``kill`` or ``revive``.
            now_s: when.
            devices: how many run each version of the task.

        Raises:
            ArgumentError: it may not be done.
        """
        release = self.release(release_id)
        killed = self._killed(release) if act not in ("kill", "revive") else act == "kill"
        changed = self._after(act, release_id, now_s, "") if act in ALLOWED else ()
        return self._preview(release, changed, killed, devices, now_s)

    def preview_start(
        self, wish: Wish, package: Package, now_s: float, devices: Mapping[str, int]
    ) -> Preview:
        """Whom a release that is to be started would change.

        Raises:
            ArgumentError: it may not be started.
        """
        draft = self._drafted(wish, package, now_s)
        changed = after_act("start", draft, self._releases.values(), now_s)
        return self._preview(draft, changed, self._killed(draft), devices, now_s)

    def kill(self, scenario: str, task: str, actor: str, now_s: float, reason: str = "") -> None:
        """The task runs nowhere from now on, whatever releases say. Once more does nothing."""
        if (scenario, task) in self._kills:
            return
        self._killing(self._kills | {(scenario, task)}, scenario, task, "kill", actor, now_s, reason)

    def revive(self, scenario: str, task: str, actor: str, now_s: float, reason: str = "") -> None:
        """Takes a kill back: releases count again."""
        if (scenario, task) in self._kills:
            self._killing(self._kills - {(scenario, task)}, scenario, task, "revive", actor, now_s, reason)

    def restored(self, by: int, actor: str, now_s: float) -> list[str]:
        """Go on from a backup: an epoch that is ``by`` higher, and gray releases paused; returns those.

        Whom they let in since is unknown: who reports now would be nobody's, and who has reported would be
        missing. So nobody is waited for.
        """
        reason = "restored from a backup: resume it when devices have come back"
        gray = [release.id for release in self._releases.values() if release.gray]
        for release_id in gray:
            if self._releases[release_id].state == State.GRAY:
                self.pause(release_id, actor, now_s, reason)
            self.trial(release_id).forget_places()
        self._store.put_epoch(self.epoch + by)
        self._note(now_s, actor, "restore", "releases", {"raised": by, "epoch": self.epoch})
        return gray

    # ---- what devices do ----

    def claim(self, now_s: float, release_id: str, device: int, control: bool = False) -> Claim:
        """A device asks for a place in a gray release; ``device`` is its pseudonym."""
        release = self._releases.get(release_id)
        if release is None or not release.gray or self._killed(release):
            return Claim(False)
        return self.trial(release_id).claim(now_s, device, control)

    def report(self, now_s: float, report: Report) -> Claim:
        """A report came in; of a claim, the answer to it. One of an unknown release is passed over.

        Halts the release where its guard says so: `epoch` has grown then.
        """
        if report.status == "claim":
            return self.claim(now_s, report.release, report.device, report.control)
        release = self._releases.get(report.release)
        if release is None or release.state == State.DRAFT:
            return Claim(True)
        if not release.gray:  # nobody is asked any more, and no guard reads what comes
            return Claim(True, counted=True)
        trial = self.trial(release.id)
        taken = trial.report(now_s, report.device, report.control, report.status)
        if taken.halt:
            self._halt_by_guard(trial, now_s)
        return Claim(True, counted=taken.counted)

    def tick(self, now_s: float) -> list[str]:
        """Counts missing reports and makes releases full that have waited long enough; call it every second
        or so. Returns the releases that this halted."""
        halted = []
        for trial in [t for t in self._trials.values() if t.release.gray]:
            if trial.expire(now_s):
                self._halt_by_guard(trial, now_s)
                halted.append(trial.release.id)
        for release_id in self.ripe(now_s):
            self.full(release_id, POLICY, now_s)
        return halted

    def ripe(self, now_s: float) -> list[str]:
        """Gray releases that are full from now on by their ``full_after``, from that very second on.

        One that nobody has reported well of is none, whatever the time: silence is no evidence. Neither is
        one for which a device has had to wait within the last minute, as all of those would come in at once.
        """
        return [
            trial.release.id
            for trial in self._trials.values()
            if trial.release.state == State.GRAY
            and not self._killed(trial.release)
            and trial.release.ripe(now_s)
            and trial.counts().good > 0
            and not trial.refused_lately(now_s)
        ]

    # ---- how ----

    def _drafted(self, wish: Wish, package: Package, now_s: float) -> Release:
        Policy(wish.policy)
        number = max((release.number for release in self._releases.values()), default=0) + 1
        return Release(
            f"{wish.task}-{number}",
            number,
            package,
            wish.policy,
            wish.ramp,
            wish.guard,
            created_s=int(now_s),
            params=wish.params,
        )

    def _after(self, act: str, release_id: str, now_s: float, reason: str) -> tuple[Release, ...]:
        return after_act(act, self.release(release_id), self._releases.values(), now_s, reason)

    def _act(self, act: str, release_id: str, actor: str, now_s: float, reason: str) -> Release:
        *others, made = self._after(act, release_id, now_s, reason)
        for other in others:
            self._put(other)
        told: Detail = {}
        if others:
            told = {"release": release_id, "version": made.package.version, **_detail_of(made)}
        self._move(made, actor, _SAID.get(act, act), now_s, told)
        if made.state == State.FULL:
            self._retire_behind(made)
        return made

    def _preview(
        self,
        release: Release,
        changed: tuple[Release, ...],
        killed: bool,
        devices: Mapping[str, int],
        now_s: float,
    ) -> Preview:
        now = [release, *of_task(release, self._releases.values())]
        then = {each.id: each for each in [*now, *changed]}
        before = Standing.of([each for each in now if each.id in self._releases], self._killed(release))
        return previewed(before, Standing.of(then.values(), killed), devices, now_s)

    def _killed(self, release: Release) -> bool:
        return (release.package.scenario, release.package.task) in self._kills

    def _put(self, release: Release) -> None:
        self._releases[release.id] = release
        self._store.put_release(release)
        trial = self._trials.get(release.id)
        if trial is not None:
            ends, trial.release = trial.release.gray and not release.gray, release
            if ends:
                trial.end()

    def _move(
        self, release: Release, actor: str, act: str, now_s: float, detail: Detail | None = None
    ) -> Release:
        """Into its new state, with a new plan and a line in the audit log."""
        before = self._releases.get(release.id)
        was_live = before is not None and before.state in LIVE
        self._put(release)
        if was_live or release.state in LIVE:
            self._store.put_epoch(self.epoch + 1)
        entry: Detail = {"state": str(release.state), **(detail or {})}
        if release.reason:
            entry = {**entry, "reason": release.reason}
        self._note(now_s, actor, act, release.id, entry)
        return release

    def _retire_behind(self, release: Release) -> None:
        """Older releases that no device comes to any more: this one suits all that they suited."""
        all_of_them = Policy(release.policy).everybody
        for other in of_task(release, self._releases.values()):
            behind = other.state == State.FULL and other.number < release.number
            if behind and (all_of_them or other.policy == release.policy):
                self._put(other.moved(State.RETIRED, f"'{release.id}' is in its place"))

    def _killing(
        self,
        kills: set[tuple[str, str]],
        scenario: str,
        task: str,
        act: str,
        actor: str,
        now_s: float,
        reason: str,
    ) -> None:
        Package(scenario, task, "0.0.0", "0" * 64, 0)  # the names must be names
        self._kills = kills
        self._store.put_kills(sorted(kills))
        self._store.put_epoch(self.epoch + 1)
        self._note(now_s, actor, act, f"{scenario}/{task}", {"reason": reason} if reason else {})

    def _halt_by_guard(self, trial: Trial, now_s: float) -> None:
        treated, control = trial.counts(), trial.counts(True)
        reason = (
            f"{treated.bad} of {treated.good + treated.bad} reports are failures, "
            f"{treated.missing} of them missing; "
            f"{control.bad} of {control.good + control.bad} in the control cohort"
        )
        detail: Detail = {"exposed": treated.claimed, "outstanding": trial.outstanding()}
        halted = trial.release.moved(State.HALTED, reason, taken=str(Why.GUARD))
        self._move(halted, GUARD, "halt", now_s, detail)

    def _note(self, now_s: float, actor: str, act: str, subject: str, detail: Detail) -> None:
        self._last_actor = actor
        self._store.note(now_s, actor, act, subject, detail)
