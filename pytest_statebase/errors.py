"""One tree of errors. Each says what is wrong, where, and what to do about it.

Every class has a `slug`, the anchor of its paragraph in the reference of the documentation.
"""

from __future__ import annotations

from typing import ClassVar


class StatebaseError(Exception):
    """Something the user can put right. `str()` of it is the whole message, without a traceback.

    what: one sentence, what was found (and what was wanted).
    where: a file with line and column, or a session, turn and path.
    remedy: what to do now.
    """

    slug: ClassVar[str] = "error"

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(what, where, remedy)

    def __str__(self) -> str:
        parts = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.remedy:
            parts.append(self.remedy)
        return "\n  ".join(parts)

    @property
    def line(self) -> str:
        """The message in one line, each part of it a sentence."""
        parts = (" ".join(part.split()) for part in str(self).split("\n"))
        return " ".join(part if part.endswith((".", "!", "?", ":")) else f"{part}." for part in parts if part)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.where, self.remedy))


def _rebuild(kind: type[StatebaseError], what: str, where: str | None, remedy: str | None) -> StatebaseError:
    return kind(what, where=where, remedy=remedy)


class FileError(StatebaseError):
    """A file cannot be read as what it should be: not UTF-8, cut off, empty, broken or hostile YAML."""

    slug = "file"


class PlanError(FileError):
    """A plan (`NAME.session.yaml`) or `statebase.yaml` says something that cannot be meant."""

    slug = "plan"


class RecordError(FileError):
    """A record (`NAME.record.yaml`) is not a recording: a document is missing, out of order or malformed."""

    slug = "record"


class SealError(RecordError):
    """The record is not what was sealed: it was edited, cut or rearranged after it was recorded."""

    slug = "seal"


class AcceptedError(FileError):
    """An accepted baseline (`NAME.accepted.yaml`) cannot be used: conflict markers, a broken seal, another session."""

    slug = "accepted"


class HttpError(FileError):
    """An HTTP recording (`NAME.http.yaml`, or one of vcrpy's) cannot be used: cut off, of another form, not there."""

    slug = "http"


class FormatVersionError(FileError):
    """The file was written in a format that this version does not know."""

    slug = "format-version"


class UnstorableError(StatebaseError):
    """A value cannot be written to a record: its type has no form in the format."""

    slug = "unstorable"


class ForkError(StatebaseError):
    """A fork point or an `until` that the session does not have."""

    slug = "fork"


class AgentError(StatebaseError):
    """The agent under test cannot be imported, called or understood."""

    slug = "agent"


class ToolError(StatebaseError):
    """A tool pattern matches nothing, or a tool cannot be stubbed."""

    slug = "tool"


class OptionError(StatebaseError):
    """An option or ini value that means nothing."""

    slug = "option"


class ImportFileError(StatebaseError):
    """A file given to `pytest-statebase import` is none of the formats that it reads."""

    slug = "import"


class PullError(StatebaseError):
    """`pytest-statebase pull` could not have from the service what it was asked for."""

    slug = "pull"


class UnrecordedCall(BaseException):
    """Raised inside the agent where a call has no answer. The turn's verdict is `unrecorded`, whatever the agent does.

    It derives from BaseException so that `except Exception`, retries and fallbacks do not keep the agent
    going for nothing; that it cannot be hidden does not depend on it (the turn is marked before it is raised).
    """

    slug: ClassVar[str] = "unrecorded-call"
