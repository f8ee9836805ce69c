"""Secrets without a form of their own: the name that they stand under tells."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from .case import ALNUM, HEX, Case, thrown

_PASS = "Tr0ub4dor&" + thrown("pass", ALNUM, 4)
_PLAIN = "hunter" + thrown("plain", "123456789", 3)
_WORDS = "correct-horse-battery"
_RANDOM = thrown("random", ALNUM, 32)
_HEX = thrown("hex", HEX, 40)


def named() -> Iterator[Case]:
    """By name in every notation."""
    for name, value, carrier in [*_in_data(), *_in_texts(), *_in_prose()]:
        yield Case("named", name, value, carrier)


def _in_data() -> list[tuple[str, str, Any]]:
    return [
        ("password", _PASS, {"user": "jane", "password": _PASS}),
        ("plain password", _PLAIN, {"login": {"pwd": _PLAIN}}),
        ("words as a password", _WORDS, {"password": _WORDS}),
        ("told again", _PLAIN, [{"said": f"Your password is still {_PLAIN}, yes"}, {"password": _PLAIN}]),
        ("apiKey", _RANDOM, {"apiKey": _RANDOM}),
        ("access_token", _RANDOM, {"data": {"access_token": _RANDOM, "expires_in": 3600}}),
        ("refresh tokens", _RANDOM, {"refresh_tokens": [_RANDOM]}),
        ("client secret as an object", _RANDOM, {"client_secret": {"id": "s1", "value": _RANDOM}}),
        ("name and value", _RANDOM, {"variables": [{"name": "DB_PASSWORD", "value": _RANDOM}]}),
        ("header name and value", _RANDOM, {"headers": [{"name": "X-Api-Key", "value": _RANDOM}]}),
        ("headers", _RANDOM, {"headers": {"X-Vault-Token": _RANDOM}}),
        ("cookie header", _RANDOM, {"headers": {"Cookie": f"session={_RANDOM}"}}),
        ("basic header", "amFuZTpo", {"headers": {"Authorization": "Basic " + "amFuZTpo" + "dW50ZXIy"}}),
        ("private key", _RANDOM, {"privateKey": _RANDOM}),
        ("pin", "482913", {"pin": "482913"}),
        ("pin as a number", "482914", {"pin": 482914}),
        ("password as a number", "77120345", {"password": 77120345}),
        ("cvv", "7391", {"card": {"cvv": "7391"}}),
        ("otp", "551734", {"otp": "551734"}),
        ("docker auth", "cm9ib3Q6", {"auths": {"r.corp.com": {"auth": base64.b64encode(b"robot:Zx81kQ").decode()}}}),
        ("JSON in a text", _PASS, {"body": json.dumps({"password": _PASS})}),
        ("JSON in JSON", _RANDOM, {"body": json.dumps({"args": json.dumps({"api_key": _RANDOM})})}),
        ("JSON cut off", _RANDOM, '{"user": "x", "api_key": "' + _RANDOM),
        ("Python's repr", _RANDOM, str({"user": "x", "api_key": _RANDOM})),
        ("secret name of a project", _RANDOM, {"zugangswort": _RANDOM, "x": 1}),
    ]


def _in_texts() -> list[tuple[str, str, Any]]:
    form = f"user=jane&password={quote(_PASS, safe='')}&remember=1"
    return [
        ("env", _PASS, f"HOME=/root\nDB_PASSWORD={_PASS}\nLANG=C\n"),
        ("env of letters", _WORDS, f"export PGPASSWORD={_WORDS}\n"),
        ("env key", _RANDOM, f"STRIPE_KEY={_RANDOM}\nDEBUG=1\n"),
        ("env in one line", _RANDOM, f"docker run -e API_TOKEN={_RANDOM} -e TIER=gold app:1.2"),
        ("quoted env", _PASS, f'SECRET_KEY_BASE="{_PASS}"'),
        ("yaml", _PASS, f"database:\n  host: db\n  password: {_PASS}\n  port: 5432\n"),
        ("yaml of letters", _WORDS, f"auth:\n  user: app\n  password: {_WORDS}\n"),
        ("yaml quoted", _RANDOM, f"api_key: '{_RANDOM}'\nregion: eu\n"),
        ("toml", _RANDOM, f'[api]\ntoken = "{_RANDOM}"\ntimeout = 30\n'),
        ("ini", _PASS, f"[client]\nuser = root\npassword = {_PASS}\n"),
        ("logfmt", _RANDOM, f"level=info access_token={_RANDOM} status=200"),
        ("log line", _RANDOM, f"INFO auth: token={_RANDOM}, user=jane"),
        ("header line", _HEX, f"> POST /v1\n> X-Auth-Token: {_HEX}\n> Accept: */*"),
        ("authorization line", _RANDOM, f"Authorization: Token {_RANDOM}\nAccept: */*"),
        ("cookie line", _RANDOM, f"GET / HTTP/1.1\nCookie: theme=dark; sessionid={_RANDOM}\n"),
        ("set-cookie line", _RANDOM, f"Set-Cookie: sid={_RANDOM}; Path=/; HttpOnly"),
        ("url userinfo", _PLAIN, f"postgres://app:{_PLAIN}@db.corp.com:5432/orders"),
        ("redis url", _RANDOM, f"REDIS_URL=redis://:{_RANDOM}@cache.corp.com:6379/0"),
        ("connection string", _PASS, f"Server=db;Database=shop;User Id=sa;Password={_PASS};Encrypt=true"),
        ("odbc", _PLAIN, f"Driver={{x}};Server=db;Uid=app;Pwd={_PLAIN};"),
        ("query", _RANDOM, f"https://api.corp.com/v1?api_key={_RANDOM}&page=1"),
        ("fragment", _RANDOM, f"https://app.corp.com/cb#access_token={_RANDOM}&state=1"),
        ("form", quote(_PASS, safe=""), form),
        (
            "xml",
            _PASS.replace("&", "+"),
            f"<login><user>x</user><password>{_PASS.replace('&', '+')}</password></login>",
        ),
        ("curl header", _RANDOM, f"curl -H 'X-Api-Key: {_RANDOM}' https://api.corp.com"),
        ("curl user", _PLAIN, f"curl -u jane:{_PLAIN} https://api.corp.com"),
        ("flag", _RANDOM, f"deploy --region eu --token {_RANDOM} --yes"),
        ("netrc", _PLAIN, f"machine api.corp.com login jane password {_PLAIN}"),
        ("npmrc", _RANDOM, f"//registry.corp.com/:_authToken={_RANDOM}\n"),
        ("python code", _RANDOM, f'client = Client(api_key="{_RANDOM}", timeout=3)'),
        ("stack trace", _PASS, f"TypeError: connect(host='db', password='{_PASS}') got an unexpected keyword"),
        ("go struct", _RANDOM, f'{{Host:"db" Token:"{_RANDOM}"}}'),
        ("multipart", _PLAIN, f'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\npassword={_PLAIN}\r\n--b--'),
        ("base64 of JSON", _PASS, {"state": base64.b64encode(json.dumps({"password": _PASS}).encode()).decode()}),
        ("sse", _RANDOM, f'data: {{"auth": {{"access_token": "{_RANDOM}"}}}}\n\n'),
    ]


def _in_prose() -> list[tuple[str, str, Any]]:
    return [
        ("password in a chat", _PLAIN, f"Sure, my password is {_PLAIN}. Can you log in for me?"),
        ("German", _PASS, f"Mein Passwort lautet {_PASS}, danke!"),
        ("with a colon", _PASS, f"Password: {_PASS}\nPlease keep it."),
        ("PIN in a chat", "4827", "the PIN is 4827 by the way"),
        ("code in a chat", "839201", "Your verification code: 839201"),
        ("CVV in a chat", "917", "and the CVV is 917, valid until 04/29"),
        ("key in a chat", _RANDOM, f"Use this API key: {_RANDOM}"),
    ]
