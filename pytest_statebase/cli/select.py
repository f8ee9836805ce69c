"""`pytest-statebase select`."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import OptionError
from .output import say, say_lines, warn
from .redaction import redaction_told, use_redaction
from .targets import shown

if TYPE_CHECKING:
    from ..selection.choose import Selection, Wanted

_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?)\s*%")
_TIME = re.compile(r"(\d{1,9}(?:\.\d+)?)\s*(ms|s)")
_NUMBER = re.compile(r"\d{1,9}")


@click.command("select")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the chosen sessions there as cassettes. Nothing is written over.",
)
@click.option("--copy", is_flag=True, help="With --out: copy chosen cassettes, which are files already.")
@click.option(
    "--keep",
    metavar="RULES",
    help="Also every session with errors, rollbacks, slow (turns), unusual (transitions) or feedback: a list with "
    "commas between.",
)
@click.option(
    "--slow",
    metavar="LIMIT",
    default="5%",
    show_default=True,
    help="What --keep slow means: a turn of 5s or 800ms, or the sessions with the slowest turns.",
)
@click.option(
    "--unusual",
    metavar="LIMIT",
    default="1%",
    show_default=True,
    help="What --keep unusual means: a transition that is in at most so many sessions, or in 3 of them.",
)
@click.option("--all", "everything", is_flag=True, help="Every session, also those that add nothing.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="N sessions at most: those that add most.")
@click.option("--since", metavar="TIME", help="Sessions active since then: 24h, 7d, 2026-11-29, 2026-11-29T08:00Z.")
@click.option("--agent", metavar="ID", help="The sessions of this agent.")
@click.option(
    "--covered-by",
    "covered_by",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, path_type=Path),
    help="Cassettes that there are: what they show needs no more. May be given several times.",
)
@click.option("--dry-run", is_flag=True, help="With --out: choose, and write nothing.")
@click.option("--full", is_flag=True, help="Name all that each session adds.")
@click.option(
    "--paths", "only_paths", is_flag=True, help="Print nothing but the paths of chosen cassettes, one a line."
)
@click.option("--json", "as_json", is_flag=True, help="Everything as one JSON mapping.")
def command(
    paths: tuple[Path, ...],
    out: Path | None,
    copy: bool,
    keep: str | None,
    slow: str,
    unusual: str,
    everything: bool,
    limit: int | None,
    since: str | None,
    agent: str | None,
    covered_by: tuple[Path, ...],
    dry_run: bool,
    full: bool,
    only_paths: bool,
    as_json: bool,
) -> None:
    """Choose the sessions that become tests.

    PATHS are journals of capture, cassettes, or directories with either. Chosen are the fewest sessions that show
    together every transition between tools, every kind of error and every place of the state that is to be seen in
    any of them; of each is told what it adds to those before it. Without --out nothing is written.

    Exit code 1 where something cannot be read or written; the others are chosen among all the same.
    """
    from ..pull import since_time
    from ..selection.choose import choose
    from .selected import selection_json, selection_lines
    from .sources import Sources, is_captured

    wanted = _wanted(keep, slow, unusual, everything, limit)
    if out is None and (copy or dry_run):
        raise OptionError("--copy and --dry-run go with --out", remedy="Say where to: --out fixtures.")
    use_redaction()
    sources = Sources(paths, agent, None if since is None else since_time(since, datetime.now(UTC)))
    selection = choose(sources.survey(), wanted, sources.features_of(covered_by))
    _check_copies(selection, out, copy)
    if as_json:
        say(json.dumps(selection_json(selection, sources.broken), indent=2))
    elif only_paths:
        for pick in selection.picks:
            if not is_captured(pick.session):
                say(shown(pick.session.source))
    else:
        say_lines(selection_lines(selection, full=full))
    if out is not None and not dry_run:
        tally = sources.write(selection.picks, out)
        if redacted := redaction_told(tally.redacted):
            say(redacted)
        files = f"{tally.written:,} written, {tally.unchanged:,} unchanged, {tally.refused:,} refused"
        (warn if as_json or only_paths else say)(f"files: {files}; in {shown(out)}")
    for line in [*sources.notes, *(sources.broken if not as_json else ())]:
        warn(line)
    if sources.broken:
        raise click.exceptions.Exit(1)


def _wanted(keep: str | None, slow: str, unusual: str, everything: bool, limit: int | None) -> Wanted:
    from ..selection.choose import Wanted
    from ..selection.rules import Limits, Rule

    names = [name.strip() for name in (keep or "").split(",") if name.strip()]
    unknown = [name for name in names if name not in tuple(Rule)]
    if unknown:
        raise OptionError(f"--keep: {unknown[0]!r:.40} is no rule", remedy=f"There are {', '.join(Rule)}.")
    limits = Limits(_limit("--slow", slow), _limit("--unusual", unusual))
    return Wanted(frozenset(map(Rule, names)), limits, everything, limit)


def _limit(option: str, text: str) -> float:
    """A share below 1, or the number that a text says."""
    percent, time, number = (form.fullmatch(text.strip()) for form in (_PERCENT, _TIME, _NUMBER))
    if percent is not None:
        return float(percent[1]) / 100
    if time is not None and option == "--slow":
        return max(float(time[1]) * (1000 if time[2] == "s" else 1), 1.0)
    if number is not None and option == "--unusual":
        return float(number[0])
    example = "5s, 800ms or 5%" if option == "--slow" else "1% or 3"
    raise OptionError(f"{option}: {text!r:.40} means nothing", remedy=f"Give it like {example}.")


def _check_copies(selection: Selection, out: Path | None, copy: bool) -> None:
    from .sources import is_captured

    if out is not None and not copy and not all(is_captured(pick.session) for pick in selection.picks):
        remedy = "To have copies of them in --out, add --copy."
        raise OptionError("cassettes are chosen, which are files already", remedy=remedy)
