"""Recorded sessions that lie about in a project: journals of capture, pulled files, exports of tracers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from ..journal.read import is_journal

_DEEPEST = 3
MOST_FILES: Final = 20_000
"""Directory entries that are looked at."""
MOST_EXPORTS: Final = 50
"""Files of JSON that are read to see whether they hold sessions."""
LARGEST: Final = 32 * 1024 * 1024
"""Bytes of such a file."""
MOST_BYTES: Final = 128 * 1024 * 1024
"""Bytes of all of them."""
_EXPORTS = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
_NOT_OURS = frozenset({"node_modules", "site-packages", "__pycache__", "build", "dist", "venv", "env", "target"})
_SETTINGS = frozenset({"package.json", "package-lock.json", "tsconfig.json", "composer.json", "manifest.json"})
_TELLING = ("trace", "span", "session", "chat", "conversation", "export", "langfuse", "langsmith", "otel", "log", "run")

Sort = Literal["journals", "pulled", "export"]


@dataclass(slots=True)
class Finds:
    """What was found, the surest first."""

    places: list[tuple[Sort, Path]] = field(default_factory=list)
    """Directories of journals, files that were pulled, files that may be exports."""
    looked_at: int = 0
    """Files and directories."""
    is_whole: bool = True
    """False where there were too many to look at."""


def find_sessions_in(root: Path) -> Finds:
    """Look through a project, three levels deep, without hidden directories and what was installed.

    Nothing is read but names and sizes. Files whose names or directories speak of traces come before other JSON.
    """
    finds = Finds()
    journals: dict[Path, None] = {}
    pulled: list[Path] = []
    exports: list[Path] = []
    for path in files_below(root, finds):
        if is_journal(path):
            journals[path.parent] = None
        elif path.name.endswith(".pulled.json"):
            pulled.append(path)
        elif path.name.lower().endswith(_EXPORTS) and path.name not in _SETTINGS and _is_small(path):
            exports.append(path)
    exports.sort(key=lambda path: not _is_telling(path, root))
    finds.places = [("journals", path) for path in journals]
    finds.places += [("pulled", path) for path in pulled]
    few = list(_few(exports))
    finds.places += [("export", path) for path in few]
    finds.is_whole = finds.is_whole and len(few) == len(exports)
    return finds


def _few(exports: list[Path]) -> Iterator[Path]:
    left = MOST_BYTES
    for path in exports[:MOST_EXPORTS]:
        left -= path.stat().st_size
        if left < 0:
            return
        yield path


def files_below(root: Path, finds: Finds) -> Iterator[Path]:
    """The files below a directory, those of one level before those of the next."""
    level = [root]
    for _ in range(_DEEPEST + 1):
        below: list[Path] = []
        for directory in level:
            for entry in _entries(directory):
                if finds.looked_at >= MOST_FILES:
                    finds.is_whole = False
                    return
                finds.looked_at += 1
                if entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
                elif entry.is_dir(follow_symlinks=False) and _is_ours(entry):
                    below.append(Path(entry.path))
        level = below


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_ours(entry: os.DirEntry[str]) -> bool:
    is_plain = not entry.name.startswith((".", "_")) and entry.name.lower() not in _NOT_OURS
    return is_plain and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


def _is_small(path: Path) -> bool:
    try:
        return 0 < path.stat().st_size <= LARGEST
    except OSError:
        return False


def _is_telling(path: Path, root: Path) -> bool:
    told = str(path.relative_to(root)).lower()
    return any(word in told for word in _TELLING)
