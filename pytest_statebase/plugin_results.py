"""What a run's replays came to: gathered by the controller, written once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from .plugin_ci import commands, write_job_summary
from .plugin_outcomes import (
    NOT_RUN,
    Outcomes,
    failure_text,
    first_line,
    marked_of,
    replays_something,
    row_without_replay,
)
from .plugin_outputs import junit_of
from .plugin_settings import BUDGET, ROWS, SUFFIX, Settings
from .report.ci.joblog import printable

if TYPE_CHECKING:
    from .report.runs import Run

_ATTRIBUTE = "statebase_rows"
_MARKED = "statebase_marked"
_TEARDOWN = "statebase_teardown"
_LEFT_OVER = "statebase_left_over"
_DESELECTED = "statebase_deselected"
STALE = "statebase_stale"
"""On the report of an item that failed because its prompts moved, and for nothing else."""
_ACCEPTED = (".accepted.yaml", ".accepted.http.yaml")
_CHOOSING = (
    "keyword",
    "markexpr",
    "deselect",
    "lf",
    "stepwise",
    "ignore",
    "ignore_glob",
    "statebase_fork",
    "statebase_until",
)
"""Options with which a run is of less than all."""


class Results:
    """Registered in every process. Workers hand rows over on the report; only the controller keeps and writes them."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.is_worker = hasattr(config, "workerinput")
        self.collected: dict[str, int] = {}
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.started = datetime.now(UTC)
        self._began = time.perf_counter()
        self.failures: list[str] = []
        self.notes: list[str] = []
        self.written: list[Path] = []
        self.made: Run | None = None
        """What was written of, for what is said of it afterwards."""
        self.offers: dict[str, list[dict[str, Any]]] = {}
        """What is to be accepted, by item."""
        self.accepted: list[tuple[str, str]] = []
        self.outcomes = Outcomes(config)
        self._marked: str | None = None
        """What a worker has yet to say of its tests that replay."""
        self._deselected = False
        self.left_over: dict[str, None] = {}
        """What threads tried that replays of workers left behind."""
        self._announced = False
        self._budget: TemporaryDirectory[str] | None = None
        self.stuck: str | None = None
        """Why the process has to end before the run does."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if self._marked is not None:
            setattr(report, _MARKED, self._marked)
            self._marked = None
        if report.failed and call.when != "teardown":
            self._keep_failure(item, call, report)
        elif report.failed and replays_something(item):
            setattr(report, _TEARDOWN, f"pytest: teardown: {first_line(call, report)}")
        rows = item.stash.get(ROWS, None) if call.when != "setup" or report.failed else None
        if rows:
            self._tell_junit(item, rows)
            # One string of ASCII JSON: what crosses pytest-xdist's wire must not be more.
            setattr(report, _ATTRIBUTE, json.dumps(rows))
            del item.stash[ROWS]
            if report.failed and call.when == "call" and _are_stale(rows):
                setattr(report, STALE, True)
        return report

    def _keep_failure(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
        """What failed an item stands in its rows, and in one of its own where it made no replay."""
        rows = item.stash.get(ROWS, None)
        if rows:
            _fail(rows, f"pytest: {first_line(call, report)}")
        elif replays_something(item):
            marked = marked_of([item]).get(item.nodeid)
            told = failure_text(item, call, report)
            item.stash[ROWS] = [row_without_replay(self.config, item.nodeid, told, marked=marked)]

    def _tell_junit(self, item: pytest.Item, rows: list[dict[str, Any]]) -> None:
        """What JUnit's XML says of an item besides its failure: it is read off the last report of the item."""
        path = junit_of(self.config)
        if path is None:
            return
        from .report.ci.junit import links_of, page_from, properties_of

        outputs = self.settings.outputs
        others = [one for one in item.user_properties if not one[0].startswith("statebase_")]
        links = links_of(rows, page_from(path, outputs.url, outputs.report))
        told = (one for row, link in zip(rows, links, strict=True) for one in properties_of(row, link))
        item.user_properties[:] = [*others, *told]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.is_worker:
            return
        self.outcomes.marked |= json.loads(report.__dict__.pop(_MARKED, "{}"))
        self.outcomes.note(report)
        text = report.__dict__.pop(_ATTRIBUTE, None)
        if text is not None:
            # A rerun's rows take the place of the first run's.
            rows = json.loads(text)
            self.offers[report.nodeid] = [row.pop("accept") for row in rows if "accept" in row]
            self.rows[report.nodeid] = rows
        failure = report.__dict__.pop(_TEARDOWN, None)
        if failure is not None:
            _fail(self.rows.get(report.nodeid, []), failure)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Moved prompts are one line of the summary, not a failure each; the run's exit code tells of them."""
        return ("stale", "S", "STALE") if getattr(report, STALE, False) else None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take in what is to run. It is asked again where a run turns out to replay when it is on its way."""
        marked = marked_of(session.items)
        if self.is_worker:
            self._marked = json.dumps(marked) if marked else None
        else:
            self.outcomes.marked |= marked
            self._collected(item.nodeid for item in session.items)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected = self._deselected or bool(items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self._collected(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A worker begins, and is told where the workers of the run count their model calls together."""
        if self.settings.model != "recorded":
            if self._budget is None:
                self._budget = TemporaryDirectory(prefix="statebase-budget-")
                self.config.add_cleanup(self._budget.cleanup)
            node.workerinput[BUDGET] = self._budget.name

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """A worker is done, and hands over what its items cannot."""
        told = getattr(node, "workeroutput", {})
        self.left_over |= dict.fromkeys(told.get(_LEFT_OVER, ()))
        self._deselected = self._deselected or told.get(_DESELECTED, False)

    def _collected(self, ids: Any) -> None:
        for nodeid in ids:
            self.collected.setdefault(nodeid, len(self.collected))
        self._announce()

    def _announce(self) -> None:
        """Say once what may go live, before it does."""
        if self._announced or self.settings.model == "recorded" or self.config.getoption("collectonly"):
            return
        self._announced = True
        paths = {nodeid.rpartition("::")[0] for nodeid in self.collected}
        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            from .plugin_live import live_lines

            for line in live_lines(self.settings, (self.config.rootpath / path for path in paths if path)):
                terminal.write_line(line)

    def ordered(self) -> list[dict[str, Any]]:
        """Every row in the order of collection, with one for each item that did not finish."""
        missing = [nodeid for nodeid in self.collected if nodeid not in self.rows]
        unfinished = self.outcomes.unfinished(missing, self.stuck or NOT_RUN)
        rows = {**self.rows, **{row["nodeid"]: [row] for row in unfinished}}
        found = sorted(rows, key=lambda nodeid: self.collected.get(nodeid, len(self.collected)))
        return [row for nodeid in found for row in rows[nodeid]]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.is_worker:
            told = {_LEFT_OVER: list(self._left_over(last=True)), _DESELECTED: self._deselected}
            self.config.workeroutput.update(told)  # type: ignore[attr-defined]
        is_of_replays = self.rows or self.outcomes.skipped or self._stopped(session)
        if self.is_worker or self.config.getoption("collectonly") or not is_of_replays:
            return
        self._accept()
        self._write(self.ordered())
        if self.failures and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def stop(self, message: str) -> None:
        """Write what there is before the process ends for this reason."""
        self.stuck = message
        if not self.is_worker:
            self._write(self.ordered())
            self._annotate(self.config.pluginmanager.get_plugin("terminalreporter"))

    def _write(self, rows: list[dict[str, Any]]) -> None:
        from .report.outputs import write_outputs

        written = write_outputs(self.settings.outputs, rows, self.run(rows))
        self.written += written.paths
        self.failures += written.failures
        self.notes += written.notes
        self.made = written.made
        note = write_job_summary(self.config, written.made) if self.settings.replaying else None
        self.notes += [note] if note else []

    def _accept(self) -> None:
        """Write what is to become the baseline; what could not be written is a failure of the run."""
        if not self.settings.accept:
            return
        from .plugin_accept import Acceptance

        acceptance = Acceptance(self.settings.accept, self.settings.rootdir)
        order = sorted(self.offers, key=lambda nodeid: self.collected.get(nodeid, len(self.collected)))
        acceptance.write(offer for nodeid in order for offer in self.offers[nodeid])
        self.accepted += acceptance.lines
        self.failures += acceptance.failures

    def warnings(self, rows: list[dict[str, Any]]) -> list[str]:
        """Rules and baselines that no longer matter, recorded calls that no longer fit, what was known for too long."""
        from .report.notes import run_notes
        from .report.upkeep import upkeep_warnings
        from .report.withoutsecrets import without_secrets

        narrow = self._is_narrow()
        whole = not narrow and all(row["outcome"] != "error" for row in rows)
        orphans = [] if narrow or not self.settings.replaying else self._orphans()
        told = [*self._left_over(), *run_notes(rows, whole=whole), *upkeep_warnings(rows, whole=whole), *orphans]
        told += self.outcomes.notes()
        clean: list[str] = without_secrets(told)
        return clean

    def _is_narrow(self) -> bool:
        """Whether what is replayed was chosen, so that nothing can be said of the rest."""
        chosen = any(self.config.getoption(name, None) for name in _CHOOSING)
        return chosen or self._deselected or bool(self.outcomes.skipped) or self._is_part()

    def _is_part(self) -> bool:
        """Whether the command line names less than all cassettes, or less than all tests."""
        named = [self.config.invocation_params.dir / argument.partition("::")[0] for argument in self.config.args]
        if any(path.name.endswith(SUFFIX) for path in named):
            return True
        if self.settings.replaying:
            roots = self.settings.cassettes
        elif self.config.args_source is pytest.Config.ArgsSource.ARGS:
            paths = self.config.getini("testpaths")
            roots = tuple(self.config.rootpath / path for path in paths) or (self.config.rootpath,)
        else:
            return False
        return not all(any(root.is_relative_to(path) for path in named) for root in roots)

    def _left_over(self, *, last: bool = False) -> dict[str, None]:
        """What was refused to threads between replays. last: nobody asks again, so that more goes to stderr at once."""
        own = self.settings.left_over
        if own is not None and last:
            own.is_read = True
        return self.left_over | (own.refused if own is not None else {})

    def _orphans(self) -> Iterator[str]:
        """Accepted baselines and exchanges whose plan is gone."""
        for root in self.settings.cassettes:
            for path in sorted(path for suffix in _ACCEPTED for path in root.rglob(f"*{suffix}")):
                suffix = next(one for one in _ACCEPTED if path.name.endswith(one))
                plan = path.with_name(path.name.removesuffix(suffix) + SUFFIX)
                if not plan.exists():
                    yield f"{_shown(path, self.settings.rootdir)}: there is no {plan.name}, so nothing reads it"

    def _stopped(self, session: pytest.Session) -> bool:
        """Something was to be replayed and nothing was: the report says so instead of staying the old one."""
        return any(map(self.outcomes.is_ours, self.collected)) and session.exitstatus in (1, 2)

    def run(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """What is known of the run as a whole."""
        import platform

        from . import __version__

        agents = list(dict.fromkeys(row["agent"] for row in rows if row["agent"]))
        warnings = self.warnings(rows)
        commit = os.environ.get("GITHUB_SHA") or os.environ.get("CI_COMMIT_SHA")
        return {
            "started_at": self.started.isoformat(timespec="seconds"),
            "duration_s": round(time.perf_counter() - self._began, 2),
            "python": platform.python_version(),
            "pytest": pytest.__version__,
            "pytest_statebase": __version__,
            "agent": ", ".join(agents),
            **({"commit": commit} if commit else {}),
            **({"warnings": warnings} if warnings else {}),
            **({"part": True} if self._is_narrow() else {}),
        }

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self._left_over(last=True)
        if not self.is_worker and (self.made is not None or self.failures):
            self._summarise(terminalreporter)
        self._annotate(terminalreporter)

    def _summarise(self, terminalreporter: pytest.TerminalReporter) -> None:
        from .report.against import against_lines
        from .report.terminal import note_lines, summary_lines, told_failures

        report = self.settings.outputs.report
        written = report if report in self.written else None
        shown = _shown(written, self.config.invocation_params.dir) if written else None
        verbosity = self.config.get_verbosity()
        if verbosity >= 0:
            terminalreporter.section("statebase replay")
        rows = list(self.made.rows) if self.made else self.ordered()
        lines = summary_lines(rows, verbosity=verbosity, report=shown)
        if self.made and self.made.against:
            told = told_failures(rows, verbosity=verbosity)
            lines += against_lines(self.made.against, verbosity=verbosity, told=told)
        for line in [*lines, *note_lines(self.accepted, [*self.warnings(rows), *self.notes])]:
            for text, markup in line:
                terminalreporter.write(printable(text), **markup)
            terminalreporter.write("\n")
        for failure in self.failures:
            terminalreporter.write_line(printable(failure), red=True)

    def _annotate(self, terminalreporter: Any) -> None:
        """Write what a service that reads the log shows beside the changed lines."""
        if self.made is not None and self.settings.replaying and terminalreporter is not None:
            for line in commands(self.config, self.made):
                terminalreporter.write_line(line)


def _shown(path: Path, invocation: Path) -> str:
    try:
        return str(path.relative_to(invocation))
    except ValueError:
        return str(path)


def _fail(rows: list[dict[str, Any]], failure: str) -> None:
    """What failed an item whose replays all passed, a warning that is an error say, fails them as well."""
    from .report.withoutsecrets import without_secrets

    if all(row["outcome"] == "passed" for row in rows):
        for row in rows:
            row.update(outcome="failed", failure=without_secrets(failure))


def _are_stale(rows: list[dict[str, Any]]) -> bool:
    from .report.traffic import is_stale_alone

    return any(map(is_stale_alone, rows)) and all(row["outcome"] == "passed" or is_stale_alone(row) for row in rows)
