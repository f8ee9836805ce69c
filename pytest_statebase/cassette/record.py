"""Records: a ledger as a stream of YAML documents, sealed, and back."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import FileError, FormatVersionError, RecordError, SealError, UnstorableError
from ..ledger import (
    Event,
    Ledger,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    TurnAdded,
    TurnStarted,
)
from ..values import ABSENT, copy_value, same
from . import shapes
from .canonical import parts_of
from .files import read_bytes, write_atomic
from .sealing import Chain, Verification
from .shapes import MalformedError
from .states import apply_patch, patch_for
from .yamlread import Document, parse
from .yamlwrite import document_text

FORMAT = 1
_KINDS = ("session", "turn", "event", "end")
_TURN_KEYS = frozenset({"kind", "events", "unfinished", *shapes.STARTED.keys})
_END = re.compile(rb"^[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?end\b", re.MULTILINE)
_SEAL = re.compile(rb"^seal: \"?(sha256:[0-9a-f]{64})\"?[ \t\r]*$", re.MULTILINE)
_TAIL = 100_000
"""Bytes of a record in which its seal is looked for before everything is parsed."""
_ITEM = re.compile(r"\.events\[(\d+)\]\.?")


def read_record(path: str | os.PathLike[str], *, warnings: list[str] | None = None) -> Ledger:
    """The ledger that a record holds, its seal checked.

    warnings: gets a line where the record has no seal.
    Raises FileError, RecordError, FormatVersionError, or SealError where the record is not what was sealed.
    """
    name = os.fspath(path)
    return ledger_from(read_bytes(name), where=name, warnings=warnings)


def ledger_from(data: bytes, *, where: str, warnings: list[str] | None = None) -> Ledger:
    """As `read_record`, from bytes in UTF-8."""
    chain, builder = Chain(), _Builder()
    for document in _documents_of(data, where):
        chain.add(document)
        builder.add(document.value)
    result = chain.check(where) if builder.complete else None
    if builder.problem is not None and (builder.complete or builder.problem[0] < builder.position):
        raise _located(data, where, *builder.problem)
    if result is None:
        raise _cut_off(data, where, chain)
    if result.state == "unsealed" and warnings is not None:
        warnings.append(f"{where}: {result.message}; `pytest-statebase seal` adds one")
    return Ledger(builder.events)


def _documents_of(data: bytes, where: str) -> Iterator[Document]:
    """The documents of a record in a known format. An error in one that has no end says that it was cut off."""
    documents = parse(data, where=where)
    try:
        first = next(documents)
        check_version(first, where)
        yield first
        yield from documents
    except FileError as error:
        if isinstance(error, RecordError | FormatVersionError) or _END.search(data):
            raise
        remedy = "The record has no `kind: end`, so it was cut off: restore it from version control."
        raise RecordError(error.what, where=error.where, remedy=remedy) from None


def verify(path: str | os.PathLike[str]) -> Verification:
    """Whether a record is still what was sealed; if not, which document is the first that changed.

    Raises FileError or RecordError for a file that is no complete record.
    """
    name = os.fspath(path)
    return _chain_of(read_bytes(name), name).verification()


def seal_of(path: str | os.PathLike[str]) -> str:
    """The seal that a record has, or would have where it is not sealed.

    Raises FileError or RecordError for a file that is no complete record.
    """
    name = os.fspath(path)
    data = read_bytes(name)
    found = _SEAL.findall(data[-_TAIL:])
    if found:
        return str(found[-1].decode())
    chain = _chain_of(data, name)
    return chain.sealed or chain.seal


def _chain_of(data: bytes, where: str) -> Chain:
    chain = Chain()
    for document in _documents_of(data, where):
        chain.add(document)
    if not chain.is_ended:
        raise _cut_off(data, where, chain)
    if chain.past_end is not None and chain.sealed is None:
        raise _located(data, where, chain.past_end, _past_end())
    return chain


def _past_end() -> MalformedError:
    return MalformedError("a document stands after `kind: end`", remedy="Remove it: the end document is the last one.")


def seal(path: str | os.PathLike[str], *, force: bool = False) -> Verification:
    """Add the seal that a record lacks; the rest of the file stays as it is.

    force: also seal a record whose seal is broken, as it stands now.
    Raises SealError for a broken seal, FileError or RecordError for a file that is no complete record.
    """
    name = os.fspath(path)
    data = read_bytes(name)
    ledger_chain = _chain_of(data, name)
    result = ledger_chain.verification()
    if result.ok:
        return result
    if result.state == "broken" and not force:
        remedy = "A record is evidence: restore it from version control. To seal it as it stands, say so (--force)."
        raise SealError(result.message, where=name, remedy=remedy)
    if ledger_chain.past_end is not None:
        raise _located(data, name, ledger_chain.past_end, _past_end())
    documents = list(parse(data, where=name))
    chain = Chain()
    digests = [chain.extend(document.parts) for document in documents[:-1]]
    text = _end_text(dict(documents[-1].value), chain, digests)
    kept = data.splitlines(keepends=True)[: documents[-1].line - 1]
    write_atomic(name, b"".join(kept) + text.encode())
    return verify(name)


def check_version(document: Document, where: str) -> None:
    """Raise where the first document is not that of a record in a format that is known here."""
    value = document.value
    version = value.get("record") if type(value) is dict else None
    if type(version) is int and version != FORMAT:
        raise FormatVersionError(
            f"the record is in format {version}; this version of pytest-statebase reads format {FORMAT}",
            where=f"{where}:{document.line}",
            remedy="Upgrade pytest-statebase." if version > FORMAT else "Record the session again.",
        )
    if version is None or type(version) is not int:
        found = "a plan" if type(value) is dict and "cassette" in value else "no record"
        raise RecordError(
            f"this is {found}: a record begins with `record: {FORMAT}`", where=f"{where}:{document.line}",
            remedy="Name the file NAME.record.yaml that capture or import wrote.",
        )  # fmt: skip


def _cut_off(data: bytes, where: str, chain: Chain) -> RecordError:
    line = data.count(b"\n", 0, len(data.rstrip())) + 1
    return RecordError(
        f"the record is cut off: it ends after {chain.seen[-1].label}, without a `kind: end` document",
        where=f"{where}:{line}",
        remedy="Restore it from version control, or record the session again.",
    )


def _located(data: bytes, where: str, position: int, problem: MalformedError) -> RecordError:
    """The error with line and column: positions are only kept on this second reading."""
    for at, document in enumerate(parse(data, where=where, marks=True)):
        if at == position:
            line, column = document.position(*problem.keys)
            where = f"{where}:{line}:{column}"
            break
    return RecordError(problem.what, where=where, remedy=problem.remedy or "Restore the record from version control.")


class _Builder:
    """Makes events of documents, one after the other. After a problem it only counts on."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.problem: tuple[int, MalformedError] | None = None
        self.complete = False
        self.position = -1
        self.turn = 0
        self.version: int | None = None
        self.states: dict[int, Any] = {}

    def add(self, value: Any) -> None:
        self.position += 1
        if self.problem is None:
            try:
                self.add_document(value)
            except MalformedError as problem:
                self.problem = (self.position, problem)
        self.complete |= type(value) is dict and value.get("kind") == "end"

    def add_document(self, value: Any) -> None:
        if type(value) is not dict:
            raise MalformedError("a document of a record must be a mapping")
        kind = value.get("kind")
        if self.complete:
            raise _past_end()
        if (self.position == 0) != (kind == "session"):
            raise MalformedError("the first document, and no other, must be `kind: session`", "kind")
        if kind == "turn":
            self.add_turn(value)
        elif kind == "event":
            self.add_item({key: item for key, item in value.items() if key != "kind"})
        elif kind == "session":
            self.add_session(value)
        elif kind == "end":
            self.add_end(value)
        else:
            raise MalformedError(f"`kind` must be one of {', '.join(_KINDS)}, not {kind!r:.40}", "kind")

    def add_session(self, value: dict[Any, Any]) -> None:
        form = {key: item for key, item in value.items() if key not in ("record", "kind")}
        event: SessionCreated = shapes.decode(shapes.SESSION, form)
        if event.state is not ABSENT:
            self.keep_state(0, event.state)
        self.events.append(event)

    def add_turn(self, value: dict[Any, Any]) -> None:
        started: TurnStarted = shapes.decode(
            shapes.STARTED, {key: item for key, item in value.items() if key in shapes.STARTED.keys}
        )
        if started.number < 1:
            raise MalformedError(f"turn {started.number} cannot be: turns are numbered from 1", "number")
        if self.turn and started.number != self.turn + 1:
            raise MalformedError(
                f"turn {started.number} follows turn {self.turn}; turns are numbered one by one", "number"
            )
        self.turn = started.number
        self.events.append(started)
        items = value.get("events", [])
        if type(items) is not list:
            raise MalformedError("`events` must be a list", "events")
        for at, item in enumerate(items):
            try:
                self.add_item(item)
            except MalformedError as problem:
                raise problem.under("events", at) from None
        if value.get("unfinished") is not True:
            form = {key: item for key, item in value.items() if key not in _TURN_KEYS}
            self.events.append(shapes.decode(shapes.ADDED, form))

    def add_item(self, item: Any) -> None:
        if type(item) is not dict:
            raise MalformedError("an event must be a mapping")
        key = next((key for key in shapes.ITEMS if key in item), None)
        if key is None:
            raise MalformedError(f"an event needs one of the keys {', '.join(shapes.ITEMS)}")
        if key == "memory":
            item = shapes.memory_form(item)
        elif key == "state":
            item = self.whole_state(item)
        elif key == "rollback" and "value" not in item:
            item = self.rolled_back(item)
        event = shapes.decode(shapes.ITEMS[key], item)
        if key == "state" or key == "rollback":
            self.keep_state(event.version, event.value)
        self.events.append(event)

    def whole_state(self, item: dict[Any, Any]) -> dict[Any, Any]:
        if "patch" not in item:
            return item
        if "value" in item:
            raise MalformedError("`value` and `patch` exclude each other", "patch")
        before = ABSENT if self.version is None else self.states[self.version]
        whole = apply_patch(before, item["patch"])
        return {"value" if key == "patch" else key: whole if key == "patch" else part for key, part in item.items()}

    def rolled_back(self, item: dict[Any, Any]) -> dict[Any, Any]:
        target = item.get("to")
        if type(target) is int and target not in self.states:
            raise MalformedError(f"version {target} is not in the record, and no `value` says what it was", "to")
        return {**item, "value": copy_value(self.states[target])} if type(target) is int else item

    def keep_state(self, version: int, value: Any) -> None:
        if self.version is not None and version != self.version + 1:
            raise MalformedError(
                f"state version {version} follows version {self.version}; versions are numbered one by one"
            )
        self.version = version
        self.states[version] = value

    def add_end(self, value: dict[Any, Any]) -> None:
        if value.get("ended") is not False:
            form = {key: item for key, item in value.items() if key not in ("kind", "seal", "documents")}
            self.events.append(shapes.decode(shapes.ENDED, form))


def write_record(path: str | os.PathLike[str], ledger: Ledger, *, overwrite: bool = False, sealed: bool = True) -> None:
    """Write a ledger as a record, in one step; reading it gives equal events.

    Raises UnstorableError, naming turn, tool and path, for a value that has no form in a record, and RecordError where
    the file is already there, because a record is evidence.
    """
    name = os.fspath(path)
    if not overwrite and os.path.lexists(name):
        raise RecordError("there is a record already", where=name, remedy="Choose another name, or remove it first.")
    write_atomic(name, record_bytes(ledger, sealed=sealed))


def record_bytes(ledger: Ledger, *, sealed: bool = True) -> bytes:
    """The bytes of the record that `write_record` would write."""
    return stream_bytes(_documents(ledger), sealed=sealed)


def stream_bytes(documents: Iterable[dict[Any, Any]], *, sealed: bool = True) -> bytes:
    """Documents, the last of them `kind: end`, as a stream with its seal.

    Raises UnstorableError, naming document and path, for a value that has no form in the format.
    """
    chain = Chain()
    texts: list[str] = []
    digests: list[str] = []
    for document in documents:
        parts = _stored(document)
        if document["kind"] != "end":
            texts.append(document_text(parts))
            digests.append(chain.extend(parts))
        elif sealed:
            texts.append(_end_text(document, chain, digests))
        else:
            texts.append(document_text(parts))
    return "---\n".join(texts).encode()


def _stored(document: dict[Any, Any]) -> list[str]:
    try:
        return parts_of(document)
    except UnstorableError as error:
        raise UnstorableError(error.what, where=_place(document, error.where or ""), remedy=error.remedy) from None


def _place(document: dict[Any, Any], path: str) -> str:
    """`turn 2, tool lookup_order, result.total` for a path inside a document."""
    places = [f"turn {document['number']}"] if "number" in document else [str(document["kind"])]
    match = _ITEM.match(f".{path}")
    if match is not None:
        item = document["events"][int(match[1])]
        places.append(f"tool {item['tool']}" if "tool" in item else f"event {match[1]}")
        path = f".{path}"[match.end() :]
    return ", ".join([*places, path])


def _end_text(end: dict[Any, Any], chain: Chain, digests: list[str]) -> str:
    rest = {key: value for key, value in end.items() if key not in ("seal", "documents")}
    chain.extend(parts_of({**rest, "documents": digests}))
    return document_text(parts_of({**rest, "seal": chain.seal, "documents": digests}))


def _documents(ledger: Ledger) -> Iterator[dict[Any, Any]]:
    """The documents of a ledger in order."""
    yield {"record": FORMAT, "kind": "session", **shapes.encode(ledger.created)}
    turn: dict[Any, Any] | None = None
    writer = _StateWriter(ledger.created.state)
    ended: SessionEnded | None = None
    for event in ledger.events[1:]:
        if isinstance(event, TurnStarted):
            if turn is not None:
                yield {**turn, "unfinished": True}
            turn = {"kind": "turn", **shapes.encode(event), "events": []}
        elif isinstance(event, SessionEnded):
            ended = event
        elif isinstance(event, TurnAdded):
            if turn is None:
                raise UnstorableError("a turn ends that never began", where=f"session {ledger.id}")
            yield _finished(turn, event)
            turn = None
        elif turn is not None:
            turn["events"].append(writer.item(event))
        else:
            yield {"kind": "event", **writer.item(event)}
    if turn is not None:
        yield {**turn, "unfinished": True}
    yield {"kind": "end", **(shapes.encode(ended) if ended else {"ended": False})}


def _finished(turn: dict[Any, Any], event: TurnAdded) -> dict[Any, Any]:
    form = shapes.encode(event)
    clash = next((key for key in form if key in turn), None)
    if clash is not None:
        raise UnstorableError(
            f"`extra` holds the key {clash!r}, which has a meaning of its own", where=f"turn {turn['number']}"
        )
    if not turn["events"]:
        del turn["events"]
    return {**turn, **form}


class _StateWriter:
    """Writes states as patches where that is shorter, and rollbacks without what they roll back to."""

    def __init__(self, initial: Any) -> None:
        self.current = initial
        self.states: dict[int, Any] = {} if initial is ABSENT else {0: initial}

    def item(self, event: Event) -> dict[Any, Any]:
        form = shapes.item_of(event)
        if isinstance(event, StateUpdated):
            patch = patch_for(self.current, event.value)
            if patch is not None:
                form = {"patch" if key == "value" else key: patch if key == "value" else form[key] for key in form}
        elif isinstance(event, StateRolledBack):
            if event.to_version in self.states and same(self.states[event.to_version], event.value):
                del form["value"]
        else:
            return form
        self.current = event.value
        self.states[event.version] = event.value
        return form
