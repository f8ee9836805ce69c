"""What a request says: its query and the fields of its body, whatever form they have on the wire."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl

from .exchange import Request, Response, header_of

Kind: TypeAlias = Literal["none", "json", "lines", "form", "multipart", "text", "bytes"]
_JSON = re.compile(r"(?:application|text)/(?:[\w.+-]+\+)?json\b")
_LINES = re.compile(r"application/(?:x-)?(?:ndjson|jsonl|jsonlines|json-stream)\b")
_BRACKETS = re.compile(r"[][{}]")
_DEEPEST = 200
_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]+)"|([^\s;]+))', re.IGNORECASE)
_PARAMETER = re.compile(rb';\s*(name|filename)\*?=(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Body:
    """What a body says."""

    kind: Kind
    value: Any
    """A JSON value, a list of them, a mapping of fields, a text or bytes; None for an empty body."""


def fields(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Pairs by name: one value, or a list of them, in order, for a name that comes more than once."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        _add(found, name, value)
    return found


def _add(found: dict[str, Any], name: str, value: Any) -> None:
    known = found.get(name)
    if known is None:
        found[name] = value
    elif isinstance(known, list):
        known.append(value)
    else:
        found[name] = [known, value]


def query_of(request: Request) -> dict[str, Any]:
    """The parameters of the address by name."""
    return fields(request.query) if "?" in request.url else {}


def body_of(message: Request | Response) -> Body:
    """JSON and forms as their fields, also where no header says what they are; else a text, or bytes."""
    return _body(message.body, message.header("content-type") or "") if message.body else Body("none", None)


def _body(data: bytes, content_type: str) -> Body:
    kind = content_type.strip().lower()
    if kind.startswith("multipart/"):
        parts = _multipart(data, content_type)
        return Body("bytes", data) if parts is None else Body("multipart", parts)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Body("bytes", data)
    if kind.startswith("application/x-www-form-urlencoded"):
        return Body("form", fields(parse_qsl(text, keep_blank_values=True)))
    # A body that is no JSON after all, or is nested too deep to be read as such, counts as it stands.
    with contextlib.suppress(ValueError, RecursionError):
        if _LINES.match(kind):
            return Body("lines", [json.loads(line) for line in text.splitlines() if line.strip()])
        if not _is_deep(text) and (_JSON.match(kind) or text.lstrip()[:1] in ("{", "[")):
            return Body("json", json.loads(text))
    return Body("text", text)


def _is_deep(text: str) -> bool:
    """Whether brackets, those in texts as well, lie too deep in each other for values to be compared."""
    if text.count("{") + text.count("[") <= _DEEPEST:
        return False
    depths = accumulate(1 if bracket in "[{" else -1 for bracket in _BRACKETS.findall(text))
    return max(depths) > _DEEPEST


# --- Multipart


def _multipart(data: bytes, content_type: str) -> Any:
    """The parts by name, or in order where they have none; None where the body is not what its type says."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        return None
    border = b"\r\n--" + (found[1] or found[2]).encode("latin-1", "replace")
    chunks = (b"\r\n" + data).split(border)
    if len(chunks) < 3 or not chunks[-1].startswith(b"--"):
        return None
    parts = [_part(chunk.lstrip(b" \t").removeprefix(b"\r\n")) for chunk in chunks[1:-1]]
    if any(name is None for name, _ in parts):
        return [value for _, value in parts]
    named: dict[str, Any] = {}
    for name, value in parts:
        _add(named, str(name), value)
    return named


def _part(chunk: bytes) -> tuple[str | None, Any]:
    if chunk.startswith(b"\r\n"):
        head, content = b"", chunk[2:]
    else:
        head, _, content = chunk.partition(b"\r\n\r\n")
    lines = [line.partition(b":") for line in head.split(b"\r\n")]
    headers = tuple((_text(name).strip(), _text(value).strip()) for name, _, value in lines)
    disposition = header_of(headers, "content-disposition") or ""
    told = {key.lower(): quoted or bare for key, quoted, bare in _PARAMETER.findall(disposition.encode())}
    content_type = header_of(headers, "content-type") or ""
    value = _body(content, content_type).value if content else ""
    if b"filename" in told:
        value = {"file": _text(told[b"filename"]), "type": content_type.lower(), "content": value}
    name = told.get(b"name")
    return None if name is None else _text(name), value


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
