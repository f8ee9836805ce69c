"""`pytest-statebase capture`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from ..errors import OptionError, StatebaseError
from .output import printable, warn
from .project import find_project

_VARIABLE = "PYTEST_STATEBASE_CAPTURE"


@click.command("capture", context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
@click.option(
    "--agent",
    multiple=True,
    metavar="MODULE:NAME",
    help="An entry point of the agent: each call of it is a turn; several times.",
)
@click.option("--session", metavar="PLACE", help="Where it is handed the session's id, such as request.thread_id.")
@click.option("--input", metavar="PLACE", help="Where it is handed what the user says.")
@click.option("--output", metavar="PLACE", help="Where its result holds the reply.")
@click.option(
    "--tools", multiple=True, metavar="PATTERN", help="Tools to record, as statebase_tools has them; several times."
)
@click.option(
    "--out",
    default="captured",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory for the journals.",
)
@click.option(
    "--sample", default=1.0, show_default=True, type=click.FloatRange(0, 1), help="The share of sessions that is kept."
)
@click.option(
    "--keep",
    multiple=True,
    type=click.Choice(["errors", "rollbacks", "slow", "unusual", "feedback"]),
    help="Which others are kept as well; several times.",
)
@click.option("--slow", default=10.0, show_default=True, type=click.FloatRange(0), help="Seconds: a slow turn.")
@click.option(
    "--privacy",
    type=click.Choice(["default", "strict"]),
    default="default",
    show_default=True,
    help="strict: keep the fields of --keep-field alone.",
)
@click.option(
    "--keep-field", multiple=True, metavar="NAME", help="A field that is kept with --privacy strict; several times."
)
@click.option("--http/--no-http", default=True, help="Whether HTTP and model calls of turns are kept.")
@click.option("--api-host", multiple=True, metavar="HOST", help="A further host of StateBase; several times.")
@click.option("--strict", is_flag=True, help="Do not run the program where the capture cannot begin.")
def command(program: tuple[str, ...], strict: bool, **given: Any) -> None:
    """Run a program unchanged, and record its sessions.

    PROGRAM is what you would type: `python script.py`, `python -m app`, `uvicorn app:app`, a console script. It and the
    Python processes that it starts write journals, of which `select` and `import` make cassettes.

    A session is what calls of the agent have in common that are handed the same id. An agent on StateBase needs no
    --agent: its requests tell of sessions and turns. What is left out is taken from the ini keys statebase_agent,
    statebase_tools and statebase_api_hosts of the project around the current directory; what is redacted beside secrets
    and personal data say statebase_redact and statebase_secrets.

    Exit code, signals, stdin and stdout are the program's own. What goes wrong in capturing is told in one line on
    stderr, and the program runs without.
    """
    environment = dict(os.environ)
    try:
        environment = _environment(_settings(given, strict), environment)
    except (StatebaseError, OSError) as error:
        if strict:
            raise click.ClickException(printable(str(error))) from error
        told = error.line if isinstance(error, StatebaseError) else f"{error}."
        warn(f"pytest-statebase capture: {told} The program runs without it.")
    _run(program, environment)


def _settings(given: dict[str, Any], strict: bool) -> dict[str, Any]:
    from ..events import timestamp
    from ..privacy import rules_from
    from ..recorder.boot import OPTIONS, modules_of
    from ..recorder.capture import capture

    project = find_project()
    agents = list(given["agent"]) or project.words("statebase_agent")
    tools = list(given["tools"]) or [name for line in project.lines("statebase_tools") for name in line.split()]
    for agent in agents:
        if not all(agent.partition(":")):
            raise OptionError(f"--agent {agent!r} names no entry point.", remedy="Write module:function.")
    out = given["out"].absolute()
    settings = {
        "home": str(Path(__file__).parents[2]),
        "pid": os.getpid(),
        "began": timestamp(),
        "out": str(out),
        "agents": agents,
        "places": {name: given[name] for name in ("session", "input", "output")},
        "tools": tools,
        "secrets": project.words("statebase_secrets"),
        "redact": project.lines("statebase_redact"),
        "modules": modules_of(agents, tools),
        "strict": strict,
        **{name: given[name] for name in ("sample", "slow", "privacy", "http")},
        "keep": list(given["keep"]),
        "keep_fields": list(given["keep_field"]),
        "api_hosts": list(given["api_host"]) or project.words("statebase_api_hosts"),
    }
    rules_from(settings["redact"])
    capture(out, **{name: settings[name] for name in OPTIONS})
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    return settings


def _environment(settings: dict[str, Any], environment: dict[str, str]) -> dict[str, str]:
    """The environment with the settings, and with what Python runs at its start."""
    site = Path(__file__).parents[1] / "recorder" / "site"
    path = [str(site), *filter(None, [environment.get("PYTHONPATH")])]
    return {**environment, _VARIABLE: json.dumps(settings), "PYTHONPATH": os.pathsep.join(path)}


def _run(program: tuple[str, ...], environment: dict[str, str]) -> None:
    """Become the program."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        if os.name == "posix":
            os.execvpe(program[0], program, environment)
        # A process of another number takes the place of this one elsewhere: nobody would wait for it.
        sys.exit(subprocess.call(program, env=environment))
    except FileNotFoundError:
        warn(f"{program[0]}: no such program")
        sys.exit(127)
    except OSError as error:
        warn(f"{program[0]}: {error.strerror}")
        sys.exit(126)
