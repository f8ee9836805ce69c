"""Writes HTTP recordings: genuine files of vcrpy, laid out for a person to review."""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..errors import FileError, HttpError
from ..wire.exchange import Answer, Exchange, Failure, Headers, Request
from .files import write_atomic
from .http import VERSION, http_from
from .httpforms import unencoded
from .parts import text_part
from .yamlwrite import block_scalar, double_quoted, scalar, single_quoted

_WIDTH = 110
_UNANSWERED = 599
"""The status that vcrpy itself answers with where no answer came: it knows no failures."""


def write_http(path: str | os.PathLike[str], exchanges: Iterable[Exchange]) -> None:
    """Write a recording in one step. Secrets stand in it as they are given: `redacted_exchange` takes them out.

    Raises HttpError where there is a file already: a recording is evidence, and is never overwritten.
    """
    name = os.fspath(path)
    data = http_bytes(exchanges)
    folder, base = os.path.split(name)
    fresh = os.path.join(folder, f".{base[:40]}.{os.getpid()}.new")
    try:
        _check_free(name)
        write_atomic(fresh, data)
        try:
            os.link(fresh, name)
        except FileExistsError:
            _check_free(name)
        except OSError:
            # Not every file system has links.
            _check_free(name)
            os.replace(fresh, name)
    except HttpError:
        raise
    except FileError as error:
        raise HttpError(error.what, where=name, remedy=error.remedy) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(fresh)


def _check_free(name: str) -> None:
    if os.path.lexists(name):
        remedy = "Remove it to record it anew, or choose another name."
        raise HttpError("there is an HTTP recording already, which is not overwritten", where=name, remedy=remedy)


def http_bytes(exchanges: Iterable[Exchange]) -> bytes:
    """The file of some exchanges. They read back equal, their bodies to the byte, and vcrpy loads them.

    Encoded bodies are written decoded, and headers of one name together. What UTF-8 cannot hold of a header becomes
    `?`.
    """
    kept = tuple(map(written, exchanges))
    for plainly in (False, True):
        data = "".join(_lines(kept, plainly)).encode("utf-8")
        with contextlib.suppress(HttpError):
            if http_from(data, where="the written recording").exchanges == kept:
                return data
    raise HttpError("an exchange does not read back as it was", remedy="Please report it.")


# --- What can be written


def written(exchange: Exchange) -> Exchange:
    """The exchange as it reads back from a file."""
    request, answer = exchange.request, exchange.answer
    headers, body = unencoded(_grouped(request.headers), request.body, has_body=True)
    request = Request(_clean(request.method), _clean(request.url), headers, body)
    at = None if exchange.at is None else _clean(exchange.at)
    return replace(exchange, request=request, answer=_written(answer, request.method), at=at)


def _written(answer: Answer, method: str) -> Answer:
    if isinstance(answer, Failure):
        return replace(answer, message=_clean(answer.message))
    has_body = method.upper() != "HEAD" and answer.status not in (204, 304)
    headers, body = _grouped(answer.headers), answer.body
    if not answer.is_encoded:
        headers, body = unencoded(headers, body, has_body=has_body)
    cut = None if answer.cut is None else _clean(answer.cut)
    return replace(answer, reason=_clean(answer.reason), headers=headers, body=body, cut=cut)


def _grouped(headers: Headers) -> Headers:
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(_clean(name), []).append(_clean(value))
    return tuple((name, value) for name, values in found.items() for value in values)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


# --- Layout


def _lines(exchanges: tuple[Exchange, ...], plainly: bool) -> Iterator[str]:
    """plainly: every body in double quotes, for what a block does not give back."""
    yield "interactions:\n" if exchanges else "interactions: []\n"
    for exchange in exchanges:
        mark = "- "
        for key in ("turn", "during", "at", "latency_ms"):
            value = getattr(exchange, key)
            if value is not None:
                yield f"{mark}{key}: {_scalar(value) if type(value) is str else value}\n"
                mark = "  "
        if exchange.derived is not None:
            yield f"{mark}derived: [{', '.join(map(_flow, exchange.derived))}]\n"
            mark = "  "
        yield f"{mark}request:\n"
        yield from _request(exchange.request, plainly)
        yield from _answer(exchange.answer, plainly)
    yield f"version: {VERSION}\n"


def _request(request: Request, plainly: bool) -> Iterator[str]:
    yield f"    method: {_scalar(request.method)}\n    uri: {_scalar(request.url)}\n"
    yield from _headers(request.headers)
    yield f"    body: {_content(request.body, 6, plainly) if request.body else 'null'}\n"


def _answer(answer: Answer, plainly: bool) -> Iterator[str]:
    if isinstance(answer, Failure):
        message = f", message: {_flow(answer.message)}" if answer.message else ""
        yield f"  failed: {{kind: {answer.kind}{message}}}\n  response:\n"
        yield f"    status: {{code: {_UNANSWERED}, message: no answer}}\n"
        yield '    headers: {}\n    body:\n      string: ""\n'
        return
    if answer.cut is not None:
        yield f"  cut: {_scalar(answer.cut)}\n"
    if answer.is_encoded:
        yield "  encoded: true\n"
    yield f"  response:\n    status: {{code: {answer.status}, message: {_flow(answer.reason)}}}\n"
    yield from _headers(answer.headers)
    yield f"    body:\n      string: {_content(answer.body, 8, plainly)}\n"


def _headers(headers: Headers) -> Iterator[str]:
    yield "    headers:\n" if headers else "    headers: {}\n"
    last = None
    for name, value in headers:
        if name != last:
            key = _scalar(name)
            yield f"      {key}:\n" if len(key) < 100 else f"      ? {key}\n      :\n"
        last = name
        yield f"      - {_scalar(value)}\n"


def _scalar(text: str) -> str:
    return _quoted(text, scalar(text_part(text)))


def _flow(text: str) -> str:
    return _quoted(text, scalar(text_part(text), flow=True))


def _quoted(text: str, found: str) -> str:
    return (single_quoted(text) or found) if found[0] == '"' and "\\" in found else found


def _content(body: bytes, indent: int, plainly: bool) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        pad = "\n" + " " * indent
        coded = base64.b64encode(body).decode("ascii")
        return f"!!binary |{pad}" + pad.join(coded[at : at + 76] for at in range(0, len(coded), 76))
    if plainly:
        return double_quoted(text)
    return (block_scalar(text, indent) if text else None) or _scalar(text)
