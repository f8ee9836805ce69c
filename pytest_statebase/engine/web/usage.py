"""What model calls cost: the tokens that providers reported, and an estimate before any goes live."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...wire.exchange import Answer, Exchange, Response
from .models import ModelHosts

_READ = ("prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "inputTokenCount", "prompt_eval_count")
_WRITTEN = (
    "completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens", "outputTokenCount", "eval_count",
)  # fmt: skip
_BESIDES = ("cache_creation_input_tokens", "cache_read_input_tokens", "cacheReadInputTokens", "cacheWriteInputTokens")
"""Read, and not among those of `_READ` where the provider has these names."""
_THOUGHT = "thoughtsTokenCount"
_USAGES = ("usage", "usageMetadata", "amazon-bedrock-invocationMetrics", "meta", "billed_units", "tokens")
_AROUND = ("response", "message", "delta", "data")
_SPOKEN = frozenset({
    "text", "content", "delta", "arguments", "partial_json", "thinking", "reasoning_content", "response", "output",
    "generated_text", "completion", "refusal",
})  # fmt: skip
_HEADERS = ("x-amzn-bedrock-input-token-count", "x-amzn-bedrock-output-token-count")


def usage(answer: Answer) -> tuple[int, int] | None:
    """Tokens read, cached ones too, and written, as the provider reported them; None where it did not."""
    if not isinstance(answer, Response):
        return None
    read = written = None
    for value in _objects(answer):
        for found in _usages(value):
            read = _last(_counted(found, _READ, _BESIDES), read)
            written = _last(_counted(found, _WRITTEN, (_THOUGHT,)), written)
    if read is None and written is None:
        read, written = (_number(answer.header(name)) for name in _HEADERS)
    return None if read is None and written is None else (read or 0, written or 0)


def _last(new: int | None, old: int | None) -> int | None:
    """Streams tell the tokens more than once; the highest number is that of the end."""
    return old if new is None else new if old is None else max(old, new)


def _counted(found: dict[str, Any], names: Sequence[str], besides: Sequence[str]) -> int | None:
    count = next((found[name] for name in names if type(found.get(name)) in (int, float)), None)
    if count is None:
        return None
    return int(count) + sum(int(found[name]) for name in besides if type(found.get(name)) is int)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _usages(value: Any) -> Iterator[dict[str, Any]]:
    for item in value if isinstance(value, list) else (value,):
        if not isinstance(item, dict):
            continue
        if "eval_count" in item:
            yield item
        for key in _USAGES:
            if isinstance(item.get(key), dict):
                yield item[key]
                yield from _usages(item[key])
        for key in _AROUND:
            if isinstance(item.get(key), dict):
                yield from _usages(item[key])


def _objects(answer: Response) -> Iterator[Any]:
    """The JSON values of a body: one, or one an event, a line or a frame of a stream."""
    body = answer.body
    kind = (answer.header("content-type") or "").lower()
    if "amazon.eventstream" in kind:
        pieces: Iterable[bytes] = _frames(body)
    elif "event-stream" in kind or body.lstrip()[:6] in (b"data: ", b"event:", b"data:{"):
        pieces = (line[5:] for line in body.splitlines() if line.startswith(b"data:"))
    else:
        whole = _parsed(body)
        if whole is not None:
            yield whole
            return
        pieces = body.splitlines()
    for piece in pieces:
        value = _parsed(piece)
        if isinstance(value, dict) and isinstance(value.get("bytes"), str):
            value = _parsed(base64.b64decode(value["bytes"] + "==="))
        if value is not None:
            yield value


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _frames(body: bytes) -> Iterator[bytes]:
    """The payloads of an AWS event stream: lengths, check sum, headers, payload, check sum."""
    at = 0
    while at + 16 <= len(body):
        total, head = struct.unpack_from(">II", body, at)
        if total < 16 + head:
            return
        yield body[at + 12 + head : at + total - 4]
        at += total


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a live run may cost at most, as far as recordings tell."""

    calls: int
    tokens: int
    counted: int
    """Of how many calls the tokens are as the provider reported them; of the others they are guessed from the texts."""

    def text(self) -> str:
        """`up to 12 model calls, about 34,000 tokens (recorded usage)`."""
        calls = "1 model call" if self.calls == 1 else f"{self.calls:,} model calls"
        if not self.calls:
            return "no model calls"
        how = "recorded usage" if self.counted == self.calls else "partly recorded usage, partly guessed from the texts"
        how = how if self.counted else "guessed from the texts, 4 characters a token"
        return f"up to {calls}, about {_rounded(self.tokens):,} tokens ({how})"


def _rounded(number: int) -> int:
    """Two digits that count, for figures that are no promise."""
    step: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // step) * step


def estimate(exchanges: Iterable[Exchange], hosts: ModelHosts) -> Estimate:
    """What the model calls among some recorded exchanges, those of the turns to be replayed, would cost again."""
    calls = tokens = counted = 0
    for one in exchanges:
        if not hosts.is_model(one.request):
            continue
        told = usage(one.answer)
        calls, counted = calls + 1, counted + (told is not None)
        tokens += sum(told) if told else (len(one.request.body) + _spoken(one.answer)) // 4
    return Estimate(calls, tokens, counted)


def _spoken(answer: Answer) -> int:
    """About how many characters a model said."""
    if not isinstance(answer, Response):
        return 0
    values = list(_objects(answer))
    return sum(map(_told, values)) if values else len(answer.body)


def _told(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_told, value))
    if not isinstance(value, dict):
        return 0
    return sum(_length(key, item) for key, item in value.items())


def _length(key: str, value: Any) -> int:
    return len(value) if isinstance(value, str) and key in _SPOKEN else _told(value)
