"""What a run's replays came to: gathered by the controller, written once."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from .plugin_settings import ROWS, SUFFIX, Settings

_ATTRIBUTE = "statebase_rows"


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

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if call.when != "setup" or report.failed:
            rows = item.stash.get(ROWS, None)
            if rows:
                # One string of ASCII JSON: what crosses pytest-xdist's wire must not be more.
                setattr(report, _ATTRIBUTE, json.dumps(rows))
                del item.stash[ROWS]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        text = report.__dict__.pop(_ATTRIBUTE, None) if not self.is_worker else None
        if text is not None:
            # A rerun's rows take the place of the first run's.
            self.rows[report.nodeid] = json.loads(text)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not self.is_worker:
            self._collected(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self._collected(ids)

    def _collected(self, ids: Any) -> None:
        for nodeid in ids:
            self.collected.setdefault(nodeid, len(self.collected))

    def ordered(self) -> list[dict[str, Any]]:
        """Every row in the order of collection, with one for each cassette that did not finish."""
        from .report.results import error_row

        rows = dict(self.rows)
        for nodeid in self.collected:
            path, _, name = nodeid.rpartition("::")
            if path.endswith(SUFFIX) and nodeid not in rows:
                message = "did not finish: the run was stopped or its worker crashed before it was judged"
                rows[nodeid] = [error_row(path, name.replace("-", " "), message, nodeid=nodeid)]
        found = sorted(rows, key=lambda nodeid: self.collected.get(nodeid, len(self.collected)))
        return [row for nodeid in found for row in rows[nodeid]]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.is_worker or self.config.getoption("collectonly") or not (self.rows or self._stopped(session)):
            return
        rows = self.ordered()
        for path, write in ((self.settings.results, _write_results), (self.settings.report, _write_report)):
            if path is not None:
                try:
                    write(path, rows, self.run(rows))
                except Exception as error:  # whatever goes wrong here must not cost the run its outcome
                    why = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
                    self.failures.append(f"{path} could not be written: {why}")
        if self.failures and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _stopped(self, session: pytest.Session) -> bool:
        """Something was to be replayed and nothing was: the report says so instead of staying the old one."""
        return any(SUFFIX + "::" in nodeid for nodeid in self.collected) and session.exitstatus in (1, 2)

    def run(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """What is known of the run as a whole."""
        import platform

        from . import __version__

        agents = list(dict.fromkeys(row["agent"] for row in rows if row["agent"]))
        return {
            "started_at": self.started.isoformat(timespec="seconds"),
            "duration_s": round(time.perf_counter() - self._began, 2),
            "python": platform.python_version(),
            "pytest": pytest.__version__,
            "pytest_statebase": __version__,
            "agent": ", ".join(agents),
        }

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.is_worker or not (self.rows or self.failures):
            return
        from .report.terminal import summary_lines

        written = self.settings.report if self.settings.report and not self.failures else None
        shown = _shown(written, self.config.invocation_params.dir) if written else None
        verbosity = self.config.get_verbosity()
        if verbosity >= 0:
            terminalreporter.section("statebase replay")
        for line in summary_lines(self.ordered(), verbosity=verbosity, report=shown):
            for text, markup in line:
                terminalreporter.write(text.encode("utf-8", "backslashreplace").decode(), **markup)
            terminalreporter.write("\n")
        for failure in self.failures:
            terminalreporter.write_line(failure, red=True)


def _shown(path: Path, invocation: Path) -> str:
    try:
        return str(path.relative_to(invocation))
    except ValueError:
        return str(path)


def _write_results(path: Path, rows: list[dict[str, Any]], run: dict[str, Any]) -> None:
    from .report.results import write_results

    write_results(path, rows, run)


def _write_report(path: Path, rows: list[dict[str, Any]], run: dict[str, Any]) -> None:
    from .report.html import write_html

    write_html(path, rows, run)
