"""Takes frames from any thread at once, and writes them to a journal in a thread of its own."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeAlias

from ..events import timestamp
from ..frames import Between, Frame, SessionClosed, SessionCut, TurnClosed, frame_at
from .limits import Limits
from .lines import KINDS
from .sink import NoLineError, Sink
from .status import Counts, write_status
from .telling import Telling, named
from .weight import weigh

Kept: TypeAlias = Callable[[bool], None]

_BATCH_FRAMES, _BATCH_BYTES = 256, 1 << 20
_MOST_CUT = 100_000
"""Sessions that are known as cut. Who reads the journal finds the others by the gap that they have."""
_STATUS_SECONDS = 1.0
_WORK_SECONDS = 0.0002


@dataclass(slots=True, eq=False)
class _Item:
    frame: Frame
    kept: Kept | None
    size: int
    is_plain: bool


class Writer:
    """Writes frames to a journal in `directory`, from whatever thread, and never has the caller wait or fail.

    redact: makes of each frame the one that is written; it runs in the writer's thread, and what it is given is settled
    (see `settle`). A child that the process forks goes on in a journal of its own.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        redact: Callable[[Frame], Frame] = lambda frame: frame,
        limits: Limits | None = None,
    ) -> None:
        self.directory = Path(directory).absolute()
        self.limits = limits or Limits()
        self._redact = redact
        self._begin(Telling(self.directory))
        _writers.add(self)
        atexit.register(_stop, weakref.ref(self))

    def _begin(self, telling: Telling) -> None:
        """Begin a journal that nobody else knows of; nothing is written yet."""
        self._telling = telling
        self._sink = Sink(self.directory, self.limits, self._redact, telling)
        # Reentrant: a signal handler or a finalizer may put a frame in the middle of a put.
        self._lock = threading.RLock()
        self._queue: SimpleQueue[_Item | threading.Event] = SimpleQueue()
        self._frames = self._bytes = 0
        self._most_frames = self._most_bytes = 0
        """That ever waited."""
        self._cut: dict[str, None] = {}
        """Sessions of which nothing more is taken."""
        self._broken: dict[str, None] = {}
        """Those of which nothing more is written, either: for the writer's thread alone."""
        self._cuts: list[SessionCut] = []
        """Those that no journal tells yet."""
        self._thread: threading.Thread | None = None
        self._is_stopped = False
        self._told_at = self._breathed = 0.0

    @property
    def counts(self) -> Counts:
        """What became of the turns so far."""
        return self._telling.counts

    # --- From any thread

    def put(self, frame: Frame, kept: Kept | None = None) -> bool:
        """Hand a frame over to be written; False, at once, where it will not be.

        kept: called in the writer's thread, with True once the frame stands in the journal, with False where it could
        not be written. It is not called where the result is False.
        """
        try:
            return self._put(frame, kept)
        except Exception as error:  # whatever it is, the agent must not see it
            self._telling.trouble("internal", f"a frame could not be taken: {named(error)}")
            return False

    def _put(self, frame: Frame, kept: Kept | None) -> bool:
        if type(frame) not in KINDS or not isinstance(frame.session, str):
            raise TypeError("no frame")
        size, is_plain = weigh(frame)
        with self._lock:
            reason = self._refused(frame, size)
            if reason is None:
                if self._thread is None:
                    self._start()
                self._frames += 1
                self._bytes += size
                self._most_frames = max(self._most_frames, self._frames)
                self._most_bytes = max(self._most_bytes, self._bytes)
                self._queue.put(_Item(frame, kept, size, is_plain))
                if type(frame) is SessionClosed:
                    self._cut.pop(frame.session, None)
                return True
        self._lose(frame, reason, _REASONS.get(reason))
        return False

    def _refused(self, frame: Frame, size: int) -> str | None:
        if self._is_stopped:
            return "stopped"
        limits = self.limits
        if not _is_content(frame):
            # What only says that something begins or ends is small, and may take a place more.
            return None if self._frames < 2 * limits.queue_frames else "queue full"
        if frame.session in self._cut:
            return "session cut"
        if size > limits.frame_bytes:
            return "too large"
        if self._frames >= limits.queue_frames or self._bytes + size > max(limits.queue_bytes, size):
            return "queue full"
        return None

    def is_cut(self, session: str) -> bool:
        """Whether something of the session was lost here, so that no more of it is kept."""
        return session in self._cut

    def waiting(self) -> tuple[int, int]:
        """How many frames wait to be written, and how many bytes of memory they take, roughly."""
        return self._frames, self._bytes

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until what was put before is written, or lost; False where that takes longer than `timeout` seconds."""
        if self._thread is None:
            return True
        done = threading.Event()
        self._queue.put(done)
        return done.wait(timeout)

    def stop(self, timeout: float | None = None) -> bool:
        """Write what was put, and end; False where that takes longer than `timeout` seconds (see `Limits`).

        What is put afterwards is refused.
        """
        with self._lock:
            self._is_stopped = True
            thread = self._thread
        if thread is None:
            return True
        self._queue.put(_END)
        if thread is threading.current_thread():
            return False
        thread.join(self.limits.flush_seconds if timeout is None else timeout)
        if thread.is_alive():
            frames, _ = self.waiting()
            self._telling.trouble(
                "stopped", f"the disk was too slow at the end of the program: {frames} frames are not written"
            )
            return False
        return True

    def lose(self, frame: Frame, reason: str, what: str) -> None:
        """Count a frame that whoever captures cannot hand over. Nothing more of its session is kept."""
        self._lose(frame, reason, what)

    def trouble(self, kind: str, what: str) -> None:
        """Count something that went wrong in capturing, and log it the first time. what: without anything captured."""
        self._telling.trouble(kind, what)
        self._wake()

    def _wake(self) -> None:
        """The writer may sleep, and is to tell of something."""
        if self._thread is not None and self._queue.empty():
            self._queue.put(threading.Event())

    def _lose(self, frame: Frame, reason: str, what: str | None) -> None:
        """Count a frame as lost. From what it says of a session on, nothing more of that is kept."""
        with self._lock:
            if type(frame) is TurnClosed:
                self.counts.lost[reason] += 1
            self._telling.is_news = True
            session = frame.session
            if _is_content(frame) and session not in self._cut and reason not in ("stopped", "session cut"):
                self.counts.cut += 1
                _add(self._cut, session)
                self._cuts.append(SessionCut(session, reason, frame_at(frame) or timestamp()))
                del self._cuts[:-_MOST_CUT]
                if self._thread is None:
                    self._start()
                self._wake()
        if what is not None:
            self._telling.trouble(reason, what)

    # --- In the writer's own thread

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="statebase-capture", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        going = True
        while going:
            batch = self._batch()
            going = _END not in batch
            try:
                self._write([item for item in batch if type(item) is _Item])
                if not going or time.monotonic() - self._told_at > _STATUS_SECONDS:
                    self._write_status(ended=not going)
            except Exception as error:  # capture goes on, whatever it was
                self._telling.trouble("internal", f"the journal met an error of its own: {named(error)}")
            for item in batch:
                if isinstance(item, threading.Event):
                    item.set()
        self._sink.close()

    def _batch(self) -> list[_Item | threading.Event]:
        try:
            batch = [self._queue.get(timeout=_STATUS_SECONDS if self._telling.is_news else None)]
        except Empty:
            return []
        size = 0
        with contextlib.suppress(Empty):
            while len(batch) < _BATCH_FRAMES and size < _BATCH_BYTES:
                last = batch[-1]
                if isinstance(last, threading.Event):
                    break
                size += last.size
                batch.append(self._queue.get_nowait())
        return batch

    def _write(self, items: list[_Item]) -> None:
        if not items and not self._cuts:
            return
        lines: list[bytes] = []
        ready: list[_Item] = []
        done: list[_Item] = []
        try:
            for item in items:
                line = self._line(item)
                if line is not None:
                    lines.append(line)
                    ready.append(item)
                self._breathe()
            written = self._append(lines) if lines or self._cuts else 0
            done = ready[:written]
            for item in ready[written:]:
                self._break(item.frame, "disk", None)
        finally:
            self._release(items, done, lines)

    def _breathe(self) -> None:
        """Let the program's threads go on: they would wait for 5 ms each time for the interpreter to be free."""
        if time.perf_counter() - self._breathed > _WORK_SECONDS:
            time.sleep(0)
            self._breathed = time.perf_counter()

    def _release(self, items: list[_Item], done: list[_Item], lines: list[bytes]) -> None:
        kept = {id(item) for item in done}
        with self._lock:
            self._frames -= len(items)
            self._bytes -= sum(item.size for item in items)
            self._telling.is_news = True
            for item, line in zip(done, lines, strict=False):
                self.counts.kept.update(frames=1, bytes=len(line), turns=type(item.frame) is TurnClosed)
                self.counts.kept["events"] += len(getattr(item.frame, "events", ()))
        for item in items:
            if item.kept is not None:
                try:
                    item.kept(id(item) in kept)
                except Exception as error:
                    self._telling.trouble("internal", f"who waits for a turn to be kept failed: {named(error)}")

    def _line(self, item: _Item) -> bytes | None:
        frame = item.frame
        if type(frame) is SessionClosed:
            self._broken.pop(frame.session, None)
        elif _is_content(frame) and frame.session in self._broken:
            self._lose(frame, "session cut", None)
            return None
        try:
            return self._sink.line(frame, is_plain=item.is_plain)
        except NoLineError as error:
            self._break(frame, error.reason, error.what)
            return None

    def _break(self, frame: Frame, reason: str, what: str | None) -> None:
        """Count a frame as lost that was taken already: those of its session that wait behind it are lost as well."""
        if _is_content(frame):
            _add(self._broken, frame.session)
        self._lose(frame, reason, what)

    def _append(self, lines: list[bytes]) -> int:
        """Append the lines, with those of sessions that were cut; how many stand in the journal."""
        with self._lock:
            cuts, self._cuts = self._cuts, []
        told, written = self._sink.append(cuts, lines)
        with self._lock:
            self._cuts[:0] = cuts[told:]
        return written

    def _write_status(self, *, ended: bool) -> None:
        if not (self._telling.is_news or ended):
            return
        self._told_at, self._telling.is_news = time.monotonic(), False
        frames, size = self.waiting()
        journal = self._sink.path
        status = {
            "pid": os.getpid(),
            "started": self._sink.started,
            "at": timestamp(),
            "ended": ended,
            "journal": journal.name if journal else None,
            "queue": {
                "frames": frames,
                "bytes": size,
                "most_frames": self._most_frames,
                "most_bytes": self._most_bytes,
            },
            "redacted": _counts_of(self._redact),
            **self.counts.told(),
        }
        try:
            write_status(self.directory, self._sink.name, status)
        except OSError as error:
            what = f"the status of the capture cannot be written: {error.strerror or named(error)}"
            self._telling.trouble("status", what)
            self._telling.is_news = False

    # --- In a child of fork

    def _forked(self) -> None:
        self._sink.abandon()
        stopped = self._is_stopped
        self._begin(Telling(self.directory, self._telling))
        self._is_stopped = stopped


_END = threading.Event()
_REASONS = {
    "queue full": "turns come faster than they can be written: whole turns are left out",
    "too large": "a turn is larger than may be kept",
}
_writers: weakref.WeakSet[Writer] = weakref.WeakSet()


def _counts_of(redact: object) -> dict[str, int]:
    """In how many places a redactor took something out, by kind, where it counts that."""
    counts = getattr(getattr(redact, "__self__", redact), "counts", None)
    return {str(kind): int(count) for kind, count in counts.items()} if isinstance(counts, Mapping) else {}


def _is_content(frame: Frame) -> bool:
    """Whether a session has a gap without it."""
    return isinstance(frame, (TurnClosed, Between))


def _add(sessions: dict[str, None], session: str) -> None:
    sessions[session] = None
    if len(sessions) > _MOST_CUT:
        del sessions[next(iter(sessions))]


def _stop(found: weakref.ref[Writer]) -> None:
    writer = found()
    if writer is not None:
        with contextlib.suppress(Exception):  # the program ends as it would without a capture
            writer.stop()


def _forked() -> None:
    for writer in list(_writers):
        writer._forked()


def _before_fork() -> None:
    # A process of multiprocessing ends without what atexit knows, and forgets what was to be done at its parent's end.
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        for writer in list(_writers):
            util.register_after_fork(writer, lambda found: util.Finalize(found, found.stop, exitpriority=0))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_forked)
