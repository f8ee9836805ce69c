"""What a CI service is told of a run of replays: a page for the job, and annotations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .report.runs import Run


def add_keys(parser: pytest.Parser) -> None:
    """The ini keys that switch it off."""
    parser.addini(
        "statebase_job_summary", "Add the results to the summary page of a GitHub job.", type="bool", default=True
    )
    parser.addini("statebase_annotations", "Annotate failures in GitHub's jobs.", type="bool", default=True)


def write_job_summary(config: pytest.Config, made: Run) -> str | None:
    """Append to the page that the service offers; in words why not, where it cannot be."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path or not config.getini("statebase_job_summary"):
        return None
    from .report.prose.summary import append_job_summary

    try:
        has_room = append_job_summary(Path(path), made)
    except Exception as error:  # whatever goes wrong here must not cost the run its outcome
        return f"the job's summary could not be written: {getattr(error, 'strerror', None) or error}"
    return None if has_room else "the job's summary has no room left for the results"


def commands(config: pytest.Config, made: Run) -> list[str]:
    """Annotations as lines for the log of a GitHub job; none elsewhere."""
    if os.environ.get("GITHUB_ACTIONS") != "true" or not config.getini("statebase_annotations"):
        return []
    from .report.ci.annotations import annotation_lines
    from .report.ci.joblog import printable

    try:
        return annotation_lines(made, config.rootpath)
    except Exception as error:  # as above
        return [printable(f"statebase: failures could not be annotated: {error}")]
