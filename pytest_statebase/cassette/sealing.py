"""The seal: SHA-256 over what a record says, so that layout, comments and line ends are free.

The digest of a document is that of its canonical parts (see `parts`), joined, in UTF-8. The seal chains the digests:
each link is the digest of the link before it and the document's digest; the last document counts without its `seal`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import SealError
from .parts import after, canonical_text
from .yamlread import Document

SHORT = 12
_PREFIX = "sha256:"


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a record is still what was sealed."""

    ok: bool
    """False for a broken seal and for none."""
    state: Literal["sealed", "unsealed", "broken"]
    message: str
    """One sentence that says so, naming the first document that is not what it was."""
    document: int | None = None
    """Position of that document in the file, from 1."""
    turn: int | None = None
    line: int | None = None


@dataclass(slots=True)
class _Seen:
    digest: str
    line: int
    label: str
    turn: int | None


@dataclass(slots=True)
class Chain:
    """Takes the documents of a record as they are read, then tells whether the seal holds."""

    link: bytes = b""
    seen: list[_Seen] = field(default_factory=list)
    sealed: str | None = None
    recorded: list[str] | None = None
    """The short digests that the last document holds."""
    is_ended: bool = False
    past_end: int | None = None
    """Position, from 0, of the first document after the one that ends the record."""

    def add(self, document: Document) -> None:
        value, parts = document.value, document.parts
        if self.is_ended:
            self.past_end = len(self.seen) if self.past_end is None else self.past_end
            self.seen.append(_Seen("", document.line, *_label(value)))
            return
        is_end = isinstance(value, dict) and value.get("kind") == "end"
        if is_end and "seal" in value:
            self.sealed = str(value["seal"])
            parts = without_seal(parts)
        if is_end:
            self.is_ended = True
            found = value.get("documents")
            self.recorded = [str(item) for item in found] if isinstance(found, list) else None
        digest = self.extend(parts)
        self.seen.append(_Seen(digest, document.line, *_label(value)))

    def extend(self, parts: list[str]) -> str:
        """Add a document's parts; its own digest, shortened."""
        digest = hashlib.sha256(canonical_text(parts).encode("utf-8", "surrogatepass"))
        self.link = hashlib.sha256(self.link + digest.digest()).digest()
        return digest.hexdigest()[:SHORT]

    @property
    def seal(self) -> str:
        """The seal of the documents so far."""
        return _PREFIX + self.link.hex()

    def verification(self) -> Verification:
        """Whether the seal in the last document is that of the documents."""
        if self.sealed is None:
            return Verification(
                False, "unsealed", "the record has no seal: nothing shows that it is as it was recorded"
            )
        if self.sealed == self.seal and self.past_end is None:
            return Verification(True, "sealed", f"sealed: all {len(self.seen)} documents are as they were recorded")
        at, message = self._first_change()
        seen = self.seen[at] if at < len(self.seen) else None
        turn, line = (seen.turn, seen.line) if seen else (None, None)
        return Verification(False, "broken", f"the seal is broken: {message}", at + 1, turn, line)

    def _first_change(self) -> tuple[int, str]:
        """Position, from 0, and a description of the first document that is not what it was."""
        last = len(self.seen if self.past_end is None else self.seen[: self.past_end]) - 1
        found, wanted = [seen.digest for seen in self.seen[:last]], self.recorded
        if self.past_end is not None and self.sealed == self.seal:
            return self.past_end, f"{self._there(self.past_end)} was added after the end"
        if wanted is None:
            return last, "the last document's `documents` are gone, so the change cannot be placed"
        for at in range(max(len(found), len(wanted))):
            here = found[at] if at < len(found) else None
            was = wanted[at] if at < len(wanted) else None
            if here != was:
                is_more = here is not None and found.count(here) > wanted.count(here)
                is_less = was is not None and found.count(was) < wanted.count(was)
                return at, self._change(at, is_more, is_less)
        return last, "the last document was changed"

    def _change(self, at: int, is_more: bool, is_less: bool) -> str:
        """is_more: what stands there stands more often than it was recorded; is_less: what should, less often."""
        if is_less and not is_more:
            return f"document {at + 1} is missing, before {self.seen[at].label} in line {self.seen[at].line}"
        what = "moved" if not is_more else "changed" if is_less else "added"
        return f"{self._there(at)} was {what}"

    def _there(self, at: int) -> str:
        return f"document {at + 1} ({self.seen[at].label}, line {self.seen[at].line})"

    def check(self, where: str) -> Verification:
        """Raise SealError, naming the first changed document, where the seal is broken."""
        result = self.verification()
        if result.state == "broken":
            raise SealError(
                result.message,
                where=f"{where}:{result.line}" if result.line else where,
                remedy="A record is evidence: restore it from version control, or record the session again.",
            )
        return result


def _label(value: Any) -> tuple[str, int | None]:
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind == "turn":
        number = value.get("number")
        return f"turn {number}", number if type(number) is int else None
    return f"kind {kind}" if isinstance(kind, str) else "no kind", None


def without_seal(parts: list[str]) -> list[str]:
    """The parts of the last document without its key `seal`."""
    at = 1
    while at < len(parts) - 1:
        end = after(parts, after(parts, at))
        if parts[at] == "seal":
            return parts[:at] + parts[end:]
        at = end
    return parts
