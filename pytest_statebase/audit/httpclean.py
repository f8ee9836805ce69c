"""Values out of HTTP exchanges, where they may be spelled as addresses, forms and JSON spell them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit, urlunsplit

from ..wire.exchange import Exchange, Failure, Headers, Request, Response, header_of
from .given import leaves_with_names
from .redactor import Redactor
from .streamtext import clean_stream, joined_texts

_FORM = "application/x-www-form-urlencoded"


def learn_exchange(exchange: Exchange, redactor: Redactor) -> None:
    """Show an exchange to a redactor."""
    parts = urlsplit(exchange.request.url)
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        redactor.learn(unquote_plus(value), unquote_plus(name))
    for part in parts.path.split("/"):
        redactor.learn(unquote(part))
    messages: list[Request | Response] = [exchange.request]
    messages += [] if isinstance(exchange.answer, Failure) else [exchange.answer]
    for message in messages:
        text = _text(message.body) or ""
        redactor.learn(text)
        for joined in joined_texts(text):
            redactor.learn(joined)
        for name, leaf in leaves_with_names(_json(text)):
            if isinstance(leaf, str):
                redactor.learn(leaf, name)


def clean_exchange(exchange: Exchange, redactor: Redactor) -> Exchange:
    """The exchange with placeholders."""
    request, answer = exchange.request, exchange.answer
    headers, body = _message(request.headers, request.body, redactor)
    request = Request(request.method, _url(request.url, redactor), headers, body)
    if isinstance(answer, Failure):
        answer = replace(answer, message=redactor.clean(answer.message, from_http=True))
    else:
        headers, body = _message(answer.headers, answer.body, redactor)
        cut = None if answer.cut is None else redactor.clean(answer.cut, from_http=True)
        answer = replace(answer, headers=headers, body=body, cut=cut)
    return replace(exchange, request=request, answer=answer)


def _message(headers: Headers, body: bytes, redactor: Redactor) -> tuple[Headers, bytes]:
    text = _text(body)
    is_form = (header_of(headers, "content-type") or "").partition(";")[0].strip().lower() == _FORM
    if text is None:
        clean = body
    elif is_form:
        clean = _pairs(text, redactor).encode()
    else:
        clean = redactor.clean(clean_stream(text, redactor), from_http=True).encode()
    fields = tuple((name, redactor.clean(value, from_http=True)) for name, value in headers)
    if len(clean) != len(body):
        length = str(len(clean))
        fields = tuple((name, length if name.lower() == "content-length" else value) for name, value in fields)
    return fields, clean


def _url(url: str, redactor: Redactor) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return redactor.clean(url, from_http=True)
    path = "/".join([_coded(part, unquote, quote, redactor) for part in parts.path.split("/")])
    query = _pairs(parts.query, redactor) if parts.query else ""
    if (path, query) == (parts.path, parts.query):
        return url
    return urlunsplit((parts.scheme, parts.netloc, path, query, parts.fragment))


def _pairs(text: str, redactor: Redactor) -> str:
    """A query or a form."""
    pairs = []
    for pair in text.split("&"):
        name, sign, value = pair.partition("=")
        pairs.append(f"{name}{sign}{_coded(value, unquote_plus, quote_plus, redactor)}")
    return "&".join(pairs)


def _coded(text: str, decode: Callable[[str], str], encode: Callable[..., str], redactor: Redactor) -> str:
    said = decode(text)
    clean = redactor.clean(said, from_http=True)
    return text if clean == said else encode(clean, safe="")


def _text(body: bytes) -> str | None:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _json(text: str) -> Any:
    try:
        return json.loads(text) if text[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None
