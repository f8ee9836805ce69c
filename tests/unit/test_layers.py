"""Imports go downwards only, heavy libraries load when they are used, and functions and modules stay short."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median, quantiles

import pytest

import pytest_statebase

PACKAGE = Path(pytest_statebase.__file__).parent
LAYERS = (
    ("plugin", "cli", "testing"),
    ("selection",),
    ("audit", "pull"),
    ("report", "recorder", "importers"),
    ("engine",),
    ("compare",),
    ("journal",),
    ("statebase",),
    ("privacy",),
    ("cassette",),
    ("ledger",),
    ("wire",),
    ("values", "marks"),
    ("errors", "lazy"),
)
PART_OF = {"hookspecs": "plugin", "events": "ledger", "traces": "ledger", "frames": "ledger"}
RANK = {name: rank for rank, layer in enumerate(reversed(LAYERS)) for name in layer}
HEAVY = (
    "deepdiff",
    "jinja2",
    "vcr",
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "aiohttp",
    "urllib3",
    "requests",
    "jsonpatch",
    "pydantic",
    "tenacity",
    "tqdm",
    "click",
)
FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(file: Path) -> str:
    """`compare.diff` for compare/diff.py, `compare` for compare/__init__.py, `` for the package itself."""
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(file): file for file in FILES}


def component_of(module: str) -> str:
    """The part of the package that a module belongs to: its first name; `plugin_nodes` is of `plugin`."""
    first = module.partition(".")[0]
    return "plugin" if first.startswith("plugin_") else PART_OF.get(first, first)


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def import_nodes(node: ast.AST, *, typing_too: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import below a node, those inside functions too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif typing_too or not is_for_types_only(child):
            yield from import_nodes(child, typing_too=typing_too)


def imported(file: Path, *, typing_too: bool) -> Iterator[str]:
    """The absolute names that a module imports."""
    package = ["pytest_statebase", *file.relative_to(PACKAGE).parts[:-1]]
    for node in import_nodes(tree_of(file), typing_too=typing_too):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            continue
        base = package[: len(package) - node.level + 1] if node.level else []
        name = ".".join([*base, *([node.module] if node.module else [])])
        inner = [f"{name}.{alias.name}" for alias in node.names]
        is_submodule = [path.removeprefix("pytest_statebase.") in MODULES for path in inner]
        yield from (path for path, found in zip(inner, is_submodule, strict=True) if found)
        if not all(is_submodule):
            yield name


def own_imports(module: str, *, typing_too: bool) -> set[str]:
    """The modules of the package that a module imports."""
    names = imported(MODULES[module], typing_too=typing_too)
    own = {name.removeprefix("pytest_statebase").lstrip(".") for name in names if name.startswith("pytest_statebase")}
    return own - {"", module}


@pytest.mark.parametrize("module", sorted(set(MODULES) - {""}))
def test_imports_go_downwards_only(module: str) -> None:
    here = component_of(module)
    for name in own_imports(module, typing_too=True):
        there = component_of(name)
        assert there == here or RANK[there] < RANK[here], f"{module} ({here}) reaches up to {name} ({there})"


def test_there_is_no_cycle() -> None:
    graph = {module: own_imports(module, typing_too=False) for module in MODULES if module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " → ".join(error.args[1]))


def users_of(library: str) -> set[str]:
    return {
        module
        for module, file in MODULES.items()
        if any(name.partition(".")[0] == library for name in imported(file, typing_too=False))
    }


@pytest.mark.parametrize("library", sorted({*HEAVY, "yaml"} - {"click"}))
def test_one_module_imports_each_heavy_library(library: str) -> None:
    packages = {module.partition(".")[0] for module in users_of(library)}
    assert len(packages) <= 1, users_of(library)
    if library != "yaml":
        assert len(users_of(library)) <= 1, users_of(library)


def test_the_command_line_alone_knows_click_and_the_plugin_alone_knows_pytest() -> None:
    assert {component_of(module) for module in users_of("click")} <= {"cli"}
    assert {component_of(module) for module in users_of("pytest") | users_of("_pytest")} <= {"plugin"}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import pytest_statebase", (*HEAVY, "yaml", "pytest", "asyncio")),
        ("import pytest_statebase.plugin", (*HEAVY, "yaml")),
        ("import pytest_statebase; pytest_statebase.replay, pytest_statebase.load_cassette", (*HEAVY, "pytest")),
        ("import pytest_statebase; pytest_statebase.record_session", (*HEAVY, "pytest")),
        ("import pytest_statebase; pytest_statebase.capture", (*HEAVY, "yaml", "pytest")),
    ],
)
def test_importing_is_light(statement: str, unwanted: tuple[str, ...]) -> None:
    assert loaded_by(statement).isdisjoint(unwanted)


def functions() -> Iterator[tuple[str, int]]:
    """Every function with its number of lines."""
    for file in FILES:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None:
                yield f"{file.relative_to(PACKAGE)}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1


def test_functions_are_short() -> None:
    lengths = dict(functions())
    assert {name: length for name, length in lengths.items() if length > 60} == {}
    assert median(lengths.values()) <= 10
    assert quantiles(lengths.values(), n=10)[-1] <= 30


def test_modules_are_short() -> None:
    lengths = {module: len(file.read_text(encoding="utf-8").splitlines()) for module, file in MODULES.items()}
    assert {module: length for module, length in lengths.items() if length > 450} == {}


def test_public_names_are_lazy_and_complete() -> None:
    assert sorted(pytest_statebase._HOMES) == sorted(pytest_statebase.__all__)
    for name in pytest_statebase.__all__:
        assert getattr(pytest_statebase, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pytest_statebase.nothing  # noqa: B018
