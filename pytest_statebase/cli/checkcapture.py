"""How a capture fares: its journals, what became of the turns, the processes that write, the disk."""

from __future__ import annotations

import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ..errors import StatebaseError
from ..journal import Damage, Limits, is_journal, read_statuses
from ..journal.files import STATUS_SUFFIX
from ..journal.read import Index
from .checked import Finding, look, mend, ok
from .output import counted
from .targets import shown

_KEPT: Final = ("turns", "events", "bytes")
_LOW_DISK = 256 * 1024 * 1024
_MOST = 10
_LOST: Final[Mapping[str, str]] = {
    "queue full": "They come faster than the disk takes them: use a faster disk, a smaller sample, or "
    "Limits(queue_frames=…, queue_bytes=…).",
    "too large": "Keep large values out of tools' results, or raise Limits(frame_bytes=…).",
    "redaction": "The redactor raised: correct it. Nothing was written of these turns.",
    "encoding": "Have tools and agents hand on plain data; what went wrong is told beside this.",
    "disk": "Make room on the disk, or give the directory a place that can be written.",
    "stopped": "Give the end of the program longer: recording.stop(timeout), or Limits(flush_seconds=…).",
    "session cut": "What was lost before them in the same sessions is told beside this.",
}
_TROUBLES: Final[Mapping[str, str]] = {
    **_LOST,
    "uncopied": "Have tools return plain data: locks, sockets, open files and the like cannot be stored.",
    "http": "Have the agent read what it asked for before its turn ends.",
    "no turn": "Have the agent add its turns in StateBase, or mark its entry point.",
    "request": "Tell CaptureMiddleware where requests have the user's words: input=….",
    "reply": "Only answers up to 4 MB are kept, and none that a server sends as a file.",
    "status": "Make room on the disk, or give the directory a place that can be written.",
}
_ELSE = "The log of pytest_statebase.capture has it; the agent itself was not disturbed."


def is_capture(directory: Path) -> bool:
    """Whether journals, or what processes tell of them, are in a directory."""
    return any(is_journal(path) or path.name.endswith(STATUS_SUFFIX) for path in _files(directory))


def check_capture(directory: Path) -> Iterator[Finding]:
    """Everything about one directory of journals. Nothing of what was captured is told."""
    files = _files(directory)
    statuses = read_statuses(directory)
    yield from check_modes(directory, files)
    yield from check_journals([path for path in files if is_journal(path)])
    yield from check_processes(directory, statuses)
    yield from check_turns(statuses)
    yield from check_disk(directory, files)


def _files(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.is_file())
    except OSError:
        return []


# --- Files


def check_modes(directory: Path, files: Iterable[Path]) -> Iterator[Finding]:
    """Whether others than the owner can read what was captured."""
    if os.name != "posix":
        return
    open_files = [path for path in files if _is_open(path)]
    if _is_open(directory):
        yield mend(f"{shown(directory)} is open to others than its owner", f"chmod 700 {shown(directory)}")
    for path in open_files[:_MOST]:
        yield mend(f"{shown(path)} is open to others than its owner", f"chmod 600 {shown(path)}")
    if len(open_files) > _MOST:
        do = f"chmod 600 {shown(directory)}/*"
        yield mend(f"{len(open_files) - _MOST:,} more files are open to others than their owner", do)
    if not open_files and not _is_open(directory):
        yield ok(f"{shown(directory)} and its files are open to their owner alone")


def _is_open(path: Path) -> bool:
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
    except OSError:
        return False


def check_journals(journals: list[Path]) -> Iterator[Finding]:
    """Whether every line of the journals is as it was written."""
    damaged: list[Damage] = []
    try:
        index = Index(journals, damaged.append)
    except StatebaseError as error:
        yield mend(f"{error.where}: {error.what}", error.remedy or "Check the path.")
        return
    broken = [damage for damage in damaged if not damage.is_torn]
    for damage in broken[:_MOST]:
        yield mend(f"{damage}", damage.remedy)
    if len(broken) > _MOST:
        yield mend(f"{counted(len(broken) - _MOST, 'line')} more cannot be read", "Look whether the disk fails.")
    for damage in [damage for damage in damaged if damage.is_torn][:_MOST]:
        yield look(f"{damage}", "Nothing: no turn that was reported as kept is in that line.")
    told = f"{counted(len(journals), 'journal')} with {counted(len(index.sessions), 'session')}"
    if not broken:
        yield ok(f"{told}: every line is as it was written")


# --- Processes


def check_processes(directory: Path, statuses: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Who writes, and who was stopped without an end."""
    alive = 0
    for status in statuses:
        if "unreadable" in status:
            name = shown(str(status["file"]))
            yield look(
                f"{name} cannot be read: {status['unreadable']!s:.100}", "Remove it: it only tells how a process fared."
            )
        elif _is_alive(directory, status):
            alive += 1
            yield ok(f"process {_number(status, 'pid')} captures since {_text(status, 'started')}")
        elif not status.get("ended"):
            yield look(
                f"process {_number(status, 'pid')} was stopped without an end, last seen {_text(status, 'at')}",
                "Nothing: the turns that it had reported as kept are in its journal.",
            )
    if not alive:
        yield look("no process captures here now", "Start your program with capture, if one should.")


def _is_alive(directory: Path, status: Mapping[str, Any]) -> bool:
    pid = _number(status, "pid")
    if status.get("ended") or pid <= 0 or not _exists(pid):
        return False
    journal, open_files = status.get("journal"), Path(f"/proc/{pid}/fd")
    try:
        opened = [os.readlink(link) for link in open_files.iterdir()]
    except OSError:
        return True
    # The number may be another program's by now.
    return not isinstance(journal, str) or str((directory / journal).resolve()) in opened


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


# --- Turns


def check_turns(statuses: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """What became of the turns, over all processes that tell."""
    readable = [status for status in statuses if "unreadable" not in status]
    if not readable:
        return
    kept = _sum(readable, "kept")
    turns = f"{counted(kept['turns'], 'turn')} with {counted(kept['events'], 'event')}"
    yield ok(f"kept: {turns}, {_size(kept['bytes'])}, by {_processes(len(readable))}")
    lost = _sum([_mapping(status, "lost") for status in readable], "by")
    for reason, count in sorted(lost.items()):
        yield mend(f"{counted(count, 'turn')} not kept: {reason:.40}", _LOST.get(reason, _ELSE))
    cut = sum(_number(status, "cut_sessions") for status in readable)
    if cut:
        yield look(f"{counted(cut, 'session')} cut where turns were lost", "What comes before the gap is whole.")
    removed = sum(_number(status, "removed_journals") for status in readable)
    if removed:
        do = "Select what should stay in time, or raise Limits(total_bytes=…, days=…)."
        yield look(f"{counted(removed, 'journal')} removed: too old, or too much", do)
    yield from _troubles(readable)
    yield from _queues(readable)
    replaced = _sum(readable, "redacted")
    if replaced:
        told = ", ".join(f"{count:,} {kind:.40}" for kind, count in sorted(replaced.items()))
        yield ok(f"taken out before anything was written: {told}")


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number:,} processes"


def _troubles(statuses: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    counts: Counter[str] = Counter()
    said: dict[str, str] = {}
    for status in statuses:
        for kind, one in _mapping(status, "troubles").items():
            if isinstance(one, Mapping):
                counts[kind] += _number(one, "count")
                said[kind] = f"{_text(one, 'what')}, last {_text(one, 'last')}"
    for kind, count in sorted(counts.items()):
        times = "once" if count == 1 else f"{count:,} times"
        yield mend(f"{kind:.40}, {times}: {said[kind]}", _TROUBLES.get(kind, _ELSE))


def _queues(statuses: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    limits = Limits()
    queues = [_mapping(status, "queue") for status in statuses]
    most = max((_number(queue, "most_frames") for queue in queues), default=0)
    if most:
        told = f"at most {counted(most, 'frame')} waited to be written"
        if most > limits.queue_frames // 2:
            yield look(f"{told}; by default {limits.queue_frames:,} may", _LOST["queue full"])
        else:
            yield ok(told)


# --- Disk


def check_disk(directory: Path, files: Iterable[Path]) -> Iterator[Finding]:
    """The room that the journals take, and what is left."""
    used = sum(_length(path) for path in files)
    most = Limits().total_bytes
    try:
        free = shutil.disk_usage(directory).free
    except OSError as error:
        yield mend(f"the disk of {shown(directory)} cannot be asked: {error.strerror}", "Check that it is there.")
        return
    told = f"the journals take {_size(used)} of {_size(most)} that they may by default; {_size(free)} are free"
    if free < _LOW_DISK:
        yield mend(told, "Make room on the disk: turns are lost where it is full.")
    elif free < most - used:
        yield look(told, "Make room, or give capture less: Limits(total_bytes=…).")
    else:
        yield ok(told)


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _size(number: int) -> str:
    """`12 bytes`, `3.4 MB`."""
    for unit, name in ((1024**3, "GB"), (1024**2, "MB"), (1024, "KB")):
        if number >= unit:
            return f"{number / unit:,.1f} {name}"
    return counted(number, "byte")


# --- What a status file says, whatever it says


def _mapping(status: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = status.get(key)
    return found if isinstance(found, Mapping) else {}


def _number(status: Mapping[str, Any], key: str) -> int:
    found = status.get(key)
    return found if type(found) is int else 0


def _text(status: Mapping[str, Any], key: str) -> str:
    found = status.get(key)
    return found[:200] if isinstance(found, str) else "an unknown time"


def _sum(statuses: Iterable[Mapping[str, Any]], key: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for status in statuses:
        for name, count in _mapping(status, key).items():
            if type(count) is int and count > 0:
                found[name] += count
    return found
