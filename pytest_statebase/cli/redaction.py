"""What a project says of redaction: its ini keys and its hook."""

from __future__ import annotations

from collections import Counter

from ..privacy import RedactionOptions, Rule, rules_from, set_redaction
from .hooks import project_hooks
from .output import counted
from .project import find_project


def use_redaction() -> None:
    """Have what this command writes or checks redacted as the project says.

    Raises OptionError for an ini key that means nothing, or a hook that cannot be asked.
    """
    from ..cassette import set_secret_names
    from ..engine.agents import import_attribute

    project = find_project()
    set_secret_names(project.words("statebase_secrets"))
    names = project.text("statebase_names")
    hook = project_hooks("pytest_statebase_redact")
    told: list[list[Rule]] = [] if hook is None else hook()
    rules = (*rules_from(project.lines("statebase_redact")), *(rule for rules in told for rule in rules or ()))
    finder = import_attribute(names, what="name detector") if names else None
    set_redaction(RedactionOptions(rules=rules, names=finder))


def redaction_told(places: Counter[str]) -> str:
    """How much was taken out, by kind, without any of it."""
    from ..cassette.personal import PLURALS, Kind

    told = []
    for kind, number in places.most_common():
        name = PLURALS[Kind(kind)][1] if kind in PLURALS else f"{kind} (a rule)"
        told.append(f"{name} in {counted(number, 'place')}")
    return f"Redacted: {', '.join(told)}." if told else ""
