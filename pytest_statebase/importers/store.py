"""Imported sessions → files of a directory. A recording is evidence: nothing that exists is written over."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import FileError, HttpError, ImportFileError, StatebaseError
from ..ledger import Ledger, SessionCreated
from ..privacy import RedactionOptions, redacted_session
from ..values import freeze
from ..wire.exchange import Exchange
from .grades import notes_of
from .model import ImportedSession
from .names import Names
from .proposal import defaults_text

_RECORD, _RAW, _HTTP, _PLAN = ".record.yaml", ".pulled.json", ".http.yaml", ".session.yaml"


@dataclass(slots=True)
class Tally:
    """What became of the sessions of one run."""

    sessions: int = 0
    turns: int = 0
    calls: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    """Calls by tool."""
    written: int = 0
    """Files; so are the next two."""
    unchanged: int = 0
    """Records with the same content, and plans and defaults that exist: people edit those."""
    refused: int = 0
    """Records that exist with other content."""
    redacted: Counter[str] = field(default_factory=Counter)
    """Places by kind from which secrets and personal data were taken."""


class Store:
    """Writes sessions into a directory, each as a record with a proposed plan beside it, and its HTTP exchanges.

    out: the directory; it is made when the first file is written.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.tally = Tally()
        self._options = _privacy_of(out)
        self._left = list(out.glob(".*.tmp"))
        self._names = Names(
            path.name.removesuffix(suffix)
            for suffix in (_RECORD, _RAW, _HTTP, _PLAN)
            for path in out.glob(f"*{suffix}")
        )

    def add(self, session: ImportedSession) -> None:
        """Write one session.

        Raises ImportFileError where a record or HTTP recording of this session exists with other content,
        UnstorableError where a value has no form in a record, FileError where nothing can be written.
        """
        from ..cassette import write_plan, write_record

        session = self._redacted(session)
        if session.exchanges:
            session = _with_http(session)
        path, is_new = self._place(session)
        self._make_directory()
        self._sweep(path.name.removesuffix(_RECORD))
        # First what all the rest can be made from: who is stopped in between goes on from there.
        if session.raw is not None:
            self._keep(path.with_name(path.name.removesuffix(_RECORD) + _RAW), session.raw)
        if session.exchanges:
            self._keep_http(path.with_name(path.name.removesuffix(_RECORD) + _HTTP), session.exchanges)
        if is_new:
            write_record(path, session.ledger)
        self._count_file(is_new)
        self.count(session.ledger)
        plan = path.with_name(path.name.removesuffix(_RECORD) + _PLAN)
        plan_is_new = not plan.exists()
        if plan_is_new and session.has_plan:
            write_plan(plan, session.plan, notes=[*session.notes, *notes_of(session.grade)])
        if session.has_plan:
            self._count_file(plan_is_new)

    def _redacted(self, session: ImportedSession) -> ImportedSession:
        """The session with placeholders, in what it was made of, its name, title and notes as well; counted."""
        raw = None if session.raw is None else json.loads(session.raw)
        around = [session.name, session.plan.title, list(session.notes), raw]
        clean = redacted_session(session.ledger, session.exchanges, around, self._options)
        self.tally.redacted.update(clean.places)
        name, title, notes, made_of = clean.data
        session = replace(session, ledger=clean.ledger, exchanges=clean.exchanges)
        if self._options.strict:
            plan = replace(session.plan, title=None, session=clean.ledger.id)
            return replace(session, name=clean.ledger.id, plan=plan, notes=(), raw=None)
        if clean.data is around:
            return session
        plan = replace(session.plan, title=title, session=session.plan.session and clean.ledger.id)
        data = session.raw if made_of is raw else json.dumps(made_of, ensure_ascii=False, indent=1).encode()
        return replace(session, name=name, plan=plan, notes=tuple(notes), raw=data)

    def finish(self) -> None:
        """Propose `statebase.yaml`, with every tool that was seen, where the directory has none.

        Raises FileError where it cannot be written.
        """
        from ..cassette.files import write_atomic

        path = self.out / "statebase.yaml"
        if not self.tally.sessions:
            return
        self._sweep(path.stem)
        is_new = not path.exists()
        if is_new:
            write_atomic(path, defaults_text(self.tally.tools).encode())
        self._count_file(is_new)

    def _sweep(self, stem: str) -> None:
        """Remove what a run that was killed in the middle of writing left of these files."""
        from ..cassette.files import temporary_prefix

        prefixes = tuple(temporary_prefix(stem + end) for end in (_RECORD, _RAW, _HTTP, _PLAN, ".yaml"))
        for path in [path for path in self._left if path.name.startswith(prefixes)]:
            path.unlink(missing_ok=True)
            self._left.remove(path)

    def _keep(self, path: Path, raw: bytes) -> None:
        """Write what a session was made of.

        Raises ImportFileError where something else is there already.
        """
        from ..cassette.files import read_bytes, write_atomic

        is_new = not path.exists()
        if is_new:
            write_atomic(path, raw)
        elif read_bytes(path) != raw:
            self.tally.refused += 1
            remedy = "It is never written over: give another --out, or delete that file."
            raise ImportFileError("the session was pulled before, with other content", where=str(path), remedy=remedy)
        self._count_file(is_new)

    def _keep_http(self, path: Path, exchanges: tuple[Exchange, ...]) -> None:
        """Write the HTTP recording.

        Raises ImportFileError where one is there with other content.
        """
        from ..cassette import read_http, write_http
        from ..cassette.httpwrite import written

        is_new = not path.exists()
        if is_new:
            write_http(path, exchanges)
        else:
            try:
                stored = read_http(path).exchanges
            except HttpError:
                stored = ()
            if stored != tuple(map(written, exchanges)):
                self.tally.refused += 1
                remedy = "It is never written over: import into another directory, or delete that file."
                what = "an HTTP recording of the session exists with other content"
                raise ImportFileError(what, where=str(path), remedy=remedy)
        self._count_file(is_new)

    def _make_directory(self) -> None:
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"the directory cannot be made: {error.strerror or error}"
            raise FileError(what, where=str(self.out), remedy="Give another --out.") from None

    def _place(self, session: ImportedSession) -> tuple[Path, bool]:
        """Where the record belongs, and whether it is to be written."""
        while True:
            path = self.out / (self._names.claim(session.name, session.ledger.id) + _RECORD)
            if not path.exists():
                return path, True
            stored = self._read(path)
            if _content(stored) == _content(session.ledger):
                return path, False
            if stored.id == session.ledger.id:
                self.tally.refused += 1
                remedy = "A recording is never written over: import into another directory, or delete that file."
                raise ImportFileError(
                    f"a record of session {stored.id} exists with other content", where=str(path), remedy=remedy
                )

    def _read(self, path: Path) -> Ledger:
        from ..cassette import read_record

        try:
            return read_record(path)
        except StatebaseError as error:
            self.tally.refused += 1
            remedy = "A recording is never written over: restore the file, or delete it and import again."
            raise ImportFileError(
                f"the record exists and cannot be read ({error.what})", where=str(path), remedy=remedy
            ) from error

    def _count_file(self, is_new: bool) -> None:
        if is_new:
            self.tally.written += 1
        else:
            self.tally.unchanged += 1

    def count(self, ledger: Ledger) -> None:
        """Count a session for what is proposed at the end, also one whose files are there already."""
        calls = [call for turn in ledger.turns for call in turn.calls]
        self.tally.sessions += 1
        self.tally.turns += len(ledger.turns)
        self.tally.calls += len(calls)
        self.tally.tools.update(call.tool for call in calls)


def _with_http(session: ImportedSession) -> ImportedSession:
    """The session with a record that says that its exchanges belong to it."""
    created, *events = session.ledger.events
    if not isinstance(created, SessionCreated):
        raise ImportFileError("the session has no beginning", where=session.name)
    return replace(session, ledger=Ledger([replace(created, http=True), *events]))


def _privacy_of(out: Path) -> RedactionOptions:
    """What the `statebase.yaml` files that count for a directory say of what may be written into it."""
    from ..cassette.defaults import defaults_for

    said = defaults_for(str(out.absolute()))
    return RedactionOptions(strict=said.get("privacy") == "strict", keep=frozenset(said.get("keep", ())))


def _content(ledger: Ledger) -> object:
    return freeze(list(ledger.events))
