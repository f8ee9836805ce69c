"""Result files of the benchmarks tau-bench and tau2-bench → sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..errors import ImportFileError
from ..ledger import Ledger
from .chat import ledger_from_messages, ledger_from_parsed, placed
from .files import inside
from .messages import Message, parse_message, time_text
from .model import Facts, ImportedSession
from .proposal import first_words, propose_plan

_BOOKKEEPING = frozenset({"raw_data", "turn_idx", "usage", "cost", "requestor"})
"""Of a message of tau2-bench: the provider's raw answer and what was paid for it."""


def tau_session(result: Mapping[str, Any], where: str, *, stem: str) -> ImportedSession:
    """One result of tau-bench: `{task_id, trial, reward, traj}`.

    stem: of the file; the results name neither agent nor domain.
    Raises ImportFileError for what cannot be understood.
    """
    name = _name(stem, result)
    metadata = {"benchmark": "tau-bench", **_pick(result, "task_id", "trial", "reward")}
    facts = Facts(name, metadata=metadata, error_texts=True)
    return _session(name, ledger_from_messages(result["traj"], facts, inside(where, "traj")))


def tau2_session(simulation: Any, where: str, *, info: Mapping[str, Any]) -> ImportedSession:
    """One simulation of tau2-bench: `{id, task_id, trial, messages, reward_info, termination_reason, …}`.

    info: the file's `info`, which names agent and domain. The session's name leaves the agent out, so that two agents'
    recordings of one task have one name in two directories. The policy in it is the same for every session and is not
    repeated in each. What a simulated user did with tools of its own is left out: the agent never saw it.
    Raises ImportFileError for what cannot be understood.
    """
    if not isinstance(simulation, Mapping):
        raise ImportFileError("is no simulation", where=where, remedy="A simulation is a mapping with `messages`.")
    agent = _pick(_inner(info, "agent_info"), "llm").get("llm")
    domain = _pick(_inner(info, "environment_info"), "domain_name").get("domain_name")
    name = _name(str(domain or "tau2"), simulation)
    metadata = {"benchmark": "tau2-bench", **({"domain": domain} if domain else {})}
    metadata |= _pick(simulation, "task_id", "trial", "seed", "agent_cost")
    metadata |= _pick(_inner(simulation, "reward_info"), "reward")
    reason = simulation.get("termination_reason")
    facts = Facts(
        id=str(simulation.get("id") or name),
        agent=None if agent is None else str(agent),
        at=time_text(simulation.get("start_time")),
        metadata=metadata,
        end_reason=None if reason is None else str(reason),
        end_at=time_text(simulation.get("end_time")),
    )
    where = inside(where, "messages")
    return _session(name, ledger_from_parsed(list(_agents_view(simulation.get("messages"), where)), facts, where))


def _agents_view(messages: Any, where: str) -> Iterator[Message]:
    """The messages that the agent saw or sent, without the benchmark's bookkeeping."""
    for raw, place in placed(messages, where):
        if isinstance(raw, Mapping) and (raw.get("requestor") == "user" or _is_users_call(raw)):
            continue
        message = parse_message(raw, place)
        yield replace(message, extra={key: item for key, item in message.extra.items() if key not in _BOOKKEEPING})


def _is_users_call(raw: Mapping[str, Any]) -> bool:
    return raw.get("role") == "user" and bool(raw.get("tool_calls")) and not raw.get("content")


def _session(name: str, ledger: Ledger) -> ImportedSession:
    metadata = ledger.created.metadata or {}
    task = f"Task {metadata.get('task_id', '?')}"
    if metadata.get("reward") == 0:
        # Which turn went wrong the benchmark does not say, so the plan marks none as failing.
        task += " (reward 0, failed)"
    words = first_words(ledger)
    return ImportedSession(name, ledger, propose_plan(ledger, f"{task}: {words}" if words else task))


def _name(prefix: str, result: Mapping[str, Any]) -> str:
    task, trial = result.get("task_id"), result.get("trial")
    return prefix + ("" if task is None else f"-task-{task}") + ("" if trial is None else f"-trial-{trial}")


def _inner(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, Mapping) else {}


def _pick(holder: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Those of the keys that hold something."""
    return {key: holder[key] for key in keys if holder.get(key) is not None}
