"""The command line `pytest-statebase`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from .. import __version__
from ..errors import StatebaseError
from .output import printable

_COMMANDS = {
    "init": "init",
    "capture": "capture",
    "pull": "pull",
    "import": "import_",
    "select": "select",
    "show": "show",
    "timeline": "timeline",
    "status": "status",
    "doctor": "doctor",
    "expect": "expect",
    "explain": "explain",
    "compare": "compare",
    "report": "report",
    "lint": "lint",
    "redact": "redact",
    "metrics": "metrics",
    "export": "export",
    "verify": "verify",
    "seal": "seal",
    "schema": "schema",
    "serve": "serve",
}
"""Each command with its module, in the order in which the help lists them."""


class _LazyGroup(click.Group):
    """Imports a command's module only when it is run or its help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f".{_COMMANDS[cmd_name]}", __name__).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except StatebaseError as error:
            raise click.ClickException(printable(str(error))) from error


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pytest-statebase", message="%(prog)s %(version)s")
def main() -> None:
    """Turn failures of AI agents in production into regression tests.

    Recorded sessions become files that `pytest --statebase-replay` forks and replays.
    """
