"""The YAML and JSON of vcrpy's recordings: YAML 1.1, as PyYAML writes it. No tag ever makes an object."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

from yaml.constructor import SafeConstructor
from yaml.nodes import ScalarNode
from yaml.resolver import Resolver

from ..errors import FileError
from .yamlread import Document, Reader

_STANDARD = "tag:yaml.org,2002:"
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **{
        word: value
        for value, lowers in ((True, ("yes", "true", "on")), (False, ("no", "false", "off")))
        for lower in lowers
        for word in (lower, lower.title(), lower.upper())
    },
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{f"{sign}{word}": math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{f"-{word}": -math.inf for word in (".inf", ".Inf", ".INF")},
}
_REMEDY = "Remove the tag, or record again."


class VcrReader(Reader):
    """Scalars as YAML 1.1 resolves them; times stay texts."""

    special: ClassVar[frozenset[str]] = frozenset("-+.0123456789~=<nNtTfFyYoO") | {""}
    texts: ClassVar[set[str]] = set()

    def plain(self, text: str, event: Any) -> Any:
        # The parts only serve to find a place in the file: a text will do for whatever it means.
        self.parts.append(text)
        if text in _WORDS:
            return _WORDS[text]
        if text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0"):
            return self.integer(text, event)
        tag = _tag_of(text)
        if tag in ("int", "float"):
            return self.number(tag, text, event)
        if tag == "merge":
            raise self.error("merge keys (<<) are not read", event, "Write the keys out.")
        if len(self.texts) < 1000:
            self.texts.add(text)
        return text

    def number(self, tag: str, text: str, event: Any) -> Any:
        node = ScalarNode(f"{_STANDARD}{tag}", text)
        make = SafeConstructor()
        try:
            return make.construct_yaml_int(node) if tag == "int" else make.construct_yaml_float(node)
        except ValueError as error:
            raise self.error(f"{text!r:.60} cannot be read: {error}", event, "Quote it if it is text.") from None

    def build(self, table: Mapping[str, Any], tag: str, form: Any, event: Any) -> Any:
        """What stands under a tag: of those that vcrpy reads, without asking Python for an object."""
        name = tag.removeprefix(_STANDARD)
        make = _TAGS.get((name, type(form)))
        if make is None:
            what = "names an object, which is never built" if "python/" in name else "is none of a recording"
            raise self.error(f"the tag !!{name:.80} {what}", event, _REMEDY)
        try:
            return make(form)
        except (ValueError, TypeError, LookupError) as error:
            raise self.error(f"!!{name} cannot be read: {error}", event, _REMEDY) from None


def _tag_of(text: str) -> str | None:
    resolvers = Resolver.yaml_implicit_resolvers
    for tag, pattern in (*resolvers.get(text[0], ()), *resolvers.get(None, ())):
        if pattern.match(text):
            return str(tag).removeprefix(_STANDARD)
    return None


def _binary(text: str) -> bytes:
    from base64 import b64decode

    return b64decode(text)


def _null(text: str) -> None:
    return None


def _bool(text: str) -> bool:
    return bool(SafeConstructor.bool_values[text.lower()])


def _file(form: dict[Any, Any]) -> bytes:
    """The content of a file that was a body."""
    content = (form.get("state") or (b"",))[0]
    return content.encode() if isinstance(content, str) else content or b""


def _pieces(form: dict[Any, Any]) -> bytes:
    """The pieces of a body that came from an iterator."""
    return b"".join(one.encode() if isinstance(one, str) else bytes(one) for one in (form.get("args") or ([],))[0])


_TAGS: dict[tuple[str, type], Any] = {
    ("binary", str): _binary,
    **{(name, str): str for name in ("!", "str", "timestamp", "python/str", "python/unicode")},
    ("int", str): lambda text: SafeConstructor().construct_yaml_int(ScalarNode("", text)),
    ("float", str): lambda text: SafeConstructor().construct_yaml_float(ScalarNode("", text)),
    ("bool", str): _bool,
    ("null", str): _null,
    ("map", dict): dict,
    **{(name, list): list for name in ("seq", "python/tuple", "python/list")},
    ("python/object/new:_io.BytesIO", dict): _file,
    ("python/object/apply:builtins.iter", dict): _pieces,
}


def documents_of(data: bytes, *, where: str, marks: bool = False) -> list[Document]:
    """The documents of a recording, of which there should be one; JSON is one without marks.

    Raises FileError with line and column.
    """
    is_json = data.lstrip()[:1] == b"{"
    if is_json and not marks:
        try:
            return [Document(json.loads(data, object_pairs_hook=_once), [], 1, {})]
        except ValueError as error:
            # YAML has mappings in braces, too.
            try:
                return list(VcrReader(data, where=where, marks=False).documents())
            except FileError:
                _refuse_json(error, data, where)
    return list(VcrReader(data, where=where, marks=marks).documents())


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {double!r:.60} stands twice")
    return found


def _refuse_json(error: ValueError, data: bytes, where: str) -> NoReturn:
    if not isinstance(error, json.JSONDecodeError):
        raise FileError(str(error), where=where, remedy="Keep one of them.") from None
    place = f"{where}:{error.lineno}:{error.colno}"
    is_end = not data.rstrip().endswith(b"}")
    remedy = "The file ends here: it may have been cut off. Restore it from version control."
    raise FileError(
        f"this is not JSON: {error.msg}", where=place, remedy=remedy if is_end else "Correct the line."
    ) from None
