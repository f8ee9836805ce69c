"""How many values of the corpus are found, and how many look-alikes are left alone."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import unquote, unquote_plus

from pytest_statebase.cassette.secrets import set_own_names
from pytest_statebase.events import ToolCalled, TurnStarted
from pytest_statebase.ledger import Event
from pytest_statebase.privacy import FrameRedactor
from pytest_statebase.privacy.tokens import TOKEN

from .case import Case
from .keys import keys
from .lookalikes import lookalikes
from .named import named
from .personal import personal

OWN_NAMES = ("zugangswort",)
"""What the corpus has under a name that a project says."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}=*")


@dataclass(frozen=True)
class Turn:
    """As much of a journal's frame as redaction looks at."""

    session: str
    events: tuple[Event, ...]


@dataclass
class Score:
    """Of one kind of values, or of look-alikes."""

    total: int = 0
    right: int = 0
    missed: list[str] = field(default_factory=list)

    def add(self, name: str, *, is_right: bool) -> None:
        self.total += 1
        self.right += is_right
        if not is_right:
            self.missed.append(name)


def secrets() -> list[Case]:
    return [*keys(), *named(), *personal()]


def scores() -> tuple[dict[str, Score], dict[str, Score]]:
    """Recall by kind of value, and by kind of look-alike how many stay as they are."""
    set_own_names(OWN_NAMES)
    try:
        found: dict[str, Score] = {}
        for case in secrets():
            assert holds(case.carrier, case.value), case.name
            clean = cleaned(case)
            found.setdefault(case.kind, Score()).add(case.name, is_right=not holds(clean, case.value))
        left: dict[str, Score] = {}
        for case in lookalikes():
            left.setdefault(case.kind, Score()).add(case.name, is_right=cleaned(case) == case.carrier)
    finally:
        set_own_names(())
    return found, left


def cleaned(case: Case) -> object:
    """What a tool returned, as it is written."""
    turn = Turn("s", (TurnStarted(1), ToolCalled("t", {}, case.carrier)))
    call = FrameRedactor().frame(turn).events[1]
    assert isinstance(call, ToolCalled)
    return call.result


def holds(value: object, needle: str) -> bool:
    """Whether a value stands anywhere in another one, also after decoding."""
    # The digits of a token are random: among them stands any three digits once in some hundred runs.
    return any(needle in TOKEN.sub("", text) for leaf in _leaves(value) for text in decoded(leaf))


def _leaves(value: object) -> Iterator[str | bytes]:
    if isinstance(value, dict):
        yield from (leaf for pair in value.items() for part in pair for leaf in _leaves(part))
    elif isinstance(value, (list, tuple)):
        yield from (leaf for item in value for leaf in _leaves(item))
    else:
        yield value if isinstance(value, (str, bytes)) else str(value)


def decoded(data: str | bytes, depth: int = 5) -> Iterator[str]:
    """A text, and what it says when percent signs, escapes, base64 and gzip in it are undone."""
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    text = raw.decode("utf-8", "replace")
    yield text
    if not depth:
        return
    plain = {unquote(text), unquote_plus(text), text.replace("\\\\", "\\").replace('\\"', '"').replace("\\/", "/")}
    for other in plain - {text}:
        yield from decoded(other, depth - 1)
    for at in _places(raw, b"\x1f\x8b\x08"):
        with suppress(zlib.error):
            yield from decoded(zlib.decompressobj(31).decompress(raw[at:]), depth - 1)
    for match in _BASE64.finditer(text):
        inside = _from_base64(match[0])
        if inside is not None:
            yield from decoded(inside, depth - 1)


def _places(data: bytes, mark: bytes) -> Iterator[int]:
    at = data.find(mark)
    while at >= 0:
        yield at
        at = data.find(mark, at + 1)


def _from_base64(text: str) -> bytes | None:
    plain = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except binascii.Error:
        return None
