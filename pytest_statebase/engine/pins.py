"""Chance, made the same on every run where the project asks for it: `random` and `uuid.uuid4`, seeded for each turn."""

from __future__ import annotations

import hashlib
import random
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from types import CodeType, FunctionType
from typing import Any

from ..errors import OptionError

PINS = ("random", "uuid")
_lock = threading.Lock()
_states: list[tuple[Any, Any]] = []
"""What the generators were before the first of the turns that are being replayed, and a place for each further one."""
_chance: ContextVar[random.Random | None] = ContextVar("statebase_uuid", default=None)
_holders = 0
_code: CodeType = uuid.uuid4.__code__


def as_pins(names: Iterable[str]) -> tuple[str, ...]:
    """What is to be pinned, checked.

    Raises OptionError for what cannot be.
    """
    found = tuple(dict.fromkeys(names))
    unknown = [name for name in found if name not in PINS]
    if unknown:
        raise OptionError(f"{unknown[0]!r} cannot be pinned", remedy=f"Pin {' and '.join(PINS)}, or nothing.")
    return found


@contextmanager
def pinned(names: Iterable[str], seed: str) -> Iterator[None]:
    """Have the generators give what `seed` makes them give; they go on afterwards where they were.

    `random` is the process's own, `uuid.uuid4` follows its context: two replays at once share the former.
    """
    number = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    with ExitStack() as stack:
        if "random" in names:
            stack.enter_context(_random(number))
        if "uuid" in names:
            stack.enter_context(_uuids(number))
        yield


@contextmanager
def _random(seed: int) -> Iterator[None]:
    numpy = sys.modules.get("numpy")
    generator = getattr(numpy, "random", None)
    with _lock:
        _states.append((random.getstate(), generator.get_state() if generator else None))
        random.seed(seed)
        if generator:
            generator.seed(seed & 0xFFFFFFFF)
    try:
        yield
    finally:
        with _lock:
            before, numpys = _states[0]
            _states.pop()
            if not _states:
                random.setstate(before)
                if generator and numpys:
                    generator.set_state(numpys)


@contextmanager
def _uuids(seed: int) -> Iterator[None]:
    global _holders
    token = _chance.set(random.Random(seed))
    with _lock:
        _holders += 1
        if _holders == 1:
            # The code of the function itself, so that `from uuid import uuid4` is reached as well.
            uuid.uuid4.__code__ = _reach.__code__
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                uuid.uuid4.__code__ = _code
        _chance.reset(token)


def _reach() -> Any:
    """Runs in the place of `uuid.uuid4`, among whose names nothing of this module is."""
    from pytest_statebase.engine.pins import next_uuid

    return next_uuid()


_real_uuid4 = FunctionType(_code, uuid.uuid4.__globals__, "uuid4", uuid.uuid4.__defaults__)


def next_uuid() -> uuid.UUID:
    """The next uuid of the turn; a real one outside of any."""
    chance = _chance.get()
    if chance is None:
        return _real_uuid4()  # type: ignore[no-any-return]
    return uuid.UUID(int=chance.getrandbits(128), version=4)
