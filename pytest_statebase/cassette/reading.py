"""Reads one YAML file of rules key by key, and knows where everything in it stands."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from ..errors import PlanError
from .plan import Positions, path_of
from .yamlread import Document

Keys = tuple[Any, ...]
Table = Mapping[str, Callable[["Reading", Any, Keys], Any]]


class Reading:
    """One file being read: knows where everything stands."""

    def __init__(self, name: str, document: Document) -> None:
        self.document = document
        self.directory = os.path.dirname(os.path.abspath(name))
        self.positions = Positions(name, document)

    def name(self, keys: Keys) -> str:
        """`expect.2.output.contains[0]`, as an error names it."""
        return f"`{path_of(self.document.value, keys)}`" if keys else "the file"

    def wrong(self, what: str, keys: Keys, remedy: str) -> PlanError:
        return PlanError(what, where=self.positions.at(*keys), remedy=remedy)

    def mapping(self, value: Any, keys: Keys, what: str = "") -> dict[Any, Any]:
        if type(value) is not dict:
            raise self.wrong(
                f"{self.name(keys)} must be a mapping{what}, not {shown(value)}", keys, "Write it as `key: value`."
            )
        return value

    def text(self, value: Any, keys: Keys) -> str:
        if type(value) is not str or not value:
            raise self.wrong(
                f"{self.name(keys)} must be a text, not {shown(value)}", keys, "Put it in quotes, if it is one."
            )
        return value

    def texts(self, value: Any, keys: Keys) -> tuple[str, ...]:
        """One text or a list of them."""
        if type(value) is not list:
            return (self.text(value, keys),)
        return tuple([self.text(item, (*keys, at)) for at, item in enumerate(value)])

    def turn(self, value: Any, keys: Keys) -> int:
        if type(value) is not int or value < 1:
            raise self.wrong(f"{shown(value)} is no turn", keys, "Turns are integers from 1.")
        return value

    def one_of(self, value: Any, keys: Keys, allowed: Iterable[str]) -> Any:
        if value not in allowed:
            choice = " or ".join(allowed)
            raise self.wrong(f"{self.name(keys)} must be {choice}, not {shown(value)}", keys, f"Write {choice}.")
        return value

    def fields(self, value: Any, keys: Keys, table: Table) -> dict[str, Any]:
        """A mapping read key by key; an unknown key is an error that names those that there are."""
        read: dict[str, Any] = {}
        for key, item in self.mapping(value, keys).items():
            reader = table.get(key)
            if reader is None:
                raise self.unknown(key, (*keys, key), table)
            read[key] = reader(self, item, (*keys, key))
        return read

    def unknown(self, key: Any, keys: Keys, known: Iterable[str]) -> PlanError:
        near = get_close_matches(str(key), known, 1)
        hint = f"Did you mean `{near[0]}`? " if near else ""
        place = f" in {self.name(keys[:-1])}" if len(keys) > 1 else ""
        return self.wrong(f"unknown key `{key}`{place}", keys, f"{hint}Known keys: {', '.join(known)}.")


def shown(value: Any) -> str:
    return "null" if value is None else f"{value!r:.60}"


def text(reading: Reading, value: Any, keys: Keys) -> str:
    return reading.text(value, keys)


def texts(reading: Reading, value: Any, keys: Keys) -> tuple[str, ...]:
    return reading.texts(value, keys)


def anything(reading: Reading, value: Any, keys: Keys) -> Any:
    return value
