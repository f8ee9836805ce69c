"""`pytest-statebase seal`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from ..errors import StatebaseError
from .output import counted, say, warn
from .targets import find_records


@click.command("seal")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--force", is_flag=True, help="Seal broken records too, as they are now.")
def command(paths: tuple[Path, ...], force: bool) -> None:
    """Seal records that have no seal.

    PATHS are records, plans (for their record) or directories. A sealed record stays as it is. One that is not what
    was sealed is refused, unless --force is given: then its seal no longer proves what was recorded.
    Exit code 1 where one was refused.
    """
    outcomes = Counter(_seal(path, force) for path in find_records(paths))
    refused = outcomes["refused"]
    kept = f"{outcomes['sealed']:,} sealed, {outcomes['sealed already']:,} sealed already, {refused:,} refused"
    say(f"{counted(outcomes.total(), 'record')}: {kept}")
    if refused:
        raise click.exceptions.Exit(1)


def _seal(path: Path, force: bool) -> str:
    """Print and return what became of one record."""
    from ..cassette import seal, verify

    try:
        state = verify(path).state
        if state == "sealed":
            outcome = "sealed already"
        else:
            seal(path, force=force)
            outcome = "sealed"
    except StatebaseError as error:
        warn(f"refused         {error}")
        return "refused"
    say(f"{outcome:<15} {path}")
    return outcome
