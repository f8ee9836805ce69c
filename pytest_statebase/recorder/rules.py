"""Which sessions are worth keeping: a share of all, and those in which something happened."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from hashlib import blake2b
from itertools import groupby

from ..errors import OptionError
from ..events import Event, StateRolledBack, ToolCalled, TurnAdded

RULES = ("errors", "rollbacks", "slow", "unusual", "feedback")
SAMPLE = "sample"
_MOST_SEQUENCES = 20_000
_MOST_OF_SESSION = 1_000


class Rules:
    """How the sessions of a capture are chosen.

    sample: the share that is kept anyway, from 0 to 1. keep: by what others are kept (see `RULES`). slow: seconds from
    which on a turn is slow.

    Raises OptionError for what is no share, no rule or no number.
    """

    def __init__(self, sample: float, keep: Iterable[str], slow: float) -> None:
        self.keep = tuple([keep] if isinstance(keep, str) else keep)
        for name, value, most in (("sample", sample, 1.0), ("slow", slow, float("inf"))):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
                raise OptionError(
                    f"{name}={value!r} means nothing to a capture",
                    remedy="sample is a share from 0 to 1, slow a number of seconds.",
                )
        for rule in self.keep:
            if rule not in RULES:
                raise OptionError(
                    f"keep names {rule!r}, which is no rule of a capture", remedy=f"Rules are {', '.join(RULES)}."
                )
        self.sample = sample
        self.slow = slow
        self._lock = threading.Lock()
        self._sequences: dict[bytes, None] = {}

    def forked(self) -> None:
        """In a child of fork: a thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    def is_sampled(self, session: str) -> bool:
        """Whether a session is of the share that is kept anyway: the same in every process, now and later."""
        drawn = int.from_bytes(blake2b(session.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
        return drawn < self.sample * 2**64

    def records(self, session: str) -> bool:
        """Whether a session is recorded at all: its end may tell that it is worth it."""
        return bool(self.keep) or self.is_sampled(session)

    def is_new(self, sequences: Iterable[bytes]) -> bool:
        """Whether one of the sequences of tools was not seen before in this process; now they are seen.

        So many are remembered that memory is bounded; the one that was not seen for the longest time is forgotten.
        """
        found = False
        with self._lock:
            for sequence in sequences:
                found |= sequence not in self._sequences
                self._sequences.pop(sequence, None)
                self._sequences[sequence] = None
            while len(self._sequences) > _MOST_SEQUENCES:
                del self._sequences[next(iter(self._sequences))]
        return found


class Signs:
    """What the turns of one session have shown so far."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.sequences: set[bytes] = set()
        """Of its turns, as far as there is room."""

    def turn(self, events: Collection[Event], seconds: float, slow: float) -> None:
        """A turn is over."""
        if seconds >= slow:
            self.seen.add("slow")
        for event in events:
            if isinstance(event, (ToolCalled, TurnAdded)) and event.error is not None:
                self.seen.add("errors")
            elif isinstance(event, StateRolledBack):
                self.seen.add("rollbacks")
        if len(self.sequences) < _MOST_OF_SESSION:
            self.sequences.add(sequence_of(event.tool for event in events if isinstance(event, ToolCalled)))

    def reasons(self, rules: Rules, session: str) -> tuple[str, ...]:
        """Why the session is kept: names of rules, none of them where it is not."""
        seen = set(self.seen)
        if "unusual" in rules.keep and rules.is_new(self.sequences):
            seen.add("unusual")
        sampled = (SAMPLE,) if rules.is_sampled(session) else ()
        return (*sampled, *(rule for rule in rules.keep if rule in seen))


def sequence_of(tools: Iterable[str]) -> bytes:
    """What stands for a sequence of tools, however often one was called in a row."""
    text = "\0".join(tool for tool, _ in groupby(tools))
    return blake2b(text.encode(errors="surrogatepass"), digest_size=12).digest()
