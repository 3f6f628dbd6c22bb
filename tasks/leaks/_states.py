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
from datetime import datetime
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
_numbers: dict[tuple[str, str], dict[bytes, int]] = {}
"""(system, kind) -> id and values -> number of the row."""
_parts: dict[str, Any] = {}
"""Digest -> (rows,) numbers of its rows, int32: a digest names its value, so neither ever goes stale."""
TEXTS = ("token", "stamp", "text")
HOLDERS = ("dict", "list", "wrapped")
"""Sorts of what something stands in: a text with another inside is "wrapped"."""
_PSEUDONYM = re.compile(r"[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?")
_PSEUDONYMS, _INSTANTS = (re.compile(rf"^{one.pattern}$", re.MULTILINE) for one in (_PSEUDONYM, _INSTANT))
_sorts: dict[str, str] = {}


def tokens_in(texts: Collection[str]) -> set[str]:
    """Those of the texts that are a pseudonym as a whole, whoever it is of."""
    return _lines(_PSEUDONYMS, texts)


def _lines(whole: re.Pattern[str], texts: Collection[str]) -> set[str]:
    """The texts that are a whole line of the pattern, which goes over no end of a line: one search for all of them."""
    found = set(whole.findall("\n".join(texts)))
    return found if len(found) == len(texts) else found.intersection(texts)


def _sorts_of(values: Sequence[Any]) -> list[str]:
    """What each value is as a whole: pseudonyms and instants, as most texts are, are told all at once."""
    texts = {value for value in values if isinstance(value, str)}
    found = dict.fromkeys(tokens_in(texts), "token")
    if len(found) < len(texts):
        found |= dict.fromkeys(_lines(_INSTANTS, texts), "stamp")
    for text in texts.difference(found) if len(found) < len(texts) else ():
        found[text] = _sort(text)
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


def _numbers_of(content: Callable[[str], Any], digest: str) -> Any:
    found = _parts.get(digest)
    if found is None:
        import numpy as np

        whole: list[int] = []
        for system, kinds in content(digest).items():
            for kind, rows in kinds.items():
                known = _numbers.setdefault((system, kind), {})
                keys = _keys(rows.items())
                numbers = [*map(known.get, keys)]
                if None in numbers:
                    for place, (key, item) in enumerate(zip(keys, rows.items(), strict=True)):
                        if numbers[place] is None:
                            numbers[place] = known[key] = len(_rows)
                            _rows.append(Row(system, kind, *item))
                whole += numbers  # type: ignore[arg-type]
        found = _parts[digest] = np.array(whole, dtype=np.int32)
    return found


def _keys(items: Iterable[tuple[str, Any]]) -> list[bytes]:
    """For each row bytes that only the same row has."""
    import msgspec

    try:
        return [*map(msgspec.msgpack.Encoder().encode, items)]
    except (OverflowError, TypeError, ValueError):  # a number of more than 64 bits
        return [marshal.dumps(item, 2) for item in items]


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
    columns: list[Column]
    """Of the different rows; those of ids first."""


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
    found = _last[digests] = _Index([digest for digest, _ in parts], whole, starts, _columns(np.flatnonzero(here).tolist()))
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
            for sort in dict.fromkeys(sorts):
                chosen = [one == sort for one in sorts]
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


def _told(index: _Index, look: Callable[[Column], Look[T] | None]) -> Iterator[tuple[Column, dict[Any, Sequence[T]]]]:
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

        index = _index(self._data)
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
    """Which marks stand in a task's state, where nearly every row has some: of a part counts only which kinds of rows it has."""

    def __init__(self, data: LeakInput, mark: Callable[[Column], T | None]) -> None:
        """`mark`: what the rows with a value in a column are marked with; hashable, None for nothing."""
        import numpy as np

        index = _index(data)
        self._marks: dict[T, int] = {}
        marked = [0] * len(_rows)
        queries: dict[int, str] = {}
        for column in index.columns:
            if column.sort == "id":
                queries.update(dict.fromkeys(column.numbers.tolist(), column.system) if _is_query(column.fields) else {})
            elif (one := mark(column)) is not None:
                bit = 1 << self._marks.setdefault(one, len(self._marks))
                for number in column.numbers.tolist():
                    marked[number] |= bit
        kinds: dict[tuple[int, str | None], int] = {}
        numbered = np.array([kinds.setdefault((bits, queries.get(n)), len(kinds)) for n, bits in enumerate(marked)], dtype=int)
        self._of_part: dict[str, list[tuple[int, str | None]]] = {}
        if kinds:
            sizes, by_number = np.diff([*index.starts, len(index.numbers)]), list(kinds)
            whole = np.repeat(np.arange(len(sizes)), sizes) * len(kinds) + numbered[index.numbers]
            for pair in np.unique(whole).tolist():
                self._of_part.setdefault(index.digests[pair // len(kinds)], []).append(by_number[pair % len(kinds)])

    def of(self, task: TaskSpec) -> list[T]:
        """The marks of the rows in the task's state, the recorded queries of declared systems left out."""
        skipped, held = declared_systems(task), 0
        for digest in task.state:
            for bits, system in self._of_part.get(digest, ()):
                held |= bits if system not in skipped else 0
        return [one for one, place in self._marks.items() if held >> place & 1]


class Dated(NamedTuple, Generic[T]):
    """What a check is told by the values of a column, each thing with its instant."""

    latest: Mapping[Any, float]
    """Value -> the latest of its instants in seconds, or something later; only the values that say any."""
    of: Callable[[Any], Sequence[tuple[datetime, T]]]
    """(instant in UTC, what is of it) of such a value; asked where the instant may be after a cut."""


def dated(values: Iterable[Any], of: Callable[[Any], Sequence[tuple[datetime, T]]]) -> Dated[T]:
    """As each of the values says."""
    held = {value: said for value in values if (said := of(value))}
    return Dated({value: max([at.timestamp() for at, _ in said]) for value, said in held.items()}, held.__getitem__)


def after(data: LeakInput, cuts: Sequence[datetime], look: Callable[[Column], Dated[T] | None]) -> Iterator[list[T]]:
    """For each task what its state holds of an instant after its cut (in UTC), the recorded queries of declared systems left out.

    `look`: what is told by a column's values, None where nothing is. Of a part that holds nothing so late no row is read.
    """
    import numpy as np

    index = _index(data)
    columns = [(column, said) for column in index.columns if (said := look(column)) is not None and said.latest]
    latest = np.full(len(_rows), -np.inf)
    for column, said in columns:
        seconds = np.array([*map(said.latest.get, column.different, repeat(-np.inf))])
        np.maximum.at(latest, column.numbers, seconds[column.places])
    of_parts = np.maximum.reduceat(latest[index.numbers], index.starts).tolist() if index.digests else []
    of_part = dict(zip(index.digests, of_parts, strict=True))
    late: list[list[int]] = []
    for task, cut in zip(data.tasks, cuts, strict=True):
        least, skipped = cut.timestamp() - 1.0, declared_systems(task)  # seconds are rounded: the instants themselves decide
        parts = [_numbers_of(data.content, digest) for digest in task.state if of_part.get(digest, least) > least]
        rows = [number for numbers in parts for number in numbers[latest[numbers] > least].tolist()]
        late.append([number for number in rows if not recorded(_rows[number], skipped)])
    of_row: dict[int, list[tuple[datetime, T]]] = {number: [] for rows in late for number in rows}
    for column, said in columns if of_row else ():
        for number, place in zip(column.numbers.tolist(), column.places.tolist(), strict=True):
            if number in of_row and (value := column.different[place]) in said.latest:
                of_row[number] += said.of(value)
    for rows, cut in zip(late, cuts, strict=True):
        yield [what for number in rows for at, what in of_row[number] if at > cut]
