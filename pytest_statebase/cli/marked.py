"""What a program's source says to capture of its agent and tools. Nothing of it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .finding import Finds, files_below

_MOST: Final = 2_000
"""Files of Python that are read."""
_LARGEST: Final = 1024 * 1024


@dataclass(slots=True)
class Marked:
    """What was found, each with the file that says it."""

    agents: dict[str, Path] = field(default_factory=dict)
    """`module:name` of functions under `@capture.agent` or `@recording.agent`."""
    tools: dict[str, Path] = field(default_factory=dict)
    """Patterns in `capture(…, tools=[…])`."""


def find_marked(root: Path) -> Marked:
    """Look through the Python files of a project, three levels deep."""
    found = Marked()
    read = 0
    for path in files_below(root, Finds()):
        if path.suffix != ".py" or read >= _MOST:
            continue
        read += 1
        tree = _tree(path)
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(_marks, node.decorator_list)):
                found.agents[f"{_module(path, root)}:{node.name}"] = path
        for pattern in _patterns(tree) if tree is not None else ():
            found.tools.setdefault(pattern, path)
    return found


def _tree(path: Path) -> ast.Module | None:
    try:
        if path.stat().st_size > _LARGEST:
            return None
        data = path.read_bytes()
        return ast.parse(data) if b"capture" in data or b".agent" in data else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _marks(decorator: ast.expr) -> bool:
    """`@capture.agent`, `@pytest_statebase.capture.agent(…)`, `@recording.agent`."""
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    if not isinstance(decorator, ast.Attribute) or decorator.attr != "agent":
        return False
    holder = decorator.value
    name = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
    return name in ("capture", "recording")


def _patterns(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for given in node.keywords if name == "capture" else ():
            if given.arg == "tools" and isinstance(given.value, ast.List | ast.Tuple):
                for item in given.value.elts:
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        yield item.value


def _module(path: Path, root: Path) -> str:
    """The name by which a file is imported from the project's root, or from `src` in it."""
    parts = list(path.relative_to(root).with_suffix("").parts)
    parts = parts[1:] if parts[0] == "src" and len(parts) > 1 else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
