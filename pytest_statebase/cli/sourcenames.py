"""Which names a module defines, by reading its source: nothing of a project runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path

_LARGEST = 4 * 1024 * 1024


@dataclass(slots=True)
class Names:
    """The names at the top of a module, or in a class."""

    functions: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    classes: dict[str, Names] = field(default_factory=dict)
    is_open: bool = False
    """There may be more: of a star import, of `__getattr__`, of a base class."""

    def holds(self, dotted: str) -> bool:
        """Whether there is, or may be, a name such as `Desk.answer`."""
        first, _, rest = dotted.partition(".")
        inner = self.classes.get(first)
        if inner is not None:
            return not rest or inner.is_open or inner.holds(rest)
        # What is inside of an object that is made here, its source does not tell.
        return self.is_open or first in self.functions or first in self.others

    def matches(self, pattern: str) -> bool:
        """Whether a pattern such as `*` or `get_*` means, or may mean, a public function that is defined here."""
        public = (name for name in self.functions if not name.startswith("_"))
        return self.is_open or any(fnmatchcase(name, pattern) for name in public)


def names_of(module: str, import_path: Iterable[str]) -> Names | None:
    """The names of a module; None where there is none. Of one without readable source every name may be there.

    import_path: the directories in which it is looked for first, then where this Python finds it.
    """
    path = _file_of(module, import_path)
    if path is None or path.suffix != ".py":
        return None if path is None else Names(is_open=True)
    try:
        if path.stat().st_size > _LARGEST:
            return Names(is_open=True)
        return _names(ast.parse(path.read_bytes()).body)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return Names(is_open=True)


def _file_of(module: str, import_path: Iterable[str]) -> Path | None:
    top, *below = module.split(".")
    for directory in import_path:
        found = _in(Path(directory), [top, *below])
        if found is not None:
            return found
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not below:
        return Path(spec.origin or "built-in")
    return next(filter(None, (_in(Path(place), below) for place in spec.submodule_search_locations or ())), None)


def _in(directory: Path, parts: list[str]) -> Path | None:
    base = directory.joinpath(*parts)
    for path in (base / "__init__.py", base.with_name(f"{base.name}.py")):
        if path.is_file():
            return path
    compiled = list(base.parent.glob(f"{base.name}.*.so")) if base.parent.is_dir() else []
    return base if base.is_dir() else compiled[0] if compiled else None


def _names(body: Iterable[ast.stmt]) -> Names:
    found = Names()
    for node in _statements(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.functions.add(node.name)
            found.is_open = found.is_open or node.name == "__getattr__"
        elif isinstance(node, ast.ClassDef):
            inner = _names(node.body)
            inner.is_open = inner.is_open or bool(node.bases or node.keywords or node.decorator_list)
            found.classes[node.name] = inner
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                found.is_open = found.is_open or alias.name == "*"
                found.others.add(alias.asname or alias.name.partition(".")[0])
        else:
            found.others.update(
                name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            )
    return found


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Those that run when the module is imported, also inside `if`, `try`, `with` and loops."""
    stack = list(body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                stack += getattr(node, name, [])
            stack += [inner for handler in getattr(node, "handlers", []) for inner in handler.body]
