"""Reading requests to a StateBase service that keep to its limits and outlast its failures."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ..cassette.redaction import redacted_exchange
from ..errors import OptionError, PullError
from ..importers.proposal import shorten
from ..wire.exchange import Exchange, Request, Response
from ..wire.retry import may_pass
from .limits import Limits, retry_after

if TYPE_CHECKING:
    import httpx
    import tenacity

MAX_ANSWER: Final = 64 * 1024 * 1024
"""Bytes of one answer that are read."""
_DEEPEST = 500
"""Levels of lists and objects in an answer; records of more could not be written."""
_FAILURES = 6
"""Tries of one request that may fail before it is given up; 429 is no failure."""
_TRIES = 40
_SLOWEST = 4
"""How many times the time limit an answer may take in all, if something of it comes all the time."""
_LONGEST_WAIT = 3600.0
_LONG = 2.0
"""Seconds from which on it is said why nothing happens."""
_PASSING = frozenset({408, 425, 429})
"""Besides 5xx: what is asked for once more."""
_RESUME = "What was pulled so far is kept: run the same command again to go on."


class Refused(PullError):
    """The service answered with an error. status: of HTTP. code: the service's word for it."""

    status: int = 0
    code: str = ""


class Unavailable(PullError):
    """The service did not answer, or failed, as often as it was asked."""


class Stopped(PullError):
    """No other request would fare better: the key is refused, the service is not there, or wants a long pause."""


class _Again(Exception):
    """A try that failed and may be repeated; `after`: the seconds that the service wants to have between."""

    def __init__(
        self, why: str, after: float | None = None, *, is_limit: bool = False, no_server: bool = False
    ) -> None:
        self.why = why
        self.after = after
        self.is_limit = is_limit
        self.no_server = no_server
        super().__init__(why)


class Api:
    """GET requests to one service. Use it as a context manager.

    base_url: without `/v1`. key: of the service; it is sent and never shown. timeout: seconds without a byte. told:
    gets a sentence wherever it waits for long. sleep, now: of the clock, for tests.

    requests, repeated, waited: how many were sent, how many of them because one before had failed, and the seconds
    that were spent waiting. limit: the requests that the service allows in its window, where it says so.
    received: bytes of all answers.
    Raises OptionError for an address or a key that cannot be meant, or where httpx or tenacity is not installed.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None,
        *,
        timeout: float = 30.0,
        told: Callable[[str], None] = lambda text: None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.base_url = _base(base_url)
        self._key = _sendable(key)
        self._timeout = timeout
        self._told = told
        self._sleep = sleep
        self._limits = Limits(now)
        self.requests = self.repeated = self.received = 0
        self.waited = 0.0
        self._httpx, self._tenacity = _libraries()
        headers = {"accept": "application/json", **({"x-api-key": self._key} if self._key else {})}
        self._client = self._httpx.Client(headers=headers, timeout=timeout, follow_redirects=False)

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def limit(self) -> int | None:
        return self._limits.limit

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Any:
        """The JSON that the service answers, without secrets.

        path: from `/v1` on, quoted.
        Raises Refused for an error that the service answers, Unavailable where it keeps failing, Stopped where no
        other request would do better, PullError for an answer that cannot be read.
        """
        failures = 0

        def is_enough(state: tenacity.RetryCallState) -> bool:
            nonlocal failures
            error = state.outcome.exception() if state.outcome else None
            failures += not (isinstance(error, _Again) and error.is_limit)
            return failures >= _FAILURES or state.attempt_number >= _TRIES

        retrying = self._tenacity.Retrying(
            retry=self._tenacity.retry_if_exception_type(_Again),
            wait=self._pause,
            stop=is_enough,
            sleep=self._wait,
            before_sleep=self._tell,
            reraise=True,
        )
        try:
            return retrying(self._once, path, params)
        except _Again as error:
            what = f"{error.why}, {_FAILURES} times" if failures >= _FAILURES else f"{error.why}, again and again"
            if error.no_server:
                raise Stopped(what, where=self.base_url, remedy=f"Check --base-url. {_RESUME}") from None
            raise Unavailable(what, where=path, remedy=_RESUME) from None

    # --- one try

    def _once(self, path: str, params: Mapping[str, str | int] | None) -> Any:
        pause = self._limits.pause()
        if pause > 0:
            self._told(f"the rate limit is used up: {_seconds(pause)} until the next")
            self._wait(_short_enough(pause))
        self.requests += 1
        httpx = self._httpx
        try:
            with self._client.stream("GET", self.base_url + path, params=dict(params or {})) as response:
                body = self._read(response, path)
        except httpx.TimeoutException:
            raise _Again(f"no answer within {self._timeout:g} s") from None
        except httpx.ConnectError as error:
            raise _Again(f"no server answers ({shorten(str(error))})", no_server=self.requests <= _FAILURES) from None
        except httpx.TransportError as error:
            raise _Again(f"the connection broke ({shorten(str(error)) or type(error).__name__})") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise PullError(f"the request failed ({shorten(str(error))})", where=path) from None
        self._limits.note(response.headers)
        return self._answer(response, body, path)

    def _read(self, response: httpx.Response, path: str) -> bytes:
        end = time.monotonic() + _SLOWEST * self._timeout
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > MAX_ANSWER:
                what = f"the answer has more than {MAX_ANSWER // 2**20} MB, which is more than is read"
                raise PullError(what, where=path)
            if time.monotonic() > end:
                raise _Again(f"no whole answer within {_SLOWEST * self._timeout:g} s")
        self.received += len(body)
        return bytes(body)

    def _answer(self, response: httpx.Response, body: bytes, path: str) -> Any:
        status, kind = response.status_code, response.headers.get("content-type", "")
        clean = self._redacted(str(response.request.url), kind, body)
        if status == 200:
            return _json(clean, kind, path)
        if 300 <= status < 400:
            remedy = "The key is sent nowhere else. Give the address that is meant as --base-url."
            raise Stopped(f"the service sends elsewhere (HTTP {status})", where=self.base_url, remedy=remedy)
        error = _error(clean)
        said = shorten(str(error.get("message") or "")) or f"HTTP {status}"
        if may_pass(status, _PASSING):
            after = retry_after(response.headers, error, self._limits.now())
            raise _Again(f"the service answers {status} ({said})", after, is_limit=status == 429)
        if status == 401:
            raise Stopped(f"the key is refused ({said})", where=self.base_url, remedy=_key_remedy(self._key))
        refused = Refused(f"the service refuses this (HTTP {status}: {said})", where=path)
        refused.status, refused.code = status, str(error.get("code") or "")
        raise refused

    def _redacted(self, url: str, kind: str, body: bytes) -> bytes:
        sent = Request("GET", url, (("x-api-key", self._key),) if self._key else ())
        answer = redacted_exchange(Exchange(sent, Response(200, headers=(("content-type", kind),), body=body))).answer
        assert isinstance(answer, Response)
        return answer.body

    # --- between two tries

    def _pause(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, _Again) and error.after is not None:
            return _short_enough(error.after)
        pauses = self._tenacity.wait_exponential(multiplier=0.5, max=30) + self._tenacity.wait_random(0, 0.25)
        return float(pauses(state))

    def _tell(self, state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        pause = state.next_action.sleep if state.next_action else 0.0
        self.repeated += 1
        if pause >= _LONG:
            self._told(f"{error}; try {state.attempt_number + 1} in {_seconds(pause)}")

    def _wait(self, seconds: float) -> None:
        self.waited += seconds
        self._sleep(seconds)


def _libraries() -> tuple[Any, Any]:
    try:
        import httpx
        import tenacity
    except ImportError as error:
        raise OptionError(
            f"pulling needs {error.name}, which is not installed", remedy="pip install 'pytest-statebase[pull]'"
        ) from None
    return httpx, tenacity


def _base(address: str) -> str:
    """The address as it is put in front of paths."""
    remedy = "Give it like https://api.statebase.org."
    try:
        parts = urlsplit(address)
        is_meant = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_meant = False
    if not is_meant or parts.query or parts.fragment or not address.isprintable() or " " in address:
        raise OptionError(f"--base-url: {shorten(address)!r} is no address of a service", remedy=remedy)
    if "@" in parts.netloc:
        raise OptionError("--base-url holds a user name or password", remedy="The key comes from STATEBASE_API_KEY.")
    return address.rstrip("/").removesuffix("/v1")


def _sendable(key: str | None) -> str | None:
    key = (key or "").strip()
    if not key:
        return None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise OptionError("STATEBASE_API_KEY holds characters that no key has", remedy="Set it to the key alone.")
    return key


def _key_remedy(key: str | None) -> str:
    return "Check STATEBASE_API_KEY." if key else "Set STATEBASE_API_KEY to a key of the service."


def _short_enough(seconds: float) -> float:
    if seconds > _LONGEST_WAIT:
        raise Stopped(f"the service wants a pause of {_seconds(seconds)}", remedy=_RESUME)
    return seconds


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:,.0f} s"


def _json(body: bytes, kind: str, path: str) -> Any:
    try:
        value = json.loads(body)
        if not _is_deeper(value, _DEEPEST):
            return value
        raise RecursionError
    except RecursionError:
        what = f"the answer has more than {_DEEPEST} levels inside of each other, which is more than is read"
        raise PullError(what, where=path) from None
    except ValueError:
        begins = shorten(body[:60].decode("utf-8", "replace"))
        what = f"the answer is no JSON ({shorten(kind) or 'of no type'}, begins with {begins!r})"
        raise PullError(what, where=path, remedy="Is --base-url the address of a StateBase service?") from None


def _is_deeper(value: Any, most: int) -> bool:
    """Whether there are more levels of lists and objects than `most`."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(most):
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
        level = [one for one in level if isinstance(one, (dict, list))]
        if not level:
            return False
    return True


def _error(body: bytes) -> Mapping[str, Any]:
    """What the service says is wrong, in its own form or in FastAPI's."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(told, dict):
        return {}
    error = told.get("error", told.get("detail"))
    if isinstance(error, list) and error and isinstance(error[0], dict):
        error = {"message": error[0].get("msg")}
    return error if isinstance(error, dict) else {"message": error if isinstance(error, str) else ""}
