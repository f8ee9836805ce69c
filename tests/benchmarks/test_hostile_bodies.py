"""Taking secrets out of hostile bodies: four times the text may take about four times as long, not sixteen times."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from pytest_benchmark.fixture import BenchmarkFixture

from pytest_statebase.cassette.redaction import redacted
from pytest_statebase.wire.exchange import Request
from tests.benchmarks.test_http_recordings import seconds

SMALL = 60_000
ATOMS = [
    *('"', "'", "\\", '\\"', "\n", " ", "a", "aa.", "-", "=", "/", "&", "%", "@", "<", "é", "{", "[", "A" * 20 + " "),
    *('"password":"', '"passwords":["', '"passwords":["",', '"passwords":[1,', '\\"password\\":\\"', "'password':\""),
    *('"token":"', '"token":"x","logprob":1,', '", "logprob"', "?a=", "&password=x", "\\u0026a=", "://a:b", "#"),
    *('"token":{', '"token":{"value":"', '"tokens":[{', '"name":"token",', '"value":"x",', '\\"token\\":{', "}"),
    *("<a ", "<a>", "<a:", "<password>", "</", "name=\"", "\r\n--b\r\n", '; name="token"\r\n\r\n', "--b", "--"),
    *("sk-", "-sk-", "sk-a", "sk-ant-", "sk_", "AKIA", "-eyJaaaaaaaa", "eyJaaaaaaaa.", "eyJaaaaaaaa.a.", ".eyJ"),
    *("-SG.", "SG.aaaaaaaaaaaaaaaa", "pat" + "a" * 14 + ".", "ghp_", "xapp-", "tvly-dev-", "hooks.slack.com/services/"),
    *("-----BEGIN ", "-----BEGIN A ", "-----BEGIN PRIVATE KEY-----", "-----END ", "-----END PRIVATE KEY-----", "A "),
    *("-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nA: ", "-----BEGIN PRIVATE KEY-----" + "A" * 17),
    *("password=", "Password: x", "a=b=", "--token x ", "-u a:", "login a password ", "cookie: a=b; ", " :=", "a:b:c:"),
    *("call me at 0", "0 1 2 3 ", "0049 12 34 ", "de1234567890", '"phone":"0', "a%40", "my password is ", "pin 123 "),
    *("A.atlasv1.", "8Q~", "12345678:AA", "Private-Lines: 1\n", "1//0", "EAA", "~~card~0~", "(0", "02/"),
    *("Bearer ", "Bearer aaaaaaaaaaaaaaaaaa ", "AccountKey=", "/api/webhooks/", "/bot", "/bot111111:"),
]  # fmt: skip
"""What patterns begin with, their letters, and what is almost one of them."""
KINDS = ["application/json", "multipart/form-data; boundary=b", "application/x-www-form-urlencoded"]


def repeated(part: str) -> Callable[[int], str]:
    return lambda size: (part * (size // len(part) + 1))[:size]


def shapes() -> Iterator[tuple[str, Callable[[int], str]]]:
    """Texts that are made in any size."""
    for atom in ATOMS:
        yield atom, repeated(atom)
    dice = random.Random(7)
    for _ in range(100):
        mixed = "".join(dice.choices(ATOMS, k=dice.randint(2, 4)))
        yield mixed, repeated(mixed)
    for atom in ATOMS[20:]:
        run = dice.choice(ATOMS[:20])
        yield f"{atom} and a run of {run}", lambda size, atom=atom, run=run: atom + repeated(run)(size)
    yield "keys that differ", lambda size: " ".join(f"sk-{number:020}" for number in range(size // 24))
    yield "names that differ", lambda size: "".join(f'"n{number}password":"x",' for number in range(size // 20))
    yield "levels of escapes", levels


def levels(size: int) -> str:
    """Tokens of a model, each inside of another."""
    before, after = [], []
    for level in range(int(size**0.5)):
        escape = "\\" * level
        before.append(f'"token{escape}":{escape}"')
        after.append(f'{escape}","logprob":1')
    return "".join([*before, *reversed(after)])


def growth(make: Callable[[int], str], kind: str) -> float:
    """How many times longer four times the text takes."""
    small, large = [
        Request("POST", "https://x.test/", (("content-type", kind),), make(n).encode()) for n in (SMALL, SMALL * 4)
    ]
    # Below a thousandth of a second nothing can be told.
    return seconds(lambda: redacted(large), rounds=2) / max(seconds(lambda: redacted(small), rounds=2), 0.001)


def test_hostile_bodies(benchmark: BenchmarkFixture) -> None:
    found = {(name, kind): growth(make, kind) for name, make in shapes() for kind in KINDS}
    # Whatever else runs on the machine may spoil a figure once.
    makers = dict(shapes())
    found |= {key: min(ratio, growth(makers[key[0]], key[1])) for key, ratio in found.items() if ratio > 8}
    assert not {key: ratio for key, ratio in found.items() if ratio > 8}
    benchmark.extra_info.update(shapes=len(found), ratio_at_four_times_the_text=round(max(found.values()), 1))
    text = repeated("-----BEGIN PRIVATE KEY-----\n")(1_000_000).encode()
    benchmark.pedantic(redacted, args=(Request("POST", "https://x.test/", (), text),), rounds=1)
