"""Whether Markdown holds nothing but what the package itself says: read as GitHub reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

_OWN_HTML = re.compile(r"<!-- pytest-statebase -->|<details>|<summary>[\w ,]+</summary>|</details>")
_LIVE = re.compile(r"@|#\d|https?:|www\.|[0-9a-f]{7}|:\w+:|\$|!\d|\[|\]|^/", re.MULTILINE)
"""What becomes a mention, a reference, a link, a picture, mathematics or a command beside Markdown's own syntax."""
_KNOWN = {
    *(
        "paragraph",
        "heading",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "bullet_list",
        "list_item",
        "strong",
        "link",
    ),
}
_PLAIN = {"inline", "text", "softbreak", "code_inline", "fence", "html_block", "html_inline"}


def tokens(text: str) -> Iterator[Token]:
    """All tokens, inline ones in the place of what they stand in."""
    for token in MarkdownIt("gfm-like").parse(text):
        yield token
        yield from token.children or ()


def assert_inert(text: str, page: str | None = None) -> list[str]:
    """Nothing in the text is markup, a link, a picture, a mention, a reference or HTML but the package's own.

    page: where its own links may lead. Returns what stands in code spans and fenced blocks.
    """
    # What GitLab ran as a command before it had a parser, whatever stood around it.
    assert not re.search(r"^/", text, re.MULTILINE), text
    recorded = []
    for token in tokens(text):
        kind = token.type.removesuffix("_open").removesuffix("_close")
        assert kind in _KNOWN | _PLAIN, (kind, token)
        if kind in ("html_block", "html_inline"):
            for line in token.content.split("\n"):
                assert not line or _OWN_HTML.fullmatch(line), line
        elif token.type == "link_open":
            assert page is not None
            assert re.fullmatch(re.escape(page) + r"(#s-[0-9a-f]{10}(-x\d+)?(-\d+)?)?", str(token.attrs["href"]))
        elif kind == "text":
            assert not _LIVE.search(token.content), token.content
        elif kind in ("code_inline", "fence"):
            recorded.append(token.content)
    return recorded
