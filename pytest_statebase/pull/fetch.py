"""Everything of one session, with as few requests as tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from ..errors import PullError
from ..importers.service.raw import Object, Pulled, details_of, moment, number_of, part, text_of, time_of
from ..importers.service.versions import Traced, rolled_back_to
from .api import Api, Refused
from .pages import MOST, PAGE, data_of, object_of, pages, quoted

MAX_SESSION: Final = 256 * 1024 * 1024
"""Bytes of all answers about one session."""
_NOT_THERE = frozenset({400, 403, 404, 405, 422, 501})


class Gone(PullError):
    """There is no such session, or no longer."""


class _ForeignError(PullError):
    """A list holds what belongs to another session."""


def session_of(api: Api, id: str) -> Object:
    """The session itself.

    Raises Gone where it is not there; PullError where another one, or none, is answered.
    """
    path = f"/v1/sessions/{quoted(id)}"
    try:
        session = object_of(api.get(path), path)
    except Refused as error:
        if error.status in (404, 410):
            raise _gone(id) from None
        raise
    if session.get("id") != id:
        raise PullError(f"session {id} was asked for, and another one came", where=path)
    return session


def _gone(id: str) -> Gone:
    remedy = "Sessions live for 24 hours if nothing else was said, and for 30 days at most: pull them before that."
    return Gone("the session is not there: it has expired, was deleted, or has another id", where=id, remedy=remedy)


def fetch(api: Api, session: Object) -> Pulled:
    """The session with its turns, state versions, traces and memories.

    Details of traces are asked for only where nothing else tells what they say.
    Raises Gone where it expires meanwhile, PullError where a list cannot be read.
    """
    return _Fetching(api, session).all()


class _Fetching:
    def __init__(self, api: Api, session: Object) -> None:
        self._api = api
        self._session = session
        self._id = str(session["id"])
        self._quoted = quoted(self._id)
        self._path = f"/v1/sessions/{self._quoted}"
        self._missing: list[str] = []
        self._began = api.received

    def all(self) -> Pulled:
        turns = self._turns()
        versions = self._versions()
        traces = self._traces()
        memories = self._memories(traces)
        needed = self._needed(turns, versions, traces, memories)
        traces = self._detailed(traces, needed)
        session = self._session
        if versions:
            # The last version says it, and the list of sessions may have left it out.
            session = {key: value for key, value in session.items() if key != "state"}
        elif "state" not in session:
            session = session_of(self._api, self._id)
        return Pulled(session, turns, versions, traces, memories, self._missing)

    def _list(self, path: str, params: Mapping[str, str | int], *, ascending: bool = False) -> list[Object]:
        found: list[Object] = []
        try:
            for page in pages(self._api, path, params, ascending=ascending):
                if any(item.get("session_id", self._id) not in (self._id, None) for item in page):
                    raise _ForeignError("objects of another session came", where=path)
                found += page
                self._check_size()
        except Refused as error:
            self._check_there(error)
            raise
        return found

    def _check_size(self) -> None:
        if self._api.received - self._began > MAX_SESSION:
            what = f"the session has more than {MAX_SESSION // 2**20} MB, which is more than is read"
            raise PullError(what, where=self._id)

    def _check_there(self, error: Refused) -> None:
        if error.code == "session_not_found" or error.status == 410:
            raise _gone(self._id) from None

    def _turns(self) -> list[Object]:
        found = self._list(f"{self._path}/turns", {}, ascending=True)
        numbers = [number_of(turn.get("turn_number")) for turn in found]
        if None not in numbers:
            return [turn for _, turn in sorted(zip(numbers, found, strict=True), key=_number)]
        times = [moment(time_of(turn)) for turn in found]
        if len(times) > 1 and times[0] and times[-1] and times[0] > times[-1]:
            found.reverse()
        return found

    def _versions(self) -> list[Object]:
        """The state history, oldest first; its pages come in either order."""
        path = f"{self._path}/state/history"
        found: dict[int, Object] = {}
        asked: dict[str, str | int] = {"limit": PAGE}
        current: int | None = None
        try:
            while True:
                answer = self._api.get(path, asked)
                page = {_version(item, path): item for item in data_of(answer, path)}
                new = page.keys() - found.keys()
                found |= {number: page[number] for number in new}
                if isinstance(answer, Mapping):
                    current = number_of(answer.get("current_version"))
                self._check_size()
                is_whole = current is not None and len(found) > current
                if not new or is_whole or answer.get("has_more") is False:
                    break
                if len(found) > MOST:
                    raise PullError(f"there are more than {MOST:,} state versions", where=path)
                asked = _next(page)
        except Refused as error:
            self._check_there(error)
            self._unavailable("the state history", error)
        absent = (current if current is not None else max(found, default=-1)) + 1 - len(found)
        if found and absent > 0:
            self._missing.append(f"{absent:,} state version{'s' if absent > 1 else ''} missing from the state history")
        return [found[number] for number in sorted(found)]

    def _traces(self) -> list[Object]:
        found = self._either(
            ("/v1/traces", {"session_id": self._id}), (f"/v1/traces/sessions/{self._quoted}/traces", {})
        )
        if isinstance(found, Refused):
            self._unavailable("the traces", found)
            return []
        return found

    def _memories(self, traces: list[Object]) -> list[Object]:
        is_any = any(trace.get("action") == "memory.created" for trace in traces)
        if not is_any and not number_of(self._session.get("memory_count")):
            return []
        own: dict[str, str | int] = {"session_id": self._id}
        found = self._either(("/v1/memories", own), ("/v1/memory", own))
        return [] if isinstance(found, Refused) else sorted(found, key=lambda memory: time_of(memory) or "")

    def _either(self, *lists: tuple[str, Mapping[str, str | int]]) -> list[Object] | Refused:
        """The first of the lists that the service has, of this session alone: it may not know the filter."""
        refused = Refused("no list is of this session alone", where=self._path)
        refused.status = 404
        for path, params in lists:
            try:
                return self._list(path, params)
            except _ForeignError:
                continue
            except Refused as error:
                if error.status not in _NOT_THERE:
                    raise
                refused = error
        return refused

    def _unavailable(self, what: str, error: Refused) -> None:
        if error.status not in _NOT_THERE:
            raise error
        self._missing.append(f"{what} cannot be had (HTTP {error.status})")

    # --- details of traces

    def _needed(
        self, turns: list[Object], versions: list[Object], traces: list[Object], memories: list[Object]
    ) -> list[str]:
        """The ids of those traces whose details nothing else tells."""
        ids = {text_of(turn.get("id")) for turn in turns}
        known = {text_of(memory.get("id")) for memory in memories}
        actions = Counter(text_of(trace.get("action")) for trace in traces)
        later = [version for version in versions if version["version"] > 0]
        in_order = actions["state.updated"] + actions["state.rolled_back"] == len(later)
        settled = _settled_rollbacks(versions, Traced(turns, later, traces)) if in_order else set()
        needed = []
        for trace in traces:
            name, about = text_of(trace.get("id")), text_of(trace.get("resource_id"))
            is_needed = {
                "state.rolled_back": name not in settled,
                "state.updated": not in_order,
                "turn.added": about not in ids and actions["turn.added"] != len(turns),
                "memory.created": about not in known,
                "session.created": len(later) == len(versions),
            }
            if name and not details_of(trace) and is_needed.get(text_of(trace.get("action")) or ""):
                needed.append(name)
        return needed

    def _detailed(self, traces: list[Object], needed: list[str]) -> list[Object]:
        details: dict[Any, Object] = {}
        for name in needed:
            path = f"/v1/traces/{quoted(name)}"
            try:
                details[name] = part(object_of(self._api.get(path), path), "details")
            except Refused as error:
                if error.status not in _NOT_THERE:
                    raise
            self._check_size()
        names = [text_of(trace.get("id")) for trace in traces]
        return [
            {**trace, "details": details[name]} if name in details else trace
            for name, trace in zip(names, traces, strict=True)
        ]


def _settled_rollbacks(versions: list[Object], traced: Traced) -> set[str | None]:
    """The ids of the traces of rollbacks whose target and reason the state history tells."""
    states = {version["version"]: version.get("state") for version in versions}
    reasons = {version["version"]: text_of(version.get("reasoning")) for version in versions}
    return {
        text_of(place.trace.get("id"))
        for number, place in traced.versions.items()
        if reasons.get(number) and rolled_back_to(number, states) is not None
    }


def _number(pair: tuple[int | None, Object]) -> int:
    return pair[0] or 0


def _version(item: Object, path: str) -> int:
    found = number_of(item.get("version"))
    if found is None or found < 0:
        raise PullError("a state version without a number came", where=path)
    return found


def _next(page: Mapping[int, Object]) -> dict[str, str | int]:
    """How to ask for the page after this one."""
    numbers = list(page)
    if numbers == sorted(numbers):
        return {"limit": PAGE, "since_version": numbers[-1]}
    last: Any = page[numbers[-1]].get("id")
    return {"limit": PAGE, "starting_after": last if isinstance(last, str) else f"version_{numbers[-1]}"}
