"""The APIs of models in which a talk can be read and an answer be written."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ....wire.exchange import Request

Api: TypeAlias = Literal["chat", "responses", "messages", "gemini"]

_ENDS: tuple[tuple[str, Api], ...] = (
    ("/chat/completions", "chat"),
    ("/responses", "responses"),
    ("/messages", "messages"),
    (":rawpredict", "messages"),
    (":streamrawpredict", "messages"),
    ("/invoke", "messages"),
    (":generatecontent", "gemini"),
    (":streamgeneratecontent", "gemini"),
)


def api_of(request: Request) -> Api | None:
    """The API of a request that asks a model to speak; None for any other, such as one that counts tokens."""
    path = request.parts.path.rstrip("/").lower()
    return next((api for end, api in _ENDS if path.endswith(end)), None)
