"""Accepted baselines: what turns did when a person said that it is right. One file a cassette, `NAME.accepted.yaml`.

It holds only turns that differ from the record, each with the answers it was served that the record does not hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import AcceptedError, FileError, FormatVersionError
from ..values import ABSENT
from .canonical import parts_of
from .files import CONFLICT, read_bytes
from .record import stream_bytes
from .sealing import Chain
from .yamlread import Document, parse
from .yamlwrite import document_text

ACCEPTED_SUFFIX = ".accepted.yaml"
FORMAT = 1
SOURCES = ("simulated", "authored", "live", "sibling")
"""What may have given an answer that the record does not hold."""
_TURN_KEYS = frozenset({"kind", "number", "events", "output", "error", "state", "memory", "fingerprints"})
_CALL_KEYS = frozenset({"tool", "step", "agent", "arguments", "result", "error", "source"})


@dataclass(frozen=True, slots=True)
class AcceptedCall:
    """A call of an accepted turn. `result` and `error` are there where the record does not hold the answer."""

    tool: str
    arguments: Any = field(default_factory=dict)
    step: int | None = None
    agent: str | None = None
    result: Any = ABSENT
    error: Mapping[str, Any] | None = None
    source: str | None = None
    """What gave the answer: one of `SOURCES`; None where the record answers."""


@dataclass(frozen=True, slots=True)
class AcceptedTurn:
    """What a turn did when it was accepted, ids as the recording has them."""

    number: int
    calls: tuple[AcceptedCall, ...] = ()
    output: Any = ABSENT
    """`{type, content}` or ABSENT."""
    error: Mapping[str, Any] | None = None
    state: Any = ABSENT
    """At the turn's end; ABSENT where it was as recorded."""
    memory: Any = ABSENT
    """What was added: a list of `{content, type, tags}`; ABSENT where nothing was."""
    fingerprints: tuple[str, ...] = ()
    """Of the differences from the record that were accepted."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The accepted turns of one cassette."""

    session: str
    of: str | None = None
    """The seal of the record that they differ from."""
    at: str | None = None
    turns: Mapping[int, AcceptedTurn] = field(default_factory=dict)
    http: bool = False
    """HTTP exchanges were accepted as well, which stand in a file of their own."""


def read_accepted(path: str | os.PathLike[str], *, session: str | None = None) -> Accepted:
    """The accepted turns that a file holds, its seal checked.

    session: the cassette's; a file that was accepted for another one is an error.
    Raises AcceptedError, which says how to accept again, FormatVersionError for another version of the format.
    """
    name = os.fspath(path)
    try:
        accepted = accepted_from(read_bytes(name), where=name, session=session)
    except (AcceptedError, FormatVersionError):
        raise
    except FileError as error:
        raise _broken(error.what, error.where or name, session) from None
    if session is not None and accepted.session != session:
        raise _broken(f"accepted for session {accepted.session}, the cassette holds {session}", name, session)
    return accepted


def accepted_from(data: bytes, *, where: str, session: str | None = None, sealed: bool = True) -> Accepted:
    """As `read_accepted`, from bytes in UTF-8. session: for the remedy; sealed: check the seal."""
    conflict = CONFLICT.search(data)
    if conflict is not None:
        line = data.count(b"\n", 0, conflict.start()) + 1
        raise _broken("there are conflict markers of a merge", f"{where}:{line}", session)
    chain = Chain()
    documents: list[Document] = []
    for document in parse(data, where=where):
        if not documents:
            _check_version(document, where, session)
        chain.add(document)
        documents.append(document)
    try:
        accepted = _decoded([document.value for document in documents])
    except (KeyError, TypeError, ValueError) as error:
        what = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        raise _broken(f"malformed: {what}", where, session) from None
    found = chain.verification()
    if sealed and not found.ok:
        place = f"{where}:{found.line}" if found.line else where
        what = found.message if found.state == "broken" else "there is no seal"
        raise _broken(what, place, accepted.session)
    return accepted


def _broken(what: str, where: str, session: str | None = None) -> AcceptedError:
    again = f"--statebase-accept={session}" if session else "--statebase-accept"
    return AcceptedError(
        f"the accepted baseline cannot be used: {what}",
        where=where,
        remedy=f"Accept again: pytest --statebase-replay {again}",
    )


def _check_version(document: Document, where: str, session: str | None) -> None:
    version = document.value.get("accepted") if type(document.value) is dict else None
    if type(version) is int and version != FORMAT:
        raise FormatVersionError(
            f"the accepted baseline is in format {version}; this version of pytest-statebase reads format {FORMAT}",
            where=f"{where}:{document.line}",
            remedy="Upgrade pytest-statebase.",
        )
    if type(version) is not int:
        raise _broken(f"it does not begin with `accepted: {FORMAT}`", f"{where}:{document.line}", session)


def _decoded(documents: list[Any]) -> Accepted:
    if any(type(value) is not dict for value in documents):
        raise ValueError("a document is no mapping")
    head, *turns, end = documents if len(documents) > 1 else [*documents, {}]
    if end.get("kind") != "end":
        raise ValueError("it is cut off, there is no `kind: end`")
    found = [turn_of(value) for value in turns]
    by_number = {turn.number: turn for turn in found}
    with_http = _typed(head, "http", bool, False)
    return Accepted(_typed(head, "session", str), head.get("of"), head.get("at"), by_number, with_http)


def turn_of(value: Mapping[str, Any]) -> AcceptedTurn:
    """The accepted turn that a document tells.

    Raises ValueError, TypeError or KeyError where it is malformed.
    """
    _check_keys(value, _TURN_KEYS)
    return AcceptedTurn(
        number=_typed(value, "number", int),
        calls=tuple(map(_call_of, _typed(value, "events", list, []))),
        output=value.get("output", ABSENT),
        error=_typed(value, "error", dict, None),
        state=value.get("state", ABSENT),
        memory=_typed(value, "memory", list, ABSENT),
        fingerprints=tuple(map(str, _typed(value, "fingerprints", list, []))),
    )


def _call_of(value: Mapping[str, Any]) -> AcceptedCall:
    _check_keys(value, _CALL_KEYS)
    call = AcceptedCall(**{"arguments": {}, **value, "tool": _typed(value, "tool", str)})
    if call.source is not None and call.source not in SOURCES:
        raise ValueError(f"`source` is one of {', '.join(SOURCES)}, not {call.source!r:.40}")
    return call


def _check_keys(value: Any, known: frozenset[str]) -> None:
    if type(value) is not dict:
        raise ValueError("an item is no mapping")
    unknown = next((key for key in value if key not in known), None)
    if unknown is not None:
        raise ValueError(f"the key {unknown!r:.40} is unknown")


_NEEDED: Any = object()


def _typed(value: Mapping[str, Any], key: str, kind: type, default: Any = _NEEDED) -> Any:
    if key not in value and default is not _NEEDED:
        return default
    if type(value[key]) is not kind:
        raise ValueError(f"`{key}` is {value[key]!r:.40}")
    return value[key]


def accepted_bytes(accepted: Accepted) -> bytes:
    """The sealed file, its turns in order.

    Raises UnstorableError for a value that has no form in the format.
    """
    return stream_bytes(_documents(accepted))


def _documents(accepted: Accepted) -> Iterator[dict[Any, Any]]:
    head = {"session": accepted.session, "of": accepted.of, "at": accepted.at, "http": accepted.http or None}
    yield {
        "accepted": FORMAT,
        "kind": "session",
        **{key: value for key, value in head.items() if value is not None},
    }
    for number in sorted(accepted.turns):
        yield turn_document(accepted.turns[number])
    yield {"kind": "end"}


def turn_document(turn: AcceptedTurn) -> dict[Any, Any]:
    """The document that tells an accepted turn; what is absent is left out."""
    form: dict[Any, Any] = {"kind": "turn", "number": turn.number}
    if turn.calls:
        form["events"] = [_call_form(call) for call in turn.calls]
    for key in ("output", "error", "state", "memory"):
        value = getattr(turn, key)
        if value is not ABSENT and not (key == "error" and value is None):
            form[key] = value
    if turn.fingerprints:
        form["fingerprints"] = list(turn.fingerprints)
    return form


def _call_form(call: AcceptedCall) -> dict[Any, Any]:
    form: dict[Any, Any] = {"tool": call.tool}
    for key in ("step", "agent"):
        if getattr(call, key) is not None:
            form[key] = getattr(call, key)
    form["arguments"] = call.arguments
    if call.source is not None:
        if call.error is not None:
            form["error"] = dict(call.error)
        elif call.result is not ABSENT:
            form["result"] = call.result
        form["source"] = call.source
    return form


def turn_text(turn: AcceptedTurn) -> str:
    """An accepted turn as text that `turn_from` reads to an equal one: what crosses from worker to controller.

    Raises UnstorableError for a value that has no form in the format.
    """
    return document_text(parts_of(turn_document(turn)))


def turn_from(text: str) -> AcceptedTurn:
    """What `turn_text` made, back."""
    (document,) = parse(text.encode(), where="an accepted turn")
    return turn_of(document.value)


def salvaged(data: bytes, *, where: str) -> list[Accepted]:
    """What can still be read of a broken file, its seal aside; both sides of a merge's conflict, ours first."""
    found = []
    for side in (_side(data, ours=True), _side(data, ours=False)) if CONFLICT.search(data) else (data,):
        try:
            found.append(accepted_from(side, where=where, sealed=False))
        except FileError:
            continue
    return found


def repaired(path: str | os.PathLike[str], session: str) -> Accepted | None:
    """What a broken file still says for the session, our side of a conflict first; None where that is nothing."""
    name = os.fspath(path)
    try:
        sides = salvaged(read_bytes(name), where=name)
    except FileError:
        return None
    found: dict[int, AcceptedTurn] = {}
    for side in sides:
        if side.session == session:
            found = {**side.turns, **found}
    return Accepted(session, sides[0].of, sides[0].at, found, any(side.http for side in sides)) if found else None


def _side(data: bytes, *, ours: bool) -> bytes:
    kept, inside = [], ""
    for line in data.splitlines(keepends=True):
        marker = CONFLICT.fullmatch(line.rstrip(b"\r\n"))
        if marker is not None:
            inside = {b"<": "ours", b"|": "base", b"=": "theirs", b">": ""}[marker[1][:1]]
        elif inside in ("", "ours" if ours else "theirs"):
            kept.append(line)
    return b"".join(kept)
