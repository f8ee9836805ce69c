"""`pytest-statebase report`."""

from __future__ import annotations

from pathlib import Path

import click

from .output import counted, say


@click.command("report")
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    default="statebase-report.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The HTML file to write.",
)
def command(results: tuple[Path, ...], output: Path) -> None:
    """Make one HTML report of result files.

    RESULTS are files that `pytest --statebase-replay --statebase-results PATH` wrote; those of several shards or runs
    are merged in the order given.
    """
    from ..report.html import write_html
    from ..report.results import merge_results
    from ..report.runs import Run

    run, rows = merge_results(results)
    output.parent.mkdir(parents=True, exist_ok=True)
    write_html(output, Run(rows, run))
    say(f"{counted(len(rows), 'replay')} of {counted(len(results), 'file')} in {output}")
