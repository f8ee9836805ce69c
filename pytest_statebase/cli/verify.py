"""`pytest-statebase verify`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from ..errors import StatebaseError
from .output import counted, say, warn
from .targets import find_records


@click.command("verify")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("-q", "--quiet", is_flag=True, help="Name only the records that are not sealed or not as sealed.")
@click.option("--allow-unsealed", is_flag=True, help="A record without a seal is named, but does not fail the check.")
def command(paths: tuple[Path, ...], quiet: bool, allow_unsealed: bool) -> None:
    """Check that records are what was recorded.

    PATHS are records, plans (for their record) or directories. Each record's seal is compared with its content;
    layout, comments and line ends are free. Exit code 1 where one is broken or has no seal: whoever takes the seal away
    could have changed anything. `import`, `pull` and `record_session` seal what they write; `seal` adds a seal.
    """
    states = Counter(_check(path, quiet) for path in find_records(paths))
    broken, unsealed = states["broken"], states["unsealed"]
    found = f"{states['sealed']:,} sealed, {unsealed:,} unsealed, {broken:,} broken"
    say(f"{counted(states.total(), 'record')}: {found}")
    if broken or (unsealed and not allow_unsealed):
        raise click.exceptions.Exit(1)


def _check(path: Path, quiet: bool) -> str:
    """Print what is to be said of one record: sealed, unsealed or broken."""
    from ..cassette import verify

    try:
        found = verify(path)
    except StatebaseError as error:
        warn(f"broken    {error}")
        return "broken"
    if found.state != "sealed":
        warn(f"{found.state:<9} {path}: {found.message}")
    elif not quiet:
        say(f"sealed    {path}")
    return found.state
