"""Walks over what an agent may be shown: leaves with their paths, words, tokens and times in text."""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from schemas.task import TaskSpec
from tasks.leaks._types import Finding, LeakInput

TOKEN = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?\b")
"""An identity as deid writes it."""
_ROLE = re.compile(r"_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL)$")
_TYPE = re.compile(r"_[0-9A-F]{8}.*")
_WORD = re.compile(r"\w+")
MESSAGES = "messages"
"""Field under which an earlier case holds its public messages."""
KEPT_ROWS = 400_000
"""Rows whose leaves are kept. States of one organisation share most rows, so each is walked once, not once a task."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One scalar that can be shown."""

    system: str
    kind: str
    record_id: str
    field: str
    """Top field of the row."""
    inner: str
    """Path below the field ("" at the top), e.g. "messages/0/text"."""
    key: str
    """Name nearest to the value: the field, or the nested key."""
    value: Any

    @property
    def path(self) -> str:
        """Without the record's id, so that one leak in many records is one finding."""
        return f"state/{self.system}/{self.kind}/{self.field}" + (f"/{self.inner}" if self.inner else "")


def nested(value: Any, path: str = "", key: str = "") -> Iterator[tuple[str, str, Any]]:
    """(path below, nearest key, scalar) of every scalar in a JSON value; list positions are written "*"."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from nested(inner, f"{path}/{name}" if path else str(name), str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from nested(inner, f"{path}/*" if path else "*", key)
    else:
        yield path, key, value


@dataclass(slots=True, eq=False)
class Row:
    """One record as some state holds it; the same row of another state is the same object."""

    system: str
    kind: str
    record_id: str
    leaves: tuple[Leaf, ...]


_rows: dict[tuple[str, str, str, bytes], Row] = {}
_parts: dict[str, tuple[Row, ...]] = {}
"""Digest -> its rows: a digest names its value, so neither ever goes stale."""


def rows_of(content: Callable[[str], Any], digest: str) -> tuple[Row, ...]:
    """The rows of one part of a state."""
    found = _parts.get(digest)
    if found is None:
        if len(_rows) > KEPT_ROWS:
            _rows.clear()
            _parts.clear()
        found = _parts[digest] = tuple(
            _row(system, kind, record_id, row)
            for system, kinds in content(digest).items()
            for kind, rows in kinds.items()
            for record_id, row in rows.items()
        )
    return found


def _row(system: str, kind: str, record_id: str, row: dict[str, Any]) -> Row:
    key = (system, kind, record_id, marshal.dumps(row, 2))
    found = _rows.get(key)
    if found is None:
        leaves = (
            Leaf(system, kind, record_id, name, inner, nearest or name, scalar)
            for name, value in row.items()
            for inner, nearest, scalar in nested(value)
        )
        found = _rows[key] = Row(system, kind, record_id, tuple(leaves))
    return found


def declared_systems(task: TaskSpec) -> frozenset[str]:
    """Systems that answer from recorded queries: their recorded answers are what the tools give, later times included."""
    return frozenset(system.name for system in task.systems if system.plugin == "declared") | frozenset(
        str(system.config["system"]) for system in task.systems if system.plugin == "declared" and "system" in system.config
    )


def state_leaves(data: LeakInput, task: TaskSpec) -> Iterator[Leaf]:
    """Every scalar of the task's state, without declared systems. For a few tasks; over all of them use `Parts`."""
    skipped = declared_systems(task)
    for digest in task.state:
        for row in rows_of(data.content, digest):
            if row.system not in skipped:
                yield from row.leaves


K = TypeVar("K")
V = TypeVar("V")


class Parts(Generic[K, V]):
    """What a check needs to know of states: `make` is asked once for each different row, `join` once for each part of a state."""

    def __init__(
        self, data: LeakInput, make: Callable[[Row], dict[K, V]], join: Callable[[V, V], V] = lambda first, _: first
    ) -> None:
        """`make`: what a row holds that matters, most often nothing; `join`: of two values under one key, the one to keep."""
        self._data, self._make, self._join = data, make, join
        self._of_row: dict[Row, dict[K, V]] = {}
        self._of_part: dict[tuple[str, frozenset[str]], dict[K, V]] = {}

    def of(self, task: TaskSpec) -> Iterator[dict[K, V]]:
        """One dictionary for each part of the task's state; rows of declared systems left out."""
        skipped = declared_systems(task)
        for digest in task.state:
            key = (digest, skipped)
            if key not in self._of_part:
                self._of_part[key] = self._joined(row for row in rows_of(self._data.content, digest) if row.system not in skipped)
            yield self._of_part[key]

    def _joined(self, rows: Iterable[Row]) -> dict[K, V]:
        whole: dict[K, V] = {}
        for row in rows:
            held = self._of_row.get(row)
            if held is None:
                held = self._of_row[row] = self._make(row)
            for key, value in held.items():
                whole[key] = self._join(whole[key], value) if key in whole else value
        return whole


def prompt_texts(task: TaskSpec) -> list[tuple[str, str]]:
    """(path, text) of the opening request."""
    return [("opening/subject", task.opening.subject), ("opening/text", task.opening.text)]


def fact_texts(task: TaskSpec) -> list[tuple[str, str]]:
    """(path, text) of what the requester may tell when asked."""
    found = [("requester/facts/answer", fact.answer) for fact in task.requester.facts]
    found += [("requester/facts/values", value) for fact in task.requester.facts for value in fact.values.values()]
    return found + [("requester/dont_know", text) for text in task.requester.dont_know]


def words(text: str) -> list[str]:
    """Words in one case; a token counts as its type, so that two cases that differ in ids alone read alike."""
    return [word.casefold() for word in _WORD.findall(TOKEN.sub(lambda m: _TYPE.sub("", m[0]), text))]


def grams(text: str, size: int) -> set[tuple[str, ...]]:
    """Runs of `size` words."""
    found = words(text)
    return {tuple(found[i : i + size]) for i in range(len(found) - size + 1)}


def bare(token: str) -> str:
    """A token without its role: the identity itself."""
    return _ROLE.sub("", token)


def instant(text: str) -> datetime | None:
    """An ISO 8601 instant or day as UTC, or None."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def must_instant(text: str, what: str) -> datetime:
    """As `instant`; ValueError where there is none, so that the check reads "could not run"."""
    found = instant(text)
    if found is None:
        raise ValueError(f"{what} is not an ISO 8601 time")
    return found


# --- times in any format -------------------------------------------------------------------------------------------------------

_NAMES = (
    *("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug"),
    *("september sept sep", "october oct", "november nov", "december dec"),
)
_MONTHS = {name: number for number, names in enumerate(_NAMES, 1) for name in names.split()}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_CLOCK = r"(?:[,T ]|\sat)*\s*(?P<clock>\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?\s*(?:[ap]\.?m\.?)?)\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?"
_DATES = [
    re.compile(rf"(?<!\d)(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d\d?)[-/.](?P<d>\d\d?)(?:{_CLOCK})?(?!\d)", re.IGNORECASE),
    re.compile(rf"(?<!\d)(?P<d>\d\d?)[-/.](?P<m>\d\d?)[-/.](?P<y>(?:19|20)\d\d)(?:{_CLOCK})?(?!\d)", re.IGNORECASE),
    re.compile(
        rf"(?<!\d)(?P<d>\d\d?)(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<n>{_MONTH})\.?,?\s+(?P<y>(?:19|20)\d\d)(?:{_CLOCK})?",
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?P<n>{_MONTH})\.?\s+(?P<d>\d\d?)(?:st|nd|rd|th)?,?\s+(?P<y>(?:19|20)\d\d)(?:{_CLOCK})?", re.IGNORECASE),
    re.compile(r"(?<!\d)(?P<y>20\d\d)(?P<m>[01]\d)(?P<d>[0-3]\d)(?:T(?P<clock>\d{6}|\d{4})(?P<zone>Z)?)?(?!\d)"),
]
_EPOCH = re.compile(r"(?<![\w.-])(?:1[2-9]|20)\d{8}(?:\d{3})?(?![\w.-])")
_QUICK = re.compile(r"(?:19|20)\d\d|1[2-9]\d{8}")
"""Text without a year or an epoch holds no time: most texts stop here."""


@dataclass(frozen=True, slots=True)
class Time:
    """A time found in a text."""

    readings: tuple[datetime, ...]
    """Two where day and month could be either way round ("04/09/2025")."""
    start: int
    clock: bool
    """True where it says the time of day, as stamps do and people's plans seldom do."""

    def after(self, cut: datetime) -> bool:
        """True where the reading nearest to the cut lies after it: people and systems mostly write of times close by."""
        return min(self.readings, key=lambda at: abs(at - cut)) > cut


def times_in(text: str) -> Iterator[Time]:
    """Every time in a text: ISO 8601, day or month first, month names, compact, Unix seconds and milliseconds."""
    if not _QUICK.search(text):
        return
    taken: list[tuple[int, int]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            if any(a < match.end() and match.start() < b for a, b in taken):
                continue
            found = _dated(match)
            if found is not None:
                taken.append(match.span())
                yield found
    for match in _EPOCH.finditer(text):
        if not any(a < match.end() and match.start() < b for a, b in taken):
            number = int(match[0])
            at = datetime.fromtimestamp(number / 1000 if number > 10**11 else number, UTC)
            yield Time((at,), match.start(), clock=True)


def _dated(match: re.Match[str]) -> Time | None:
    parts = match.groupdict()
    year, day = int(parts["y"]), int(parts["d"])
    month = _MONTHS[parts["n"].casefold()] if parts.get("n") else int(parts["m"])
    readings = [(month, day), (day, month)] if not parts.get("n") and match.re is _DATES[1] else [(month, day)]
    found = []
    for m, d in readings:
        try:
            found.append(datetime(year, m, d, tzinfo=UTC))
        except ValueError:
            continue
    if not found:
        return None
    clock = parts.get("clock")
    of_day = _of_day(clock, parts.get("zone")) if clock else timedelta()
    return Time(tuple(at + of_day for at in found), match.start(), clock=bool(clock))


def _of_day(clock: str, zone: str | None) -> timedelta:
    digits = re.findall(r"\d+", clock)
    if len(digits) == 1:
        digits = [digits[0][:2], digits[0][2:4], digits[0][4:6] or "0"]
    hours, minutes = int(digits[0]), int(digits[1])
    afternoon, morning = "p" in clock.casefold(), "a" in clock.casefold()
    hours = hours % 12 + 12 * afternoon if afternoon or morning else hours
    offset = timedelta()
    if zone and zone[0] in "+-":
        plain = zone[1:].replace(":", "")
        offset = timedelta(hours=int(plain[:2]), minutes=int(plain[2:])) * (1 if zone[0] == "+" else -1)
    return timedelta(hours=hours, minutes=minutes) - offset


# --- findings ------------------------------------------------------------------------------------------------------------------


class Found:
    """Collects evidence; the same leak in many tasks is one finding with their ids."""

    def __init__(self, check: str) -> None:
        self.check = check
        self._at: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, path: str, detail: str, task_ids: Iterable[str]) -> None:
        self._at.setdefault((path, detail), {}).update(dict.fromkeys(task_ids))

    def findings(self) -> list[Finding]:
        """Sorted by path and detail; empty = passed."""
        return [
            Finding(self.check, "failed", path, detail, tuple(sorted(ids))) for (path, detail), ids in sorted(self._at.items())
        ]
