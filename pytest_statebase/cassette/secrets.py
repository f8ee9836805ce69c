"""How secrets look: the names that they have, and the forms of keys that providers publish."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

_ENDS = (
    "apikey", "accesskey", "accesskeyid", "secretkey", "privatekey", "signingkey", "encryptionkey", "masterkey",
    "accountkey", "sharedkey", "servicekey", "subscriptionkey", "functionskey", "authkey", "licensekey", "sessionkey",
    "hmackey", "secret", "password", "passwd", "passphrase", "passcode", "token", "jwt", "authorization",
    "connectionstring", "pwd", "kennwort", "passwort", "apisecret", "secretaccesskey", "webhooksecret",
    "secretkeybase", "securitycode", "cvv", "cvc", "cvv2",
)  # fmt: skip
_NAMES = frozenset({
    "pwd", "otp", "csrf", "xsrf", "bearer", "cookie", "cookies", "setcookie", "credential", "credentials",
    "awscredentials", "clientcredentials", "clientassertion", "codeverifier", "samlresponse", "secretstring",
    "secretvalue", "secrets", "apikeys", "passwords", "passwordconfirmation", "passwordconfirm", "passwordhash",
    "password1", "password2", "accesstokens", "refreshtokens", "idtokens", "authtokens", "apitokens", "bearertokens",
    "sessiontokens", "accesskeys", "secretkeys", "privatekeys",
})  # fmt: skip
_HEADER_ENDS = frozenset({
    "key", "keys", "token", "secret", "credential", "credentials", "password", "auth", "access", "authentication",
})  # fmt: skip
_OPEN_KEYS = frozenset({
    "idempotency", "idempotent", "idempotence", "cache", "caching", "surrogate", "partition", "routing", "sort",
    "public", "publishable", "dedup", "dedupe", "deduplication", "websocket", "correlation", "ordering", "sharding",
    "shard", "message", "group", "grouping", "object", "primary", "foreign", "row", "range", "lookup", "index",
})  # fmt: skip
"""What keys are of that open nothing: `Idempotency-Key`, `Surrogate-Key`."""
_RULES_OF_BROWSERS = ["access", "control"]
_DOUBTFUL = frozenset({"key", "pin", "k", "auth"})
"""Names under which a secret may stand, and mostly something else does: the value tells."""
_IN_ADDRESSES = frozenset({"sig", "signature", "auth", "pass", "hmac", "bearertoken"})
_SIGNED = ("amzsignature", "amzcredential", "googsignature", "googcredential")
_HARMLESS = re.compile(
    r"(?:next|prev|previous|page|pagination|continuation|cursor|sync|delta|resume|skip|eos|bos|pad|unk|sep|cls|mask|stop|"
    r"start|begin|end|first|last|max|min|num|total|input|output|prompt|completion|cached?|special|image|audio|text|"
    r"think|thinking|reasoning|decoder|forced|per)token"
)
"""Cursors of lists, and the tokens of language models."""
_NUMERIC = ("password", "passwd", "pwd", "passcode", "otp", "secret", "cvv", "cvc", "securitycode")
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")


_TELLING = 80
"""Characters at the end of a name that tell what it is."""


def _plain(name: str) -> str:
    return _lowered(name[-_TELLING:])


@lru_cache(4096)
def _lowered(name: str) -> str:
    return _NOT_LETTERS.sub("", name.lower())


def is_secret_name(name: str) -> bool:
    """Whether a field of that name holds a secret: `api_key`, `accessToken`, `X-Vault-Token`, but no `max_tokens`."""
    return _is_secret(name[-_TELLING:])


_own: frozenset[str] = frozenset()
_remembering: list[Callable[[], None]] = []


def set_own_names(names: Iterable[str]) -> None:
    """See `redaction.set_secret_names`."""
    global _own
    _own = frozenset(filter(None, (_lowered(name[-_TELLING:]) for name in names)))
    for forget in _remembering:
        forget()


def remembers_names(forget: Callable[[], None]) -> None:
    """Have a cache of what names mean emptied when `set_own_names` changes it."""
    _remembering.append(forget)


@lru_cache(4096)
def _is_secret(name: str) -> bool:
    plain = _lowered(name)
    return (
        plain in _own
        or plain in _NAMES
        or (plain.endswith(_ENDS) and not (plain.endswith("token") and _is_cursor(plain)))
    )


remembers_names(_is_secret.cache_clear)


def _is_cursor(plain: str) -> bool:
    return any(match.end() == len(plain) for match in _HARMLESS.finditer(plain))


def is_secret_parameter(name: str, value: str) -> bool:
    """The same for a parameter of a query or a form, where signatures and some short names are secrets as well."""
    plain = _plain(name)
    if plain == "key" and plain not in _own:
        return (
            len(value) >= 16 and value.isascii() and any(map(str.isdigit, value)) and _KEY.fullmatch(value) is not None
        )
    if is_doubtful_name(name) and is_secret_value(name, value):
        return True
    return plain in _IN_ADDRESSES or plain.endswith(_SIGNED) or is_secret_name(name)


def is_secret_header(name: str) -> bool:
    """The same for a header, where `X-Hub-Signature` and `X-Shop-Key` are some as well, but no `Idempotency-Key`."""
    plain = _plain(name)
    return "signature" in plain or is_secret_name(name) or _ends_as_secret(name[-_TELLING:].lower())


@lru_cache(4096)
def _ends_as_secret(name: str) -> bool:
    *before, end = re.split(r"[^a-z0-9]+", name)
    if end not in _HEADER_ENDS or (end == "token" and _is_cursor(_lowered(name))) or before[:2] == _RULES_OF_BROWSERS:
        return False
    return not (end in ("key", "keys") and before and before[-1] in _OPEN_KEYS)


def is_doubtful_name(name: str) -> bool:
    """Whether the value of a field of that name may be a secret: ask `is_secret_value`."""
    return _plain(name) in _DOUBTFUL


def is_secret_value(name: str, value: str) -> bool:
    """Whether a value under such a name is one: a PIN of 4 to 8 digits, a key that looks as if thrown with dice.

    Ids are none (UUIDs, ULIDs), nor are check sums, paths and words.
    """
    if _plain(name) == "pin" and _PIN.fullmatch(value):
        return True
    if _plain(name) == "auth" and _are_credentials(value):
        return True
    if not _RANDOM.fullmatch(value) or _CHECK_SUM.fullmatch(value) or _ID.fullmatch(value):
        return False
    longest = max(re.split(r"[_-]+", value.rstrip("=")), key=len)
    kinds = ["d" if one.isdigit() else "u" if one.isupper() else "l" for one in longest]
    changes = sum(one != other for one, other in pairwise(kinds))
    return len(longest) >= _RANDOM_FROM and kinds.count("d") * 8 >= len(longest) and changes * 4 >= len(longest)


def _are_credentials(value: str) -> bool:
    """Whether base64 says a user and a password, as registries of images have them."""
    try:
        said = base64.b64decode(value, validate=True).decode("ascii")
    except ValueError:
        return False
    return said.isprintable() and len(said.partition(":")[2]) > 3


def holds_secret_numbers(name: str) -> bool:
    """Whether a number under that name is a secret, too; of `token` it is a count."""
    return _plain(name).endswith(_NUMERIC)


_KEY = re.compile(r"[A-Za-z0-9_.~-]+")
_PIN = re.compile(r"[0-9]{4,8}")
_RANDOM = re.compile(r"[A-Za-z0-9_+-]{16,512}={0,2}")
_RANDOM_FROM = 16
"""Letters and digits without a break from which on a text may be thrown with dice."""
_CHECK_SUM = re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}|[0-9a-fA-F]{96}|[0-9a-fA-F]{128}")
_ID = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-7][0-9A-HJKMNP-TV-Z]{25}"
)
"""UUIDs and ULIDs."""

FORMATS: Final = re.compile(
    r"""(?<![A-Za-z0-9])(?:
      sk-(?:(?:ant|proj|or|svcacct|admin|live|test)-|(?=[A-Za-z_-]{0,60}[0-9])|(?=[A-Za-z_-]{61})|(?=[A-Za-z0-9]{16}))
      [A-Za-z0-9_-]{16,}
    | (?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}
    | (?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])
    | LTAI[A-Za-z0-9]{16,24}(?![A-Za-z0-9])
    | AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])
    | AQVN[A-Za-z0-9_-]{35,38}(?![A-Za-z0-9])
    | 1//0[A-Za-z0-9_-]{30,}
    | EAA[A-Za-z0-9_-]{56,}
    | sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}
    | ATATT3[A-Za-z0-9_=-]{50,} | ATBB[A-Za-z0-9]{24,} | ATCTT3[A-Za-z0-9_=-]{50,}
    | figd_[A-Za-z0-9_-]{30,}
    | PMAK-[a-f0-9]{24}-[a-f0-9]{34}
    | NR(?:AK|AA|RA|II|JS|IQ)-[A-Za-z0-9_-]{19,}
    | sntry[su]_[A-Za-z0-9+/=_-]{30,}
    | glc_[A-Za-z0-9+/=]{30,}
    | rubygems_[a-f0-9]{40,} | cio[A-Za-z0-9]{32}(?![A-Za-z0-9]) | oy2[a-z0-9]{43}(?![A-Za-z0-9])
    | [A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}
    | dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9.]{40,}
    | (?:fo1|fm[12])_[A-Za-z0-9_+/=-]{40,}
    | (?:rnd|nfp|nfc|vcp|vck|sqp|squ|sqa|tfp|bkua|rdme|pnu|ops|jina|pcsk|napi|figu|ghu|prm|waka|dnkey|ls_)
      _(?=[A-Za-z_.-]{0,24}[0-9])[A-Za-z0-9_.-]{24,}
    | pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}
    | sl\.(?:u\.)?[A-Za-z0-9_-]{60,}
    | dapi[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])
    | HRKU-[A-Za-z0-9_-]{30,}
    | pa-(?=[A-Za-z_-]{0,24}[0-9])[A-Za-z0-9_-]{40,}
    | [0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])
    | key-[0-9a-f]{32}(?![A-Za-z0-9])
    | SK[0-9a-f]{32}(?![A-Za-z0-9])
    | [MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}(?![A-Za-z0-9])
    | access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f-]{27}
    | rzp_(?:live|test)_[A-Za-z0-9]{14,}
    | (?:CFPAT|CCIPAT|FLWSECK(?:_TEST)?|pul)-[A-Za-z0-9_-]{24,} | CCIPAT_[A-Za-z0-9_]{30,}
    | (?:shippo|duffel|sb)_(?:live|test|prod)_[A-Za-z0-9_-]{16,}
    | AGE-SECRET-KEY-1[A-Z0-9]{40,}
    | v[1-4]\.local\.[A-Za-z0-9_-]{32,}
    | EZ[AT]K[A-Za-z0-9]{50,}
    | aio_[A-Za-z0-9]{28}(?![A-Za-z0-9])
    | [A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}
    | t1\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{80,}
    | v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}
    | secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])
    | lin_oauth_[A-Za-z0-9]{32,}
    | gh[pousr]_[A-Za-z0-9]{20,}
    | github_pat_[A-Za-z0-9_]{20,}
    | gl(?:pat|ptt|dt|rt|cbt|oas|soat)-[A-Za-z0-9_-]{16,}
    | xox[abceoprs]-[A-Za-z0-9-]{10,}
    | xapp-[0-9]-[0-9A-Za-z-]{16,}
    | AIza[A-Za-z0-9_-]{30,}
    | ya29\.[A-Za-z0-9_-]{16,}
    | GOCSPX-[A-Za-z0-9_-]{20,}
    | (?:gsk|hf|npm|r8|ntn|glsa|sgp|rpa|fw|tgp_v1)_[A-Za-z0-9]{20,}
    | (?:lsv2_(?:pt|sk)|lin_api|dop_v1|doo_v1|shp(?:at|ca|pa|ss)|sbp|sb_(?:secret|publishable))_[A-Za-z0-9_]{16,}
    | dckr_pat_[A-Za-z0-9_-]{20,}
    | (?:xai|pplx|csk|fc)-[A-Za-z0-9]{32,}
    | tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}
    | nvapi-[A-Za-z0-9_-]{40,}
    | pat[A-Za-z0-9]{14}\.[0-9a-f]{64}
    | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | pypi-[A-Za-z0-9_-]{32,}
    | hv[sbr]\.[A-Za-z0-9_-]{24,}
    )""",
    re.VERBOSE,
)
"""Keys as their providers make them. No look ahead goes far: each of many beginnings would go through the same text."""

SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey|digest|negotiate|oauth|dpop|ssws|bot) +(?=\S)", re.IGNORECASE)
"""How the value of an Authorization header begins."""
PREFIXES: Final = (
    r"sk-(?:ant-|proj-|or-v1-|svcacct-|lf-)?|(?:sk|rk|pk|whsec)_(?:live_|test_)?|AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|"
    r"xox[abceoprs]-|xapp-|AIza|(?:gsk|hf|npm|r8|lsv2_pt|lsv2_sk)_|xai-|SG\.|pypi-|hvs\."
)
_PREFIX = re.compile(PREFIXES)


def prefix_of(key: str) -> str:
    """By what a key is known for its provider's, `sk-` for example; nothing where it is of no known form."""
    match = _PREFIX.match(key)
    return match[0] if match and (match[0] == key or FORMATS.fullmatch(key)) else ""


JSON_WEB_TOKEN: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?P<kept>(?>[A-Za-z0-9_-]*?(?<![A-Za-z0-9])(?=eyJ)))"
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)*"
)
"""What its group `kept` matches stays. If the first `eyJ` before a dot begins none, no later one does."""

IN_CONTEXT: Final = (
    (
        ("Bearer ", "bearer ", "BEARER ", "Basic ", "basic ", "BASIC "),
        re.compile(
            r"(?P<kept>\b(?:[Bb]earer|BEARER|[Bb]asic|BASIC) )(?=[A-Za-z._~+/-]*[0-9])[\w.~+/-]{15,}=*", re.ASCII
        ),
    ),
    (
        ("AccountKey=", "SharedAccessKey="),
        re.compile(r"(?P<kept>\b(?:AccountKey|SharedAccessKey)=)(?!REDACTED)[A-Za-z0-9+/_-]{16,}=*"),
    ),
    (
        ("hooks.slack.com/", "/api/webhooks/"),
        re.compile(
            r"(?P<kept>hooks\.slack\.com/(?:services|workflows)/|/api/webhooks/\d+/)(?!REDACTED)[A-Za-z0-9_/-]{20,}"
        ),
    ),
    (
        ("webhook.office.com/",),
        re.compile(r"(?P<kept>webhook\.office\.com/webhookb2/)(?!REDACTED)[A-Za-z0-9@/_-]{20,}"),
    ),
    (("/bot",), re.compile(r"(?P<kept>/bot)\d{6,}:[A-Za-z0-9_-]{30,}")),
    ((":AA", "AA"), re.compile(r"(?P<kept>)(?<![\w:])\d{8,10}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])")),
    (("AGE-", "Private-Lines"), re.compile(r"(?P<kept>Private-Lines: \d{1,3}\r?\n)(?:[A-Za-z0-9+/=]{16,}\r?\n?)+")),
)
"""What tells that a pattern may match, and the pattern: what its group `kept` matches stays."""

_KEY_BEGINS = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_KEY_WITHOUT_END = re.compile(
    r"(?:(?:\\+[rn]|[\r\n])+[A-Za-z-]{1,40}:(?:[^\r\n\\\"-]++|-(?!----))*+)*+(?:(?:\\+[rn]|\s)*[A-Za-z0-9+/=]{16,})+"
    r"(?:(?:\\+[rn]|\s)+[A-Za-z0-9+/=]{1,15}(?=\W*\Z))?"
)


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Where blocks of private keys begin and end, those without their last line as well."""
    done, has_ends = 0, True
    for begin in _KEY_BEGINS.finditer(text):
        if begin.start() < done:
            continue
        end = _KEY_ENDS.search(text, begin.end()) if has_ends else None
        has_ends = end is not None
        end = end or _KEY_WITHOUT_END.match(text, begin.end())
        if end is not None:
            done = end.end()
            yield begin.start(), done
