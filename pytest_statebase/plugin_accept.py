"""`--statebase-accept`: what a run's replays did becomes the baseline.

Whoever replays makes an offer, JSON-safe, on the result's row; the controller alone writes, once, at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .cassette import Cassette
from .cassette.accepted import Accepted, AcceptedTurn, accepted_bytes, read_accepted, repaired, turn_from, turn_text
from .cassette.files import write_atomic
from .cassette.http import read_http
from .cassette.httpwrite import http_bytes
from .cassette.record import seal_of
from .compare.baseline import baseline_of
from .compare.model import Divergence, Kind, Observed, ReplayResult, TurnResult, Verdict
from .engine.web.pending import exchange_from, exchange_line
from .errors import AcceptedError, StatebaseError, UnstorableError
from .report.grouping import plural
from .report.withoutsecrets import without_secrets
from .wire.exchange import Exchange

OFFER = "accept"
"""The key of a row under which an offer travels; it is taken off before the row is written anywhere."""
ALL = "all"
_REFUSED = {
    Verdict.ERROR: "error: the agent raised where the recording did not",
    Verdict.STILL_FAILING: "still-failing: it is marked as failing, and is not right yet",
    Verdict.BROKEN: "broken: its `expect` does not hold",
    Verdict.STALE: "stale: no model recording answers; run it with --statebase-model=auto first",
    Verdict.INCONCLUSIVE: "inconclusive: it was not judged",
}


def names(selector: str, session: str, number: int, turn: TurnResult | None = None) -> bool:
    """Whether a selector means this turn: `all`, a session, SESSION:TURN, a turn, a fingerprint or a cause's path."""
    if selector in (ALL, session, f"{session}:{number}", f"{session}:turn {number}", f"turn {number}", str(number)):
        return True
    if turn is None:
        return False
    found = (*turn.divergences, *turn.from_record)
    return any(selector == one.fingerprint for one in found) or any(_begins(selector, one) for one in turn.divergences)


def _begins(selector: str, found: Divergence) -> bool:
    """Whether a turn begins to differ with what a selector says: a path with `*` in it, and what lies below it."""
    if found.follows is not None or found.note or found.kind is Kind.TEXT:
        return False
    pattern = ".*".join(map(re.escape, selector.split("*")))
    return re.fullmatch(rf"{pattern}(?:[.\[#].*)?", found.path, re.DOTALL) is not None


def forgive(cassette: Cassette, selectors: Sequence[str]) -> None:
    """Let a broken baseline pass where it is to be written anew."""
    try:
        cassette.accepted  # noqa: B018
    except AcceptedError:
        session, numbers = cassette.ledger.id, [turn.number for turn in cassette.ledger.turns]
        if not any(names(selector, session, number) for selector in selectors for number in numbers):
            raise
        cassette.repair_accepted()


def offer_of(result: ReplayResult, cassette: Cassette, selectors: Sequence[str]) -> dict[str, Any]:
    """What the selected turns of a replay did, for the controller to write; JSON-safe."""
    offer: dict[str, Any] = {"session": result.session, "cassette": result.cassette, "turns": {}, "verdicts": {}}
    offer |= {"refused": {}, "matched": [], "file": None, "of": None, "loose": []}
    offer |= {"http": {}, "http_file": str(cassette.accepted_http_path or "")}
    offer["numbers"] = [turn.number for turn in cassette.ledger.turns]
    for turn in result.turns:
        if turn.beyond_until:
            continue
        matched = [one for one in selectors if names(one, result.session, turn.turn, turn)]
        offer["matched"] += [one for one in matched if one not in offer["matched"]]
        if matched and turn.known and not any(_is_particular(one, result.session) for one in matched):
            offer["refused"][str(turn.turn)] = "known: it waits to be mended; name the turn to accept it all the same"
        elif matched:
            _offer_turn(offer, result, turn, cassette)
        elif turn.verdict is Verdict.OFF_SCRIPT:
            offer["loose"].append(turn.turn)
    if cassette.accepted_path is not None and offer["turns"]:
        offer["file"] = str(cassette.accepted_path)
        offer["of"] = seal_of(str(cassette.record_path))
    return offer


def _is_particular(selector: str, session: str) -> bool:
    """Whether a selector means something within a session, and not all of it."""
    return selector not in (ALL, session)


def _offer_turn(offer: dict[str, Any], result: ReplayResult, turn: TurnResult, cassette: Cassette) -> None:
    number = str(turn.turn)
    offer["verdicts"][number] = turn.verdict.value
    if turn.replayed is None:
        offer["refused"][number] = "not-replayed: " + (turn.reason or "the replay did not get there")
    elif turn.verdict is Verdict.UNRECORDED:
        offer["refused"][number] = f"unrecorded: {_without_answer(turn.replayed)}"
    elif turn.verdict in _REFUSED:
        offer["refused"][number] = _REFUSED[turn.verdict]
    else:
        accepted = cassette.accepted.turns.get(turn.turn) if cassette.accepted else None
        try:
            made = baseline_of(result, turn, cassette.ledger, accepted)
            if made is not None and _holds_secret(made):
                offer["refused"][number] = _SECRET
                return
            offer["turns"][number] = None if made is None else turn_text(made)
            offer["http"][number] = [exchange_line(exchange) for exchange in turn.replayed.exchanges]
        except UnstorableError as error:
            offer["refused"][number] = f"cannot be stored: {error.where}: {error.what}"


_SECRET = "it holds a secret, which must not be written; have the tool take it from the environment instead"


def _holds_secret(made: AcceptedTurn) -> bool:
    """Whether a baseline holds what the recording has no placeholder for."""
    calls = [[call.arguments, call.result, call.error] for call in made.calls]
    values = [calls, made.output, made.error, made.state, made.memory]
    return without_secrets(values) is not values


def _without_answer(seen: Observed) -> str:
    """What had no answer, and what to do about it."""
    missed = next((one for one in seen.requests if one.unrecorded), None)
    if missed is None:
        return "a call had no answer; answer it in the plan, or simulate it"
    if missed.model:
        return "a model call had no answer; ask the model with --statebase-model=auto first"
    return "a request had no answer; send it for real with --statebase-http=new_episodes first, or record again"


@dataclass(slots=True)
class Acceptance:
    """The controller's side: merges the offers of a run and writes them."""

    selectors: Sequence[str]
    rootdir: Path
    lines: list[tuple[str, str]] = field(default_factory=list)
    """What was done, each a word and what it was done with."""
    failures: list[str] = field(default_factory=list)
    _refused: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def write(self, offers: Iterable[dict[str, Any]]) -> None:
        """Write every file that the offers are for, each in one step, and note what was done."""
        matched: set[str] = set()
        by_file: dict[str, list[dict[str, Any]]] = {}
        for offer in offers:
            matched.update(offer["matched"])
            for number, why in offer["refused"].items():
                self._refuse(offer, int(number), why)
            if offer["file"] is not None:
                by_file.setdefault(offer["file"], []).append(offer)
        for name, some in by_file.items():
            try:
                self._write_file(Path(name), some, with_http=self._write_http(some))
            except (StatebaseError, OSError) as error:
                self.failures.append(f"nothing was accepted in {self._shown(name)}: {error}")
        self._tell_refused()
        for selector in self.selectors:
            if selector not in matched:
                self.failures.append(f"--statebase-accept={selector} names no turn that was replayed")
        if not self.lines and not self.failures:
            self.lines.append(("nothing", "to accept: the turns are as recorded"))

    def _refuse(self, offer: dict[str, Any], number: int, why: str) -> None:
        self._refused.setdefault((self._shown(offer["cassette"]), why), []).append(number)

    def _tell_refused(self) -> None:
        for (cassette, why), turns in self._refused.items():
            self.lines.append(("refused", f"{cassette}: {_turns(turns)}: {why}"))

    def _write_file(self, path: Path, offers: list[dict[str, Any]], *, with_http: bool) -> None:
        """Write the turns of one cassette. with_http: exchanges stand beside them, whose loss is to be seen."""
        session = offers[0]["session"]
        old, is_broken = _current(path, session)
        before = {number: turn_text(turn) for number, turn in old.turns.items()} if old else {}
        after = self._merged(before, offers)
        after = {number: text for number, text in after.items() if number in offers[0]["numbers"]}
        changed = [number for number, text in after.items() if before.get(number) != text]
        removed = [number for number in before if number not in after]
        over = [number for number in after if not any(str(number) in offer["turns"] for offer in offers)]
        is_other = old is None or old.of != offers[0]["of"] or old.http is not with_http
        if (after or with_http) and (changed or removed or is_broken or is_other):
            turns = {number: turn_from(text) for number, text in after.items()}
            now = datetime.now(UTC).isoformat(timespec="seconds")
            write_atomic(path, accepted_bytes(Accepted(session, offers[0]["of"], now, turns, with_http)))
        elif not (after or with_http) and path.exists():
            path.unlink()
        self._tell(path, offers, changed, removed, is_broken)
        if over and (is_broken or (old is not None and old.of != offers[0]["of"])):
            told = f"{self._shown(path)}: {_turns(over)} as the file had it: look at its difference"
            self.lines.append(("kept", told))
        loose = sorted({number for offer in offers for number in offer["loose"]} - set(after))
        if changed and loose:
            told = f"{_turns(loose)}: off-script, judged by nothing until --statebase-accept={session}"
            self.lines.append(("left", told))

    def _write_http(self, offers: list[dict[str, Any]]) -> bool:
        """Keep the exchanges of accepted turns that the recording does not hold, those of other turns as they are.

        Returns whether there are any.
        """
        path, fresh = Path(offers[0]["http_file"]), exchanges_of(offers)
        old = read_http(str(path)).exchanges if path.exists() else ()
        kept = [exchange for exchange in old if exchange.turn not in fresh]
        after = sorted([*kept, *(one for some in fresh.values() for one in some)], key=lambda one: one.turn or 0)
        if after and list(old) != after:
            write_atomic(path, http_bytes(after))
            turns = _turns(sorted(number for number, some in fresh.items() if some))
            self.lines.append(("accepted", f"{self._shown(path)}: {plural(len(after), 'exchange')}, {turns}"))
        elif not after and path.exists():
            path.unlink()
            self.lines.append(("removed", f"{self._shown(path)}: the recording answers every request"))
        return bool(after)

    def _merged(self, before: dict[int, str], offers: list[dict[str, Any]]) -> dict[int, str]:
        """The turns of the file with those of the offers; where two replays of a turn differ, the first one counts."""
        decided: dict[int, str | None] = {}
        for offer in offers:
            for key, text in offer["turns"].items():
                number = int(key)
                if decided.setdefault(number, text) != text:
                    why = "two replays of it differ, and the first one was taken: accept one of them alone"
                    self._refuse(offer, number, why)
        merged = {**before, **decided}
        return {number: text for number, text in sorted(merged.items()) if text is not None}

    def _tell(
        self, path: Path, offers: list[dict[str, Any]], changed: list[int], removed: list[int], is_broken: bool
    ) -> None:
        shown = self._shown(path)
        verdicts = {int(number): verdict for offer in offers for number, verdict in offer["verdicts"].items()}
        if is_broken:
            self.lines.append(("repaired", shown))
        if changed:
            told = ", ".join(f"turn {number} ({verdicts.get(number, 'kept')})" for number in sorted(changed))
            self.lines.append(("accepted", f"{shown}: {told}"))
        there = offers[0]["numbers"]
        for why, numbers in (
            ("as recorded again", [number for number in removed if number in there]),
            ("which the session does not have", [number for number in removed if number not in there]),
        ):
            if numbers:
                self.lines.append(("removed", f"{shown}: {_turns(numbers)}, {why}"))
        same = [int(key) for offer in offers for key, text in offer["turns"].items() if text is not None]
        kept = sorted(set(same) - set(changed))
        if kept:
            self.lines.append(("unchanged", f"{shown}: {_turns(kept)}"))

    def _shown(self, name: str | Path) -> str:
        try:
            return Path(name).relative_to(self.rootdir).as_posix()
        except ValueError:
            return str(name)


def exchanges_of(offers: Iterable[dict[str, Any]]) -> dict[int, list[Exchange]]:
    """By turn, the exchanges that were not recorded; the first replay of a turn counts."""
    found: dict[int, list[Exchange]] = {}
    for offer in offers:
        for key, lines in offer["http"].items():
            found.setdefault(int(key), [exchange_from(line) for line in lines])
    return found


def _current(path: Path, session: str) -> tuple[Accepted | None, bool]:
    """The baseline as it stands, and whether its file is broken."""
    if not path.exists():
        return None, False
    try:
        return read_accepted(path, session=session), False
    except AcceptedError:
        return repaired(path, session), True


def _turns(numbers: list[int]) -> str:
    """`turn 2`, `turns 4 to 6, 9`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return ("turn " if len(runs) == 1 and len(runs[0]) == 1 else "turns ") + ", ".join(parts)
