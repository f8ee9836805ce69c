"""Sessions that others recorded → ledgers, each with a proposed plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import ImportFileError
from ..ledger import Ledger
from .captured import captured_sessions, is_captured
from .chat import ledger_from_messages
from .dialects import chat_messages, is_other_dialect, typed_role
from .files import inside, read_documents, stem_of
from .hooked import ImportHook, sessions_of_hook
from .inspect import is_archive, is_log, read_archive, samples_of
from .messages import time_text
from .model import Facts, ImportedSession, SessionFile
from .names import Names, safe_name
from .proposal import first_words, propose_plan
from .service import Pulled, session_from
from .stored import is_stored, stored_session
from .tapeagents import cache_session, is_cached_call, is_tape, tape_session
from .tau import tau2_session, tau_session
from .traced import SOURCES, Source, conversations_in, source_of, traced_session

__all__ = ["ImportedSession", "Names", "SessionFile", "detect", "import_file", "ledger_from_messages", "safe_name"]

_IDS = ("session_id", "conversation_id", "thread_id", "id")
_AGENTS = ("agent_id", "agent", "assistant_id")
_NOT_METADATA = frozenset({*_IDS, *_AGENTS, "messages", "metadata", "user_id", "created_at", "timestamp", "tools"})
_REMEDY = (
    "Known are lists of chat messages, mappings with `messages`, JSON Lines of either, and the result files of "
    "tau-bench (`traj`) and tau2-bench (`simulations`), what `pytest-statebase pull` kept (`NAME.pulled.json`), "
    "exports of Langfuse, runs of LangSmith, traces of OpenTelemetry (OTLP/JSON), tapes of TapeAgents, logs of "
    "inspect_ai, what OpenAI keeps (responses, conversations, threads), and the journals of a capture "
    "(`NAME.journal`), or a directory of them."
)


@dataclass(frozen=True, slots=True)
class _Found:
    """A session that was found but not read yet."""

    format: str
    read: Callable[[str], ImportedSession]
    """Takes the name to use where the session has none."""


def detect(data: Any) -> str | None:
    """The format of a JSON document: `chat`, `statebase`, `tau-bench`, `tau2-bench`, `inspect_ai`, `tapeagents`,
    `openai`, or that of a tracer (`langfuse`, `langsmith`, `otel`); None where it is none of them.
    """
    source = source_of(data)
    if source is not None:
        return source.format
    if isinstance(data, Mapping):
        if "pulled" in data:
            return "statebase"
        if is_log(data):
            return "inspect_ai"
        if is_stored(data):
            return "openai"
        if is_tape(data) or is_cached_call(data):
            return "tapeagents"
        if isinstance(data.get("simulations"), list):
            return "tau2-bench"
        return "tau-bench" if "traj" in data else "chat" if "messages" in data or _speaks(data) else None
    if isinstance(data, list) and data:
        formats = (detect(item) for item in data)
        return next((found for found in formats if found is not None), None)
    return None


def import_file(path: str | Path, *, hook: ImportHook | None = None) -> SessionFile:
    """Read the sessions of a file, whatever known format it has, one by one.

    path: JSON or JSON Lines, plain or gzipped; or a journal of a capture, or a directory of those.
    hook: asked first, `hook(path=…, data=…)`: the sessions of a format of the project's own, None for any other file
        (see `pytest_statebase_import`).

    A session that cannot be read comes as its ImportFileError, between the others.
    Raises ImportFileError where nothing of the file can be read.
    """
    path = Path(path)
    if is_captured(path):
        return captured_sessions(path)
    own = sessions_of_hook(hook, path, _of_project) if hook is not None else None
    if own is not None:
        return SessionFile(path, "project", len(own), iter(own))
    found = list(_found(read_archive(path) if is_archive(path) else read_documents(path), path))
    if not found:
        raise ImportFileError("holds no session", where=str(path), remedy=_REMEDY)
    formats = {session.format for session in found if isinstance(session, _Found)}
    return SessionFile(path, formats.pop() if len(formats) == 1 else "mixed", len(found), _read(found, stem_of(path)))


def _found(documents: list[tuple[str, Any]], path: Path) -> Iterator[_Found | ImportFileError]:
    rest: list[tuple[str, Any]] = []
    of_tracers: dict[str, list[tuple[str, Any]]] = {}
    for where, document in documents:
        source = None if isinstance(document, ImportFileError) else source_of(document)
        (rest if source is None else of_tracers.setdefault(source.format, [])).append((where, document))
    for source in SOURCES:
        if source.format in of_tracers:
            yield from _traced(of_tracers[source.format], source, path)
    cached = [(document, where) for where, document in rest if is_cached_call(document)]
    if cached:
        yield _Found("tapeagents", partial(cache_session, cached))
        rest = [(where, document) for where, document in rest if not is_cached_call(document)]
    for where, document in _joined(rest, path):
        yield from _find(document, where, path)


def _traced(documents: list[tuple[str, Any]], source: Source, path: Path) -> Iterator[_Found | ImportFileError]:
    try:
        for conversation in conversations_in(documents, source, str(path)):
            yield _Found(source.format, partial(traced_session, conversation))
    except ImportFileError as error:
        yield error


def _read(found: list[_Found | ImportFileError], stem: str) -> Iterator[ImportedSession | ImportFileError]:
    for number, session in enumerate(found, start=1):
        if isinstance(session, ImportFileError):
            yield session
            continue
        try:
            yield session.read(stem if len(found) == 1 else f"{stem}-{number}")
        except ImportFileError as error:
            yield error


def _joined(documents: list[tuple[str, Any]], path: Path) -> list[tuple[str, Any]]:
    """The documents; where each line is one message, the messages of one session (or the error of a bad line)."""
    errors = [(where, document) for where, document in documents if isinstance(document, ImportFileError)]
    messages = [document for _, document in documents if _is_message(document)]
    if not messages or len(documents) == 1 or len(messages) + len(errors) < len(documents):
        return documents
    return errors[:1] or [(str(path), messages)]


def _find(document: Any, where: str, path: Path) -> Iterator[_Found | ImportFileError]:
    if isinstance(document, ImportFileError):
        yield document
    elif is_log(document):
        for read_sample in samples_of(document, where):
            if isinstance(read_sample, ImportFileError):
                yield read_sample
            else:
                yield _Found("inspect_ai", lambda _, read_sample=read_sample: read_sample())  # type: ignore[misc]
    elif isinstance(document, list) and document and not any(_is_message(item) for item in document):
        for index, item in enumerate(document):
            yield _session_of(item, inside(where, index), path)
    elif isinstance(document, Mapping) and isinstance(document.get("simulations"), list):
        info = document.get("info")
        for index, item in enumerate(document["simulations"]):
            place = inside(inside(where, "simulations"), index)
            read = partial(tau2_session, item, place, info=info if isinstance(info, Mapping) else {})
            yield _Found("tau2-bench", lambda _, read=read: read())  # type: ignore[misc]
    else:
        yield _session_of(document, where, path)


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and _speaks(item) and "messages" not in item and "traj" not in item


def _speaks(item: Mapping[str, Any]) -> bool:
    return "role" in item or typed_role(item) is not None


def _session_of(item: Any, where: str, path: Path) -> _Found | ImportFileError:
    if is_stored(item):
        return _Found("openai", partial(stored_session, item, where))
    if is_tape(item):
        return _Found("tapeagents", partial(tape_session, item, where))
    match item:
        case {"pulled": _}:
            return _Found("statebase", lambda _: session_from(Pulled.parse(item, where), where).imported)
        case {"traj": _}:
            return _Found("tau-bench", lambda _: tau_session(item, where, stem=stem_of(path)))
        case {"messages": _}:
            return _Found("chat", lambda name: _chat_session(item, item["messages"], inside(where, "messages"), name))
        case [_, *_]:
            return _Found("chat", lambda name: _chat_session({}, item, where, name))
    if _is_message(item):
        return _Found("chat", lambda name: _chat_session({}, [item], where, name))
    return ImportFileError("is no session of a format that is known", where=where, remedy=_REMEDY)


def _of_project(item: Any, where: str, path: Path, name: str) -> ImportedSession:
    found = _session_of(item, where, path)
    if isinstance(found, ImportFileError):
        raise found
    return found.read(name)


def _chat_session(holder: Mapping[str, Any], messages: Any, where: str, name: str) -> ImportedSession:
    name = _first_text(holder, _IDS) or name
    given = holder.get("metadata")
    metadata = dict(given) if isinstance(given, Mapping) else {} if given is None else {"metadata": given}
    metadata |= {key: value for key, value in holder.items() if key not in _NOT_METADATA and value is not None}
    facts = Facts(
        id=name,
        agent=_first_text(holder, _AGENTS),
        user=_first_text(holder, ("user_id",)),
        at=time_text(holder.get("created_at")) or time_text(holder.get("timestamp")),
        metadata=metadata,
    )
    ledger = _ledger(messages, facts, where)
    return ImportedSession(name, ledger, propose_plan(ledger, first_words(ledger)))


def _ledger(messages: Any, facts: Facts, where: str) -> Ledger:
    """Of messages in OpenAI's form, else in that of another provider or framework."""
    try:
        return ledger_from_messages(messages, facts, where)
    except ImportFileError as error:
        found = chat_messages(messages, role="user") if is_other_dialect(messages) else None
        if found is None:
            raise
        try:
            return ledger_from_messages(found, facts, where)
        except ImportFileError:
            raise error from None


def _first_text(holder: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    values = (holder.get(key) for key in keys)
    return next((str(value) for value in values if isinstance(value, (str, int)) and value != ""), None)
