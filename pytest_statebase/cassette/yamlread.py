"""The YAML of cassettes, read straight from the parser's events: fast, strict, and without YAML's surprises.

Plain scalars are `null`, `true`, `false`, JSON numbers, `.inf`, `-.inf` and `.nan`; every other scalar is text.
Duplicate keys, merge keys, empty plain scalars and unknown tags are errors. Aliases are copied apart, within a limit.

While it reads it collects the canonical parts of each document (see `parts`), which the seal is computed from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar

import yaml
from yaml.events import (
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.parser import Parser as _PureParser
from yaml.reader import Reader as _PureReader
from yaml.reader import ReaderError
from yaml.scanner import Scanner as _PureScanner

from ..errors import FileError
from ..values import copy_value
from . import tags
from .parts import END, LIST, MAP, MARK, MAX_DEPTH, after, begins, is_tag, part_of, tag_part, text_part

MAX_COPIED = 1_000_000
"""Characters that all aliases of a file may stand for, where a node counts as ten."""

_NO_KEY: Any = object()
_TOO_DEEP = f"the nesting is deeper than {MAX_DEPTH}"
_HOSTILE = "No recording needs that: the file is broken or hostile."
_WORDS = {"null": None, "true": True, "false": False, ".inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_SPECIAL = frozenset("-0123456789.ntf<") | {""}
"""How plain scalars begin that may be no text."""
_MAX_TEXTS = 1000
_texts: set[str] = set()
"""Plain scalars that begin so and are texts all the same, such as `type` and `tool`, which come by the thousand."""

Position = tuple[int, int]
"""Line and column, from 0."""


@dataclass(slots=True)
class Document:
    """One document of a stream."""

    value: Any
    parts: list[str]
    line: int
    """Where it begins, from 1."""
    marks: Mapping[int, Position]
    """Line and column, from 0, of each event by the position of its first part, where they were asked for."""

    def position(self, *keys: Any) -> Position:
        """Line and column, from 1, of what stands under the keys, or of the nearest thing around it."""
        at = found = 0
        for key in keys:
            step = self._step(at, key)
            if step is None:
                break
            found, at = step
        line, column = self.marks.get(found, (self.line - 1, 0))
        return line + 1, column + 1

    def _step(self, at: int, key: Any) -> tuple[int, int] | None:
        """Where in the parts the key, or item, of the container at `at` stands, and its value."""
        parts = self.parts
        at += is_tag(parts[at])
        if not begins(parts[at]):
            return None
        is_map = parts[at] == MAP
        at += 1
        count, wanted = 0, part_of(key)
        while parts[at] != END:
            value = after(parts, at) if is_map else at
            if parts[at] == wanted if is_map else count == key:
                return at, value
            at = after(parts, value)
            count += 1
        return None


def parse(data: bytes, *, where: str, marks: bool = False) -> Iterator[Document]:
    """The documents of a UTF-8 stream, one after the other.

    where: the file's name, for errors.
    marks: keep line and column of every key.
    Raises FileError with line and column for whatever is not the YAML of cassettes.
    """
    return Reader(data, where=where, marks=marks).documents()


class _Pure(_PureReader, _PureScanner, _PureParser):
    """PyYAML's own parser, where it was built without libyaml."""

    def __init__(self, data: bytes) -> None:
        _PureReader.__init__(self, data)
        _PureScanner.__init__(self)
        _PureParser.__init__(self)


def _events(data: bytes) -> Callable[[], Any]:
    if yaml.__with_libyaml__:
        from yaml._yaml import CParser

        return CParser(data).get_event
    return _Pure(data).get_event


@dataclass(slots=True)
class _Open:
    """What a tagged or anchored container needs at its end."""

    tag: str | None
    anchor: str | None
    event: Any
    start: int


class Reader:
    """One stream being read. Another dialect of YAML is a class of its own, with another `plain` and `build`."""

    special: ClassVar[frozenset[str]] = _SPECIAL
    texts: ClassVar[set[str]] = _texts

    def __init__(self, data: bytes, *, where: str, marks: bool) -> None:
        self.where = where
        self.data = data
        self.parts: list[str] = []
        self.anchors: dict[str, tuple[Any, list[str], int] | None] = {}
        self.copied = 0
        self.marks: dict[int, Position] = {}
        try:
            events = _events(data)
        except yaml.YAMLError as error:
            raise self.broken(error) from None
        self.get = self.marking(events) if marks else events

    def marking(self, events: Callable[[], Any]) -> Callable[[], Any]:
        """The events, with the position of each kept under that of its first part."""

        def get() -> Any:
            event = events()
            self.marks[len(self.parts)] = (event.start_mark.line, event.start_mark.column)
            return event

        return get

    def documents(self) -> Iterator[Document]:
        get = self.get
        try:
            get()
            while type(event := get()) is not StreamEndEvent:
                self.parts = []
                self.anchors = {}
                self.marks = {}
                line = event.start_mark.line + (2 if event.explicit else 1)
                value = self.node()
                yield Document(value, self.parts, line, self.marks)
        except yaml.YAMLError as error:
            raise self.broken(error) from None

    def node(self) -> Any:
        """The root of the document that has just begun. One loop: a call for each event would halve the speed."""
        get, part, special, texts, no_key = self.get, self.parts.append, self.special, self.texts, _NO_KEY
        stack: list[tuple[Any, Any, Any, _Open | None]] = []
        container: Any = []
        add: Any = container.append
        key = no_key
        while True:
            event = get()
            kind = type(event)
            if kind is ScalarEvent:
                value = event.value
                plain, quoted = event.implicit
                if plain:
                    if value[:1] in special and value not in texts:
                        value = self.plain(value, event)
                    else:
                        part(value)
                elif quoted:
                    part(value if "\0" not in value else text_part(value))
                else:
                    value = self.tagged(value, event)
                if event.anchor is not None:
                    self.anchors[event.anchor] = _anchored(value, self.parts[-1 if plain or quoted else -2 :])
                if add is not None:
                    add(value)
                elif key is not no_key:
                    container[key] = value
                    key = no_key
                elif value in container:
                    raise self.duplicate(value, event)
                else:
                    key = value
                continue
            if kind is MappingStartEvent or kind is SequenceStartEvent:
                if len(stack) >= MAX_DEPTH:
                    raise self.error(_TOO_DEEP, event, _HOSTILE)
                note = None if event.tag is None and event.anchor is None else self.open(event)
                stack.append((container, add, key, note))
                container, key = ({}, no_key) if kind is MappingStartEvent else ([], None)
                add = None if key is no_key else container.append
                part(MAP if key is no_key else LIST)
                continue
            if kind is MappingEndEvent or kind is SequenceEndEvent:
                part(END)
                value = container
                container, add, key, note = stack.pop()
                if note is not None:
                    value = self.close(value, note)
            elif kind is DocumentEndEvent:
                return container[0]
            else:
                value = self.alias(event)
            if add is not None:
                add(value)
            elif key is not no_key:
                container[key] = value
                key = no_key
            else:
                key = self.key(container, value, event)

    def plain(self, text: str, event: Any) -> Any:
        """What a plain scalar means that may be no text; adds its part."""
        if text in _WORDS:
            self.parts.append(MARK + text)
            return _WORDS[text]
        match = _NUMBER.fullmatch(text)
        if match is not None:
            self.parts.append(MARK + text)
            return float(text) if match[1] else self.integer(text, event)
        if not text:
            raise self.error("a value is missing", event, 'Write null, or "" for an empty text.')
        if text == "<<":
            raise self.error("merge keys (<<) are not read", event, 'Write the keys out, or quote "<<" if it is text.')
        if len(_texts) < _MAX_TEXTS:
            _texts.add(text)
        self.parts.append(text)
        return text

    def integer(self, text: str, event: Any) -> int:
        try:
            return int(text)
        except ValueError:
            raise self.error(f"an integer of {len(text)} digits", event, "Quote it if it is text.") from None

    def tagged(self, text: str, event: Any) -> Any:
        self.parts.append(tag_part(event.tag))
        self.parts.append(text_part(text))
        return self.build(tags.SCALARS, event.tag, text, event)

    def build(self, table: Mapping[str, Callable[[Any], Any]], tag: str, form: Any, event: Any) -> Any:
        make = table.get(tag)
        if make is None:
            raise self.foreign(tag, event)
        try:
            return make(form)
        except (ValueError, TypeError, ArithmeticError, LookupError, OSError) as error:
            found = f" {form!r:.60}" if isinstance(form, str) else ""
            raise self.error(f"{tag}{found} cannot be read: {error}", event, "Correct the value or its tag.") from None

    def open(self, event: Any) -> _Open:
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        start = len(self.parts)
        if event.tag is not None:
            self.parts.append(tag_part(event.tag))
        return _Open(event.tag, event.anchor, event, start)

    def close(self, value: Any, note: _Open) -> Any:
        if note.tag is not None:
            table = tags.MAPPINGS if type(value) is dict else tags.LISTS
            value = self.build(table, note.tag, value, note.event)
        if note.anchor is not None:
            self.anchors[note.anchor] = _anchored(value, self.parts[note.start :])
        return value

    def alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise self.error(f"*{event.anchor} names no anchor", event, "Write the value out, or quote the text.")
        found = self.anchors[event.anchor]
        if found is None:
            raise self.error(f"*{event.anchor} contains itself", event, "A recorded value cannot contain itself.")
        value, parts, weight = found
        self.copied += weight
        if self.copied > MAX_COPIED:
            raise self.error(
                "the aliases stand for too much", event, "Write the values out: the file is broken or hostile."
            )
        self.parts.extend(parts)
        try:
            return copy_value(value)
        except RecursionError:
            raise self.error(f"*{event.anchor} nests too deep", event, "Write the value out.") from None

    def key(self, container: dict[Any, Any], key: Any, event: Any) -> Any:
        """A key that is no scalar, checked."""
        try:
            double = key in container
        except TypeError:
            raise self.error("a list or a mapping cannot be a key", event, "Quote the key if it is text.") from None
        if double:
            raise self.duplicate(key, event)
        return key

    def duplicate(self, key: Any, event: Any) -> FileError:
        remedy = "Keep one of them; a merge of two versions may have left both."
        return self.error(f"the key {key!r:.60} stands twice", event, remedy)

    def error(self, what: str, event: Any, remedy: str) -> FileError:
        mark = event.start_mark
        return FileError(what, where=f"{self.where}:{mark.line + 1}:{mark.column + 1}", remedy=remedy)

    def foreign(self, tag: str, event: Any) -> FileError:
        shown = tag.replace("tag:yaml.org,2002:", "!!")
        near = get_close_matches(shown, tags.KNOWN, 1)
        hint = f"Did you mean {near[0]}? " if near else ""
        return self.error(
            f"the tag {shown:.60} is not known here, or not on such a value",
            event,
            f"{hint}Known: {' '.join(tags.KNOWN)}.",
        )

    def broken(self, error: yaml.YAMLError) -> FileError:
        """The parser's complaint as one of ours."""
        if isinstance(error, ReaderError):
            # libyaml counts bytes, the pure parser characters.
            counts_bytes = yaml.__with_libyaml__
            before = self.data[: error.position].decode() if counts_bytes else self.data.decode()[: error.position]
            line, column = before.count("\n"), len(before) - before.rfind("\n") - 1
            what = f"the character U+{_code(error.character):04X} cannot stand in YAML"
            remedy = "Write it escaped in double quotes."
        else:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            line, column = (mark.line, mark.column) if mark else (0, 0)
            what, remedy = self.syntax(error, line)
            last = self.data.count(b"\n")
            if line > last:
                line, column = last, len(self.data) - self.data.rfind(b"\n") - 1
        return FileError(what, where=f"{self.where}:{line + 1}:{column + 1}", remedy=remedy)

    def syntax(self, error: yaml.YAMLError, line: int) -> tuple[str, str]:
        problem = getattr(error, "problem", None) or str(error)
        context = getattr(error, "context", None)
        if "maximum nesting" in problem:
            return _TOO_DEEP, _HOSTILE
        what = f"this is not YAML: {problem}" + (f" ({context})" if context else "")
        if line >= self.data.rstrip().count(b"\n"):
            return what, "The file ends here: it may have been cut off. Restore it from version control."
        return what, "Correct the line, or restore the file from version control."


def _code(character: Any) -> int:
    return character if isinstance(character, int) else ord(character)


def _anchored(value: Any, parts: list[str]) -> tuple[Any, list[str], int]:
    """An anchored value, its canonical parts, and its weight in characters."""
    return value, parts, sum(10 + len(part) for part in parts)
