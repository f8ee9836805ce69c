"""`pytest-statebase report`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import OptionError
from .output import counted, say, say_lines, warn

if TYPE_CHECKING:
    from ..report.outputs import Outputs
    from ..report.runs import Run
    from ..report.shards import Merged
    from ..report.terminal import Line

_FILE = click.Path(dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(file_okay=False, path_type=Path)
_DEFAULT = Path("statebase-report.html")
_OUTPUTS = ("results", "report", "summary", "sidecar", "junit", "history")
_FAIL_ON = ("failing", "newly-failing")


class _RenderFirst(click.Group):
    """`report RESULTS…` is `report render RESULTS…`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["render", *args]
        return super().parse_args(ctx, args)


@click.group("report", cls=_RenderFirst)
def command() -> None:
    """Make reports of result files.

    These are files that `pytest --statebase-replay --statebase-results PATH` wrote. `render` may be left away.
    """


@command.command()
@click.argument("results", nargs=-1, required=True, type=_FILE)
@click.option("-o", "--output", default=_DEFAULT, show_default=True, type=_FILE, help="The HTML file to write.")
def render(results: tuple[Path, ...], output: Path) -> None:
    """Make one HTML page of result files.

    Those of several shards or runs are merged in the order given.
    """
    from ..report.outputs import Outputs

    outputs = Outputs(report=output)
    _check_places(outputs, results)
    _, is_whole = _write(outputs, _read(results, None))
    if not is_whole:
        raise click.exceptions.Exit(1)


@command.command()
@click.argument("shards", nargs=-1, required=True, type=_FILE)
@click.option("--shards", "expected", type=click.IntRange(1), metavar="N", help="How many files there must be.")
@click.option("--results", type=_FILE, help="One file of results, as of one run.")
@click.option("-o", "--report", type=_FILE, help="The HTML page; without any output, statebase-report.html.")
@click.option(
    "--report-assets",
    "assets",
    type=click.Choice(["inline", "external"]),
    default="inline",
    help="Whether style sheet and scripts are in the page or beside it.",
)
@click.option("--report-url", "url", metavar="URL", help="Where the page will be published: links lead there.")
@click.option("--summary", type=_FILE, help="Markdown for a comment on a pull request.")
@click.option("--sidecar", type=_DIRECTORY, help="Markdown for each failing turn.")
@click.option("--junitxml", "junit", type=_FILE, help="JUnit's XML.")
@click.option("--history", type=_FILE, help="Append this run to the file, and tell the trend of the runs in it.")
@click.option(
    "--history-from",
    "histories",
    multiple=True,
    type=_FILE,
    help="Another history, from an artifact of CI for example: its runs are taken over into that of --history.",
)
@click.option("--base-results", "base", type=_FILE, help="Results of the base branch: tell what this change did.")
@click.option("--job-summary", is_flag=True, help="Append a summary to the file that GITHUB_STEP_SUMMARY names.")
@click.option("--annotations", is_flag=True, help="Print workflow commands of GitHub that annotate failures.")
@click.option("--root", type=_DIRECTORY, default=Path(), help="Where the cassettes' paths begin, for annotations.")
@click.option("--fail-on", type=click.Choice(_FAIL_ON), help="Exit with 1 where a replay fails, or newly fails.")
def merge(
    shards: tuple[Path, ...],
    expected: int | None,
    job_summary: bool,
    annotations: bool,
    fail_on: str | None,
    **wanted: Any,
) -> None:
    """Make of shards everything that one run would have written.

    SHARDS are the result files of parallel jobs, in the order in which their sessions are to be listed. The exit code
    is 1 where a file is missing or cannot be read or written (everything else is written all the same), and
    otherwise 0, whatever the verdicts are; --fail-on makes the verdicts count.
    """
    from ..report.outputs import Outputs
    from ..report.terminal import summary_lines

    page = _job_page() if job_summary else None
    _check(fail_on, wanted)
    if not (job_summary or annotations or any(wanted[name] for name in _OUTPUTS)):
        wanted["report"] = _DEFAULT
    outputs = Outputs(**wanted)
    _check_places(outputs, shards)
    merged = _read(shards, expected)
    _say_lines(summary_lines(merged.rows))
    made, is_whole = _write(outputs, merged)
    if page:
        is_whole &= _add_summary(page, made)
    if annotations:
        _annotate(made, wanted["root"])
    if not is_whole or (fail_on and _fails(made, fail_on)):
        raise click.exceptions.Exit(1)


def _job_page() -> Path:
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if not page:
        raise OptionError("--job-summary: GITHUB_STEP_SUMMARY names no file", remedy="Give it in a job of GitHub's.")
    return Path(page)


def _check(fail_on: str | None, wanted: Mapping[str, Any]) -> None:
    """Options that mean nothing without another, or at all."""
    if fail_on == "newly-failing" and wanted["base"] is None:
        raise OptionError("--fail-on=newly-failing goes with --base-results", remedy="Give both.")
    if wanted["histories"] and wanted["history"] is None:
        raise OptionError("--history-from goes with --history", remedy="Give both.")
    if wanted["url"]:
        from ..report.outputs import PUBLISHED
        from ..report.prose.markdown import page_link

        if page_link(wanted["url"]) is None:
            raise OptionError(f"--report-url {wanted['url']!r} is no address of the web", remedy=PUBLISHED)


_NAMES = {"junit": "--junitxml", "base": "--base-results", "histories": "--history-from", "shards": "a file of results"}


def _check_places(outputs: Outputs, read: Iterable[Path]) -> None:
    """Two files at one place would be the second one alone."""
    from ..report.outputs import APART, clash

    found = clash(outputs, [("shards", path) for path in read])
    if found is not None:
        first, second = (_NAMES.get(name, f"--{name}") for name in found[:2])
        raise OptionError(f"{first} and {second} are one file: {found[2]}", remedy=APART)


def _read(paths: tuple[Path, ...], expected: int | None) -> Merged:
    from ..report.shards import merge_results

    return merge_results(paths, expected=expected)


def _write(outputs: Outputs, merged: Merged) -> tuple[Run, bool]:
    """Write them, and say what was written and what is missing; whether nothing is."""
    from ..report.against import against_lines
    from ..report.outputs import write_outputs
    from ..report.terminal import told_failures

    written = write_outputs(outputs, merged.rows, merged.run)
    if written.made.against is not None:
        _say_lines(against_lines(written.made.against, told=told_failures(merged.rows)))
    if written.paths:
        where = ", ".join(map(str, written.paths))
        say(f"{counted(len(merged.rows), 'replay')} of {counted(merged.files, 'file')} in {where}")
    for text in [*merged.run.get("warnings", ()), *written.notes]:
        _warn(f"Warning: {text}")
    for text in written.failures:
        _warn(f"Error: {text}")
    return written.made, merged.is_whole and not written.failures


def _say_lines(lines: Iterable[Line]) -> None:
    """Lines that may go to the log of a CI job, which finds no command of its own in them."""
    from ..report.ci.joblog import printable

    say_lines([[(printable(text), style) for text, style in line] for line in lines])


def _warn(text: str) -> None:
    from ..report.ci.joblog import printable

    warn(printable(text))


def _add_summary(page: Path, made: Run) -> bool:
    from ..report.prose.summary import append_job_summary

    try:
        if append_job_summary(page, made):
            return True
        warn("Warning: the summary of the job has no room left for the results")
    except OSError as error:
        warn(f"Error: the summary of the job could not be written: {error.strerror or error}")
    return False


def _annotate(made: Run, root: Path) -> None:
    from ..report.ci.annotations import annotation_lines

    for line in annotation_lines(made, root):
        say(line)


def _fails(made: Run, what: str) -> bool:
    """Whether something fails that is to block a change."""
    from ..report.grouping import group_of_row

    if what == "newly-failing" and made.against is not None:
        return bool(made.against.blocking)
    return any(row["gate"] != "warn" and not group_of_row(row).passes for row in made.rows)
