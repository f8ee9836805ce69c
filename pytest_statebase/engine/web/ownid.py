"""The id of the session in the requests of a fork, which has one of its own."""

from __future__ import annotations

from dataclasses import replace

from ...cassette.redaction import spellings_of
from ...wire.exchange import Request


class OwnId:
    """Reads the fork's id as that of the recorded session, as in arguments of tools."""

    def __init__(self, fork: str, source: str) -> None:
        self._spellings = _spellings(fork, source) if fork != source else ()

    def __call__(self, request: Request) -> Request:
        """The request as the recorded session would have sent it: address, headers and body."""
        for forks, recorded in self._spellings:
            request = _replaced(request, forks, recorded)
        return request


def _spellings(fork: str, source: str) -> tuple[tuple[str, str], ...]:
    """As texts, addresses and JSON have it. What a fork's id has behind that of its source is written alike in all."""
    if not fork.startswith(source):
        return ((fork, source),)
    behind = fork.removeprefix(source)
    return tuple((f"{spelled}{behind}", spelled) for spelled in spellings_of([source]))


def _replaced(request: Request, forks: str, recorded: str) -> Request:
    encoded = forks.encode(errors="surrogatepass")
    in_head = forks in request.url or any(forks in value for _, value in request.headers)
    if not in_head and encoded not in request.body:
        return request
    headers = tuple((name, value.replace(forks, recorded)) for name, value in request.headers)
    body = request.body.replace(encoded, recorded.encode(errors="surrogatepass"))
    return replace(request, url=request.url.replace(forks, recorded), headers=headers, body=body)
