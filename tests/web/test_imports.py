"""Who listens to imports hears of each module once, and leaves nothing behind."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_statebase.wire.imports import listen, listen_no_more

NAMES = ("heard_one", "heard_two")


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in NAMES:
        sys.modules.pop(name, None)


def both() -> None:
    for name in NAMES:
        importlib.import_module(name)


def test_some_listen_to_all_and_some_to_names() -> None:
    every: list[str] = []
    some: list[int] = []

    def all_of_them(module: ModuleType) -> None:
        every.append(module.__name__)

    def one_of_them(module: ModuleType) -> None:
        some.append(module.VALUE)

    before = list(sys.meta_path)
    listen(all_of_them)
    listen(one_of_them, {"heard_two"})
    try:
        both()
    finally:
        listen_no_more(all_of_them)
        listen_no_more(one_of_them)
    assert [name for name in every if name in NAMES] == list(NAMES)
    assert some == [1]
    assert sys.meta_path == before
    for name in NAMES:
        module = sys.modules[name]
        assert module.__spec__ is not None
        assert type(module.__spec__.loader).__module__ != "pytest_statebase.wire.imports"
        assert module.__loader__ is module.__spec__.loader


class OneLoader:
    """A finder that is the loader of all that it finds, as that of pytest is, and asks all finders as others do."""

    def __init__(self) -> None:
        self.asked = 0
        self.executed: list[str] = []

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name not in NAMES:
            return None
        self.asked += 1
        assert self.asked < 10
        if self.asked % 2:
            assert importlib.util.find_spec(name) is not None
        return ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.executed.append(module.__name__)


def test_a_loader_of_many_modules_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = OneLoader()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    heard: list[str] = []

    def told(module: ModuleType) -> None:
        heard.append(module.__name__)

    listen(told)
    try:
        both()
    finally:
        listen_no_more(told)
    assert finder.executed == [*NAMES]
    assert [name for name in heard if name in NAMES] == [*NAMES]
    assert vars(finder).keys() == {"asked", "executed"}
    assert sys.modules["heard_one"].__loader__ is finder


def test_what_a_listener_raises_the_import_raises() -> None:
    def told(module: ModuleType) -> None:
        if module.__name__ in NAMES:
            raise RuntimeError("not this one")

    listen(told)
    try:
        with pytest.raises(RuntimeError, match="not this one"):
            import_one()
    finally:
        listen_no_more(told)
    assert "heard_one" not in sys.modules
    import_one()


def import_one() -> None:
    importlib.import_module("heard_one")
