"""A time after the cut stands in something shown, in any format, nested, in a text, a key, an id or a file's name.

Fields that the code book calls planned may lie ahead, and so may the days that people speak of in their own words: in what
people wrote, as a state holds it, a bare day counts only behind a word of handling ("resolved 12.03.2025"), in any other long
value of a state unless a word of planning stands before it ("due 12.03.2025"), a stamp with a time of day always. In the request,
and in the requester's answers from the close of the case on, a bare day counts unless a word of planning stands before it or the
requester, by the records, named that day. A month counts as a bare day does where it lies after the cut as a whole, and, short
value or not, only if no word of planning or of an end stands before it ("valid 11/2026") and no key above it says one ("due").
As the id of a row it counts unless the column numbers beyond twelve within a year, or is that of something numbered ("invoice").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._dated import Dated, after, dated
from tasks.leaks._decode import apart, disguised
from tasks.leaks._may_hold_times import may_hold_times
from tasks.leaks._named import Named, named_in
from tasks.leaks._planned import foretells, handled, planned
from tasks.leaks._plant import with_field
from tasks.leaks._shown_times import of_config, of_name, of_objects
from tasks.leaks._spelled_times import may_say_year, written_out
from tasks.leaks._states import Column, declared_systems, index_of, nested, once, state_leaves
from tasks.leaks._time_ids import are_hashes
from tasks.leaks._times import BARE_ID, HORIZON, MONTH_IN_FIGURES, NO_ZONE, Time, instant, stamps, times_in
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import (
    MESSAGES,
    Config,
    Found,
    bare,
    configured,
    fact_texts,
    must_instant,
    prompt_texts,
    shown_episodes,
)
from tasks.leaks._whole_months import are_numbers, months_of_path

PROSE = 40
"""Characters from which a value of a state is a text that somebody wrote, and not a stamp."""
STAMP = re.compile(r"(\d(?<![\w-].)\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ)(?![\w.:,+-])")
"""As systems write them; with nothing around that could make another time of it."""
STAMPED = len("2025-01-31T12:00:00Z")
STEP = timedelta(minutes=5)
"""How far an episode's own clock may run with each step: what its calls wrote carries that time."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("late_time")
    fields = data.code_book.fields
    ahead = {name for name, rule in fields.items() if rule.planned_future}
    dated_fields = {name for name, rule in fields.items() if rule.type in ("time", "date")}
    id_fields = {name for name, rule in fields.items() if rule.type == "id"}

    known = data.first_seen
    spoken = {task.opening.record.kind for task in data.tasks}  # a request's own kind: its texts are people's words

    def times(column: Column) -> Dated[tuple[str, Time]] | None:
        """(latest reading, (path, time)) of every time in a value, and in the keys above it; none of what is planned."""
        name, path = f"{column.system}.{column.kind}.{column.field}", column.path
        if name in ahead:
            return None
        plans = foretells(f"{column.field}/{column.inner}")
        above = [] if plans else _latest(path, [time for key in _keys(column.inner) for time in of_name(key)])
        # What is an identity's pseudonym as a whole says no time, though its digits may read as one.
        values = [value for value in column.different if value not in known]
        if column.sort == "id":
            return dated(values, lambda record_id: _latest(path, of_name(record_id)))
        if column.sort in ("NoneType", "bool"):
            return dated(column.different, lambda _: above) if above else None
        is_stamp, spoken_ = name in dated_fields, column.field == MESSAGES or column.kind in spoken
        chosen = _days if plans else _unnumbered if name in id_fields else list

        def of(value: Any) -> list[tuple[datetime, tuple[str, Time]]]:
            return above if value in known else above + _latest(path, chosen(_times(value, is_stamp=is_stamp, spoken=spoken_)))

        seconds = None if above or column.sort != "stamp" else _seconds(values)
        return Dated(seconds, of) if seconds is not None else dated(column.different if above else values, of)

    shared_times = cache(lambda text: list(times_in(text)))

    @once
    def configured_times(config: Config) -> list[tuple[str, Time]]:
        return of_config(config, data.content)

    @cache
    def doubted(path: str, kind: str) -> bool:
        """True where the other values of a column, or the keys beside it, say that what reads as a time is a number or a hash."""
        columns = [column for column in index_of(data).columns if column.path == path]
        texts = [value for column in columns for value in column.different if isinstance(value, str)]
        if kind == MONTH_IN_FIGURES and are_numbers(texts, columns[0].kind if columns and not columns[0].field else ""):
            return True
        places = {(column.system, column.kind, column.field) for column in columns if column.inner}
        keys = [one.inner for one in index_of(data).columns if (one.system, one.kind, one.field) in places]
        return are_hashes(texts) if kind == BARE_ID else kind == MONTH_IN_FIGURES and are_numbers(keys)

    cuts = [must_instant(task.started_at, f"{task.task_id}.started_at") for task in data.tasks]
    for task, cut, late in zip(data.tasks, cuts, after(data, cuts, times, of_objects(index_of(data), ahead)), strict=True):
        for path, time in late:
            if time.after(cut) and not doubted(path, time.kind):
                found.add(path, "a time after the cut", [task.task_id])
        if must_instant(task.opening.received_at, f"{task.task_id}.received_at") > cut:
            found.add("opening/received_at", "a time after the cut", [task.task_id])
        closed = data.closed_at.get(task.task_id)
        end = must_instant(closed, f"{task.task_id}.closed_at") if closed is not None else cut
        named: Named | None = None
        for path, text in (*prompt_texts(task), *fact_texts(task)):
            # The requester's answers are later words by nature; what they may not hold are stamps of the handling.
            for time in shared_times(text):
                opening = path.startswith("opening")
                stamped = time.clock and opening and time.after(cut, timedelta() if time.zone else NO_ZONE)
                if stamped or (time.after(cut) and handled(text, time)):
                    found.add(path, "a time after the cut", [task.task_id])
                elif time.after(cut if opening else max(cut, end), NO_ZONE) and not planned(text, time):
                    named = named or named_in(data.requester_turns.get(task.task_id, ()))
                    if not named.holds(time):
                        span = "month" if time.month else "day"
                        what = f"a {span} after the cut that the requester, by the records, did not name"
                        found.add(path, what, [task.task_id])
        for config in configured(task):
            for path, time in configured_times(config) if config.system not in declared_systems(task) else ():
                if time.after(cut):
                    found.add(path, "a time after the cut", [task.task_id])
        for name in data.file_times.get(task.task_id, ()):
            months = (Time((at,), 0, clock=False, kind=MONTH_IN_FIGURES) for at in months_of_path(name))
            if any(time.after(cut) for time in (*of_name(name), *months)):
                found.add("files", "a file's name says a time after the cut", [task.task_id])
    _episodes(data, ahead, found)
    return found.findings()


def _episodes(data: LeakInput, ahead: set[str], found: Found) -> None:
    """What the episodes to imitate were shown."""
    keys = {name.rsplit(".", 1)[1] for name in ahead}
    read = cache(instant)  # an episode looks at the same records again and again
    for task, episode in shown_episodes(data):
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        for step, text in enumerate(episode.observations):
            slack = STEP * step
            hidden = disguised(text)
            late = None if hidden else _is_late(text, cut, slack, read)
            if late is None:
                late = hidden or may_say_year(text) or any(time.after(cut, slack) for time in times_in(text))
            if late and any(
                time.after(cut, slack) and _counts(value, time, spoken=True)
                for value, time in _unplanned(text, keys, data.first_seen)
            ):
                found.add("trajectories/observations", "a time after the cut", [task.task_id])


def _is_late(text: str, cut: datetime, slack: timedelta, read: Callable[[str], datetime | None]) -> bool | None:
    """Whether a text says a time after the cut, told by stamps where they are its only times; None where it has to be read.

    `read`: as `instant`."""
    parts = STAMP.split(text)
    stamped = [read(stamp) for stamp in parts[1::2]]
    if None in stamped or may_hold_times("~".join(parts[::2])):
        return None
    return any(at is not None and slack < at - cut < HORIZON for at in stamped)


def _unplanned(text: str, keys: set[str], known: Mapping[str, str]) -> Iterator[tuple[str, Time]]:
    """(value, time in it) of an observation, those under planned keys and what the requester says left out; what stands beside
    the JSON of one counts as well. What is one of the `known` pseudonyms as a whole says no time."""
    keys = keys | {"requester", "text", "subject"}
    values, beside = apart(text)
    leaves = [one for value in values for one in nested(value)]
    leaves += [(path, "", text) for value in values for path, text in written_out(value) if keys.isdisjoint(path.split("/"))]
    # JSON that was cut off is not read: nobody could tell which of its keys are planned.
    leaves += [("", "", value) for _, _, value in nested(beside)] if not beside.lstrip().startswith(('{"', '[{"')) else []
    for path, key, value in leaves:
        if key not in keys and isinstance(value, str | int | float) and not isinstance(value, bool):
            said = apart(value)[1] if isinstance(value, str) else str(value)
            if bare(said) not in known:
                yield from ((said, time) for time in times_in(said) if not (time.month and foretells(path)))


def _keys(inner: str) -> Iterable[str]:
    """The path below a field, and each key of it: a day in a key may hold the path's own mark."""
    return dict.fromkeys((inner, *inner.split("/")))


def _unnumbered(times: Iterable[Time]) -> list[Time]:
    """Those that are no month in figures: an id of that form is the number of something in its year."""
    return [time for time in times if time.kind != MONTH_IN_FIGURES]


def _days(times: Iterable[Time]) -> list[Time]:
    """Those that are no whole month: the key above them says that it is ahead."""
    return [time for time in times if not time.month]


def _latest(path: str, times: Iterable[Time]) -> list[tuple[datetime, tuple[str, Time]]]:
    return [(max(time.readings), (path, time)) for time in times]


def _seconds(stamps_: Collection[str]) -> dict[str, float] | None:
    """Stamp -> its instant, told as `_times` tells it but faster; None where some are not written as systems write them."""
    if not all(len(stamp) == STAMPED and stamp[-1] == "Z" for stamp in stamps_):
        return None
    try:
        return dict(zip(stamps_, map(datetime.timestamp, map(datetime.fromisoformat, stamps_)), strict=True))
    except ValueError:
        return None


def _times(value: Any, *, is_stamp: bool, spoken: bool) -> list[Time]:
    """The times that a value of a state says: all of a stamp or short value, of what somebody wrote (`spoken`) those that are
    stamps themselves or of the handling, of any other text those that are not planned."""
    if is_stamp and not isinstance(value, str):
        return list(stamps(value))
    text = str(value)
    if len(text) < 6:
        return []
    if isinstance(value, str) and (is_stamp or len(text) < PROSE):
        whole = instant(text.strip()) if text[0].isdigit() or text[0].isspace() else None
        if whole is not None:
            return [Time((whole,), 0, clock=True)]
        if is_stamp and re.fullmatch(r"\s*\d+(?:\.\d+)?\s*", text):
            return list(stamps(float(text)))
    return [t for t in times_in(text) if _counts(text, t, spoken=spoken)]


def _counts(text: str, time: Time, *, spoken: bool) -> bool:
    """True where a time in a value is one of its own and not of a plan."""
    if time.clock or handled(text, time):
        return True
    if time.month and planned(text, time):
        return False
    return len(text) < PROSE or not (spoken or planned(text, time))


def planted(data: LeakInput) -> LeakInput:
    task: TaskSpec = data.tasks[0]
    leaf = next(state_leaves(data, task))
    later = must_instant(task.started_at, "started_at") + timedelta(days=2)
    return with_field(data, 0, leaf.system, leaf.kind, leaf.field, {"log": [{"note": f"done {later:%d/%m/%Y %H:%M}"}]})


LEAK = Leak("late_time", run, planted)
