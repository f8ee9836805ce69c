"""What the rows of a run say together: recorded calls that do not fit their tools, and entries of `known`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..cassette.plan import Known
from ..compare.model import ReplayResult, TurnResult

Row = Mapping[str, Any]
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)


def run_notes(rows: Sequence[Row], *, whole: bool = True) -> list[str]:
    """Each once, however many cassettes it concerns.

    whole: every cassette was replayed. If not, an entry of `known` may be of use to the others.
    """
    return [*_unbound(rows), *_expired(rows), *(_unused(rows) if whole else ())]


def evolution_row(result: ReplayResult) -> dict[str, Any]:
    """What a row keeps of calls that do not fit and of known divergences; empty where there are none."""
    row: dict[str, Any] = {}
    if result.unbound:
        row["unbound"] = [
            {"tool": one.tool, "calls": one.calls, "lacks": list(one.lacks), "unknown": list(map(str, one.unknown))}
            for one in result.unbound
        ]
    if result.known:
        row["known"] = [
            {**_entry_row(one.entry), "where": one.entry.where, "matched": one.matched, "expired": one.expired}
            for one in result.known
        ]
    return row


def known_row(turn: TurnResult) -> dict[str, Any]:
    """What a turn's row keeps of the entries that excuse it, or would if they had not expired."""
    row: dict[str, Any] = {"known": list(map(_entry_row, turn.known)), "expired": list(map(_entry_row, turn.expired))}
    return {key: value for key, value in row.items() if value} | ({"excused": True} if turn.excused else {})


def _entry_row(entry: Known) -> dict[str, Any]:
    return {"fingerprint": entry.fingerprint, "until": entry.until.isoformat(), "ticket": entry.ticket}


@dataclass(slots=True)
class _Misfit:
    calls: dict[str, int] = field(default_factory=dict)
    """By cassette: several replays of one have the same recorded calls."""
    lacks: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)


def _unbound(rows: Iterable[Row]) -> list[str]:
    found: dict[str, _Misfit] = {}
    for row in rows:
        for one in row.get("unbound", ()):
            misfit = found.setdefault(one["tool"], _Misfit())
            misfit.calls[row["cassette"]] = one["calls"]
            misfit.lacks.update(one["lacks"])
            misfit.unknown.update(one["unknown"])
    return [_misfit_text(tool, misfit) for tool, misfit in sorted(found.items())]


def _misfit_text(tool: str, misfit: _Misfit) -> str:
    calls = sum(misfit.calls.values())
    lacks, unknown = sorted(misfit.lacks), sorted(misfit.unknown)
    parts = [f"lack {_named(lacks)}"] if lacks else []
    parts += [f"have {_named(unknown)}, which the tool does not take"] if unknown else []
    where = f"{_plural(calls, 'call')} in {_plural(len(misfit.calls), 'cassette')}"
    return f"{tool}: {where} {' and '.join(parts)}; under `tools` in statebase.yaml: {_entry(tool, lacks, unknown)}"


def _entry(tool: str, lacks: Sequence[str], unknown: Sequence[str]) -> str:
    """One argument that went and one that came are taken for the same under another name."""
    if len(lacks) == len(unknown) == 1:
        return f"{_key(tool)}: {{rename: {{{_key(unknown[0])}: {_key(lacks[0])}}}}}"
    parts = [f"added: {{{', '.join(f'{_key(name)}: any' for name in lacks)}}}"] if lacks else []
    parts += [f"ignore: [{', '.join(map(_key, unknown))}]"] if unknown else []
    return f"{_key(tool)}: {{{', '.join(parts)}}}"


def _expired(rows: Iterable[Row]) -> list[str]:
    found: dict[str, int] = {}
    for row in rows:
        texts = {expired_text(known) for turn in row["turns"] for known in turn.get("expired", ())}
        for text in texts:
            found[text] = found.get(text, 0) + 1
    return [f"{text}, in {_plural(number, 'session')}" for text, number in found.items()]


def expired_text(known: Row) -> str:
    """`known until 2026-11-01 (PAY-12) has expired`."""
    return f"{known_text(known)} has expired"


def known_text(known: Row) -> str:
    """`known until 2026-11-01 (PAY-12)`."""
    return f"known until {known['until']}" + (f" ({known['ticket']})" if known.get("ticket") else "")


def _unused(rows: Iterable[Row]) -> list[str]:
    """Entries that no replay needed, if all that could have needed them went to their end."""
    needed: dict[tuple[str, str], bool] = {}
    told: dict[tuple[str, str], Row] = {}
    for row in rows:
        stopped = any(turn["replayed"] is None and not turn.get("beyond_until") for turn in row["turns"])
        for known in row.get("known", ()):
            key = (known["fingerprint"], known["where"])
            told[key] = known
            needed[key] = needed.get(key, False) or known["matched"] or stopped
    return [
        f"{told[key]['where'] or 'known'}: the entry of `known` {key[0]}"
        f"{' (' + told[key]['ticket'] + ')' if told[key].get('ticket') else ''} matched nothing"
        for key, is_needed in needed.items()
        if not is_needed
    ]


def _named(names: Sequence[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _plural(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
