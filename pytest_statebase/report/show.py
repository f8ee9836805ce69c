"""Values of rows as text for people: control characters escaped, tags as a record writes them, long ones cut.

Everything recorded is hostile text. What comes out of here holds no control character, lone surrogate or
change of writing direction; line breaks only where they are asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..values import first_difference, visible_text
from .jsonsafe import json_safe, safe_repr

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def visible(value: Any, *, lines: bool = False) -> str:
    """A text, or what `repr` says of another value, with everything that has no shape of its own written out.

    lines: keep line breaks and tabs.
    """
    return visible_text(str.__str__(value) if isinstance(value, str) else safe_repr(value), lines=lines)


def one_line(value: Any) -> str:
    """A row's value on one line, whole: `{status: "open", total: !decimal "1.10"}`."""
    return "".join(_tokens(value, 0))


_MAX_DEPTH = 200


def _tokens(value: Any, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        yield "…"
    elif isinstance(value, str):
        yield quoted(value)
    elif isinstance(value, dict):
        yield from _mapping_tokens(value, depth)
    elif isinstance(value, list):
        yield "["
        for index, item in enumerate(value):
            yield ", " if index else ""
            yield from _tokens(item, depth + 1)
        yield "]"
    else:
        yield scalar(value)


def _mapping_tokens(value: dict[Any, Any], depth: int) -> Iterator[str]:
    tag = tag_of(value)
    if tag is not None:
        yield from _tag_tokens(tag, value[tag], depth)
        return
    yield "{"
    for index, (key, item) in enumerate(value.items()):
        yield (", " if index else "") + key_text(key) + ": "
        yield from _tokens(item, depth + 1)
    yield "}"


def _tag_tokens(tag: str, inner: Any, depth: int) -> Iterator[str]:
    if tag == "!cut":
        yield cut_text(inner)
    elif tag == "!bytes":
        yield f'!bytes "{visible(inner)}"'
    elif tag in ("!absent", "!unreadable", "!repr", "!float", "!int"):
        yield plain_tag(tag, inner)
    elif tag == "!map":
        yield "{"
        for index, (key, item) in enumerate(inner):
            yield ", " if index else ""
            yield from _tokens(key, depth + 1)
            yield ": "
            yield from _tokens(item, depth + 1)
        yield "}"
    elif isinstance(inner, dict) and set(inner) == {"type", "fields"}:
        yield f"{tag} {visible(inner['type'])} "
        yield from _tokens(inner["fields"], depth + 1)
    else:
        yield tag + " "
        yield from _tokens(inner, depth + 1)


def tag_of(value: dict[Any, Any]) -> str | None:
    """The tag of a mapping that stands for a value of another type (see `jsonsafe`), None for any other one."""
    if len(value) != 1:
        return None
    key = next(iter(value))
    if not (isinstance(key, str) and re.fullmatch(r"![A-Za-z_]\w*", key)):
        return None
    inner = value[key]
    if key == "!map" and not (isinstance(inner, list) and all(isinstance(p, list) and len(p) == 2 for p in inner)):
        return None
    if key == "!cut" and not (isinstance(inner, dict) and isinstance(inner.get("head"), str) and "size" in inner):
        return None
    return key


def plain_tag(tag: str, inner: Any) -> str:
    """The tags that are better read without their tag."""
    if tag == "!absent":
        return "(absent)"
    if tag == "!unreadable":
        return f"<unreadable: {visible(inner)}>"
    text = visible(inner)
    return {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}.get(text, text)


def cut_text(inner: dict[str, Any]) -> str:
    """The head of a value that was cut, with its size."""
    return f"{visible(inner['head'])}… ({size_text(inner['size'])} in all)"


def size_text(characters: Any) -> str:
    return f"{characters:,} characters" if isinstance(characters, int) else "an unknown size"


def scalar(value: Any) -> str:
    """`null`, `true`, a number."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return visible(repr(value))


def key_text(key: Any) -> str:
    return key if isinstance(key, str) and _PLAIN_KEY.fullmatch(key) else quoted(str(key))


def quoted(text: str) -> str:
    """A text in double quotes, as JSON has it but for what can be read as it is."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + visible(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def shorten(text: str, width: int) -> str:
    """`text` in at most about `width` characters, with its size where it was cut."""
    return text if len(text) <= width else f"{text[:width]}… ({size_text(len(text))})"


def shorten_pair(left: str, right: str, width: int) -> tuple[str, str]:
    """Two long texts, cut so that the first place where they differ is seen."""
    if len(left) <= width and len(right) <= width:
        return left, right
    start = max(0, first_difference(left, right) - width // 3)
    if start < 12 or left == right:
        return shorten(left, width), shorten(right, width)
    return "…" + shorten(left[start:], width), "…" + shorten(right[start:], width)


def structure(text: str) -> Any:
    """The value of a text that is the JSON of a mapping or a list as `json.dumps` writes it, else None."""
    if text[:1] not in ("{", "[") or len(text) > 200_000:
        return None
    try:
        value = json.loads(text)
        same = text in (json.dumps(value), json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return None
    return value if same else None


_JSON_KEYS = re.compile(r'"((?:[^"\\]|\\.)*)"(: )?')


def short_value(text: str) -> Any:
    """The value of which a row keeps `jsonsafe.short_text`; of a long one the beginning, as `one_line` writes it."""
    value = structure(text)
    if value is not None:
        return json_safe(value)
    if not text.startswith(("{", "[")):
        return text
    return _JSON_KEYS.sub(lambda found: found[0] if found[2] is None else key_text(found[1]) + ": ", text)


def pretty(value: Any, *, width: int = 72) -> str:
    """A row's value over several lines, indented by two, what is short on one line."""
    if isinstance(value, str):
        inner = structure(value)
        if inner is not None:
            return "!json " + pretty(inner, width=width)
        return quoted(value) if "\n" not in value else visible(value, lines=True)
    return "\n".join(_block(value, width, 0, ""))


def _has_items(value: Any) -> bool:
    return bool(value) and (isinstance(value, list) or (isinstance(value, dict) and tag_of(value) is None))


def _block(value: Any, width: int, depth: int, lead: str) -> list[str]:
    pad = "  " * depth
    flat = one_line(value)
    if not _has_items(value) or len(flat) + len(pad) + len(lead) <= width or depth > 30:
        return [pad + lead + flat]
    if isinstance(value, dict):
        lines = [pad + lead + "{"]
        for key, item in value.items():
            lines += _block(item, width, depth + 1, key_text(key) + ": ")
        return [*lines, pad + "}"]
    lines = [pad + lead + "["]
    for item in value:
        lines += _block(item, width, depth + 1, "")
    return [*lines, pad + "]"]
