"""Where the plugin writes: options and ini keys of outputs, and what of them cannot be meant."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .report.outputs import Outputs

DEFAULT_REPORT = "statebase-report.html"
_FILES = ("results", "summary", "sidecar", "history")


def is_asked_for_output(config: pytest.Config) -> bool:
    """Whether something is to be written of replays, be it of those that tests make."""
    named = any(config.getoption(f"statebase_{name}") for name in ("report", "report_url", "base_results"))
    return named or any(both(config, name) for name in _FILES)


def both(config: pytest.Config, name: str) -> Any:
    """What the option says, else the ini key; None where neither does."""
    return config.getoption(f"statebase_{name}") or config.getini(f"statebase_{name}") or None


def outputs_of(config: pytest.Config, *, replaying: bool, assets: str | None) -> Outputs:
    """What the run writes. The page is written where cassettes are what is run, or where the option asks for it.

    Raises pytest.UsageError where two files are one, and for an address that is none.
    """
    from .report.outputs import Outputs

    base = config.getoption("statebase_base_results")
    report = _path(config, "report") or config.invocation_params.dir / DEFAULT_REPORT
    outputs = Outputs(
        report=report if replaying or config.getoption("statebase_report") else None,
        assets=assets or "inline",  # type: ignore[arg-type]
        results=_path(config, "results"),
        summary=_path(config, "summary"),
        sidecar=_path(config, "sidecar"),
        history=_path(config, "history"),
        base=config.invocation_params.dir / base if base else None,
        url=_url(config),
        root=config.rootpath,
    )
    _check_places(config, outputs)
    return outputs


def _path(config: pytest.Config, name: str) -> Path | None:
    option = config.getoption(f"statebase_{name}")
    if option:
        return config.invocation_params.dir / option  # type: ignore[no-any-return]
    ini = config.getini(f"statebase_{name}")
    return config.rootpath / ini if ini else None


def _url(config: pytest.Config) -> str | None:
    url: str | None = both(config, "report_url")
    if url is not None:
        from .report.outputs import PUBLISHED
        from .report.prose.markdown import page_link

        if page_link(url) is None:
            raise pytest.UsageError(f"{_named(config, 'report_url')} = {url!r} is no address of the web\n{PUBLISHED}")
    return url


def _check_places(config: pytest.Config, outputs: Outputs) -> None:
    """Two files at one place would be the second one alone."""
    from .report.outputs import APART, clash

    found = clash(replace(outputs, junit=junit_of(config)))  # pytest writes it itself
    if found is not None:
        first, second = (_named(config, name) for name in found[:2])
        raise pytest.UsageError(f"{first} and {second} are one file: {found[2]}\n{APART}")


def junit_of(config: pytest.Config) -> Path | None:
    """Where pytest's own JUnit XML goes; None where it writes none."""
    named = config.getoption("xmlpath", None)
    return config.invocation_params.dir / os.path.expanduser(os.path.expandvars(named)) if named else None


def _named(config: pytest.Config, output: str) -> str:
    """What says where an output goes: the option, or the ini key."""
    if output == "junit":
        return "--junitxml"
    name = "base_results" if output == "base" else output
    if config.getoption(f"statebase_{name}") or name == "base_results" or not config.getini(f"statebase_{name}"):
        return f"--statebase-{name.replace('_', '-')}"
    return f"statebase_{name}"
