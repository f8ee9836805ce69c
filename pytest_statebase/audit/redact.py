"""Redacts the files of cassettes that are there already: new files, a new seal, and a note in the record.

The old seal is not kept: what was taken out could be guessed from it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from .. import __version__
from ..cassette import RECORD_SUFFIX, Cassette, read_record
from ..cassette.accepted import accepted_from
from ..cassette.files import read_bytes, write_atomic
from ..cassette.http import HttpRecording, http_from
from ..cassette.httpwrite import http_bytes
from ..cassette.leaves import Leaf, leaves
from ..cassette.parts import MARK, text_part
from ..cassette.personal import Kind
from ..cassette.placeholders import Placeholders
from ..cassette.record import ledger_from, seal_of, stream_bytes
from ..cassette.redaction import redacted_exchange
from ..cassette.yamlread import Document, parse
from ..cassette.yamlwrite import document_text
from ..errors import FileError, HttpError, PlanError
from ..wire.exchange import Exchange
from .httpclean import clean_exchange, learn_exchange
from .jsontext import PULLED_SUFFIX, clean_json, learn_json
from .redactor import Redactor
from .subject import Subject

Target: TypeAlias = Callable[[Path], Path]
"""Where the new file of a file goes."""
_KEPT = frozenset({"record", "accepted", "kind", "seal", "documents", "of", "fingerprints", "redacted", "cassette"})
"""Keys at the top of documents whose values are the format's own."""
_NOTE = "redacted"


@dataclass(frozen=True, slots=True)
class Group:
    """A record with the cassettes that are made of it: they have their placeholders in common."""

    record: Path
    cassettes: list[Cassette]


@dataclass(slots=True)
class Outcome:
    """What was, or would be, redacted in one group."""

    record: Path
    places: Counter[Kind] = field(default_factory=Counter)
    values: Counter[Kind] = field(default_factory=Counter)
    files: list[tuple[Path, Path, bytes]] = field(default_factory=list)
    """Each file, where its new form goes, and that form; those without a value to redact are among them."""
    changed: list[Path] = field(default_factory=list)
    names_left: int = 0
    """Places in which a single word of a name still stands."""
    unread: int = 0
    """Bodies and binary values that were not looked into."""

    def write(self) -> None:
        """Write the new files, the record last. Raises FileError where one cannot be written."""
        for _, target, data in sorted(self.files, key=lambda item: item[0] == self.record):
            write_atomic(target, data)


def grouped(cassettes: Iterable[Cassette]) -> list[Group]:
    """The cassettes by their records, in order."""
    found: dict[str, Group] = {}
    for cassette in cassettes:
        if cassette.record_path is None:
            continue
        group = found.setdefault(os.path.realpath(cassette.record_path), Group(cassette.record_path, []))
        group.cassettes.append(cassette)
    return list(found.values())


def redact(group: Group, *, subjects: Iterable[str] = (), target: Target, at: str) -> Outcome:
    """What the files of a group become; nothing is written.

    subjects: values of one person, or the id of a user; without any, all secrets and personal data go. target: where
    the new file of each file goes. at: the time that the record's note tells.
    Raises StatebaseError where a file cannot be read, or cannot be redacted without losing something; ValueError for a
    subject that is too short.
    """
    return _Redaction(group, tuple(subjects), target, at).run()


class _Redaction:
    def __init__(self, group: Group, subjects: tuple[str, ...], target: Target, at: str) -> None:
        self.group, self.target, self.at = group, target, at
        self.outcome = Outcome(group.record)
        self.ledger = read_record(str(group.record))
        self.https = [http for cassette in group.cassettes for http in _recordings(cassette)]
        self.texts = {path: read_bytes(str(path)) for path in self._files()}
        corpus = b"\n".join(self.texts.values()).decode("utf-8", "replace").casefold()
        user = self.ledger.created.user_id
        found = tuple(Subject.of(value, user) for value in subjects)
        owns = not found or user in subjects
        placeholders = Placeholders(self.ledger.id, lambda text: text.casefold() in corpus)
        self.redactor = Redactor(placeholders, found, owns)
        for subject in found:
            # In the order of the command, so that the person is the same one in every session.
            placeholders.of(subject.kind, subject.identity, subject.identity)

    def _files(self) -> Iterator[Path]:
        yield self.group.record
        yield from (path for path in (pulled_path(self.group.record),) if path.exists())
        for cassette in self.group.cassettes:
            for path in (cassette.path, cassette.accepted_path):
                if path is not None and path.exists():
                    yield path
        yield from (Path(http.path) for http in self.https)

    def run(self) -> Outcome:
        record = self._documents(self.group.record)
        streams = {path: self._documents(path) for path in self._accepted()}
        plans = {path: self._documents(path) for path in self._plans()}
        for document in [*record, *(one for found in (*streams.values(), *plans.values()) for one in found)]:
            self._learn(document)
        for http in self.https:
            for exchange in http.exchanges:
                learn_exchange(exchange, self.redactor)
        pulled = pulled_path(self.group.record)
        if pulled in self.texts:
            learn_json(self.texts[pulled].decode(), str(pulled), self.redactor)
        old_seal = seal_of(self.group.record)
        data = self._record(record)
        self._add(self.group.record, data)
        new_seal = seal_of_bytes(data)
        for path, documents in streams.items():
            self._add(path, self._stream(documents, {old_seal: new_seal}, str(path)))
        for path, documents in plans.items():
            self._add(path, self._plan(path, documents[0]))
        if pulled in self.texts:
            self._add(pulled, clean_json(self.texts[pulled].decode(), str(pulled), self.redactor).encode())
        spelled = self.redactor.spelled()
        for http in self.https:
            self._add(Path(http.path), self._http(http, spelled))
        self._count()
        return self.outcome

    def _accepted(self) -> list[Path]:
        paths = [cassette.accepted_path for cassette in self.group.cassettes]
        return [path for path in paths if path is not None and path.exists()]

    def _plans(self) -> list[Path]:
        return [cassette.path for cassette in self.group.cassettes if cassette.path is not None]

    def _documents(self, path: Path) -> list[Document]:
        return list(parse(self.texts[path], where=str(path)))

    def _add(self, path: Path, data: bytes) -> None:
        if data != self.texts[path]:
            self.outcome.changed.append(path)
        self.outcome.files.append((path, self.target(path), data))

    def _count(self) -> None:
        self.outcome.places = self.redactor.places
        self.outcome.values = Counter({kind: len(found) for kind, found in self.redactor.values.items()})
        texts = [data.decode("utf-8", "replace") for _, _, data in self.outcome.files]
        self.outcome.names_left = self.redactor.left_of_names(texts)

    # --- Documents of records, baselines and plans

    def _texts(self, document: Document) -> Iterator[Leaf]:
        for leaf in leaves(document.parts):
            if leaf.tag != "!bytes" and (not leaf.keys or leaf.keys[0] not in _KEPT):
                yield leaf

    def _learn(self, document: Document) -> None:
        self.outcome.unread += sum(leaf.tag == "!bytes" for leaf in leaves(document.parts))
        for leaf in self._texts(document):
            self.redactor.learn(leaf.text, "" if leaf.is_key else leaf.name, is_number=leaf.is_number)

    def _cleaned(self, document: Document) -> list[str]:
        parts = list(document.parts)
        for leaf in list(self._texts(document)):
            name = "" if leaf.is_key else leaf.name
            clean = self.redactor.clean(leaf.text, name, is_number=leaf.is_number)
            if clean != leaf.text:
                parts[leaf.at] = MARK + clean if leaf.is_number else text_part(clean)
        return parts

    def _value(self, document: Document) -> Any:
        (found,) = parse(document_text(self._cleaned(document)).encode(), where=str(self.group.record))
        return found.value

    def _record(self, documents: list[Document]) -> bytes:
        values = [self._value(document) for document in documents]
        if not self.redactor.places:
            return self.texts[self.group.record]
        counts = {
            kind.value: {"values": len(self.redactor.values[kind]), "places": number}
            for kind, number in self.redactor.places.items()
        }
        before = values[0].get(_NOTE)
        note = {"at": self.at, "by": f"pytest-statebase {__version__}", **counts}
        values[0][_NOTE] = [*(before if isinstance(before, list) else []), note]
        data = stream_bytes(values)
        read = ledger_from(data, where=str(self.group.record))
        if [type(event) for event in read.events] != [type(event) for event in self.ledger.events]:
            raise FileError("the redacted record is not read as it was", where=str(self.group.record))
        return data

    def _stream(self, documents: list[Document], seals: dict[str, str], where: str) -> bytes:
        """An accepted baseline, of the record with its new seal."""
        before = self.redactor.places.total()
        values = [self._value(document) for document in documents]
        of = values[0].get("of")
        if before == self.redactor.places.total() and seals.get(of, of) == of:
            return self.texts[Path(where)]
        values[0]["of"] = seals.get(of, of)
        data = stream_bytes(values)
        accepted_from(data, where=where)
        return data

    def _plan(self, path: Path, document: Document) -> bytes:
        """A plan with its comments and layout: only the values in its text change, and it must read as they do."""
        parts = self._cleaned(document)
        text = self.texts[path].decode()
        renamed = self._renamed(document)
        for leaf in leaves(document.parts):
            if leaf.at in renamed:
                parts[leaf.at] = text_part(renamed[leaf.at])
            if parts[leaf.at] != document.parts[leaf.at]:
                text = _replaced(text, leaf.text, parts[leaf.at].removeprefix(MARK))
        found = list(parse(text.encode(), where=str(path)))
        if len(found) != 1 or found[0].parts != parts:
            raise PlanError(
                "the plan holds values that cannot be replaced in its text without changing more",
                where=str(path),
                remedy="Take them out by hand: `pytest-statebase lint` tells the lines.",
            )
        return text.encode()

    def _renamed(self, document: Document) -> dict[int, str]:
        """The files that a plan names, where their new forms are called otherwise: by position in the parts."""
        names = {str(path.name): str(self.target(path).name) for path in self.texts}
        return {
            leaf.at: names[leaf.text]
            for leaf in leaves(document.parts)
            if not leaf.is_key and leaf.keys in (("record",), ("http",), ("http", "file")) and leaf.text in names
        }

    # --- HTTP

    def _http(self, http: HttpRecording, redactor: Redactor) -> bytes:
        if http.skipped:
            raise HttpError(
                f"the recording holds {len(http.skipped)} interactions that are no HTTP and would be lost",
                where=http.path,
                remedy="Move them to a file of their own first.",
            )
        exchanges = [self._exchange(exchange, redactor) for exchange in http.exchanges]
        self.outcome.unread += sum(_is_binary(exchange) for exchange in http.exchanges)
        if exchanges == list(http.exchanges):
            return self.texts[Path(http.path)]
        data = http_bytes(exchanges)
        http_from(data, where=http.path)
        return data

    def _exchange(self, exchange: Exchange, redactor: Redactor) -> Exchange:
        """Secrets go as they do when a request is made live, so that it is found again."""
        clean = clean_exchange(exchange, redactor)
        bare = clean if redactor.subjects else redacted_exchange(clean)
        if bare != clean:
            redactor.count(Kind.SECRET, repr(clean))
        return bare


def pulled_path(record: Path) -> Path:
    """Where what the service answered about a session stands, if it was pulled."""
    return record.with_name(record.name.removesuffix(RECORD_SUFFIX) + PULLED_SUFFIX)


def seal_of_bytes(data: bytes) -> str:
    """The seal in the last document of a record."""
    *_, last = parse(data, where="the redacted record")
    return str(last.value.get("seal", ""))


def _recordings(cassette: Cassette) -> Iterator[HttpRecording]:
    for found in (cassette.http, cassette.accepted_http):
        if found is not None:
            yield found


def _replaced(text: str, old: str, new: str) -> str:
    """A value in the text of a plan; line by line where it is folded over several."""
    if old in text:
        return text.replace(old, new)
    for before, after in zip(old.split("\n"), new.split("\n"), strict=False):
        if before and before != after:
            text = text.replace(before, after)
    return text


def _is_binary(exchange: Exchange) -> bool:
    for message in (exchange.request, exchange.answer):
        try:
            getattr(message, "body", b"").decode("utf-8")
        except UnicodeDecodeError:
            return True
    return False
