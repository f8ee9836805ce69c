"""`pytest-statebase schema`."""

from __future__ import annotations

from importlib.resources import files

import click

NAMES = ("plan", "defaults", "record")


@click.command("schema")
@click.argument("name", type=click.Choice(NAMES), default="plan")
def command(name: str) -> None:
    """Print the JSON Schema of a file, for editors that complete and check YAML.

    NAME is plan (NAME.session.yaml, the default), defaults (statebase.yaml) or record (each document of
    NAME.record.yaml). Write it to a file and name that in a plan's first line:

    \b
    # yaml-language-server: $schema=plan.schema.json
    """
    click.echo(files("pytest_statebase").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8"), nl=False)
