"""The times inside ids: a UUID of version 1, 6 or 7, with hyphens, underscores or nothing between; a ULID in either case; alone
or behind a prefix, with a mark between or glued to it ("tkt01H...")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

_UUID = re.compile(
    r"H(?<!\d.)H{7}(?P<h>[-_]?)H{4}(?P=h)[167]H{3}(?P=h)[89abAB]H{3}(?P=h)H{12}(?![^\W_])".replace("H", "[0-9a-fA-F]")
)
_BARE = re.compile(r"(?:01.{10}7|1[d-f].{10}6|.{12}11[d-f]).*", re.IGNORECASE)
"""Figures of a UUID of our days (1996 to 2038). Without hyphens nothing else tells it from a hash."""
_RUN = re.compile(
    r"(?<![^\W_])(?:[A-Za-z]{0,12}?(?P<hex>[0-9a-f]{32}|[0-9A-F]{32})|(?P<base>(?=[a-z]*\d)[0-9a-hjkmnp-tv-z]{26}))(?![^\W_])"
)
_ULID = re.compile(r"0(?<!\d0)(?:[0-9A-HJKMNP-TV-Z]{25}|[0-9a-hjkmnp-tv-z]{25})(?![^\W_])")
_PREFIX = re.compile(r"(?<![^\W_])[^\W\d_]{0,12}$")
"""What may stand glued before an id: letters, from the begin of the word on."""
_HEX = re.compile("[0-9a-fA-F]*")
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_GREGORIAN = datetime(1582, 10, 15, tzinfo=UTC)
_UNIX = datetime(1970, 1, 1, tzinfo=UTC)


def ids_in(text: str) -> Iterator[tuple[datetime, int, bool]]:
    """(time in UTC, where the id begins, True for one that a hash may look like) of each id in a text that is made of a time: a
    UUID without hyphens, a ULID in small letters."""
    for match in _UUID.finditer(text):
        figures, bare = match[0].replace("-", "").replace("_", ""), not match["h"]
        if (not bare or _BARE.fullmatch(figures)) and _prefixed(text, match.start()) is not None:
            yield _of_uuid(figures), match.start(), bare
    for match in _ULID.finditer(text):
        # A piece of a hash has the letters of one: none beyond F among its figures, as a ULID has at odds of 65,536 to one.
        before, small = _prefixed(text, match.start()), match[0].islower()
        # One small letter before it is no prefix that anybody gives, but a figure more of a longer run.
        if before is not None and not _HEX.fullmatch(match[0]) and not (small and len(before) == 1):
            millis = 0
            for c in match[0][:10].upper():
                millis = millis * 32 + _CROCKFORD.index(c)
            yield _UNIX + timedelta(milliseconds=millis), match.start(), small


def _prefixed(text: str, start: int) -> str | None:
    """The letters glued before a place, "" where none are; None where more than a prefix is."""
    if start == 0 or not text[start - 1].isalnum():
        return ""
    before = _PREFIX.search(text, max(0, start - 13), start)
    return before[0] if before is not None else None


def are_hashes(texts: Iterable[str]) -> bool:
    """True where most of the runs in the texts that are as long as such ids are made of no time: of MD5 sums one in 64 has the
    shape of a UUID with a time, and says none."""
    runs = [run for text in texts for run in _RUN.finditer(text)]
    return 2 * sum(map(_may_be_timed, runs)) < len(runs)


def _may_be_timed(run: re.Match[str]) -> bool:
    """Of our days: a ULID begins with the same two figures from 2004 to 2039."""
    if run["base"]:
        return run["base"].startswith("01")
    return _UUID.fullmatch(run["hex"]) is not None and _BARE.fullmatch(run["hex"]) is not None


def _of_uuid(text: str) -> datetime:
    version = text[12]
    if version == "7":
        return _UNIX + timedelta(milliseconds=int(text[:12], 16))
    ticks = text[13:16] + text[8:12] + text[:8] if version == "1" else text[:8] + text[8:12] + text[13:16]
    return _GREGORIAN + timedelta(microseconds=int(ticks, 16) // 10)
