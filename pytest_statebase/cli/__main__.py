"""`python -m pytest_statebase.cli`."""

from __future__ import annotations

from . import main

main(prog_name="pytest-statebase")
