"""One sample of a log → a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ...errors import ImportFileError
from ...ledger import Event, Ledger, ToolCalled
from ...values import ABSENT
from ..chat import ledger_from_parsed
from ..files import inside
from ..grades import Reason, graded
from ..lacking import lacking
from ..messages import Message, Request, parse_message, time_text
from ..model import Facts, ImportedSession
from ..modelcalls import model_calls
from ..proposal import first_words, propose_plan
from .content import Messages
from .generations import generations

_RAISED = {
    "timeout": "TimeoutError",
    "permission": "PermissionError",
    "file_not_found": "FileNotFoundError",
    "is_a_directory": "IsADirectoryError",
}
"""Errors of inspect_ai that stand for an exception of Python."""
_REMEDY = "Log whole samples: leave --no-log-samples away, and import logs of runs that came to their end"


def is_log(document: Any) -> bool:
    """Whether a JSON document is a log of inspect_ai."""
    if not isinstance(document, Mapping) or not isinstance(document.get("eval"), Mapping):
        return False
    return "samples" in document or "plan" in document


def samples_of(log: Mapping[str, Any], where: str) -> Iterator[partial[ImportedSession] | ImportFileError]:
    """What reads the session of each sample; each takes no further argument.

    A log without samples is an ImportFileError.
    """
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples:
        yield ImportFileError("is a log without samples", where=where, remedy=f"{_REMEDY}.")
        return
    place = inside(where, "samples")
    epochs = len({sample.get("epoch") for sample in samples if isinstance(sample, Mapping)}) > 1
    for index, sample in enumerate(samples):
        if isinstance(sample, Mapping):
            yield partial(inspect_session, sample, log["eval"], inside(place, index), with_epoch=epochs)
        else:
            remedy = "A sample is a mapping with `messages`."
            yield ImportFileError("is no sample", where=inside(place, index), remedy=remedy)


def inspect_session(
    sample: Mapping[str, Any], evaluation: Mapping[str, Any], where: str, *, with_epoch: bool
) -> ImportedSession:
    """The session of one sample, its scores in the metadata.

    with_epoch: samples ran several times: the epoch is part of the name.
    Raises ImportFileError for what cannot be understood.
    """
    try:
        return _session(sample, evaluation, where, with_epoch)
    except RecursionError:
        what = "is nested too deeply to be read"
        raise ImportFileError(what, where=where, remedy="Leave the sample out.") from None


def _session(sample: Mapping[str, Any], evaluation: Mapping[str, Any], where: str, with_epoch: bool) -> ImportedSession:
    reader = Messages(sample.get("attachments"))
    messages = list(_messages(sample, reader, inside(where, "messages")))
    orphans = sum(message.role == "assistant" and message.where == "" for message in messages)
    name = f"{evaluation.get('task') or 'sample'}-{sample.get('id')}"
    name += f"-epoch-{sample.get('epoch')}" if with_epoch else ""
    facts = Facts(
        id=str(sample.get("uuid") or name),
        at=time_text(sample.get("started_at")) or time_text(evaluation.get("created")),
        metadata=_metadata(sample, evaluation),
        end_reason=_end(sample),
        end_at=time_text(sample.get("completed_at")),
    )
    errors = _errors(sample)
    ledger = ledger_from_parsed(messages, facts, where)
    ledger = Ledger([_with_error(event, errors) for event in ledger.events])
    made = model_calls(generations(sample, evaluation, reader, ledger, where))
    reasons = [*lacking(ledger, _REMEDY), *_reasons(sample, errors, orphans, reader.lost), *made.reasons]
    grade = graded(reasons, unusable=not ledger.turns)
    title = f"{name}{_told_scores(sample)}"
    words = first_words(ledger)
    plan = propose_plan(ledger, f"{title}: {words}" if words else title)
    return ImportedSession(name, ledger, plan, made.notes, grade=grade, exchanges=made.exchanges)


def _messages(sample: Mapping[str, Any], reader: Messages, where: str) -> Iterator[Message]:
    """The messages; before the first one what the sample was about, where no user's is among them.

    A result whose call is not there gets one, of which nothing but the tool is known: its place is an empty text.
    """
    raw = sample.get("messages")
    if not isinstance(raw, list):
        raise ImportFileError("is a sample without messages", where=where, remedy=f"{_REMEDY}.")
    parsed = [parse_message(message, inside(where, index)) for index, message in enumerate(reader.all(raw))]
    if not any(message.role == "user" for message in parsed):
        heard = [parse_message(one, where) for one in reader.all(sample.get("input"))]
        at = next((index for index, message in enumerate(parsed) if message.role != "system"), len(parsed))
        parsed[at:at] = [message for message in heard if message.role == "user"]
    waiting = number = 0
    for message in parsed:
        if message.role == "tool":
            message = replace(message, extra={_NUMBER: number})
            number += 1
        if message.role == "tool" and not waiting:
            yield Message("assistant", "", None, [Request(message.name or "unknown", {}, message.id)])
            waiting += 1
        waiting += len(message.requests) - (message.role == "tool")
        yield message


def _metadata(sample: Mapping[str, Any], evaluation: Mapping[str, Any]) -> dict[str, Any]:
    told = {
        "benchmark": "inspect_ai",
        "task": evaluation.get("task"),
        "model": evaluation.get("model"),
        "sample_id": sample.get("id"),
        "epoch": sample.get("epoch"),
        "target": sample.get("target"),
        "scores": _scores(sample),
    }
    return {key: value for key, value in told.items() if value not in (None, {}, "")}


def _scores(sample: Mapping[str, Any]) -> dict[str, Any]:
    """By scorer, the value of each score."""
    scores = sample.get("scores")
    if not isinstance(scores, Mapping):
        scores = {"score": sample["score"]} if sample.get("score") is not None else {}
    return {str(name): score.get("value") if isinstance(score, Mapping) else score for name, score in scores.items()}


def _told_scores(sample: Mapping[str, Any]) -> str:
    scores = [f"{name} {value}" for name, value in _scores(sample).items() if isinstance(value, str | int | float)]
    return f" ({', '.join(scores)})" if scores else ""


def _end(sample: Mapping[str, Any]) -> str | None:
    """Why a sample ended before its time."""
    error, limit = sample.get("error"), sample.get("limit")
    if isinstance(error, Mapping):
        return f"error: {error.get('message')}"
    return f"limit: {limit.get('type')}" if isinstance(limit, Mapping) else None


def _errors(sample: Mapping[str, Any]) -> list[Mapping[str, Any] | None]:
    """The error object beside each result, in order."""
    results = [one for one in sample["messages"] if isinstance(one, Mapping) and one.get("role") == "tool"]
    return [one["error"] if isinstance(one.get("error"), Mapping) else None for one in results]


def _with_error(event: Event, errors: list[Mapping[str, Any] | None]) -> Event:
    """A call whose result tells the number of its message, with the error that stood beside that."""
    if not isinstance(event, ToolCalled) or _NUMBER not in event.extra:
        return event
    extra = {key: value for key, value in event.extra.items() if key != _NUMBER}
    event, error = replace(event, extra=extra), errors[event.extra[_NUMBER]]
    if error is None:
        return event
    kind, message = error.get("type"), str(error.get("message") or "")
    if kind in _RAISED:
        content = {} if event.result in (ABSENT, "", message) else {"content": event.result}
        raised = {"type": _RAISED[str(kind)], "message": message}
        return replace(event, result=ABSENT, error=raised, extra={**extra, **content})
    result = message if event.result in (ABSENT, "") else event.result
    return replace(event, result=result, is_error=True, extra={**extra, "error_type": kind})


_NUMBER = "\0number"
"""Under which a result tells the number of its message until the ledger is made."""


def _reasons(
    sample: Mapping[str, Any], errors: list[Mapping[str, Any] | None], orphans: int, lost: int
) -> Iterator[Reason]:
    if orphans:
        text = f"{orphans} results stand there without their calls: the arguments are not known"
        yield Reason("no-arguments", text, _REMEDY)
    own = sum(error is not None and error.get("type") not in _RAISED for error in errors)
    if own:
        text = f"{own} calls failed with an error of inspect_ai's own: a replay returns what the model was told of it"
        yield Reason("own-errors", text)
    if lost:
        yield Reason("no-attachments", f"{lost} texts are attachments that the log does not hold", _REMEDY)
    if not isinstance(sample.get("events"), list) or not sample["events"]:
        text = (
            "no events were logged, and so no model calls: a replay of an agent that asks a model needs them live, once"
        )
        yield Reason("no-events", text, "Import the log as it was written, with its events")
