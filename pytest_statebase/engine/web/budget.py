"""What live model calls may cost, and how long a provider that fails is waited for."""

from __future__ import annotations

import itertools
import os
import threading
import time
import zlib
from collections.abc import Callable
from contextvars import Context
from pathlib import Path

from ...errors import OptionError
from ...wire.exchange import Answer, Failure, Response
from ...wire.retry import date_of, may_pass, seconds_until

TRIES = 6
LONGEST = 180.0
"""Seconds that are waited between the tries at one request, in all."""
LONGEST_TRY = 600.0
"""Seconds that one of them may take: as long as the clients of providers wait."""
_UNREACHED_TRIES = 3
"""Who is offline is told so soon."""
_FIRST, _STEP_LIMIT = 0.5, 30.0
_PASSING = frozenset({408, 409, 425, 429})
"""Besides 5xx: answers that may be another one a moment later."""
_number_of_policy = itertools.count()


class Budget:
    """How many model calls a run may make; shared by its replays and their threads.

    max_calls: None for as many as it likes. shared: a directory, empty at first, that all processes of the run have.
    Raises OptionError for less than none.
    """

    def __init__(self, max_calls: int | None = None, shared: Path | None = None) -> None:
        if max_calls is not None and max_calls < 0:
            remedy = "Give 0 or more to --statebase-max-model-calls."
            raise OptionError(f"{max_calls} is no number of model calls", remedy=remedy)
        self.max_calls = max_calls
        self.made = 0
        """By this process, or, where the budget is shared, how many it knows of."""
        self._shared = None if max_calls is None else shared
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Count one call; False where none is left."""
        with self._lock:
            while self.max_calls is None or self.made < self.max_calls:
                self.made += 1
                if self._is_free(self.made):
                    return True
            return False

    def _is_free(self, number: int) -> bool:
        """Whether no other process has made the call of that number: who makes the file has it, in any system."""
        if self._shared is None:
            return True
        try:
            os.close(os.open(self._shared / str(number), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        except OSError:  # the directory is gone: rather too few calls than too many
            self.made = self.max_calls or 0
            return False
        return True

    def text(self) -> str:
        """Why no call is made any more, and what to do."""
        calls = "1 model call" if self.max_calls == 1 else f"{self.max_calls:,} model calls"
        return (
            f"the budget of {calls} is used up (--statebase-max-model-calls): "
            "what came is kept, and the same command goes on from there"
        )


def _now() -> float:
    return Context().run(time.time)  # not the clock of the turn


class WaitPolicy:
    """When one request to a provider is sent once more: after 408, 409, 425, 429, 5xx and where no answer came.

    tries, longest: how often, and for how many seconds in all. now: seconds since 1970. seed: of the scatter that keeps
    requests which fail together from coming back together; by default each policy has another, the same in every run.
    """

    def __init__(
        self,
        tries: int = TRIES,
        longest: float = LONGEST,
        *,
        now: Callable[[], float] = _now,
        seed: str | None = None,
    ) -> None:
        self.reason: str | None = None
        """Why it was given up, for a person; None where it was not."""
        self.waited = 0.0
        """Seconds, which are the provider's and not the agent's."""
        self._tries = tries
        self._longest = longest
        self._now = now
        self._seed = str(next(_number_of_policy)) if seed is None else seed

    def again(self, answer: Answer, tries: int) -> float | None:
        """Seconds to wait before the next try after so many, from 1; None to take the answer as it is."""
        if not _may_pass(answer):
            return None
        asked = self._asked_for(answer)
        seconds = asked or self._backoff(tries)
        most = min(self._tries, _UNREACHED_TRIES) if _is_unreached(answer) else self._tries
        if tries >= most:
            self.reason = f"{told(answer)}, {_times(tries)} in {self.waited:.0f} s"
        elif self.waited + seconds > self._longest:
            wish = f", and asks to wait {asked:,.0f} s more" if asked else ""
            self.reason = f"{told(answer)}, {_times(tries)} in {self.waited:.0f} s{wish}"
        else:
            self.waited += seconds
            return seconds
        return None

    def _backoff(self, tries: int) -> float:
        """Twice as long each time, less up to a quarter by chance that is the same in every run."""
        whole = min(_FIRST * 2.0 ** min(tries - 1, 20), _STEP_LIMIT)
        return whole * (1 - 0.25 * (zlib.crc32(f"{self._seed}/{tries}".encode()) / 2**32))

    def _asked_for(self, answer: Answer) -> float | None:
        """How long the provider says to wait; None where it does not say."""
        if not isinstance(answer, Response):
            return None
        exact = _number(answer.header("retry-after-ms"))
        if exact is not None:
            return exact / 1000
        value = answer.header("retry-after")
        seconds = _number(value)
        if seconds is not None or value is None:
            return seconds
        then = date_of(value)
        return None if then is None else seconds_until(then, answer.header("date"), self._now())


def told(answer: Answer) -> str:
    """What came back instead of an answer, for a person."""
    if isinstance(answer, Failure):
        return f"no answer came ({': '.join(filter(None, (answer.kind, answer.message)))})"
    return f"the provider answered {answer.status} {answer.reason}".rstrip()


def _may_pass(answer: Answer) -> bool:
    """Whether another try may go otherwise. Providers say so themselves in `x-should-retry`."""
    if isinstance(answer, Failure):
        return True
    if answer.status < 400:
        return False
    said = (answer.header("x-should-retry") or "").strip().lower()
    if said in ("true", "false"):
        return said == "true"
    return may_pass(answer.status, _PASSING)


def _is_unreached(answer: Answer) -> bool:
    return isinstance(answer, Failure) and answer.kind in ("connect", "timeout")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _number(value: str | None) -> float | None:
    try:
        found = float(value) if value is not None else None
    except ValueError:
        return None
    return found if found is not None and 0 <= found < 1e9 else None
