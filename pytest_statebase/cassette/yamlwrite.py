"""YAML that a person can review: what it writes reads back the same here, and under YAML 1.1 and 1.2.

Own layout instead of libyaml's emitter, which escapes every character beyond U+FFFF and gives up literal blocks for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..errors import UnstorableError
from .parts import END, MAP, begins, canonical_text, is_tag, text_of
from .yamlread import parse

WIDTH = 110
"""Longer texts are folded."""
FLOW_WIDTH = 76
"""Containers that are no longer than this on one line stand on one line."""
_MAX_KEY = 120

# Printable, without the line breaks of YAML 1.1, byte order marks and the characters that reorder text.
_SHOWN = r"\x20-\x7e\xa0-\u200d\u2010-\u2027\u202f-\u2065\u2070-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_LINE = re.compile(f"[{_SHOWN}]*")
_LINES = re.compile(f"[{_SHOWN}\t\n]*")
_PLAIN_START = re.compile(r"[^\W\d]|[/($]")
_NOT_PLAIN = re.compile(r": | #|:$| $")
# PyYAML's own parser takes no `?` in a plain text in flow style.
_NOT_FLOW = re.compile(r"[,\[\]{}:#?]")
_WORDS = re.compile(r"y|n|yes|no|on|off|true|false|null|nan|inf", re.IGNORECASE)
_TO_ESCAPE = re.compile(f'[^{_SHOWN}]|["\\\\]')
_FOLD = re.compile(r"(?<=[^ ]) (?=[^ ])")
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\x00": "\\0"}


def document_text(parts: list[str], *, path: str = "") -> str:
    """One document as YAML, checked by reading it back."""
    wanted = canonical_text(parts)
    for quoted in (False, True):
        text = _Layout(parts, quoted=quoted).text()
        found = [canonical_text(document.parts) for document in parse(text.encode(), where=path or "the written text")]
        if found == [wanted]:
            return text
    raise UnstorableError(
        "a value does not read back as it was", where=path or None, remedy="Please report this value."
    )


def scalar(part: str, *, flow: bool = False) -> str:
    """A scalar on one line."""
    text = text_of(part)
    if text is None:
        return part[1:]
    return text if _is_plain(text, flow) else double_quoted(text)


def _is_plain(text: str, flow: bool) -> bool:
    return (
        _PLAIN_START.match(text) is not None
        and _LINE.fullmatch(text) is not None
        and _NOT_PLAIN.search(text) is None
        and _WORDS.fullmatch(text) is None
        and not (flow and _NOT_FLOW.search(text))
    )


def double_quoted(text: str) -> str:
    """The text in double quotes on one line."""
    return f'"{_TO_ESCAPE.sub(_escape, text)}"'


def single_quoted(text: str) -> str | None:
    """The text in single quotes on one line, None where it has characters that need an escape."""
    return "'" + text.replace("'", "''") + "'" if _LINE.fullmatch(text) else None


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def block_scalar(text: str, indent: int) -> str | None:
    """The text as a literal or folded block, None where it has to stand on one line."""
    pad = "\n" + " " * indent
    if "\n" in text:
        if text[0] in " \n\t" or not _LINES.fullmatch(text) or re.search(r"[ \t]$", text, re.MULTILINE):
            return _broken_quoted(text, pad)
        body = text.rstrip("\n")
        ends = len(text) - len(body)
        lines = "".join(pad + line if line else "\n" for line in body.split("\n"))
        return ("|-", "|", "|+")[min(ends, 2)] + lines + "\n" * (ends - 1)
    if len(text) + indent > WIDTH and text[0] != " " and text[-1] != " " and _LINE.fullmatch(text):
        lines_of = _folded(text, max(WIDTH - indent, 40))
        if len(lines_of) > 1:
            return ">-" + "".join(pad + line for line in lines_of)
    return None


def _broken_quoted(text: str, pad: str) -> str:
    """Double quotes with a line of the file for each line of the text."""
    quoted = [double_quoted(line)[1:-1] for line in re.findall(r"[^\n]*\n|[^\n]+", text)]
    shielded = ["\\" + line if line[0] == " " else line for line in quoted]
    return '"' + f"\\{pad}".join(shielded) + '"'


def _folded(text: str, width: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in _FOLD.split(text):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


@dataclass(slots=True)
class _Frame:
    is_map: bool
    indent: int
    end: int
    fresh: bool
    """The first entry goes on in the line that is there."""
    listed: bool
    """The entries of a document's own lists stand in block form, however short."""
    expects_key: bool


class _Layout:
    """Lays out the parts of one document."""

    def __init__(self, parts: list[str], *, quoted: bool) -> None:
        self.parts = parts
        self.quoted = quoted
        self.inline, self.ends = measure(parts)
        self.out: list[str] = []
        self.stack: list[_Frame] = []

    def text(self) -> str:
        at = self.value(0, "", listed=False)
        while self.stack:
            frame = self.stack[-1]
            if at == frame.end:
                self.stack.pop()
                at += 1
            elif not frame.is_map:
                at = self.item(frame, at)
            elif frame.expects_key:
                at = self.key(frame, at)
            else:
                frame.expects_key = True
                at = self.value(at, " ", listed=len(self.stack) == 1)
        return "".join(self.out) + "\n"

    def line(self, frame: _Frame) -> None:
        if not frame.fresh:
            self.newline(frame.indent)
        frame.fresh = False

    def newline(self, indent: int) -> None:
        self.out.append("\n" + " " * indent)

    def item(self, frame: _Frame, at: int) -> int:
        self.line(frame)
        self.out.append("-")
        return self.value(at, " ", listed=False, block=frame.listed)

    def key(self, frame: _Frame, at: int) -> int:
        self.line(frame)
        frame.expects_key = False
        text, end = self.one_line(at)
        if len(text) > _MAX_KEY:
            self.out.append(f"? {text}")
            self.newline(frame.indent)
            self.out.append(":")
        else:
            self.out.append(f"{text}:")
        return end

    def one_line(self, at: int) -> tuple[str, int]:
        """A key, however long, on one line, and what comes after it."""
        start = at + 1 if is_tag(self.parts[at]) else at
        return flow_text(self.parts, at, self.ends.get(start, start) + 1), self.ends.get(start, start) + 1

    def value(self, at: int, space: str, *, listed: bool, block: bool = False) -> int:
        """Write the node at `at`; a container in block form is left open on the stack."""
        parts, tag = self.parts, ""
        if is_tag(parts[at]):
            tag, at = space + parts[at][1:], at + 1
            space = " "
        part = parts[at]
        indent = self.stack[-1].indent + 2 if self.stack else 0
        if not begins(part):
            self.out.append(tag + space + self.scalar(part, indent, bool(tag)))
            return at + 1
        end = self.ends[at]
        inline = self.inline.get(at)
        empty = end == at + 1
        if empty or (inline is not None and self.stack and not block and not self.quoted):
            self.out.append(tag + space + (inline or "{}"))
            return end + 1
        self.begin(part == MAP, indent, end, tag, listed)
        return at + 1

    def begin(self, is_map: bool, indent: int, end: int, tag: str, listed: bool) -> None:
        self.out.append(tag)
        in_list = bool(self.stack) and not self.stack[-1].is_map
        fresh = not tag and (in_list or not self.stack)
        if fresh and in_list:
            self.out.append(" ")
        self.stack.append(_Frame(is_map, indent, end, fresh, listed and not is_map, is_map))

    def scalar(self, part: str, indent: int, tagged: bool) -> str:
        text = text_of(part)
        if text is None:
            return scalar(part)
        block = block_scalar(text, indent or 2) if text and not self.quoted else None
        if block is not None:
            return block
        return double_quoted(text) if self.quoted or tagged else scalar(part)


def measure(parts: list[str]) -> tuple[dict[int, str], dict[int, int]]:
    """By the position of each container's beginning: its text on one line, where that is short, and its end."""
    inline: dict[int, str] = {}
    ends: dict[int, int] = {}
    opened: list[int] = []
    for at, part in enumerate(parts):
        if begins(part):
            opened.append(at)
        elif part == END:
            start = opened.pop()
            ends[start] = at
            if at - start <= FLOW_WIDTH:
                _measure_one(parts, start, at, inline, ends)
    return inline, ends


def _measure_one(parts: list[str], start: int, end: int, inline: dict[int, str], ends: dict[int, int]) -> None:
    """Short maps of scalars and of short leaves, and short lists of scalars, may stand on one line."""
    inner = [at for at in range(start + 1, end) if begins(parts[at])]
    if inner and (parts[start] != MAP or any(at not in inline or _has_container(parts, at, ends[at]) for at in inner)):
        return
    if any("\n" in part for part in parts[start:end]):
        return
    text = flow_text(parts, start, end + 1)
    if len(text) <= FLOW_WIDTH:
        inline[start] = text


def _has_container(parts: list[str], start: int, end: int) -> bool:
    return any(begins(parts[at]) for at in range(start + 1, end))


def flow_text(parts: list[str], start: int, end: int) -> str:
    """The nodes from `start` to before `end` on one line."""
    out: list[str] = []
    stack: list[list[Any]] = [[False, 0]]
    for part in parts[start:end]:
        if part == END:
            out.append("}" if stack.pop()[0] else "]")
            continue
        tagged = bool(out) and out[-1][0] == "!"
        if not tagged:
            _separate(out, stack[-1])
        if is_tag(part):
            out.append(f"{part[1:]} ")
        elif begins(part):
            stack.append([part == MAP, 0])
            out.append("{" if part == MAP else "[")
        else:
            out.append(double_quoted(text_of(part) or "") if tagged else scalar(part, flow=True))
    return "".join(out)


def _separate(out: list[str], frame: list[Any]) -> None:
    is_map, count = frame
    frame[1] += 1
    if is_map and count % 2:
        out.append(": ")
    elif count:
        out.append(", ")
