"""Writes plans: the first proposal, which people then edit."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ..errors import PlanError
from ..values import ABSENT
from .canonical import parts_of
from .files import write_atomic
from .plan import Answer, Expect, Plan, ReplaySpec, ToolRules
from .planread import FORMAT
from .yamlwrite import document_text


def write_plan(path: str | os.PathLike[str], plan: Plan, *, overwrite: bool = False) -> None:
    """Write a plan as `NAME.session.yaml`, in one step; what is as it is by default is left out.

    Raises PlanError where the file is already there, because people edit plans.
    """
    name = os.fspath(path)
    if not overwrite and os.path.lexists(name):
        raise PlanError("there is a plan already", where=name, remedy="Edit it, or remove it first.")
    write_atomic(name, plan_text(plan).encode())


def plan_text(plan: Plan) -> str:
    """The YAML of a plan."""
    form: dict[str, Any] = {"cassette": FORMAT}
    for key in ("session", "record", "agent", "title"):
        if getattr(plan, key) is not None:
            form[key] = getattr(plan, key)
    if plan.replays != (ReplaySpec(),):
        replays = [_replay(spec) for spec in plan.replays]
        form["replay"] = replays[0] if len(replays) == 1 else replays
    form["failing"] = sorted(plan.failing)
    form["expect"] = {turn: _expect(expect) for turn, expect in plan.expect.items()}
    form["answers"] = [_answer(answer) for answer in plan.answers]
    form["inputs"] = dict(plan.inputs)
    form["ignore"] = list(plan.ignore)
    form["compare"] = dict(plan.compare)
    form["owner"] = plan.owner
    form["gate"] = None if plan.gate == "block" else plan.gate
    form["tools"] = {name: _rules(rules) for name, rules in plan.tools.items()}
    return document_text(parts_of({key: value for key, value in form.items() if value not in (None, [], {})}))


def _replay(spec: ReplaySpec) -> dict[str, Any]:
    form: dict[str, Any] = {"fork": str(spec.fork)}
    if spec.until is not None:
        form["until"] = spec.until if spec.until == "end" else f"turn {spec.until}"
    if spec.mode is not None:
        form["mode"] = spec.mode
    return form


def _expect(expect: Expect) -> dict[str, Any]:
    form: dict[str, Any] = {}
    if expect.output is not None:
        output = expect.output
        form["output"] = _texts(output, ("contains", "not_contains", "matches"))
        if output.equals is not ABSENT:
            form["output"]["equals"] = output.equals
    if expect.tools is not None:
        form["tools"] = _texts(expect.tools, ("called", "not_called"))
    if expect.state:
        form["state"] = dict(expect.state)
    return form


def _texts(rules: Any, names: Iterable[str]) -> dict[str, Any]:
    """Each rule that there is: a single text as such, several as a list."""
    found = {name: list(getattr(rules, name)) for name in names if getattr(rules, name)}
    return {name: texts[0] if len(texts) == 1 else texts for name, texts in found.items()}


def _answer(answer: Answer) -> dict[str, Any]:
    form: dict[str, Any] = {"tool": answer.tool, "arguments": dict(answer.arguments)}
    if answer.error is not None:
        return {**form, "error": dict(answer.error)}
    return {**form, "result": answer.result}


def _rules(rules: ToolRules) -> dict[str, Any]:
    form: dict[str, Any] = {"reads": True} if rules.reads else {}
    return {**form, "ignore": list(rules.ignore)} if rules.ignore else form
