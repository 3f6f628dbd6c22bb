"""A time after the cut stands in something shown, in any format, nested, in a text, a key, an id or a file's name.

Fields that the code book calls planned may lie ahead, and so may the days that people speak of in their own words: in what
people wrote, as a state holds it, a bare day counts only behind a word of handling ("resolved 12.03.2025"), in any other long
value of a state unless a word of planning stands before it ("due 12.03.2025"), a stamp with a time of day always. In the request,
and in the requester's answers from the close of the case on, a bare day counts unless a word of planning stands before it or the
requester, by the records, named that day. A month alone is no time: it may hold the cut itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._dated import Dated, after, dated
from tasks.leaks._decode import apart, disguised
from tasks.leaks._plant import with_field
from tasks.leaks._states import Column, declared_systems, nested, once, state_leaves
from tasks.leaks._times import HORIZON, NO_ZONE, Time, instant, may_hold_times, stamps, times_in
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import MESSAGES, Found, Texts, bare, fact_texts, must_instant, prompt_texts, shared_texts, shown_episodes

HANDLED = re.compile(
    r"(?:resolved|closed|solved|refunded|cancell?ed|granted|refused|denied|updated|handled|decided|completed|credited|restored|"
    r"modified|approved|paid|reopened|erledigt|gel[öo]st|geschlossen|abgeschlossen|bearbeitet|erstattet|storniert|genehmigt|"
    r"abgelehnt|r[ée]solue?|cl[ôo]tur[ée]e?|ferm[ée]e?|trait[ée]e?|rembours[ée]e?|annul[ée]e?|accept[ée]e?|refus[ée]e?|"
    r"resuelt[oa]|cerrad[oa]|reembolsad[oa]|cancelad[oa]|aprobad[oa]|rechazad[oa])(?:_?at|_?on)?[\W_]*(?:on|at|by|the|am|le|el|date)?"
    r"[\W_]*(?:\w{2,10}\.?,? )?$",
    re.IGNORECASE,
)
PLANNED = re.compile(
    r"\b(?:by|until|till|before|due|from|for|on|next|planned|expected|promised|scheduled|deliver[yi]?|bis|ab|am|zum|vor|jusqu.?au|"
    r"avant|pour|le|hasta|antes|para|el)(?: the| date| on| dem| den)?[\W_]*$",
    re.IGNORECASE,
)
"""What stands before a day that is still ahead."""
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
    planned = {name for name, rule in fields.items() if rule.planned_future}
    dated_fields = {name for name, rule in fields.items() if rule.type in ("time", "date")}

    known = data.first_seen
    spoken = {task.opening.record.kind for task in data.tasks}  # a request's own kind: its texts are people's words

    def times(column: Column) -> Dated[tuple[str, Time]] | None:
        """(latest reading, (path, time)) of every time in a value, and in the keys above it; none of what is planned."""
        name, path = f"{column.system}.{column.kind}.{column.field}", column.path
        if name in planned:
            return None
        above = _latest(path, times_in(column.inner))
        # What is an identity's pseudonym as a whole says no time, though its digits may read as one.
        values = [value for value in column.different if value not in known]
        if column.sort == "id":
            return dated(values, lambda record_id: _latest(path, times_in(record_id)))
        if column.sort in ("NoneType", "bool"):
            return dated(column.different, lambda _: above) if above else None
        is_stamp, spoken_ = name in dated_fields, column.field == MESSAGES or column.kind in spoken

        def of(value: Any) -> list[tuple[datetime, tuple[str, Time]]]:
            return above if value in known else above + _latest(path, _times(value, is_stamp=is_stamp, spoken=spoken_))

        seconds = None if above or column.sort != "stamp" else _seconds(values)
        return Dated(seconds, of) if seconds is not None else dated(column.different if above else values, of)

    @cache
    def shared_times(text: str) -> list[Time]:
        return list(times_in(text))

    @once
    def configured_times(texts: Texts) -> list[tuple[str, Time]]:
        return [(path, time) for path, text in texts if path.startswith("systems/") for time in shared_times(text)]

    cuts = [must_instant(task.started_at, f"{task.task_id}.started_at") for task in data.tasks]
    for task, cut, late in zip(data.tasks, cuts, after(data, cuts, times), strict=True):
        for path, time in late:
            if time.after(cut):
                found.add(path, "a time after the cut", [task.task_id])
        if must_instant(task.opening.received_at, f"{task.task_id}.received_at") > cut:
            found.add("opening/received_at", "a time after the cut", [task.task_id])
        closed = data.closed_at.get(task.task_id)
        end = must_instant(closed, f"{task.task_id}.closed_at") if closed is not None else cut
        named: set[date] | None = None
        for path, text in (*prompt_texts(task), *fact_texts(task)):
            # The requester's answers are later words by nature; what they may not hold are stamps of the handling.
            for time in shared_times(text):
                opening = path.startswith("opening")
                stamped = time.clock and opening and time.after(cut, timedelta() if time.zone else NO_ZONE)
                if stamped or (time.after(cut) and _handled(text, time)):
                    found.add(path, "a time after the cut", [task.task_id])
                elif time.after(cut if opening else max(cut, end), NO_ZONE) and not _planned(text, time):
                    if named is None:
                        turns = data.requester_turns.get(task.task_id, ())
                        named = {at.date() for turn in turns for said in times_in(turn) for at in said.readings}
                    if named.isdisjoint(at.date() for at in time.readings):
                        found.add(path, "a day after the cut that the requester, by the records, did not name", [task.task_id])
        for path, time in configured_times(shared_texts(data, task, skip=declared_systems(task))):
            if time.after(cut):
                found.add(path, "a time after the cut", [task.task_id])
        for name in data.file_times.get(task.task_id, ()):
            if any(time.after(cut) for time in times_in(name)):
                found.add("files", "a file's name says a time after the cut", [task.task_id])
    _episodes(data, planned, found)
    return found.findings()


def _episodes(data: LeakInput, planned: set[str], found: Found) -> None:
    """What the episodes to imitate were shown."""
    keys = {name.rsplit(".", 1)[1] for name in planned}
    read = cache(instant)  # an episode looks at the same records again and again
    for task, episode in shown_episodes(data):
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        for step, text in enumerate(episode.observations):
            slack = STEP * step
            hidden = disguised(text)
            late = None if hidden else _is_late(text, cut, slack, read)
            if late is None:
                late = hidden or any(time.after(cut, slack) for time in times_in(text))
            if late and any(
                time.after(cut, slack) and (time.clock or _handled(value, time) or len(value) < PROSE)
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
    leaves = [(key, value) for one in values for _, key, value in nested(one)]
    # JSON that was cut off is not read: nobody could tell which of its keys are planned.
    leaves += [("", value) for _, _, value in nested(beside)] if not beside.lstrip().startswith(('{"', '[{"')) else []
    for key, value in leaves:
        if key not in keys and isinstance(value, str | int | float) and not isinstance(value, bool):
            said = apart(value)[1] if isinstance(value, str) else str(value)
            if bare(said) not in known:
                yield from ((said, time) for time in times_in(said))


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
    return [t for t in times_in(text) if len(text) < PROSE or t.clock or _handled(text, t) or not (spoken or _planned(text, t))]


def _planned(text: str, time: Time) -> bool:
    """True where the words before the time say that it is ahead."""
    return PLANNED.search(text[max(0, time.start - 25) : time.start]) is not None


def _handled(text: str, time: Time) -> bool:
    """True where the word before the time says that the case was handled then."""
    return HANDLED.search(text[max(0, time.start - 40) : time.start]) is not None


def planted(data: LeakInput) -> LeakInput:
    task: TaskSpec = data.tasks[0]
    leaf = next(state_leaves(data, task))
    later = must_instant(task.started_at, "started_at") + timedelta(days=2)
    return with_field(data, 0, leaf.system, leaf.kind, leaf.field, {"log": [{"note": f"done {later:%d/%m/%Y %H:%M}"}]})


LEAK = Leak("late_time", run, planted)
