"""Tapes of TapeAgents, and the caches of tool calls that it keeps → sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import ImportFileError
from ..events import says_error
from ..ledger import Event, Ledger, SessionCreated, SessionEnded, ToolCalled, TurnAdded, TurnStarted
from ..values import ABSENT
from .chat import ledger_from_parsed
from .files import inside
from .grades import Reason, graded
from .lacking import lacking
from .messages import Message, Request, parse_message
from .model import Facts, ImportedSession
from .proposal import first_words, propose_plan

_HEARD = frozenset({"user", "question", "task", "user_question", "user_message"})
_CONTROL = frozenset({"set_next_node", "pass", "call", "respond", "broadcast", "branch", "jump", "retry"})
_ANSWERS = ("answer_action", "answer", "final_answer", "final_answer_action", "stop", "final_step", "finish_action")
_THOUGHTS = ("reasoning", "content", "text", "thought", "plan", "error")
_SAID = ("content", "text", "long_answer", "answer", "result")
_KEPT = ("parent_id", "result", "task", "attempt_number", "level")


def is_tape(document: Any) -> bool:
    """Whether a JSON document is a tape: `{metadata, steps: [{kind, …}]}`."""
    if not isinstance(document, Mapping) or not isinstance(document.get("steps"), list):
        return False
    steps = document["steps"]
    return bool(steps) and all(isinstance(step, Mapping) and isinstance(step.get("kind"), str) for step in steps[:3])


def is_cached_call(document: Any) -> bool:
    """Whether a JSON document is a line of a tool cache: `{fn_name, args, kwargs, result}`."""
    return isinstance(document, Mapping) and isinstance(document.get("fn_name"), str) and "result" in document


def tape_session(tape: Mapping[str, Any], where: str, name: str) -> ImportedSession:
    """The session that a tape tells.

    name: to use where the tape has no id.

    Actions are calls: the tool is called after the kind of the step (`search_action`), its fields are the arguments,
    and the observation that follows is the result. Thoughts are reasoning, the last answer is the output of its turn.
    Raises ImportFileError for what cannot be understood.
    """
    known = tape.get("metadata")
    known = known if isinstance(known, Mapping) else {}
    messages = list(_messages(tape["steps"], inside(where, "steps")))
    agents = [_agent(step) for step in tape["steps"] if isinstance(step, Mapping)]
    facts = Facts(
        id=str(known.get("id") or name),
        agent=next((agent for agent in [known.get("author"), *agents] if isinstance(agent, str) and agent), None),
        metadata={"tracer": "tapeagents", **{key: known[key] for key in _KEPT if known.get(key) not in (None, {}, "")}},
        end_reason=str(known["error"]) if known.get("error") else None,
    )
    ledger = ledger_from_parsed(messages, facts, where)
    plan = propose_plan(ledger, first_words(ledger))
    remedy = "Take the tape of the run that came to its end, with the environment's observations."
    note = "A tape holds no model calls: a replay of an agent that asks a model needs them recorded live, once."
    return ImportedSession(
        name, ledger, plan, notes=(note,), grade=graded(lacking(ledger, remedy), unusable=not ledger.turns)
    )


def _messages(steps: list[Any], where: str) -> Iterator[Message]:
    waiting = 0
    for index, step in enumerate(steps):
        place = inside(where, index)
        if not isinstance(step, Mapping) or not isinstance(step.get("kind"), str):
            raise ImportFileError("is no step of a tape", where=place, remedy="A step is a mapping with `kind`.")
        message = _message(step, place, waiting > 0)
        if message is not None:
            waiting += len(message.requests) - (message.role == "tool")
            yield message


def _message(step: Mapping[str, Any], where: str, is_awaited: bool) -> Message | None:
    """What a step says; None for one that only leads the agent. is_awaited: a call has no result yet."""
    kind = step["kind"]
    fields = {key: value for key, value in step.items() if key not in ("metadata", "kind")}
    if kind in ("system", "assistant"):
        return parse_message({**fields, "role": kind}, where)
    if kind in _HEARD:
        return _heard(fields, where)
    if kind in _CONTROL:
        return None
    if kind.endswith("thought") or "parsing_failure" in kind:
        thought = next((_text(fields[key]) for key in _THOUGHTS if fields.get(key)), None)
        return Message("assistant", where, None, reasoning=thought)
    if kind.endswith(_ANSWERS):
        return Message("assistant", where, [_answer(fields)])
    if kind.endswith("action") or (_agent(step) and kind != "tool"):
        return Message("assistant", where, None, [Request(kind, fields, None)])
    if not is_awaited:
        return _heard(fields, where)
    if kind == "tool":
        id_ = str(fields.get("tool_call_id") or "") or None
        return Message("tool", where, None, id=id_, result=fields.get("content", ABSENT))
    whole = {"kind": kind, **fields}
    return Message("tool", where, None, result=whole, is_error=says_error(whole))


def _heard(fields: Mapping[str, Any], where: str) -> Message:
    text = fields.get("content", fields.get("task"))
    if isinstance(text, str):
        return Message("user", where, [{"type": "text", "content": text}])
    return Message("user", where, [{"type": "data", "content": dict(fields)}])


def _answer(fields: Mapping[str, Any]) -> dict[str, Any]:
    """One text; where there is more, all of it."""
    told = {key: value for key, value in fields.items() if value not in (None, "", [], {})}
    text = next((told[key] for key in _SAID if isinstance(told.get(key), str)), None)
    if text is not None and len(told) == 1:
        return {"type": "text", "content": text}
    return {"type": "data", "content": dict(fields)}


def _text(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _agent(step: Mapping[str, Any]) -> str | None:
    known = step.get("metadata")
    agent = known.get("agent") if isinstance(known, Mapping) else None
    return agent if isinstance(agent, str) and agent else None


def cache_session(entries: list[tuple[Any, str]], name: str) -> ImportedSession:
    """The calls of a tool cache, as a record that answers other sessions, which name it in `stubs_from`.

    entries: the lines, each with its place. A call is named as a tape names it: after the `kind` of what it was given,
    where that has one, else after the function.
    Raises ImportFileError for a line that is none.
    """
    calls = [_call(entry, where, step) for step, (entry, where) in enumerate(entries, start=1)]
    events: list[Event] = [SessionCreated(name, metadata={"tracer": "tapeagents", "cache": True})]
    events += [TurnStarted(1, None), *calls, TurnAdded(), SessionEnded(None)]
    ledger = Ledger(events)
    text = f"{len(calls)} cached calls without a conversation: the record answers other sessions that name it"
    remedy = f"Write `stubs_from: {name}.record.yaml` into the plan of a session that lacks them"
    return ImportedSession(
        name,
        ledger,
        propose_plan(ledger, None),
        grade=graded([Reason("no-conversation", text, remedy)]),
        has_plan=False,
    )


def _call(entry: Any, where: str, step: int) -> ToolCalled:
    if not is_cached_call(entry):
        remedy = "A line of a tool cache is {fn_name, args, kwargs, result}."
        raise ImportFileError("is no cached call", where=where, remedy=remedy)
    given, positional, result = entry.get("kwargs"), entry.get("args"), entry["result"]
    given = dict(given) if isinstance(given, Mapping) else {}
    kind = given.pop("kind", None) if isinstance(given.get("kind"), str) else None
    arguments = {**given, **({"args": positional} if positional else {})}
    return ToolCalled(kind or entry["fn_name"], arguments, result, is_error=says_error(result), step=step)
