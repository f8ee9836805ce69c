"""What of a request counts when its recording is looked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ...compare import IgnoreRules
from ...compare.paths import IGNORED
from ...values import freeze
from ...wire.exchange import Request
from ...wire.forms import Kind, body_of, fields, query_of
from ..redactions import concealed
from ..volatile import Piece, mask

_BOUNDARY = re.compile(r";\s*boundary=[^;]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Form:
    """A request in the parts that are compared, what is ignored taken out."""

    method: str
    address: str
    query: Any
    """Name → value, or its values in order."""
    headers: Any
    """The same of those that count, names in lower case."""
    kind: Kind | None
    """None where the body is ignored."""
    body: Any
    """A JSON value, the fields of a form, a text or bytes; None for an empty one."""

    @property
    def key(self) -> Hashable:
        """Equal for requests that are the same, to the type of each value, and for no others.

        Neither the order of keys counts, nor that of parameters and fields of different names.
        """
        try:
            return (self.method, self.address, freeze(self.query), freeze(self.headers), self.kind, freeze(self.body))
        except RecursionError:
            return (self.method, self.address, freeze(self.query), freeze(self.headers), self.kind, repr(self.body))

    @property
    def masked(self) -> tuple[Hashable, list[Piece]]:
        """The key without what programs make up anew on each run, and these pieces in order."""
        return self._masked(mask)

    @property
    def concealed(self) -> tuple[Hashable, list[Piece]]:
        """The same without what is, or would be, redacted."""
        return self._masked(_concealed_and_masked)

    def _masked(self, mask: Callable[[Any], tuple[Any, list[Piece]]]) -> tuple[Hashable, list[Piece]]:
        parts = urlsplit(self.address)
        try:
            shape, pieces = mask([unquote(parts.path), self.query, self.headers, self.body])
        except RecursionError:
            return self.key, []
        return (self.method, parts.scheme, parts.netloc, self.kind, shape), pieces


def _concealed_and_masked(value: Any) -> tuple[Any, list[Piece]]:
    plain, redacted = concealed(value)
    shape, pieces = mask(plain)
    return shape, [*redacted, *pieces]


def form_of(request: Request, rules: IgnoreRules, headers: Sequence[str] = ()) -> Form:
    """headers: the names of those that count."""
    query, named, body = query_of(request), _named(request, headers), body_of(request)
    kind: Kind | None = body.kind
    value = body.value
    if rules:
        query, named = rules.strip(query, ("http", "query")), rules.strip(named, ("http", "headers"))
        value = rules.strip(value, ("http", "body"))
        kind = None if value is IGNORED else kind
    return Form(request.method.upper(), request.address, query, named, kind, value)


def _named(request: Request, headers: Sequence[str]) -> dict[str, Any]:
    if not headers:
        return {}
    wanted = {name.lower() for name in headers}
    # The boundary of a multipart body is another one each time.
    return fields((name.lower(), _BOUNDARY.sub("", value)) for name, value in request.headers if name.lower() in wanted)
