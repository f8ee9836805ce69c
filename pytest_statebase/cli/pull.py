"""`pytest-statebase pull`."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from ..errors import OptionError
from .output import columns, counted, say, warn
from .progress import Progress
from .redaction import redaction_told, use_redaction
from .targets import shown

if TYPE_CHECKING:
    from ..importers.service import PulledSession
    from ..importers.store import Tally
    from ..pull import Api, Found, Outcome, Pull

_ADDRESS = "https://api.statebase.org"
_LOCAL = ("localhost", "127.0.0.1", "::1")


@click.command("pull")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("--agent", metavar="ID", help="The sessions of this agent.")
@click.option("--since", metavar="TIME", help="Sessions active since then: 24h, 7d, 2026-11-29, 2026-11-29T08:00Z.")
@click.option("--failed", is_flag=True, help="Keep only sessions in which a turn looks wrong.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The newest N; with --failed, N that are kept.")
@click.option(
    "--out",
    default="fixtures",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory for the cassettes. It is made where it does not exist.",
)
@click.option("--base-url", metavar="URL", help=f"The service.  [default: STATEBASE_BASE_URL, else {_ADDRESS}]")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1, max=600),
    default=30.0,
    show_default=True,
    help="Seconds without a byte.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be pulled and how long that takes, and stop.")
def command(
    sessions: tuple[str, ...],
    agent: str | None,
    since: str | None,
    failed: bool,
    limit: int | None,
    out: Path,
    base_url: str | None,
    timeout: float,
    dry_run: bool,
) -> None:
    """Make cassettes of sessions of a StateBase service.

    Give SESSION ids, or at least one of --agent, --since, --failed and --limit. The key comes from the environment
    variable STATEBASE_API_KEY; it is never shown and never written.

    Each session becomes a record (NAME.record.yaml, the evidence), a proposed plan (NAME.session.yaml, yours to edit)
    and what the service answered (NAME.pulled.json), all without secrets. What exists is never written over. Stopped
    in the middle, the same command goes on; run again, it changes nothing.

    Exit code 1 where a session could not be had; the others are pulled all the same. A session that went on since it
    was pulled is said to have; that is exit code 1 only where it was named.
    """
    from ..pull import Api, Pull, Wanted, find_sessions, since_time

    listed = Wanted(agent, None if since is None else since_time(since, datetime.now(UTC)), None if failed else limit)
    if bool(sessions) == bool(agent or since or failed or limit):
        what = "either sessions are named, or chosen by --agent, --since, --failed or --limit"
        raise OptionError(what, remedy="`pytest-statebase pull --help` tells them all.")
    use_redaction()
    key = os.environ.get("STATEBASE_API_KEY")
    address = base_url or os.environ.get("STATEBASE_BASE_URL") or _ADDRESS
    _check_key(key, address)
    with Progress("sessions") as bar, Api(address, key, timeout=timeout, told=bar.warn) as api:
        pulling = Pull(api, out, only_failed=failed)
        found = _named(sessions) if sessions else find_sessions(api, listed)
        _tell_estimate(bar, api, [one for one in found if not pulling.is_whole(one)], named=bool(sessions))
        if dry_run or not found:
            for one in found:
                say(f"{one.id}  {_facts(one)}")
            chosen = "".join(f" --{name} {value}" for name, value in (("agent", agent), ("since", since)) if value)
            what = "would be read" if found else f"of the service{chosen}"
            say(f"{counted(len(found), 'session')} {what}; none pulled")
            return
        run = _Run(bar, failed, limit if failed else None)
        try:
            run.all(pulling, found)
            # It names the tools of all sessions, so that the run which comes to the end writes it.
            pulling.store.finish()
        except KeyboardInterrupt:
            bar.warn("Stopped. What was pulled is kept: run the same command again to go on.")
            raise
        finally:
            run.tell_end(api, out, pulling.store.tally)
    if run.counts["failed"] or run.counts["expired"] or run.damaged or (sessions and run.counts["went on"]):
        raise click.exceptions.Exit(1)


def _named(sessions: tuple[str, ...]) -> list[Found]:
    from ..pull import Found

    return [Found(name) for name in dict.fromkeys(sessions)]


def _check_key(key: str | None, address: str) -> None:
    """Nobody is asked without a key but a server on this machine, and no key goes over an open line unsaid."""
    is_local = (urlsplit(address).hostname or "") in _LOCAL
    if not (key or "").strip() and not is_local:
        remedy = "Set it to a key of the service: export STATEBASE_API_KEY=…"
        raise OptionError("STATEBASE_API_KEY is not set", remedy=remedy)
    if key and address.startswith("http:") and not is_local:
        warn("The address begins with http: the key goes to the service unencrypted.")


def _tell_estimate(bar: Progress, api: Api, found: list[Found], *, named: bool) -> None:
    """How much there is to do, before it is begun."""
    from ..pull import estimate

    turns, requests = estimate(found)
    of_turns = "" if named else f" with {counted(turns, 'turn')}"
    rate = f", {_minutes(requests, api.limit)} at {api.limit:,} a minute" if api.limit else ""
    if found:
        bar.warn(f"Estimate: {counted(len(found), 'session')}{of_turns}, at least {requests:,} requests{rate}.")


def _minutes(requests: int, limit: int) -> str:
    """How long a limit holds so many requests up: what it allows at once takes no time."""
    held_up = (requests - 1) // limit
    return f"about {held_up:,} min" if held_up > 0 else "less than 1 min"


def _facts(found: Found) -> str:
    facts = ["turns unknown" if found.turns is None else counted(found.turns, "turn")]
    facts += [f"active {found.updated_at}"] if found.updated_at else []
    facts += [f"expires {found.expires_at}"] if found.expires_at else []
    return ", ".join(facts)


_LEFT = ("passed", "expired", "failed")
"""Outcomes after which no session of a failure is there; any other counts against `--limit`, in a later run too."""


class _Run:
    """What is said of one run."""

    def __init__(self, bar: Progress, only_failed: bool, most: int | None) -> None:
        self._bar = bar
        self._only_failed = only_failed
        self._most = most
        self.counts: Counter[str] = Counter()
        self._wrong = 0
        self._wanted = 0
        self.damaged = 0
        """Files of other sessions that cannot be read."""

    def all(self, pulling: Pull, found: list[Found]) -> None:
        self._wanted = len(found)
        self._bar.expect(len(found))
        for one in self._bar.count(found):
            there = self.counts.total() - sum(self.counts[what] for what in _LEFT)
            if self._most is not None and there >= self._most:
                break
            self._bar.about(one.id)
            outcome = pulling.one(one)
            self.counts[outcome.what] += 1
            self._tell(outcome)
        ids = {one.id for one in found}
        for name, error in pulling.damaged.items():
            if name not in ids:
                self._bar.warn(f"Not read: {error}")
                self.damaged += 1

    def _tell(self, outcome: Outcome) -> None:
        if outcome.error is not None:
            self._bar.warn(f"{'Not pulled again' if outcome.what == 'went on' else 'Not pulled'}: {outcome.error}")
        elif outcome.session is not None and outcome.what != "passed":
            for line in _lines(outcome.id, outcome.session):
                self._bar.say(line)
            self._wrong += len(outcome.session.failing)

    def tell_end(self, api: Api, out: Path, tally: Tally) -> None:
        counts = self.counts
        told = [f"{counts['pulled'] + counts['completed']:,} pulled", f"{counts['unchanged']:,} unchanged"]
        told += [f"{counts['passed']:,} without a failure"] if self._only_failed else []
        told += [f"{counts['went on']:,} went on since"] if counts["went on"] else []
        told += [f"{counts['expired']:,} not there"] if counts["expired"] else []
        told += [f"{counts['failed']:,} not pulled"] if counts["failed"] else []
        again = f", {api.repeated:,} of them repeated" if api.repeated else ""
        waited = f", {api.waited:,.0f} s waited" if api.waited >= 1 else ""
        if counts.total():
            self._bar.say(f"{counted(counts.total(), 'session')}: {', '.join(told)}; in {shown(out)}")
        else:
            self._bar.say(f"{counted(self._wanted, 'session')}: none pulled")
        self._bar.say(f"{counted(api.requests, 'request')}{again}{waited}")
        if redacted := redaction_told(tally.redacted):
            self._bar.say(redacted)
        if self._wrong:
            self._bar.say(
                f"{counted(self._wrong, 'turn')} proposed as failing. Check each: `pytest-statebase show ID`."
            )


def _lines(id: str, session: PulledSession) -> list[str]:
    """What is to be known of a session that was pulled."""
    ledger = session.imported.ledger
    calls = sum(len(turn.calls) for turn in ledger.turns)
    aligned = ", ".join(f"{count:,} by {how}" for how, count in session.aligned.items())
    lines = [f"{id}  {counted(len(ledger.turns), 'turn')}, {counted(calls, 'call')}"]
    grade = {"fully": "replayable", "partly": "partly replayable", "not": "not replayable"}[session.replayable.grade]
    lines.append(f"  {grade}" + (f"; state versions placed: {aligned}" if aligned else ""))
    lines += [f"    {reason}" for reason in session.replayable.reasons]
    wrong = [
        line
        for number, reasons in sorted(session.failing.items())
        for line in (f"  turn {number} looks wrong:", *(f"    {reason}" for reason in reasons))
    ]
    # What is to be copied into a plan is not wrapped.
    answers = [f"      {line}" for line in session.replayable.answers]
    return [*_wrapped(lines), *answers, *_wrapped(wrong)]


def _wrapped(lines: list[str]) -> list[str]:
    return [part for line in lines for part in _fitting(line)]


def _fitting(line: str) -> list[str]:
    """A line in as many as the terminal needs for it."""
    blanks = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, columns(), subsequent_indent=blanks, break_on_hyphens=False)
