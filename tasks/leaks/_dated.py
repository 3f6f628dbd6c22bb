"""What states hold of an instant after a task's cut: of a part that holds nothing so late no row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import repeat
from typing import Any, Generic, NamedTuple, TypeVar

from tasks.leaks._states import Column, declared_systems, index_of, numbers_of, recorded
from tasks.leaks._types import LeakInput

T = TypeVar("T")
EXACT = 2.0**33
"""Seconds up to which (in the year 2242) no two instants, told to the microsecond, are the same number: what is after a cut has a
greater one. The instants themselves decide in any case."""


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


def after(
    data: LeakInput,
    cuts: Sequence[datetime],
    look: Callable[[Column], Dated[T] | None],
    of_rows: Mapping[int, Sequence[tuple[datetime, T]]] | None = None,
) -> Iterator[list[T]]:
    """For each task what its state holds of an instant after its cut (in UTC), the recorded queries of declared systems left out.

    `look`: what is told by a column's values, None where nothing is; `of_rows`: what rows tell as a whole, by their numbers. Of a
    part that holds nothing so late no row is read.
    """
    import numpy as np

    index = index_of(data)
    columns = [(column, said) for column in index.columns if (said := look(column)) is not None and said.latest]
    latest = np.full(len(index.rows), -np.inf)
    for column, said in columns:
        seconds = np.array([*map(said.latest.get, column.different, repeat(-np.inf))])
        np.maximum.at(latest, column.numbers, seconds[column.places])
    for number, said_ in (of_rows or {}).items():
        latest[number] = max([latest[number], *(at.timestamp() for at, _ in said_)])
    of_parts = np.maximum.reduceat(latest[index.numbers], index.starts).tolist() if index.digests else []
    of_part = dict(zip(index.digests, of_parts, strict=True))
    late: list[list[int]] = []
    for task, cut in zip(data.tasks, cuts, strict=True):
        at, skipped = cut.timestamp(), declared_systems(task)
        least = at if at < EXACT else at - 1.0
        parts = [numbers_of(data.content, digest) for digest in task.state if of_part.get(digest, least) > least]
        rows = [number for numbers in parts for number in numbers[latest[numbers] > least].tolist()]
        late.append([number for number in rows if not recorded(index.rows[number], skipped)])
    of_row: dict[int, list[tuple[datetime, T]]] = {number: [] for rows in late for number in rows}
    asked = np.zeros(len(index.rows), dtype=bool)
    asked[list(of_row)] = True
    for column, said in columns if of_row else ():
        here = asked[column.numbers]
        for number, place in zip(column.numbers[here].tolist(), column.places[here].tolist(), strict=True):
            if (value := column.different[place]) in said.latest:
                of_row[number] += said.of(value)
    for number, said_ in (of_rows or {}).items():
        if number in of_row:
            of_row[number] += said_
    for rows, cut in zip(late, cuts, strict=True):
        yield [what for number in rows for at, what in of_row[number] if at > cut]
