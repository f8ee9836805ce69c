"""Keys in the forms that their providers publish."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from .case import ALNUM, DIGITS, HEX, LOWER, UPPER, Case, thrown
from .places import ANYWHERE

_URL = ALNUM + "-_"
_FORMS: tuple[tuple[str, str, str, int], ...] = (
    ("openai", "sk-", ALNUM, 48),
    ("openai project", "sk-proj-", _URL, 64),
    ("openai service", "sk-svcacct-", _URL, 64),
    ("openai admin", "sk-admin-", _URL, 64),
    ("anthropic", "sk-ant-api03-", _URL, 93),
    ("openrouter", "sk-or-v1-", HEX, 64),
    ("deepseek", "sk-", HEX, 32),
    ("langfuse", "sk-lf-", HEX, 36),
    ("groq", "gsk_", ALNUM, 52),
    ("hugging face", "hf_", ALNUM, 34),
    ("replicate", "r8_", ALNUM, 37),
    ("perplexity", "pplx-", ALNUM, 48),
    ("xai", "xai-", ALNUM, 80),
    ("fireworks", "fw_", ALNUM, 24),
    ("together", "tgp_v1_", ALNUM, 43),
    ("cerebras", "csk-", LOWER + DIGITS, 48),
    ("nvidia", "nvapi-", _URL, 64),
    ("langsmith", "lsv2_pt_", HEX, 43),
    ("langsmith old", "ls__", HEX, 32),
    ("tavily", "tvly-dev-", ALNUM, 32),
    ("firecrawl", "fc-", HEX, 32),
    ("elevenlabs", "sk_", HEX, 48),
    ("voyage", "pa-", _URL, 43),
    ("jina", "jina_", ALNUM, 60),
    ("pinecone", "pcsk_", ALNUM, 70),
    ("runpod", "rpa_", ALNUM, 44),
    ("google", "AIza", _URL, 35),
    ("google oauth", "ya29.", _URL, 80),
    ("google refresh", "1//0", _URL, 60),
    ("google client", "GOCSPX-", _URL, 28),
    ("aws", "AKIA", UPPER + "234567", 16),
    ("aws session", "ASIA", UPPER + "234567", 16),
    ("alibaba", "LTAI", ALNUM, 20),
    ("tencent", "AKID", ALNUM, 32),
    ("yandex", "AQVN", _URL, 36),
    ("digitalocean", "dop_v1_", HEX, 64),
    ("heroku", "HRKU-", HEX, 36),
    ("databricks", "dapi", HEX, 32),
    ("planetscale", "pscale_tkn_", _URL, 43),
    ("supabase", "sbp_", HEX, 40),
    ("neon", "napi_", LOWER + DIGITS, 64),
    ("render", "rnd_", ALNUM, 28),
    ("netlify", "nfp_", ALNUM, 36),
    ("fly", "fo1_", _URL, 43),
    ("doppler", "dp.pt.", ALNUM, 43),
    ("vault", "hvs.", _URL, 90),
    ("pulumi", "pul-", HEX, 40),
    ("stripe", "sk_live_", ALNUM, 24),
    ("stripe test", "sk_test_", ALNUM, 24),
    ("stripe restricted", "rk_live_", ALNUM, 24),
    ("stripe webhook", "whsec_", ALNUM, 32),
    ("square", "sq0atp-", _URL, 22),
    ("square token", "EAAA", _URL, 60),
    ("facebook", "EAAB", ALNUM, 120),
    ("razorpay", "rzp_live_", ALNUM, 14),
    ("flutterwave", "FLWSECK_TEST-", HEX, 34),
    ("shippo", "shippo_live_", HEX, 40),
    ("easypost", "EZAK", ALNUM, 54),
    ("shopify", "shpat_", HEX, 32),
    ("twilio", "SK", HEX, 32),
    ("mailgun", "key-", HEX, 32),
    ("slack bot", "xoxb-", DIGITS, 12),
    ("github", "ghp_", ALNUM, 36),
    ("github app", "ghs_", ALNUM, 36),
    ("github fine", "github_pat_", ALNUM + "_", 82),
    ("gitlab", "glpat-", _URL, 20),
    ("gitlab deploy", "gldt-", _URL, 20),
    ("atlassian", "ATATT3", _URL, 180),
    ("bitbucket", "ATBB", ALNUM, 32),
    ("linear", "lin_api_", ALNUM, 40),
    ("notion", "ntn_", ALNUM, 46),
    ("notion old", "secret_", ALNUM, 43),
    ("figma", "figd_", _URL, 40),
    ("new relic", "NRAK-", UPPER + DIGITS, 27),
    ("sentry", "sntryu_", HEX, 64),
    ("grafana", "glsa_", ALNUM, 32),
    ("grafana cloud", "glc_", ALNUM, 60),
    ("npm", "npm_", ALNUM, 36),
    ("pypi", "pypi-", _URL, 170),
    ("rubygems", "rubygems_", HEX, 48),
    ("crates", "cio", ALNUM, 32),
    ("docker", "dckr_pat_", _URL, 27),
    ("buildkite", "bkua_", HEX, 40),
    ("sonarqube", "squ_", HEX, 40),
    ("prefect", "pnu_", ALNUM, 36),
    ("contentful", "CFPAT-", _URL, 43),
    ("typeform", "tfp_", _URL, 59),
    ("adafruit", "aio_", ALNUM, 28),
    ("age", "AGE-SECRET-KEY-1", UPPER + DIGITS, 58),
    ("paseto", "v4.local.", _URL, 120),
    ("dropbox", "sl.", _URL, 130),
    ("statebase", "sb_live_", ALNUM, 32),
)


def _odd_forms() -> Iterator[tuple[str, str]]:
    yield "slack user", f"xoxp-{thrown('sl1', DIGITS, 12)}-{thrown('sl2', DIGITS, 12)}-{thrown('sl3', HEX, 32)}"
    yield (
        "slack app",
        f"xapp-1-A{thrown('sa1', UPPER, 10)}-{thrown('sa2', DIGITS, 13)}-{thrown('sa3', HEX, 64)}",
    )
    yield "sendgrid", f"SG.{thrown('sg1', _URL, 22)}.{thrown('sg2', _URL, 43)}"
    yield "airtable", f"pat{thrown('at1', ALNUM, 14)}.{thrown('at2', HEX, 64)}"
    yield "mailchimp", f"{thrown('mc', HEX, 32)}-us12"
    yield "discord", f"M{thrown('d1', ALNUM, 25)}.{thrown('d2', _URL, 6)}.{thrown('d3', _URL, 38)}"
    yield "postman", f"PMAK-{thrown('p1', HEX, 24)}-{thrown('p2', HEX, 34)}"
    yield "terraform", f"{thrown('tf1', ALNUM, 14)}.atlasv1.{thrown('tf2', _URL, 67)}"
    yield "plaid", "access-production-" + "-".join(thrown(f"pl{n}", HEX, n) for n in (8, 4, 4, 4, 12))
    yield "azure client", f"{thrown('az1', ALNUM, 3)}8Q~{thrown('az2', ALNUM + '_~.-', 34)}"
    yield "json web token", _json_web_token()
    yield "cloudflare", f"v1.0-{thrown('cf1', HEX, 24)}-{thrown('cf2', HEX, 146)}"


def _json_web_token() -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "J", "iat": 1516239022}]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, thrown("jwt", _URL, 43)])


def _in_context() -> Iterator[Case]:
    bot = f"{thrown('tg1', DIGITS, 10)}:AA{thrown('tg2', _URL, 33)}"
    yield Case("key", "telegram", bot, {"note": f"the bot's token: {bot}"})
    yield Case("key", "telegram address", bot, f"https://api.telegram.org/bot{bot}/sendMessage")
    azure = base64.b64encode(thrown("az", ALNUM, 64).encode()).decode()
    text = f"DefaultEndpointsProtocol=https;AccountName=corp;AccountKey={azure};EndpointSuffix=core.windows.net"
    yield Case("key", "azure storage", azure, {"connection": text})
    bus = base64.b64encode(thrown("sb", ALNUM, 32).encode()).decode()
    text = f"Endpoint=sb://corp.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={bus}"
    yield Case("key", "azure bus", bus, text)
    signature = thrown("sas", ALNUM, 43) + "%3D"
    yield Case(
        "key", "azure sas", signature, f"https://corp.blob.core.windows.net/c/f.txt?sv=2022-11-02&sig={signature}"
    )
    hook = f"T{thrown('h1', UPPER + DIGITS, 8)}/B{thrown('h2', UPPER + DIGITS, 8)}/{thrown('h3', ALNUM, 24)}"
    yield Case("key", "slack hook", hook, f"post to https://hooks.slack.com/services/{hook}")
    hook = thrown("dh", _URL, 68)
    yield Case("key", "discord hook", hook, f"https://discord.com/api/webhooks/{thrown('di', DIGITS, 18)}/{hook}")
    signed = thrown("s3", HEX, 64)
    url = f"https://corp.s3.amazonaws.com/f?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=900&X-Amz-Signature={signed}"
    yield Case("key", "aws signature", signed, {"link": url})
    secret = thrown("aws secret", ALNUM + "/+", 40)
    yield Case("key", "aws secret", secret, f"[default]\naws_access_key_id = x\naws_secret_access_key = {secret}\n")
    yield Case("key", "aws secret in JSON", secret, json.dumps({"SecretAccessKey": secret, "Expiration": "2026"}))
    for kind in ("RSA ", "EC ", "OPENSSH ", ""):
        body = thrown(f"pem {kind}", ALNUM + "+/", 256)
        lines = "\n".join(body[at : at + 64] for at in range(0, 256, 64))
        pem = f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----\n"
        yield Case("key", f"pem {kind}", body[64:128], {"file": pem})
        yield Case("key", f"pem {kind}in JSON", body[64:128], json.dumps({"pem": pem}))
    body = thrown("pgp", ALNUM + "+/", 128)
    pem = (
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{body[:64]}\n{body[64:]}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----"
    )
    yield Case("key", "pgp", body[64:], pem)
    data = base64.b64encode(pem.encode()).decode()
    yield Case("key", "kubeconfig", data[80:160], f"users:\n- name: x\n  user:\n    client-key-data: {data}\n")


def keys() -> Iterator[Case]:
    """Every form in one place, and the places in turn."""
    forms = [(name, begin + thrown(name, letters, size)) for name, begin, letters, size in _FORMS]
    for number, (name, value) in enumerate([*forms, *_odd_forms()]):
        place = ANYWHERE[number % len(ANYWHERE)]
        yield Case("key", f"{name} in {place.__name__.strip('_')}", value, place(value))
    yield from _in_context()
