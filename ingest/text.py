"""Message bodies as plain text: charset, HTML, mojibake, quoted replies and signatures. What is cut stays in the export.

Deterministic, and careful in one direction: where it is not sure that lines are quoted, they stay.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "center",
        "dd",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
UNSEEN = frozenset(["script", "style", "head", "title", "template", "noscript", "iframe", "object", "svg"])
QUOTE_CLASSES = frozenset(
    [
        "gmail_quote",
        "gmail_extra",
        "moz-cite-prefix",
        "yahoo_quoted",
        "zmail_extra",
        "OutlookMessageHeader",
        "protonmail_quote",
        "quoted",
    ]
)
SIGNATURE_CLASSES = frozenset(["gmail_signature", "moz-signature", "signature", "protonmail_signature_block"])
QUOTED = re.compile(r"[ \t]*(?:>|&gt;)")
WROTE = re.compile(
    r"[ \t]*(?:On\b.{4,200}\bwrote|Am\b.{4,200}\bschrieb.{0,100}|Le\b.{4,200}\ba écrit|El\b.{4,200}\bescribió"
    r"|Il\b.{4,200}\bha scritto|Op\b.{4,200}\bschreef.{0,100})[ \t]*:[ \t]*"
)
ORIGINAL = re.compile(
    r"[ \t]*(?:-{2,}[ \t]*(?:Original Message|Ursprüngliche Nachricht|Original-Nachricht|Forwarded message|Message d'origine)"
    r"[ \t]*-{2,}|_{20,}|#{2,}[ \t]*- Please type your reply above this line -[ \t]*#{2,})[ \t]*",
    re.IGNORECASE,
)
HEADER = re.compile(r"[ \t]*\*?(?:From|Von|De|Sent|Gesendet|Envoyé|To|An|À|Date|Datum|Subject|Betreff|Objet)\*?[ \t]*:.+")
SIGNATURE = re.compile(r"--[ \t]?")
LANGUAGES = ("en", "de", "fr", "es", "it", "nl")


def decode(raw: bytes, fallback: str | None) -> tuple[str, bool]:
    """Text of bytes that should be UTF-8, and whether `fallback` had to be taken. UnicodeDecodeError where neither fits."""
    try:
        return raw.decode("utf-8"), False
    except UnicodeDecodeError:
        if fallback is None:
            raise
        return raw.decode(fallback), True


@cache
def _ftfy_config() -> Any:
    from ftfy import TextFixerConfig

    # Only what a wrong charset did is undone: quotes, ligatures, widths and composition stay as people wrote them.
    return TextFixerConfig(
        unescape_html=False, uncurl_quotes=False, fix_latin_ligatures=False, fix_character_width=False, normalization=None
    )


def repaired(text: str) -> str:
    """Undoes mojibake ("GrÃ¼Ã\\x9fe" -> "Grüße"), stray control characters and CRLF; text without them passes unchanged."""
    if text.isascii() and text.isprintable():
        return text
    from ftfy import fix_text

    return str(fix_text(text, _ftfy_config()))


def html_text(html: str, *, quoted: bool = False) -> str:
    """What a reader sees of an HTML body, one block a line; without quoted blocks and signatures (unless `quoted`), where
    anything else stays."""
    from selectolax.lexbor import LexborHTMLParser

    body = LexborHTMLParser(html).body
    if body is None:
        return ""
    own = "" if quoted else _tidied(_shown(body, quotes=False))
    return own or _tidied(_shown(body, quotes=True))


def _shown(body: LexborNode, *, quotes: bool) -> str:
    out: list[str] = []
    node: Any = body.first_child
    depth: list[Any] = []
    while node is not None or depth:
        if node is None:
            closed = depth.pop()
            if closed.tag in BLOCKS:
                out.append("\n")
            node = closed.next
            continue
        tag = node.tag
        if tag == "-text":
            out.append(re.sub(r"[ \t\r\n\f]+", " ", node.text_content or ""))
        elif tag == "br":
            out.append("\n")
        elif tag is None or tag in UNSEEN or tag.startswith("-") or (not quotes and _cut(node)):
            out.append("\n" if tag in BLOCKS else "")
        else:
            if tag in BLOCKS:
                out.append("\n")
            if tag == "li":
                out.append("- ")
            if node.first_child is not None:
                depth.append(node)
                node = node.first_child
                continue
            if tag in BLOCKS:
                out.append("\n")
        node = node.next
    return "".join(out)


def _cut(node: Any) -> bool:
    classes = set((node.attributes.get("class") or "").split())
    return node.tag == "blockquote" or bool(classes & (QUOTE_CLASSES | SIGNATURE_CLASSES))


def _tidied(text: str) -> str:
    lines = [re.sub(r"[ \u00a0]+", " ", line).strip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def own_words(text: str) -> str:
    """`text` without quoted earlier messages and without a signature; unchanged where nothing would be left.

    Quoted lines (">") and the line that announces them go, answers written between them stay. After a header block of a mail
    program, or an announcement that unmarked text follows, everything goes.
    """
    lines = text.split("\n")
    if not any(_telling(line) for line in lines):
        return text
    kept: list[str] = []
    signature = False
    below = [""]
    for line in reversed(lines[1:]):
        below.append(line if line.strip() else below[-1])
    for index, (line, after) in enumerate(zip(lines, reversed(below), strict=True)):
        if QUOTED.match(line):
            signature = False
        elif WROTE.fullmatch(line):
            signature = False
            if after and not QUOTED.match(after):
                break
        elif ORIGINAL.fullmatch(line) or (HEADER.match(line) and _header_block(lines, index)):
            break
        elif SIGNATURE.fullmatch(line):
            signature = True
        elif not signature:
            kept.append(line)
    own = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    if not own:
        return text
    return _by_library(own) or own


def _telling(line: str) -> bool:
    """Whether a line may begin or be something quoted; most messages have none."""
    whole = WROTE.fullmatch(line) or ORIGINAL.fullmatch(line) or SIGNATURE.fullmatch(line)
    return bool(whole or QUOTED.match(line) or HEADER.match(line))


def _header_block(lines: list[str], index: int) -> bool:
    """Three mail headers in a row are a quoted mail; one line such as "Date: 3 May" is what somebody wrote."""
    return all(index + more < len(lines) and HEADER.match(lines[index + more]) for more in range(3))


def _by_library(text: str) -> str:
    from mailparser_reply import EmailReplyParser

    mail = EmailReplyParser(languages=list(LANGUAGES)).read(text)
    first = mail.replies[0].content if mail.replies else ""
    return str(first).strip()


def message_text(*, plain: str | None, html: str | None, body: str | None) -> str:
    """The text of a message from the forms an export gives: the plain one, else the HTML, else the raw body."""
    if plain and plain.strip():
        text = plain
    elif html and html.strip():
        text = html_text(html)
    else:
        text = body or ""
    return own_words(repaired(text))
