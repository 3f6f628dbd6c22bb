"""What states hold, row by row: a row that stands in the states of many tasks is read once and is one object.

Parts of states are lists of numbers of rows, so that a check asks about each different row once, and finds the parts with
something in them without walking over the rows of the others.
"""

from __future__ import annotations

import marshal
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, count, repeat
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


S = TypeVar("S")
T = TypeVar("T")


class Leaf(NamedTuple):
    """One scalar that can be shown."""

    system: str
    kind: str
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
            for inner in unwrapped(value) if _sort(value) == "wrapped" else ():
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
    values: dict[str, Any]
    """Field -> value."""
    _leaves: tuple[Leaf, ...] | None = None

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """For a few rows; over all of them look at columns."""
        if self._leaves is None:
            scalars = [(name, *one) for name, value in self.values.items() for one in nested(value)]
            self._leaves = tuple([Leaf(self.system, self.kind, f, inner, key or f, value) for f, inner, key, value in scalars])
        return self._leaves


@dataclass(slots=True, eq=False)
class Column:
    """What the rows of a kind hold in one place, of one sort, so that a check looks at each different value there once."""

    system: str
    kind: str
    field: str
    """Top field of the rows; "" for the records' ids."""
    inner: str
    """Path below the field, as of a leaf; "" at the top."""
    key: str
    sort: str
    """"id" for the records' ids; "token" for pseudonyms and "stamp" for ISO 8601 instants, as a whole; "text" for any other text,
    the only one that holds words; the name of its type for what is no text."""
    fields: tuple[str, ...]
    """Of ids: the names of the rows' fields, those that hold an empty list or object too; one column a shape of row."""
    numbers: Any
    """(values,) of the rows, int32; one that has several values here stands more than once."""
    places: Any
    """(values,) where each value stands in `different`."""
    different: list[Any]

    @property
    def path(self) -> str:
        """Without the record's id, so that one leak in many records is one finding."""
        names = (self.field,) * (self.sort != "id") + (self.inner,) * bool(self.inner)
        return "/".join(("state", self.system, self.kind, *names))


Look = Callable[[Any], Sequence[T]]
"""What there is in a value that matters to a check, most often nothing."""
_rows: list[Row] = []
_numbers: dict[tuple[str, str], defaultdict[bytes, int]] = {}
"""(system, kind) -> id and values -> number of the row."""
_parts: dict[str, Any] = {}
"""Digest -> (rows,) numbers of its rows, int32: a digest names its value, so neither ever goes stale."""
TEXTS = ("token", "stamp", "text")
BITS = 62
"""Marks that one number of 64 bits holds."""
HOLDERS = ("dict", "list", "wrapped")
"""Sorts of what something stands in: a text with another inside is "wrapped"."""
_PSEUDONYM = re.compile(r"[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)
"""In our own figures: those of another script are a dress that has to be taken off."""
_PSEUDONYMS, _INSTANTS = (re.compile(rf"^{one.pattern}$", re.MULTILINE | re.ASCII) for one in (_PSEUDONYM, _INSTANT))
_sorts: dict[str, str] = {}


def tokens_in(texts: Collection[str]) -> set[str]:
    """Those of the texts that are a pseudonym as a whole, whoever it is of."""
    return _lines(_PSEUDONYMS, texts)


def _lines(whole: re.Pattern[str], texts: Collection[str]) -> set[str]:
    """The texts that are a whole line of the pattern, which goes over no end of a line: one search for all of them."""
    return set(whole.findall("\n".join(texts))).intersection(texts)  # a line of a text of several lines is no text


def _sorts_of(values: Sequence[Any]) -> str | list[str]:
    """What each value is as a whole, or all of them are; each different text is looked at once."""
    types = set(map(type, values))
    texts = set(values) if types == {str} else {value for value in values if isinstance(value, str)} if str in types else set()
    if not texts and len(types) == 1:
        return next(iter(types)).__name__
    # Pseudonyms and instants, as most texts are, are told all at once.
    found = dict.fromkeys(tokens_in(texts), "token")
    if len(found) < len(texts):
        found |= dict.fromkeys(_lines(_INSTANTS, texts), "stamp")
    if len(found) < len(texts):
        found |= {text: _sort(text) for text in texts.difference(found)}
    kinds = set(found.values())
    if len(kinds) == 1 and len(types) == 1:
        return kinds.pop()
    return [found[value] if isinstance(value, str) else type(value).__name__ for value in values]


def _sort(value: Any) -> str:
    """What a value is as a whole."""
    if not isinstance(value, str):
        return type(value).__name__
    found = _sorts.get(value)
    if found is None:
        if len(_sorts) > KEPT_ROWS:
            _sorts.clear()
        stamp = value[:1].isdigit()
        whole = (_INSTANT if stamp else _PSEUDONYM).fullmatch(value) is not None
        found = _sorts[value] = ("stamp" if stamp else "token") if whole else "wrapped" if may_wrap(value) else "text"
    return found


def numbers_of(content: Callable[[str], Any], digest: str) -> Any:
    """(rows,) numbers of the rows of one part of a state, int32."""
    found = _parts.get(digest)
    if found is None:
        import numpy as np

        whole: list[int] = []
        for system, kinds in content(digest).items():
            for kind, rows in kinds.items():
                if rows:
                    whole += _numbered(system, kind, rows)
        found = _parts[digest] = np.array(whole, dtype=np.int32)
    return found


def _numbered(system: str, kind: str, rows: Mapping[str, Any]) -> list[int]:
    """The numbers of rows of a kind; those not seen before get the next ones."""
    known = _numbers.setdefault((system, kind), defaultdict())
    before, first = len(known), len(_rows)
    known.default_factory = count(first).__next__
    numbers = [*map(known.__getitem__, _keys(rows.items()))]
    if len(known) > before:  # ids differ, and so do rows: a new number stands here once, and they ascend
        _rows.extend([Row(system, kind, *item) for number, item in zip(numbers, rows.items(), strict=True) if number >= first])
    return numbers


def _keys(items: Iterable[tuple[str, Any]]) -> list[bytes]:
    """For each row bytes that only the same row has."""
    import msgspec

    try:
        return [*map(msgspec.msgpack.Encoder().encode, items)]
    except (OverflowError, TypeError, ValueError):  # a number of more than 64 bits
        return [marshal.dumps(item, 2) for item in items]


def rows_of(content: Callable[[str], Any], digest: str) -> list[Row]:
    """The rows of one part of a state."""
    return [_rows[number] for number in numbers_of(content, digest).tolist()]


class Index(NamedTuple):
    """The parts of all states of a task set that hold rows, one after the other."""

    rows: list[Row]
    """By their numbers; those of other task sets, which are kept, too."""
    digests: list[str]
    numbers: Any
    """(rows of all parts,) numbers of their rows."""
    starts: Any
    """(parts,) places at which they begin."""
    columns: list[Column]
    """Of the different rows; those of ids first."""


_last: dict[tuple[str, ...], Index] = {}
"""Digests of the last task set -> its index."""


def index_of(data: LeakInput) -> Index:
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
    parts = [(digest, numbers) for digest in digests if len(numbers := numbers_of(data.content, digest))]
    whole = np.concatenate([numbers for _, numbers in parts]) if parts else np.zeros(0, dtype=np.int32)
    starts = np.cumsum([0, *(len(numbers) for _, numbers in parts)])[:-1]
    here = np.zeros(len(_rows), dtype=bool)
    here[whole] = True
    found = _last[digests] = Index(_rows, [digest for digest, _ in parts], whole, starts, _columns(np.flatnonzero(here).tolist()))
    return found


def _columns(numbers: list[int]) -> list[Column]:
    shapes: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
    for number in numbers:
        row = _rows[number]
        shapes.setdefault((row.system, row.kind, tuple(row.values)), []).append(number)
    columns = []
    places: dict[tuple[str, str, str], dict[tuple[str, str, str], tuple[list[int], list[Any]]]] = {}
    for (system, kind, fields), here in shapes.items():
        columns.append(_column((system, kind, "", "", "", "id", fields), here, [_rows[number].record_id for number in here]))
        for field, held in zip(fields, zip(*[_rows[number].values.values() for number in here], strict=True), strict=True):
            cells = places.setdefault((system, kind, field), defaultdict(lambda: ([], [])))
            sorts = _sorts_of(held)
            for sort in (sorts,) if isinstance(sorts, str) else dict.fromkeys(sorts):
                chosen = repeat(True) if isinstance(sorts, str) else [one == sort for one in sorts]
                if sort not in HOLDERS:
                    cells["", field, sort][0].extend(compress(here, chosen))
                    cells["", field, sort][1].extend(compress(held, chosen))
                    continue
                for number, value in compress(zip(here, held, strict=True), chosen):
                    for inner, key, scalar in nested(value):
                        inside = _sort(scalar)
                        cell = cells[inner, key or field, "text" if inside in HOLDERS else inside]
                        cell[0].append(number)
                        cell[1].append(scalar)
    for place, cells in places.items():
        columns += [_column((*place, *cell, ()), *held) for cell, held in cells.items()]
    return columns


def _column(about: tuple[str, str, str, str, str, str, tuple[str, ...]], numbers: list[int], values: list[Any]) -> Column:
    import numpy as np

    different = dict.fromkeys(values)
    place = dict(zip(different, count(), strict=False))
    places = np.fromiter(map(place.__getitem__, values), dtype=np.int32, count=len(values))
    return Column(*about, np.array(numbers, dtype=np.int32), places, list(different))


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
    return row.system in skipped and _is_query(row.values)


def _is_query(fields: Iterable[str]) -> bool:
    return bool(fields) and RECORDED.issuperset(fields)


def _told(index: Index, look: Callable[[Column], Look[T] | None]) -> Iterator[tuple[Column, dict[Any, Sequence[T]]]]:
    """The columns in which something matters, and what is told by which of their values."""
    for column in index.columns:
        of = look(column)
        if of is not None and (held := {value: said for value in column.different if (said := of(value))}):
            yield column, held


class Parts(Generic[T]):
    """What matters to a check in states: told once for each different value, and put together once for each part of a state."""

    def __init__(self, data: LeakInput, look: Callable[[Column], Look[T] | None], *, declared: bool = False) -> None:
        """`look`: how to tell what matters in a column's values, None where nothing can; `declared`: look at the recorded answers
        of declared systems too."""
        self._data, self._look, self._declared = data, look, declared
        self._of_row: defaultdict[int, list[T]] = defaultdict(list)
        self._rows: dict[str, list[int]] | None = None
        self._of_part: dict[tuple[str, frozenset[str]], list[tuple[Row, T]]] = {}

    def of(self, task: TaskSpec) -> Iterator[list[tuple[Row, T]]]:
        """For each part of the task's state in which something matters what that is, and the row: always the same list."""
        if self._rows is None:
            self._rows = self._read()
        skipped = frozenset() if self._declared else declared_systems(task)
        for digest in task.state:
            numbers = self._rows.get(digest)
            if numbers is not None:
                held = self._of_part.get((digest, skipped))
                if held is None:
                    rows = [(_rows[number], self._of_row[number]) for number in numbers]
                    held = [(row, what) for row, said in rows if not recorded(row, skipped) for what in said]
                    self._of_part[digest, skipped] = held
                if held:
                    yield held

    def _read(self) -> dict[str, list[int]]:
        """Part -> its rows in which something matters."""
        import numpy as np

        index = index_of(self._data)
        for column, held in _told(index, self._look):
            tells = np.array([value in held for value in column.different], dtype=bool)[column.places]
            for number, place in zip(column.numbers[tells].tolist(), column.places[tells].tolist(), strict=True):
                self._of_row[number] += held[column.different[place]]
        matters = np.zeros(len(_rows), dtype=bool)
        matters[list(self._of_row)] = True
        places = np.flatnonzero(matters[index.numbers])
        found: dict[str, list[int]] = {}
        parts = np.searchsorted(index.starts, places, side="right") - 1
        for part, number in zip(parts.tolist(), index.numbers[places].tolist(), strict=True):
            found.setdefault(index.digests[part], []).append(number)
        return found


class Marks(Generic[T]):
    """Which marks stand in a task's state, where nearly every row has some: of a part counts only what its rows have together."""

    def __init__(self, data: LeakInput, mark: Callable[[Column], T | None]) -> None:
        """`mark`: what the rows with a value in a column are marked with; hashable, None for nothing."""
        import numpy as np

        index = index_of(data)
        self._marks: dict[T, int] = {}
        marked = [
            (self._marks.setdefault(one, len(self._marks)), c.numbers)
            for c in index.columns
            if c.sort != "id" and (one := mark(c)) is not None
        ]
        bits = np.zeros((1 + len(self._marks) // BITS, len(_rows)), dtype=np.int64)
        for place, numbers in marked:
            bits[place // BITS, numbers] |= 1 << place % BITS
        queries = [c for c in index.columns if c.sort == "id" and _is_query(c.fields)]
        self._of_part: dict[str, list[tuple[int, str | None]]] = {}
        for system in (None, *dict.fromkeys(c.system for c in queries)):
            chosen = np.full(len(_rows), system is None)
            for column in queries:
                chosen[column.numbers] = column.system == system
            # (parts,) what the chosen rows of each part have
            lines = [
                np.bitwise_or.reduceat((line * chosen)[index.numbers], index.starts).tolist() for line in bits if index.digests
            ]
            for digest, words in zip(index.digests, zip(*lines, strict=True), strict=True):
                held = sum(word << n * BITS for n, word in enumerate(words))
                self._of_part.setdefault(digest, []).append((held, system))
        self._said: dict[int, list[T]] = {}

    def of(self, task: TaskSpec) -> list[T]:
        """The marks of the rows in the task's state, the recorded queries of declared systems left out."""
        skipped, held = declared_systems(task), 0
        for digest in task.state:
            for bits, system in self._of_part.get(digest, ()):
                held |= bits if system not in skipped else 0
        if held not in self._said:
            self._said[held] = [one for one, place in self._marks.items() if held >> place & 1]
        return self._said[held]
