"""Secrets that a text assigns to a name: in dumps of an environment, log lines, YAML, connection strings, commands."""

from __future__ import annotations

import re

from .fields import REDACTED, Hider
from .secrets import is_secret_header, is_secret_name

_ASSIGNED = re.compile(
    r"""(?<![\w.%])(?P<name>[A-Za-z_][\w.-]{1,79})(?P<sign>[ \t]*(?::=|=>|=|:)[ \t]*)
    (?P<scheme>(?:(?:[Bb]earer|[Bb]asic|[Tt]oken|[Dd]igest|ApiKey|SSWS|Bot)[ ])?)
    (?:(?P<quote>["'])(?P<quoted>[^"'\r\n]{1,512})(?P=quote)|(?![A-Za-z][\w.-]{1,79}=[^=\s])(?P<bare>[^\s"'`,;&<>(){}\[\]|]{1,512}))""",
    re.VERBOSE | re.ASCII,
)
_FLAG = re.compile(r"(?P<kept>--(?P<name>[a-z][a-z-]{2,40})[ =]+[\"']?)(?P<bare>[^\s\"']{4,512})", re.ASCII)
_LOGIN = re.compile(r"(?P<kept>\blogin\s{1,4}\S{1,80}\s{1,4}password\s{1,4})(?P<bare>\S{1,200})")
_USER = re.compile(r"(?P<kept>(?:^|\s)(?:-u|--user)[ =]?[\"']?[\w.@+-]{1,80}:)(?P<bare>[^\s\"']{1,200})")
_COOKIE = re.compile(r"(?P<kept>\b(?:[Ss]et-)?[Cc]ookie:[ \t]*)(?P<line>[^\r\n\"']{3,4096})")
_PAIR = re.compile(r"(?P<kept>[\w.%-]{1,80}=)(?P<bare>[^;,\s]{1,4096})")
_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite", "version", "comment", "priority"})
_WORDS = re.compile(r"(?:password|passwd|pwd|passphrase|passwort|kennwort|secret)$", re.IGNORECASE)
"""Names of what people think up, which may be of letters alone."""
_NO_VALUE = re.compile(
    r"[$<{%*@]|//|/(?![\w+/]{20})|\.|os\.|process\.|env\.|config|settings|self\.|None\b|null\b|true\b|false\b|str\b|string\b|"
    r"int\b|bool\b|required|optional|" + REDACTED + "|~~",
    re.IGNORECASE,
)
_ODD = re.compile(r"[0-9!@#$%^*+/~?]")
_LEAST = 4


def assigned_scrubbed(text: str, hider: Hider) -> str:
    """The text without the values that stand behind secret names and `=` or `:`."""
    text = _ASSIGNED.sub(lambda match: _assigned(match, hider), text)
    if "--" in text:
        text = _FLAG.sub(lambda match: _flag(match, hider), text)
    if "-u" in text:
        text = _USER.sub(lambda match: match["kept"] + hider.secret(match["bare"]), text)
    if "login" in text:
        text = _LOGIN.sub(lambda match: match["kept"] + hider.secret(match["bare"]), text)
    if "ookie:" in text:
        text = _COOKIE.sub(lambda match: _cookies(match, hider), text)
    return text


def _assigned(match: re.Match[str], hider: Hider) -> str:
    name, sign = match["name"], match["sign"].strip()
    value = match["quoted"] or match["bare"]
    is_env = sign == "=" and name.isupper()
    if not (is_secret_name(name) or ((is_env or "-" in name) and is_secret_header(name))):
        return match[0]
    if not _is_value(match, value, is_env=is_env):
        return match[0]
    quote = match["quote"] or ""
    return f"{name}{match['sign']}{match['scheme']}{quote}{hider.secret(value)}{quote}"


def _is_value(match: re.Match[str], value: str, *, is_env: bool) -> bool:
    """Whether what stands there is a secret, and no word of a sentence or of a program."""
    if len(value) < _LEAST or _NO_VALUE.match(value):
        return False
    if match["scheme"] or _ODD.search(value) is not None:
        return not (match["quoted"] and " " in value and not _WORDS.search(match["name"]))
    if match["quoted"] or is_env:
        return " " not in value and value.lower() != match["name"].lower()
    # Letters alone: in a line of its own, as YAML has it, or tight behind the sign.
    is_tight = match["sign"] == "=" and len(value) > _LEAST + 1
    text, end = match.string, match.end()
    is_line = (end == len(text) or text[end] in "\r\n") and text[: match.start()].rpartition("\n")[2].strip(" -") == ""
    return (is_tight or is_line) and _WORDS.search(match["name"]) is not None


def _flag(match: re.Match[str], hider: Hider) -> str:
    is_secret = is_secret_name(match["name"]) and not _NO_VALUE.match(match["bare"])
    return match["kept"] + (hider.secret(match["bare"]) if is_secret else match["bare"])


def _cookies(match: re.Match[str], hider: Hider) -> str:
    return match["kept"] + _PAIR.sub(lambda pair: _cookie(pair, hider), match["line"])


def _cookie(pair: re.Match[str], hider: Hider) -> str:
    is_attribute = pair["kept"][:-1].lower() in _ATTRIBUTES or pair["bare"].startswith((REDACTED, "~~"))
    return pair[0] if is_attribute else pair["kept"] + hider.secret(pair["bare"])
