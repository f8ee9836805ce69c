"""`pytest-statebase redact`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import FileError, OptionError, StatebaseError
from .output import columns, counted, say, warn, wrapped
from .redaction import use_redaction
from .targets import cassette_files, shown

if TYPE_CHECKING:
    from ..audit.redact import Outcome
    from ..cassette import Cassette
    from ..cassette.personal import Kind

_SUFFIX = "-redacted"
_ENDINGS = (".session.yaml", ".record.yaml", ".accepted.http.yaml", ".accepted.yaml", ".http.yaml", ".pulled.json")


@click.command("redact")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--subject",
    "subjects",
    multiple=True,
    metavar="TEXT",
    help="Only the values of one person: an e-mail address, a name, a number, or the user_id of their sessions. "
    "May be given several times.",
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Write the new files into this directory."
)
@click.option("--write", "in_place", is_flag=True, help="Put the new files in the place of the old ones.")
@click.option("--dry-run", is_flag=True, help="Write nothing, only report.")
def command(
    paths: tuple[Path, ...], subjects: tuple[str, ...], out: Path | None, in_place: bool, dry_run: bool
) -> None:
    """Take secrets and personal data out of cassettes.

    PATHS are cassettes or directories. Each value becomes a placeholder of the same form, the same one all over the
    session and in all its files, so that replays still find their recordings. The new files stand beside the old ones
    (NAME-redacted…), in --out, or with --write in their place. Records get a new seal and a note of when and how much
    was redacted. No value is printed, and no file is deleted.

    With --subject only the values of one person go; in sessions whose user_id is given, all personal data does.

    Exit code 1 where a cassette could not be redacted; the others are redacted all the same.
    """
    from ..audit.redact import grouped, redact
    from ..cassette import load_cassette
    from .ages import now

    if out is not None and in_place:
        raise OptionError("--out and --write exclude each other", remedy="Give one of them.")
    use_redaction()
    at = now().isoformat(timespec="seconds")
    target = _target(out, in_place)
    outcomes: list[Outcome] = []
    failed = 0
    cassettes: list[Cassette] = []
    for path in cassette_files(paths):
        try:
            cassettes.append(load_cassette(shown(path)))
        except StatebaseError as error:
            warn(f"not redacted  {error}")
            failed += 1
    for group in grouped(cassettes):
        try:
            outcome = redact(group, subjects=subjects, target=target, at=at)
            _check_free(outcome, in_place or dry_run)
        except ValueError as error:
            raise OptionError(f"--subject: {error}", remedy="Give more of it.") from None
        except StatebaseError as error:
            warn(f"not redacted  {error}")
            failed += 1
            continue
        if outcome.places and not dry_run:
            if out is not None:
                out.mkdir(parents=True, exist_ok=True)
            outcome.write()
        outcomes.append(outcome)
        _tell(outcome, dry_run, in_place)
    _summary(outcomes, dry_run, in_place)
    if failed:
        raise click.exceptions.Exit(1)


def _target(out: Path | None, in_place: bool) -> Callable[[Path], Path]:
    def target(path: Path) -> Path:
        if in_place:
            return path
        if out is not None:
            return out / path.name
        stem, dot, rest = path.name.partition(".")
        for ending in _ENDINGS:
            if path.name.endswith(ending):
                stem, dot, rest = path.name.removesuffix(ending), ".", ending[1:]
                break
        return path.with_name(f"{stem}{_SUFFIX}{dot}{rest}")

    return target


def _check_free(outcome: Outcome, may_exist: bool) -> None:
    there = [target for _, target, _ in outcome.files if target.exists()] if outcome.places and not may_exist else []
    if there:
        remedy = "Remove it, give another --out, or --write to put the new files in the place of the old ones."
        raise FileError("there is a file already", where=shown(there[0]), remedy=remedy)


def _tell(outcome: Outcome, dry_run: bool, in_place: bool) -> None:
    if not outcome.places:
        say(f"nothing     {shown(outcome.record)}")
        return
    verb = "would be" if dry_run else "redacted"
    say(f"{verb:<11} {shown(outcome.record)}")
    for text in wrapped(_counts(outcome.places, outcome.values), columns() - 12):
        say(f"            {text}")
    for path, target, _ in outcome.files:
        if path in outcome.changed or not in_place:
            what = "in the place of the old one" if in_place else f"→ {shown(target)}"
            say(f"            {path.name} {what}")
    if outcome.names_left:
        told = counted(outcome.names_left, "place")
        warn(f"            single words of a name are left in {told}: give them as subjects of their own")
    if outcome.unread:
        warn(f"            {counted(outcome.unread, 'binary value')} not looked into")


def _counts(places: Counter[Kind], values: Counter[Kind]) -> str:
    from ..cassette.personal import PLURALS

    told = []
    for kind, number in places.items():
        one, many = PLURALS[kind]
        told.append(f"{values[kind]:,} {one if values[kind] == 1 else many} in {counted(number, 'place')}")
    return ", ".join(told)


def _summary(outcomes: list[Outcome], dry_run: bool, in_place: bool) -> None:
    done = [outcome for outcome in outcomes if outcome.places]
    verb = "would be redacted" if dry_run else "redacted"
    say(f"{counted(len(outcomes), 'record')}: {len(done):,} {verb}, {len(outcomes) - len(done):,} without such values")
    if not done or dry_run:
        return
    if in_place:
        say("The old files were replaced. What they held is still in version control and in backups.")
    else:
        say("The old files are as they were. Where they must go, remove them from version control's history as well.")
