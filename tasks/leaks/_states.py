"""What states hold, row by row: a row that stands in the states of many tasks is read once and is one object.

Parts of states are lists of numbers of rows, so that a check asks about each different row once, and finds the parts with
something in them without walking over the rows of the others.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from schemas.task import TaskSpec
from tasks.leaks._decode import may_wrap, unwrapped
from tasks.leaks._types import LeakInput

KEPT_ROWS = 400_000
"""Rows that are kept from one task set to the next."""
KEPT_TASKS = 20_000
"""Tasks whose texts are kept: each is opened once, not once a check."""
RECORDED = frozenset(("request", "request_type", "item"))
"""Fields of a recorded query of a declared system: what its tools answer, times and ids after the cut included."""


class Leaf(NamedTuple):
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
        if isinstance(value, str):
            for inner in unwrapped(value):
                yield from (
                    nested(inner, f"{path}/(inside)" if path else "(inside)", key)
                    if not isinstance(inner, str)
                    else [(f"{path}/(inside)" if path else "(inside)", key, inner)]
                )


@dataclass(slots=True, eq=False)
class Row:
    """One record as some state holds it; the same row of another state is the same object."""

    system: str
    kind: str
    record_id: str
    leaves: tuple[Leaf, ...]
    fields: tuple[str, ...] = ()
    """Names of the row's fields, those that hold an empty list or object too."""
    query: bool = False
    """True for what may be a recorded query of a declared system."""
    tokens: tuple[Leaf, ...] = ()
    """Leaves that are a pseudonym, as a whole."""
    nested: tuple[Leaf, ...] = ()
    """Leaves below a field."""
    texts: tuple[Leaf, ...] = ()
    """Leaves of text that are neither a pseudonym nor an ISO 8601 instant, as a whole: the only ones that hold words."""

    @property
    def path(self) -> str:
        """Without the record's id, as of its leaves."""
        return f"state/{self.system}/{self.kind}"


_rows: list[Row] = []
_numbers: dict[tuple[str, str], dict[bytes, int]] = {}
"""(system, kind) -> id and values -> number of the row."""
_parts: dict[str, Any] = {}
"""Digest -> (rows,) numbers of its rows, int32: a digest names its value, so neither ever goes stale."""
_HOLDERS = (dict, list)
_PSEUDONYM = re.compile(r"[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?")
_sorts: dict[str, str] = {}


def is_token(text: str) -> bool:
    """True for a pseudonym as a whole, whoever it is of."""
    return _sort(text) == "token"


def is_stamp(text: str) -> bool:
    """True for an ISO 8601 instant as a whole."""
    return _sort(text) == "stamp"


def _sort(text: str) -> str:
    """What a text is as a whole."""
    found = _sorts.get(text)
    if found is None:
        if len(_sorts) > KEPT_ROWS:
            _sorts.clear()
        if text[:1].isdigit():
            found = "stamp" if _INSTANT.fullmatch(text) else "text"
        else:
            found = "token" if _PSEUDONYM.fullmatch(text) else "text"
        _sorts[text] = found
    return found


def _key(item: tuple[str, Any]) -> bytes:
    """Bytes that only the same row has."""
    import msgspec

    try:
        return msgspec.msgpack.encode(item)
    except (OverflowError, TypeError, ValueError):  # a number of more than 64 bits
        return marshal.dumps(item, 2)


def _numbers_of(content: Callable[[str], Any], digest: str) -> Any:
    found = _parts.get(digest)
    if found is None:
        import numpy as np

        whole: list[int] = []
        for system, kinds in content(digest).items():
            for kind, rows in kinds.items():
                kept = _numbers.setdefault((system, kind), {})
                for item in rows.items():
                    key = _key(item)
                    number = kept.get(key)
                    if number is None:
                        number = kept[key] = len(_rows)
                        _rows.append(_row(system, kind, *item))
                    whole.append(number)
        found = _parts[digest] = np.array(whole, dtype=np.int32)
    return found


def _row(system: str, kind: str, record_id: str, row: dict[str, Any]) -> Row:
    leaves = []
    for name, value in row.items():
        if may_wrap(value) if isinstance(value, str) else isinstance(value, _HOLDERS):
            leaves += [Leaf(system, kind, record_id, name, inner, key or name, scalar) for inner, key, scalar in nested(value)]
        else:
            leaves.append(Leaf(system, kind, record_id, name, "", name, value))
    words = [(leaf, _sort(leaf.value)) for leaf in leaves if isinstance(leaf.value, str)]
    tokens, texts = (tuple([leaf for leaf, sort in words if sort == wanted]) for wanted in ("token", "text"))
    below = tuple([leaf for leaf in leaves if leaf.inner])
    query = bool(row) and RECORDED.issuperset(row)
    return Row(system, kind, record_id, tuple(leaves), tuple(row), query, tokens, below, texts)


def rows_of(content: Callable[[str], Any], digest: str) -> list[Row]:
    """The rows of one part of a state."""
    return [_rows[number] for number in _numbers_of(content, digest).tolist()]


class _Index(NamedTuple):
    """The parts of all states of a task set that hold rows, one after the other."""

    digests: list[str]
    numbers: Any
    """(rows of all parts,) numbers of their rows."""
    starts: Any
    """(parts,) places at which they begin."""
    distinct: list[int]
    """Numbers of the different rows, in the order in which they were read."""


_last: dict[tuple[str, ...], _Index] = {}
"""Digests of the last task set -> its index."""


def _index(data: LeakInput) -> _Index:
    """The index of a task set's states; the last one is kept, since the checks look at one set after another."""
    import numpy as np

    digests = tuple(dict.fromkeys(digest for task in data.tasks for digest in task.state))
    if digests in _last:
        return _last[digests]
    _last.clear()
    if len(_rows) > KEPT_ROWS:
        _rows.clear()
        _numbers.clear()
        _parts.clear()
    parts = [(digest, numbers) for digest in digests if len(numbers := _numbers_of(data.content, digest))]
    whole = np.concatenate([numbers for _, numbers in parts]) if parts else np.zeros(0, dtype=np.int32)
    starts = np.cumsum([0, *(len(numbers) for _, numbers in parts)])[:-1]
    here = np.zeros(len(_rows), dtype=bool)
    here[whole] = True
    found = _last[digests] = _Index([digest for digest, _ in parts], whole, starts, np.flatnonzero(here).tolist())
    return found


T = TypeVar("T")


S = TypeVar("S")


def once(make: Callable[[S], T]) -> Callable[[S], T]:
    """`make`, asked once for each object (a task, a list of texts): what it says depends on that alone, and many ask."""
    kept: dict[int, tuple[S, T]] = {}

    def of(one: S) -> T:
        held = kept.get(id(one))
        if held is None:  # a kept object is alive, so that no other has its id
            if len(kept) >= KEPT_TASKS:
                kept.clear()
            held = kept[id(one)] = (one, make(one))
        return held[1]

    return of


@once
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
            if not recorded(row, skipped):
                yield from row.leaves


def recorded(row: Row, skipped: frozenset[str]) -> bool:
    """True for a recorded query of one of the systems `skipped`; their other rows are rows like any."""
    return row.query and row.system in skipped


K = TypeVar("K")
V = TypeVar("V")


class Parts(Generic[K, V]):
    """What a check needs to know of states: `make` is asked once for each different row, `join` once for each part of a state."""

    def __init__(
        self,
        data: LeakInput,
        make: Callable[[Row], dict[K, V]],
        join: Callable[[V, V], V] = lambda first, _: first,
        *,
        declared: bool = False,
    ) -> None:
        """`make`: what a row holds that matters, most often nothing; `join`: of two values under one key, the one to keep;
        `declared`: look at the recorded answers of declared systems too."""
        self._data, self._make, self._join, self._declared = data, make, join, declared
        self._of_row: dict[int, dict[K, V]] = {}
        self._rows: dict[str, list[int]] | None = None
        self._of_part: dict[tuple[str, frozenset[str]], dict[K, V]] = {}

    def of(self, task: TaskSpec) -> Iterator[dict[K, V]]:
        """One dictionary for each part of the task's state in which something matters."""
        if self._rows is None:
            self._rows = self._read()
        skipped = frozenset() if self._declared else declared_systems(task)
        for digest in task.state:
            numbers = self._rows.get(digest)
            if numbers is not None:
                key = (digest, skipped)
                if key not in self._of_part:
                    self._of_part[key] = self._joined(numbers, skipped)
                if self._of_part[key]:
                    yield self._of_part[key]

    def _read(self) -> dict[str, list[int]]:
        """Part -> its rows in which something matters."""
        import numpy as np

        index, of_row, make = _index(self._data), self._of_row, self._make
        for number in index.distinct:
            if held := make(_rows[number]):
                of_row[number] = held
        matters = np.zeros(len(_rows), dtype=bool)
        matters[list(of_row)] = True
        places = np.flatnonzero(matters[index.numbers])
        found: dict[str, list[int]] = {}
        parts = np.searchsorted(index.starts, places, side="right") - 1
        for part, number in zip(parts.tolist(), index.numbers[places].tolist(), strict=True):
            found.setdefault(index.digests[part], []).append(number)
        return found

    def _joined(self, numbers: Sequence[int], skipped: frozenset[str]) -> dict[K, V]:
        whole: dict[K, V] = {}
        for number in numbers:
            if skipped and recorded(_rows[number], skipped):
                continue
            for key, value in self._of_row[number].items():
                whole[key] = self._join(whole[key], value) if key in whole else value
        return whole


class Shapes(Generic[T]):
    """What kinds of rows stand in states: `make` is asked once for each different row; of a part counts only which are in it."""

    def __init__(self, data: LeakInput, make: Callable[[Row], T]) -> None:
        """`make`: the kind of a row; hashable."""
        import numpy as np

        index = _index(data)
        kinds: dict[tuple[T, str | None], int] = {}
        numbered = np.zeros(len(_rows), dtype=np.int64)
        for number in index.distinct:
            row = _rows[number]
            numbered[number] = kinds.setdefault((make(row), row.system if row.query else None), len(kinds))
        self._kinds = list(kinds)
        self._of_part: dict[str, list[int]] = {}
        if kinds:
            sizes = np.diff([*index.starts, len(index.numbers)])
            whole = np.repeat(np.arange(len(sizes)), sizes) * len(kinds) + numbered[index.numbers]
            for pair in np.unique(whole).tolist():
                self._of_part.setdefault(index.digests[pair // len(kinds)], []).append(pair % len(kinds))

    def of(self, task: TaskSpec) -> set[T]:
        """The kinds of rows in the task's state, the recorded queries of declared systems left out."""
        skipped = declared_systems(task)
        here = {number for digest in task.state for number in self._of_part.get(digest, ())}
        return {kind for kind, system in (self._kinds[number] for number in here) if system is None or system not in skipped}


class After(Generic[V]):
    """What lies after the cut in states, where each row says of what it holds from when it is: once for each different row, and
    of a part that holds nothing so late no row is looked at again."""

    def __init__(self, data: LeakInput, make: Callable[[Row], list[tuple[datetime, V]]]) -> None:
        """`make`: (instant in UTC, what is of it) of everything in a row."""
        import numpy as np

        index = _index(data)
        self._of_row: dict[int, list[tuple[datetime, V]]] = {}
        self._latest = np.full(len(_rows), -np.inf)
        for number in index.distinct:
            if held := make(_rows[number]):
                self._of_row[number] = held
                self._latest[number] = max([_seconds(at) for at, _ in held])
        latest = np.maximum.reduceat(self._latest[index.numbers], index.starts).tolist() if index.digests else []
        self._of_part: dict[str, float] = dict(zip(index.digests, latest, strict=True))
        self._data = data

    def of(self, task: TaskSpec, cut: datetime) -> Iterator[V]:
        """Everything in the task's state that is of an instant after the cut."""
        least = _seconds(cut) - 1.0  # seconds are rounded: the instants themselves decide
        for digest in task.state:
            if self._of_part.get(digest, least) > least:
                numbers = _numbers_of(self._data.content, digest)
                for number in numbers[self._latest[numbers] > least].tolist():
                    if not recorded(_rows[number], declared_systems(task)):
                        yield from (what for at, what in self._of_row[number] if at > cut)


def _seconds(at: datetime) -> float:
    return at.timestamp()
