"""Reading the fields of a request: every one that is wrong is told, in the shape of FastAPI's validation errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

_MISSING: Any = object()
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


class Unprocessable(Exception):
    """422: fields of a request that cannot be read. errors: `{type, loc, msg, input, ctx?}` each."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors))


class Fields:
    """The fields of a body or a query. Wrong ones are gathered until `check`."""

    def __init__(self, where: str, values: Mapping[str, Any]) -> None:
        self.where = where
        self.values = values
        self.errors: list[dict[str, Any]] = []

    @classmethod
    def of_query(cls, query: str) -> Fields:
        """A name that comes more than once has its values joined by commas."""
        found: dict[str, Any] = {}
        for name, value in parse_qsl(query, keep_blank_values=True, max_num_fields=None):
            found[name] = f"{found[name]},{value}" if name in found else value
        return cls("query", found)

    @classmethod
    def of_body(cls, body: bytes) -> Fields:
        """Raises Unprocessable for what is no JSON object. No body is an empty one."""
        if not body.strip():
            return cls("body", {})
        try:
            value = json.loads(body)
        except (ValueError, RecursionError) as error:
            position = getattr(error, "pos", 0)
            wrong = {"type": "json_invalid", "loc": ["body", position], "msg": "JSON decode error", "input": {}}
            raise Unprocessable([{**wrong, "ctx": {"error": str(error)}}]) from None
        if not isinstance(value, dict):
            raise Unprocessable([_wrong("dict_type", ["body"], "Input should be a valid dictionary", value)])
        return cls("body", value)

    def check(self) -> None:
        """Raises Unprocessable where a field was wrong."""
        if self.errors:
            raise Unprocessable(self.errors)

    def _fail(self, name: str, kind: str, message: str, value: Any, **context: Any) -> None:
        self.errors.append(_wrong(kind, [self.where, name], message, value, **context))

    def any(self, name: str, default: Any = _MISSING) -> Any:
        """A field of any type; without a default it has to be there."""
        value = self.values.get(name, default)
        if value is _MISSING:
            self._fail(name, "missing", "Field required", dict(self.values))
            return None
        return value

    def _typed(self, name: str, kinds: tuple[type, ...], kind: str, word: str, default: Any) -> Any:
        value = self.any(name, default)
        if value is None and default is None:
            return None
        if not isinstance(value, kinds) and not (self.errors and value is None):
            self._fail(name, kind, f"Input should be a valid {word}", value)
            return None
        return value

    def text(self, name: str, default: Any = _MISSING) -> Any:
        """A text; null too where the default is None."""
        return self._typed(name, (str,), "string_type", "string", default)

    def mapping(self, name: str, default: Any = _MISSING) -> Any:
        """An object; null too where the default is None."""
        return self._typed(name, (dict,), "dict_type", "dictionary", default)

    def texts(self, name: str) -> list[str] | None:
        """A list of texts, or one text with commas; null where it is left out."""
        value = self.any(name, None)
        if isinstance(value, str):
            return [part.strip() for part in value.split(",")]
        if value is not None and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            self._fail(name, "list_type", "Input should be a valid list of strings", value)
            return None
        return value

    def number(self, name: str, default: Any = _MISSING, *, least: int | None = None, most: int | None = None) -> Any:
        """A whole number within bounds; null too where the default is None."""
        value = self.any(name, default)
        if value is None and (default is None or self.errors):
            return None
        read = _whole(value)
        if read is None:
            told = "unable to parse string as an integer" if isinstance(value, str) else "not a whole number"
            self._fail(name, "int_parsing", f"Input should be a valid integer, {told}", value)
        elif least is not None and read < least:
            message = f"Input should be greater than or equal to {least}"
            self._fail(name, "greater_than_equal", message, value, ge=least)
        elif most is not None and read > most:
            message = f"Input should be less than or equal to {most}"
            self._fail(name, "less_than_equal", message, value, le=most)
        return read

    def decimal(self, name: str, default: float) -> float:
        """A number."""
        value = self.values.get(name)
        if value is None:
            return default
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            self._fail(
                name, "float_parsing", "Input should be a valid number, unable to parse string as a number", value
            )
            return default

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.values.get(name)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        word = str(value).lower()
        if word not in _TRUE | _FALSE:
            self._fail(name, "bool_parsing", "Input should be a valid boolean, unable to interpret input", value)
        return word in _TRUE

    def choice(self, name: str, default: str, *others: str) -> Any:
        """One of several words."""
        value = self.any(name, default)
        if value not in (default, *others):
            words = " or ".join(repr(word) for word in (default, *others))
            self._fail(name, "literal_error", f"Input should be {words}", value, expected=words)
        return value


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    try:
        return int(value)
    except ValueError:
        return None


def _wrong(kind: str, loc: list[Any], message: str, value: Any, **context: Any) -> dict[str, Any]:
    found = {"type": kind, "loc": loc, "msg": message, "input": value}
    return {**found, "ctx": context} if context else found
