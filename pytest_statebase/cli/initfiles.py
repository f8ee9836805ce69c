"""The texts of files that `init` writes, but for workflows."""

from __future__ import annotations

INI_HINTS = {
    "statebase_cassettes": "# statebase_cassettes = fixtures\n",
    "statebase_agent": "# statebase_agent = myapp.agent:SupportAgent\n",
    "statebase_tools": "# statebase_tools =\n#     myapp.tools:*\n",
}
"""How a setting that is not said yet is said, in comments."""

CONFTEST = '''\
"""Tells pytest-statebase which agent the recorded sessions are replayed against."""

import pytest


@pytest.fixture
def statebase_agent():
    """The agent under test: a function, an object, or a class that is made anew for every replay."""
    # from myapp.agent import SupportAgent
    # return SupportAgent
    pytest.fail("conftest.py: return your agent from the fixture statebase_agent", pytrace=False)
'''

_ATTRIBUTES_HEAD = "# Recorded sessions (pytest-statebase): reviews fold them, and no merge mixes two recordings.\n"
ATTRIBUTES = (
    "*.record.yaml    text eol=lf merge=binary linguist-generated=true",
    "*.http.yaml      text eol=lf merge=binary linguist-generated=true",
    "*.pulled.json    text eol=lf merge=binary linguist-generated=true",
    "*.session.yaml   text eol=lf",
    "*.accepted.yaml  text eol=lf",
)
"""The lines of `.gitattributes`: the last that matches a file counts, attribute by attribute."""

_OWNERS = """\
# Who is asked to review what. Put your teams in, and take the `# ` away.
# What a replay expects and what was accepted is the agent's team's to say:
# /{out}/*.session.yaml   @your-org/agent-team
# /{out}/*.accepted.yaml  @your-org/agent-team
# Recordings hold what customers said: who looks after personal data sees each one before it is merged.
# /{out}/*.record.yaml    @your-org/privacy
# /{out}/*.http.yaml      @your-org/privacy
"""


def attributes_text() -> str:
    """A whole `.gitattributes`."""
    return _ATTRIBUTES_HEAD + "".join(f"{line}\n" for line in ATTRIBUTES)


def missing_attributes(text: str) -> list[str]:
    """Those lines whose files a `.gitattributes` says nothing of."""
    known = {line.split()[0] for line in text.splitlines() if line.split()}
    return [line for line in ATTRIBUTES if line.split()[0] not in known]


def owners_text(out: str) -> str:
    """A sample of CODEOWNERS, all of it in comments. out: the directory of the cassettes."""
    return _OWNERS.format(out=out.strip("/"))
