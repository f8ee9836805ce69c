"""What OpenAI keeps, as people dump it: responses with their input, items of conversations, messages of threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ImportFileError
from ..values import ABSENT
from .chat import ledger_from_messages
from .dialects import chat_messages
from .grades import graded
from .lacking import lacking
from .messages import time_text
from .model import Facts, ImportedSession
from .modelcalls import Made, model_calls
from .proposal import first_words, propose_plan
from .spans.model import Span

_ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning"})
_PARAMETERS = ("temperature", "top_p", "max_output_tokens")
_REMEDY = "Dump what was said as well: the response's `input`, or all items of the conversation"


def is_stored(document: Any) -> bool:
    """Whether a JSON document is a response (`{object: response, output}`), or a list of items or thread messages."""
    if not isinstance(document, Mapping):
        return False
    kind, data = document.get("object"), document.get("data")
    if kind == "response":
        return isinstance(document.get("output"), list)
    return kind == "list" and isinstance(data, list) and bool(data) and all(map(_is_item, data))


def _is_item(item: Any) -> bool:
    return isinstance(item, Mapping) and (item.get("object") == "thread.message" or item.get("type") in _ITEMS)


def stored_session(document: Mapping[str, Any], where: str, name: str) -> ImportedSession:
    """The session of a dump.

    name: to use where the dump has no id.

    A response becomes a recorded model call as well, unless what went before it is kept by the provider.
    Raises ImportFileError for what cannot be understood.
    """
    is_response = document.get("object") == "response"
    heard: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    if is_response:
        asked = {"input": document.get("input"), "instructions": document.get("instructions")}
        heard = chat_messages(asked, role="user") or []
        said = chat_messages({"output": document["output"], "object": "response"}, role="assistant") or []
    else:
        heard = chat_messages(_in_order(document["data"]), role="user") or []
    if not (heard or said):
        raise ImportFileError("holds no message", where=where, remedy=f"{_REMEDY}.")
    first = document if is_response else document["data"][0]
    facts = Facts(
        id=str(first.get("thread_id") or document.get("id") or name),
        agent=str(first["assistant_id"]) if first.get("assistant_id") else None,
        at=time_text(first.get("created_at")),
    )
    ledger = ledger_from_messages([*heard, *said], facts, where)
    made = Made()
    if is_response and not (document.get("previous_response_id") or document.get("conversation")):
        made = model_calls([(_span(document, heard, said, where), max(1, len(ledger.turns)), None)])
    grade = graded([*lacking(ledger, _REMEDY), *made.reasons], unusable=not ledger.turns)
    plan = propose_plan(ledger, first_words(ledger))
    return ImportedSession(facts.id, ledger, plan, made.notes, grade=grade, exchanges=made.exchanges)


def _in_order(data: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """From the first to the last: lists come with the last first, unless they were asked for otherwise."""
    times = [item.get("created_at") for item in data]
    if all(isinstance(time, int | float) for time in times):
        return [data[at] for at in sorted(range(len(data)), key=lambda at: (times[at], -at))]
    asked = [item.get("call_id") for item in data if item.get("type") == "function_call"]
    answered = [item.get("call_id") for item in data if item.get("type") == "function_call_output"]
    spoken = [item.get("role") for item in data if item.get("role") in ("user", "assistant")]
    if asked and answered and asked[0] in answered:
        kinds = [item.get("type") for item in data if item.get("call_id") == asked[0]]
        is_reversed = kinds[0] == "function_call_output"
    else:
        is_reversed = bool(spoken) and spoken[0] == "assistant" and spoken[-1] == "user"
    return data[::-1] if is_reversed else data


def _span(document: Mapping[str, Any], heard: list[Any], said: list[Any], where: str) -> Span:
    tools, usage = document.get("tools"), document.get("usage")
    return Span(
        id=str(document.get("id") or ""),
        trace="",
        parent=None,
        name="responses",
        kind="generation",
        began=time_text(document.get("created_at")),
        attributes={"gen_ai.response.id": document.get("id")},
        input=heard,
        output=said or ABSENT,
        error={"type": "Exception", "message": str(document["error"])} if document.get("error") else None,
        model=str(document["model"]) if document.get("model") else None,
        provider="openai.responses",
        parameters={name: document[name] for name in _PARAMETERS if document.get(name) is not None},
        tools=tools if isinstance(tools, list) else None,
        usage=usage if isinstance(usage, Mapping) else {},
        where=where,
    )
