"""The errors of the API, as a client meets them."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """What the API answers instead of an object.

    status_code: 400 or 404. code: `invalid_request` or `session_not_found`, `version_not_found`, `turn_not_found`,
    `memory_not_found`, `trace_not_found`. type: the class of the code. param: the argument that is wrong.

    It is an ordinary exception of the agent that meets it, not a mistake in the set-up of a replay.
    """

    def __init__(self, status_code: int, code: str, message: str, *, type: str, param: str | None = None) -> None:
        self.status_code = status_code
        self.code = code
        self.message = message
        self.type = type
        self.param = param
        super().__init__(f"{status_code} {code}: {message}")

    @property
    def error(self) -> dict[str, Any]:
        """The body's `error`: `{code, message, type, param?}`."""
        body = {"code": self.code, "message": self.message, "type": self.type}
        return body if self.param is None else {**body, "param": self.param}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.status_code, self.code, self.message, self.type, self.param)


def _rebuilt(status_code: int, code: str, message: str, type: str, param: str | None) -> ApiError:
    return ApiError(status_code, code, message, type=type, param=param)


def not_found(what: str, id: object, *, known: str = "") -> ApiError:
    """404: there is no such `what` (`session`, `version`, `turn`, `memory`, `trace`)."""
    message = f"no {what} {id!r}" + (f"; {known}" if known else "")
    return ApiError(404, f"{what}_not_found", message, type="not_found_error", param=f"{what}_id")


def invalid(message: str, param: str) -> ApiError:
    """400: an argument that cannot be meant."""
    return ApiError(400, "invalid_request", message, type="invalid_request_error", param=param)
