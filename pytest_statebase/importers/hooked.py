"""Files in a format of the project's own, which a hook of the project reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import ImportFileError
from ..ledger import Ledger
from .files import inside, read_any, stem_of
from .model import ImportedSession
from .proposal import first_words, propose_plan

ImportHook: TypeAlias = Callable[..., Any]
_Known: TypeAlias = Callable[[Any, str, Path, str], ImportedSession]

_REMEDY = (
    "It returns a list of sessions, each an ImportedSession, a Ledger, a list of messages or a mapping with "
    "`messages`; or None for a file that is not its own."
)


def sessions_of_hook(hook: ImportHook, path: Path, known: _Known) -> list[ImportedSession | ImportFileError] | None:
    """What the hook makes of a file; None where it leaves the file to others.

    known: reads a session in a format that is known, given its value, place, file and a name.
    Raises ImportFileError where the hook fails, or returns what holds no sessions.
    """
    where = str(path)
    try:
        answer = hook(path=path, data=read_any(path))
        if answer is None:
            return None
        items = [answer] if isinstance(answer, ImportedSession | Ledger) else _listed(answer, where)
    except ImportFileError:
        raise
    except Exception as error:
        what = f"the hook pytest_statebase_import raised {type(error).__name__}: {error}"
        raise ImportFileError(what, where=where, remedy="Mend the hook, or have it return None.") from error
    if not items:
        raise ImportFileError("the hook pytest_statebase_import found no session", where=where, remedy=_REMEDY)
    stem = stem_of(path)
    sessions: list[ImportedSession | ImportFileError] = []
    for number, item in enumerate(items, start=1):
        try:
            name = stem if len(items) == 1 else f"{stem}-{number}"
            sessions.append(_session(item, inside(where, number - 1), path, name, known))
        except ImportFileError as error:
            sessions.append(error)
    return sessions


def _listed(answer: Any, where: str) -> list[Any]:
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        what = f"the hook pytest_statebase_import returned {type(answer).__name__}, no list of sessions"
        raise ImportFileError(what, where=where, remedy=_REMEDY)
    return list(answer)


def _session(item: Any, where: str, path: Path, name: str, known: _Known) -> ImportedSession:
    if isinstance(item, ImportedSession):
        return item
    if isinstance(item, Ledger):
        return ImportedSession(item.id, item, propose_plan(item, first_words(item)))
    return known(item, where, path, name)
