"""A cassette: a plan and, read when it is needed, the ledger of its record."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import FileError, HttpError, PlanError
from ..ledger import Ledger, SessionCreated
from ..values import ABSENT, Absent
from .accepted import ACCEPTED_SUFFIX, Accepted, read_accepted, repaired
from .defaults import defaults_for
from .files import MAX_NAME, is_safe_name
from .http import HttpRecording, read_http
from .moves import moved_accepted, moved_ledger
from .plan import Plan
from .planread import plan_of, read_plan
from .record import read_record
from .within import is_within, project_of

PLAN_SUFFIX = ".session.yaml"
RECORD_SUFFIX = ".record.yaml"
HTTP_SUFFIX = ".http.yaml"
ACCEPTED_HTTP_SUFFIX = ".accepted.http.yaml"


@dataclass(slots=True, eq=False)
class Cassette:
    """A recorded session with a plan of how to replay it."""

    path: Path | None
    """The plan's file; None where there is none."""
    record_path: Path | None
    plan: Plan
    warnings: list[str] = field(default_factory=list)
    """What reading found that is no error: a record without a seal."""
    _ledger: Ledger | None = field(default=None, repr=False)
    _accepted: Accepted | Absent | None = field(default=ABSENT, repr=False)
    _http: HttpRecording | Absent | None = field(default=ABSENT, repr=False)
    _accepted_http: HttpRecording | Absent | None = field(default=ABSENT, repr=False)

    @classmethod
    def from_ledger(cls, ledger: Ledger, plan: Plan | None = None) -> Cassette:
        """A cassette that is in no file."""
        plan = plan or Plan()
        cassette = cls(None, None, plan, _ledger=moved_ledger(ledger, plan.tools) if plan.tools else ledger)
        _check_turns(cassette, ledger)
        return cassette

    @property
    def ledger(self) -> Ledger:
        """The recorded events with today's names of tools and arguments, read and checked on first use.

        Raises FileError, RecordError, SealError for the record, PlanError where the plan does not fit it.
        """
        if self._ledger is None:
            try:
                ledger = read_record(str(self.record_path), warnings=self.warnings)
            except FileError as error:
                raise self._missing() or error from None
            _check_turns(self, ledger)
            self._ledger = moved_ledger(ledger, self.plan.tools) if self.plan.tools else ledger
        return self._ledger

    @property
    def accepted_path(self) -> Path | None:
        """Where the accepted baseline of this cassette stands or would stand; None for one without a plan's file."""
        return None if self.path is None else self.path.with_name(stem_of(self.path.name) + ACCEPTED_SUFFIX)

    @property
    def accepted(self) -> Accepted | None:
        """The accepted baseline, read and checked on first use; None where there is none.

        Raises AcceptedError where the file is there and cannot be used.
        """
        if self._accepted is ABSENT:
            path = self.accepted_path
            there = path is not None and os.path.exists(path)
            accepted = read_accepted(str(path), session=self.ledger.id) if there else None
            self._accepted = moved_accepted(accepted, self.plan.tools) if accepted and self.plan.tools else accepted
        return self._accepted

    @property
    def http_path(self) -> Path | None:
        """Where the HTTP recording stands or would stand; None for a cassette that is in no file."""
        file = self.path or self.record_path
        if file is None:
            return None
        return file.parent / (self.plan.http.file or stem_of(file.name) + HTTP_SUFFIX)

    @property
    def http(self) -> HttpRecording | None:
        """The HTTP recording, read on first use; None where there is none.

        Raises HttpError where it cannot be read, and where plan or record speak of one that is not there.
        """
        if self._http is ABSENT:
            path = self.http_path
            there = path is not None and os.path.exists(path)
            if path is not None and not there and self.plan.http.file is None and self._recorded_http():
                raise _gone(path, "the record was made with HTTP exchanges", "If it was never written: `write_http`.")
            self._http = read_http(str(path)) if there or (path and self.plan.http.file is not None) else None
            self.warnings += self._http.skipped if self._http else ()
        return self._http

    @property
    def accepted_http_path(self) -> Path | None:
        """Where the accepted HTTP exchanges stand or would stand; None for a cassette without a plan's file."""
        return None if self.path is None else self.path.with_name(stem_of(self.path.name) + ACCEPTED_HTTP_SUFFIX)

    @property
    def accepted_http(self) -> HttpRecording | None:
        """The accepted HTTP exchanges, read on first use; None where there are none.

        Raises HttpError where it cannot be read, and where the accepted baseline speaks of one that is not there.
        """
        if self._accepted_http is ABSENT:
            path = self.accepted_http_path
            there = path is not None and os.path.exists(path)
            if path is not None and not there and self.accepted is not None and self.accepted.http:
                raise _gone(
                    path,
                    f"{path.name.removesuffix(ACCEPTED_HTTP_SUFFIX)}{ACCEPTED_SUFFIX} was accepted with HTTP exchanges",
                    "To accept anew instead, remove that file, too.",
                )
            self._accepted_http = read_http(str(path)) if there else None
        return self._accepted_http

    def _recorded_http(self) -> bool:
        """Whether the record says that HTTP exchanges belong to it."""
        created = next(iter(self.ledger.events), None)
        return isinstance(created, SessionCreated) and created.http

    def repair_accepted(self) -> None:
        """Go on with what can still be read of a broken baseline; no file changes."""
        path = self.accepted_path
        self._accepted = None if path is None else repaired(path, self.ledger.id)

    def _missing(self) -> PlanError | None:
        """For a plan without its record, an error that leads to the plan."""
        path = str(self.record_path)
        if self.path is None or os.path.exists(path):
            return None
        where = self.plan.where.get("record") or str(self.path)
        remedy = "Put the record beside the plan, or name it: `record: FILE.record.yaml`."
        return PlanError(f"there is no record {path}", where=where, remedy=remedy)

    @property
    def session_id(self) -> str:
        """The plan's session, else the record's."""
        return self.plan.session or self.ledger.id

    @property
    def name(self) -> str:
        """The stem that the cassette's files share; the session's id where there is no file."""
        file = self.path or self.record_path
        return stem_of(file.name) if file else self.session_id


def _gone(path: Path, why: str, besides: str) -> HttpError:
    """For a recording that was there once: without it nothing tells what the agent no longer sends."""
    remedy = f"Restore it from version control. {besides}"
    return HttpError(f"the HTTP recording is missing: {why}", where=str(path), remedy=remedy)


def stem_of(name: str) -> str:
    """`refund` for refund.session.yaml and refund.record.yaml."""
    return name.removesuffix(PLAN_SUFFIX).removesuffix(RECORD_SUFFIX)


def load_cassette(path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None) -> Cassette:
    """The cassette of a plan (`NAME.session.yaml`); the record is read when its ledger is first asked for.

    path: also a record (`NAME.record.yaml`), which is then replayed whole, without the plan beside it.
    root: the highest directory whose `statebase.yaml` counts.
    Raises FileError, PlanError or FormatVersionError.
    """
    name = os.fspath(path)
    directory, base = os.path.split(name)
    _check_name(name, base)
    top = None if root is None else os.path.abspath(root)
    defaults = defaults_for(os.path.abspath(directory), root=top)
    if base.endswith(RECORD_SUFFIX):
        return Cassette(None, Path(name), plan_of({}, defaults))
    plan = read_plan(name, defaults=defaults)
    _check_http(plan, os.path.abspath(directory), top)
    record = plan.record or stem_of(base) + RECORD_SUFFIX
    return Cassette(Path(name), Path(directory, record), plan)


def _check_name(name: str, base: str) -> None:
    if not base.endswith((PLAN_SUFFIX, RECORD_SUFFIX)):
        raise PlanError(
            "this is no cassette", where=name, remedy="A plan is called NAME.session.yaml, a record NAME.record.yaml."
        )
    stem = stem_of(base)
    if not is_safe_name(stem):
        remedy = f"Rename it: letters, digits, `.`, `_` and `-`, at most {MAX_NAME} characters."
        raise PlanError(f"{stem!r:.100} cannot name a cassette", where=name, remedy=remedy)


def _check_http(plan: Plan, directory: str, root: str | None) -> None:
    """A plan reads no file that is not of its project, whatever stands there."""
    named = plan.http.file
    if named is not None and not is_within(root or project_of(directory), os.path.join(directory, named)):
        raise PlanError(
            f"`http` names {named!r:.60}, which is outside of the project",
            where=plan.where.get("http.file") or plan.where.get("http"),
            remedy="Keep the recording below the directory with pyproject.toml, .git or pytest.ini.",
        )


def _check_turns(cassette: Cassette, ledger: Ledger) -> None:
    """What the plan says of turns and the session must be there."""
    plan = cassette.plan
    if plan.session is not None and plan.session != ledger.id:
        raise PlanError(
            f"the plan is for session {plan.session}, the record holds {ledger.id}",
            where=plan.where.get("session"),
            remedy="Correct `session`, or name the right `record`.",
        )
    numbers = {turn.number for turn in ledger.turns}
    named = [("failing", turn) for turn in sorted(plan.failing)]
    named += [("expect", turn) for turn in plan.expect] + [("inputs", turn) for turn in plan.inputs]
    for key, turn in named:
        if turn not in numbers:
            span = f"turns {min(numbers)} to {max(numbers)}" if numbers else "no turns"
            where = plan.where.get(f"{key}.{turn}") or plan.where.get(key) or ledger.id
            raise PlanError(
                f"`{key}` names turn {turn}, which the session does not have", where=where, remedy=f"It has {span}."
            )
