"""Texts of a mail from its bytes: charsets, encoded words (RFC 2047), flowed lines (RFC 3676), addresses, quoted parts."""

from __future__ import annotations

import binascii
import codecs
import quopri
import re
from array import array
from email.utils import getaddresses
from zlib import crc32

from ingest.source import RowFault
from ingest.text import HEADER, ORIGINAL, QUOTED, WROTE, own_words, repaired

WORD = re.compile(r"=\?([^?\s]{1,60})\?([bq])\?([^?\r\n]*)\?=", re.IGNORECASE)
BETWEEN = re.compile(r"(\?=)\s+(?==\?[^?\s]{1,60}\?[bqBQ]\?)")
ADDRESS = re.compile(r"[^\s<>\"',;:()\[\]@]{1,120}@[A-Za-z0-9.-]{1,200}[A-Za-z0-9]")
HALVES = re.compile("[\ud800-\udfff]")
ALIASES = {
    "iso-8859-8-i": "iso-8859-8", "x-sjis": "cp932", "shift_jis": "cp932", "x-gbk": "gb18030", "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949", "euc-kr": "cp949", "unicode-1-1-utf-7": "utf-7", "ansi_x3.4-1968": "ascii", "us-ascii": "ascii",
    "iso-2022-jp": "iso2022_jp_ext",
}  # fmt: skip
"""Names that mails use, and the charset that holds all its characters (as the WHATWG's standard of encodings reads them)."""
NO_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"})
"""Python's codecs that are no charset of mails (and some take time that grows with the square of the text)."""
MOST_HEADER = 65_536
"""Characters of a header that are read; a longer one is cut and counted."""
MOST_ADDRESSES = 2_000
SAID_BY = re.compile(r"\W*(?:from|von|de|van|da)\W*:", re.IGNORECASE)
SHINGLE = 4
"""Words in a row that are compared between a quote and the mail that it may be of: breaks of lines do not matter then."""
MOST_SHINGLES = 2_000


def decoded(raw: bytes, charset: str | None, fallback: str | None) -> tuple[str, bool]:
    """Text of bytes by the charset that the mail names, else UTF-8, else `fallback`; and whether the named one did not fit.

    RowFault where none fits.
    """
    named = (charset or "us-ascii").strip().strip("\"'").casefold()
    for index, name in enumerate((ALIASES.get(named, named), "utf-8", fallback)):
        if name is None:
            continue
        try:
            if codecs.lookup(name).name.replace("_", "-") in NO_CHARSETS:
                continue
            text = raw.decode(name)
        except (LookupError, UnicodeError, ValueError):
            continue
        return _whole(text), index > (1 if charset is None else 0)
    allowed = "the charset named, UTF-8" + (f" or {fallback}" if fallback else "")
    raise RowFault("bytes are no text", field="body", found=f"{len(raw)} bytes", allowed=allowed)


def _whole(text: str) -> str:
    """Without halves of characters (some charsets can name them alone), which no file of text may hold."""
    return text.encode("utf-8", "replace").decode("utf-8") if HALVES.search(text) else text


def header_text(value: str, fallback: str | None) -> str:
    """A header as `email` keeps it raw (8-bit bytes as surrogates), on one line, as text. Encoded words stay."""
    flat = " ".join(value[:MOST_HEADER].split())
    try:
        flat.encode("utf-8")
    except UnicodeEncodeError:
        flat = decoded(
            flat.encode("ascii", "surrogateescape") if _bytewise(flat) else flat.encode("utf-8", "replace"), None, fallback
        )[0]
    return flat.replace("\0", "")


def _bytewise(text: str) -> bool:
    return all(c < "\x80" or "\udc80" <= c <= "\udcff" for c in text)


def words_decoded(text: str, fallback: str | None) -> str:
    """`text` with its encoded words read; one that cannot be read stays as it stands. Words of one charset may share a
    character between them (against RFC 2047, but usual): their bytes are joined before they are read."""
    flat = BETWEEN.sub(r"\1", text)
    out: list[str] = []
    end, held, charset = 0, b"", ""

    def told() -> str:
        try:
            return decoded(held, charset, fallback)[0] if held else ""
        except RowFault:
            return "\ufffd"

    for match in WORD.finditer(flat):
        raw = _word_bytes(match[2], match[3])
        between = flat[end : match.start()]
        named = match[1].partition("*")[0].casefold()
        if between or raw is None or named != charset:
            out += [told(), between]
            held, charset = b"", named
        if raw is None:
            out.append(match[0])
        else:
            held += raw
        end = match.end()
    out += [told(), flat[end:]]
    return repaired("".join(out)).strip()


def _word_bytes(kind: str, body: str) -> bytes | None:
    try:
        if kind.lower() == "q":
            return quopri.decodestring(body.replace("_", " ").encode("ascii"), header=True)
        return binascii.a2b_base64(body.encode("ascii") + b"=" * (-len(body) % 4))
    except (binascii.Error, UnicodeEncodeError):
        return None


def from_base64(text: str) -> tuple[bytes, bool]:
    """The bytes of base64 (RFC 2045, 6.8) as far as they go, and whether it was cut off. Characters that are none of its alphabet
    are skipped; padding may stand between pieces that some programs join."""
    out, cut = b"", False
    pieces = re.split(r"(=+)", re.sub(r"[^A-Za-z0-9+/=]", "", text))
    for held, padding in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        odd = len(held) % 4
        cut |= odd == 1 or (odd > 0 and not padding)
        whole = held[:-1] if odd == 1 else held
        out += binascii.a2b_base64(whole + "=" * (-len(whole) % 4))
    return out, cut


def addresses(value: str, fallback: str | None) -> list[tuple[str, str]]:
    """(name, address in lower case) of each address of a header (RFC 5322, 3.4), also where its form is wrong; [] for none."""
    try:
        pairs = getaddresses([value])
    except (ValueError, IndexError, TypeError, AttributeError, RecursionError):
        pairs = []
    told = [
        (words_decoded(name, fallback), a.strip().casefold())
        for name, a in pairs[:MOST_ADDRESSES]
        if ADDRESS.fullmatch(a.strip())
    ]
    return told or [("", a.casefold()) for a in ADDRESS.findall(value)[:MOST_ADDRESSES]]


def unflowed(text: str, *, delete_space: bool) -> str:
    """Text of format=flowed with its soft line breaks undone (RFC 3676): a line that ends in a space goes on in the next one of
    the same depth of quoting; "-- " alone is the signature's line and never flows."""
    out: list[str] = []
    open_depth: int | None = None
    for line in text.split("\n"):
        body = line.removesuffix("\r")
        rest = body.lstrip(">")
        depth = len(body) - len(rest)
        rest = rest.removeprefix(" ")
        signature = rest in ("-- ", "--")
        if open_depth == depth and not signature:
            out[-1] += rest
        else:
            out.append((">" * depth + " " if depth else "") + rest)
        flows = rest.endswith(" ") and not signature
        if flows and delete_space:
            out[-1] = out[-1][:-1]
        open_depth = depth if flows else None
    return "\n".join(out)


def shingles(lines: list[str]) -> array[int]:
    """Digests of every SHINGLE words in a row, ascending, each once, at most MOST_SHINGLES (the first of the text)."""
    words = re.findall(r"\w+", " ".join(lines).casefold())[: MOST_SHINGLES + SHINGLE - 1]
    found = {crc32(" ".join(words[i : i + SHINGLE]).encode()) for i in range(len(words) - SHINGLE + 1)}
    return array("I", sorted(found))


def split_quote(text: str, own: str, *, html: bool) -> tuple[list[str], list[str], list[str], str]:
    """(the writer's own lines, the lines quoted once, all lines quoted, the attribution) of a body. `own`: what `own_words` left.

    Lines that are cut but not marked as quoted are a quote where the mail is HTML, or where a line before them says whose words
    follow; else they are a signature or a list's footer. The attribution is the three lines before the first quote, and the
    header of a quoted mail that says who wrote it.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    kept = {line.strip() for line in own.split("\n") if not QUOTED.match(line)}
    mine = [line for line in lines if line in kept]
    quoted = [line for line in lines if line not in kept]
    marked = [line for line in quoted if QUOTED.match(line)]
    once = [line.lstrip("> ") for line in marked if not QUOTED.match(line[1:])]
    told = next((i for i, line in enumerate(quoted) if SAID_BY.match(line) or WROTE.fullmatch(line)), len(quoted))
    bare = [line.lstrip("> ") for i, line in enumerate(quoted) if html or i >= told or QUOTED.match(line)]
    words = [line for line in bare if not (HEADER.match(line) or ORIGINAL.fullmatch(line) or WROTE.fullmatch(line))]
    first = next((index for index, line in enumerate(lines) if QUOTED.match(line)), len(lines))
    named = lines[max(0, first - 3) : first] if first < len(lines) else []
    named += [line for line in bare if SAID_BY.match(line)][:1]
    return mine, once or words, words, " ".join(named).casefold()[:500]


def without_quote(text: str) -> str:
    """What the writer added, as `own_words` tells; a very long text passes unchanged (it was never typed)."""
    return own_words(text) if len(text) <= 200_000 else text
