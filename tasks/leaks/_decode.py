"""What a text says once its wrapping is taken off, for the checks that look for words, ids and times.

Undone: Unicode look-alikes and invisible characters (NFKC; typographic hyphens, slashes and dots inside a date or an id; the
common Cyrillic and Greek letters that look like ours, or like figures among figures; figures of other scripts; accents), HTML
entities, percent-encoding, backslash escapes, Base64 of readable text, and JSON inside a text; to the depth of three. Not undone:
ciphers, compression, translation.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus

DEPTH = 3
"""Wrappings inside one another that are undone."""
SHORTEST = 4
"""Characters of the shortest text that can wrap another."""
_ESCAPED = re.compile(r"""%[0-9A-Fa-f]{2}|&(?:#\w+|[a-zA-Z]+);|\\[nuxt"']""")
_OF_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_STANDARD, _OF_URLS = (
    bytes(ord("a") if chr(byte) in one else ord(" ") for byte in range(256)) for one in (_OF_BASE64, f"{_OF_BASE64}_-")
)
"""Each character of Base64, and each of it or of that of URLs, as "a", all others as a blank: that 16 stand together is then told
by one search of bytes, and no pattern is tried at every letter."""
_SIXTEEN = b"a" * 16
_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{16,}={0,2}(?![\w+/=-])")
_RUN = re.compile(rb"a{16,}")
_WHOLE_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
LEAST_BASE64 = 8
"""Characters of the shortest name that is looked at as Base64: six bytes."""
_TOKEN = re.compile(r"[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_[A-Z]+\d?)?")
"""Most values of a state are of this form, and none of it holds anything."""
_TOKENISH = re.compile(r"[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_\w+)?")
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]")
_HYPHENS = re.compile("(?<=\\w)(?<!:\\d\\d)[\u058a\u05be\u1806\u2010-\u2015\u2043\u2212\u2e17\u2e1a\u2e3a\u2e3b\ufe58](?=\\w)")
"""Between two parts of a date or an id; behind a time of day it parts two times ("10:00" to "12:00"), or is a zone's sign."""
_ALIKE = str.maketrans(
    "авеһіјкмнорсѕтухԁԛԝАВЕІЈКМНОРСЅТУХαβγεηικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧɑɡıłøđŁØĐЗб",
    "abehijkmhopcstyxdqwABEIJKMHOPCSTYXabyenikvoptuxwABEZHIKMNOPTYXagilodLOD36",
)
"""Letters that look like ours, Cyrillic, Greek and Latin; the last two like figures."""
_AS_FIGURES = str.maketrans("ОоΟοІіΙιıЗзбЧ", "0000111113364")
_NUMBERISH = re.compile(r"[\w./:-]+")
_FIGURE = re.compile(r"(?![0-9])\d")
"""A figure of another script."""
_SLASHES, _DOTS = re.compile("(?<=\\d)[\u2044\u2215\u29f8](?=\\d)"), re.compile("(?<=\\d)[\u00b7\u2027\u2219\u22c5](?=\\d)")
"""Between figures, as in a date; NFKC undoes the others."""
_ACCENTS = re.compile("[\u0300-\u036f]")
_DECODER = json.JSONDecoder()


_CODED = re.compile(r"%[0-9A-Fa-f]{2}|&(?:#\w+|[a-zA-Z]+);|\\[uUxX]")


@lru_cache(maxsize=30_000)
def disguised(text: str) -> bool:
    """False where all words and numbers of a text, JSON or with JSON in it, can be read in it as it stands."""
    if not text.isascii():
        return True
    coded = "%" in text or "&" in text or "\\" in text
    return (coded and _CODED.search(text) is not None) or _SIXTEEN in text.encode().translate(_STANDARD)


def may_wrap(text: str) -> bool:
    """False for plain text: nothing stands inside it."""
    if len(text) < SHORTEST:
        return False
    coded = "%" in text or "&" in text or "\\" in text
    return (
        not text.isascii()
        or "{" in text
        or "[" in text
        or (len(text) >= len(_SIXTEEN) and _SIXTEEN in text.encode().translate(_OF_URLS))
        or (coded and _ESCAPED.search(text) is not None)
    ) and _TOKEN.fullmatch(text) is None


def unwrapped(text: str) -> list[Any]:
    """What stands inside `text`: texts, and JSON objects and arrays; [] for plain text. Never the text itself."""
    if not may_wrap(text):
        return []
    found: list[Any] = []
    seen = {text}
    level: list[str] = [text]
    for _ in range(DEPTH):
        after: list[str] = []
        for one in level:
            for inner in _once(one):
                if not isinstance(inner, str):
                    found.append(inner)
                elif inner not in seen:
                    seen.add(inner)
                    found.append(inner)
                    after.append(inner)
        level = after
    return found


def whole_base64(name: str) -> str | None:
    """The text of ASCII that a name is in Base64 as a whole."""
    if len(name) < LEAST_BASE64 or _WHOLE_BASE64.fullmatch(name) is None:
        return None
    inside = _from_base64(name)
    return inside if inside is not None and inside.isascii() and inside.isprintable() else None


def _once(text: str) -> Iterator[Any]:
    if not text.isascii():
        yield from _folded(text)
    if "&" in text:
        yield html.unescape(text)
    if "%" in text:
        yield unquote_plus(text)
    if "\\" in text:
        yield re.sub(
            r"\\u([0-9a-fA-F]{4})|\\(.)", lambda m: chr(int(m[1], 16)) if m[1] else {"n": "\n", "t": "\t"}.get(m[2], m[2]), text
        )
    for written in _runs(text):
        inner = _from_base64(written)
        if inner is not None:
            yield inner
    yield from _json_in(text)


def _runs(text: str) -> Iterator[str]:
    """Whatever could be Base64 by its characters."""
    if not text.isascii():
        yield from (match[0] for match in _BASE64.finditer(text))
        return
    # Behind a character of the same kind none may begin: only where a run begins is it worth a look.
    for run in _RUN.finditer(text.encode().translate(_OF_URLS)):
        if (match := _BASE64.match(text, run.start())) is not None:
            yield match[0]


def _folded(text: str) -> Iterator[str]:
    """Readings of a text that is not ASCII: look-alikes undone, then accents too. All, since an accent may be one's own: words
    of a language that has them read right in the first, ours with accents put on them in the second."""
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    yield plain
    joined = _HYPHENS.sub("-", _DOTS.sub(".", _SLASHES.sub("/", _FIGURE.sub(lambda m: str(int(m[0])), plain))))
    # A letter that looks like a figure is one in a date and in most ids, and a letter in the others: both are read.
    yield _NUMBERISH.sub(_with_figures, joined).translate(_ALIKE)
    ours = joined.translate(_ALIKE)
    yield ours
    bare = unicodedata.normalize("NFD", ours)
    if not bare.isascii():  # letters under the accents may be look-alikes, too
        bare = unicodedata.normalize("NFC", _ACCENTS.sub("", bare).translate(_ALIKE))
    yield bare


def _with_figures(word: re.Match[str]) -> str:
    return word[0].translate(_AS_FIGURES) if any(map(str.isdigit, word[0])) else word[0]


def _from_base64(text: str) -> str | None:
    """The readable text that Base64 (ordinary or of URLs) holds, or None: ids and hashes decode to bytes that nobody reads."""
    if _TOKENISH.fullmatch(text) or text.isdigit() or (text.isalpha() and (text.islower() or text.isupper())):
        return None
    try:
        raw = base64.b64decode(
            text.rstrip("=").replace("-", "+").replace("_", "/") + "=" * (-len(text.rstrip("=")) % 4), validate=True
        )
        inner = raw.decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return (
        inner if (len(inner) >= SHORTEST and inner.isprintable()) or all(c.isprintable() or c.isspace() for c in inner) else None
    )


def _json_in(text: str) -> Iterator[Any]:
    """Objects, arrays and quoted texts of JSON that stand in a text."""
    if text.startswith('"') and text.endswith('"'):
        try:
            inner = json.loads(text)
        except ValueError:
            inner = None
        if isinstance(inner, str):
            yield inner
    yield from (value for value, _, _ in _parsed(text) if value)


def apart(text: str) -> tuple[list[Any], str]:
    """The JSON objects and arrays that stand in a text, and what stands beside them."""
    values, beside, at = [], [], 0
    for value, start, end in _parsed(text):
        values.append(value)
        beside.append(text[at:start])
        at = end
    return values, " ".join([*beside, text[at:]])


def _parsed(text: str) -> Iterator[tuple[Any, int, int]]:
    """(value, its begin, its end) of the outermost objects and arrays."""
    at = 0
    if "{" not in text and "[" not in text:
        return
    while (at := min((i for i in (text.find("{", at), text.find("[", at)) if i >= 0), default=-1)) >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        yield value, at, end
        at = max(end, at + 1)
