"""How a column writes times, by what its values allow: a form that all take, and for day and month the values that decide."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.draft.model import Clock

CLOCK_SHARE = 0.95
"""Share of the values from which a column counts as one of times."""


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write times."""

    name: str
    pattern: str
    """Regular expression of a whole value (RE2)."""
    time_format: str | None
    sql: str
    offset: bool = False
    grain_s: int = 0
    order: str = ""
    """Separator of day and month, where they may be taken for one another."""


def _local(name: str, pattern: str, time_format: str, grain_s: int) -> Form:
    return Form(name, pattern, time_format, f"try_strptime({{}}, '{time_format}')", grain_s=grain_s)


DATE, CLOCK = r"\d{4}-\d{2}-\d{2}", r"\d{2}:\d{2}"
FORMS: tuple[Form, ...] = (
    Form(
        "iso_offset",
        DATE + r"[T ]" + CLOCK + r"(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})",
        None,
        "(TRY_CAST({} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')",
        offset=True,
    ),
    _local("iso_seconds", DATE + " " + CLOCK + r":\d{2}", "%Y-%m-%d %H:%M:%S", 0),
    _local("iso_t_seconds", DATE + "T" + CLOCK + r":\d{2}", "%Y-%m-%dT%H:%M:%S", 0),
    _local("iso_fraction", DATE + " " + CLOCK + r":\d{2}\.\d{1,6}", "%Y-%m-%d %H:%M:%S.%f", 0),
    _local("iso_t_fraction", DATE + "T" + CLOCK + r":\d{2}\.\d{1,6}", "%Y-%m-%dT%H:%M:%S.%f", 0),
    _local("iso_minutes", DATE + " " + CLOCK, "%Y-%m-%d %H:%M", 60),
    _local("iso_day", DATE, "%Y-%m-%d", 86400),
    _local("ymd_slash", r"\d{4}/\d{2}/\d{2} " + CLOCK + r":\d{2}", "%Y/%m/%d %H:%M:%S", 0),
    _local("compact", r"(19|20)\d{12}", "%Y%m%d%H%M%S", 0),
    _local("named_month", r"\d{1,2} [A-Z][a-z]{2} \d{4} " + CLOCK + r":\d{2}", "%d %b %Y %H:%M:%S", 0),
    Form("unix", r"1\d{9}", None, "make_timestamp(TRY_CAST({} AS BIGINT) * 1000000)", offset=True),
    Form("unix_ms", r"1\d{12}", None, "make_timestamp(TRY_CAST({} AS BIGINT) * 1000)", offset=True),
    *(
        Form(f"dm_{word}_{grain}", rf"\d{{1,2}}{escaped}\d{{1,2}}{escaped}\d{{4}}{tail}", time, "", grain_s=grain, order=mark)
        for word, mark, escaped in (("slash", "/", "/"), ("dot", ".", r"\."), ("dash", "-", "-"))
        for grain, tail, time in (
            (0, r",? \d{1,2}:\d{2}:\d{2}", " %H:%M:%S"),
            (60, r",? \d{1,2}:\d{2}", " %H:%M"),
            (86400, "", ""),
        )
    ),
)
BY_NAME = {form.name: form for form in FORMS}


def counts_sql(value: str, weight: str) -> dict[str, str]:
    """Name -> SQL aggregate: rows that have each form, and rows that decide the order of day and month."""
    found = {f"form_{form.name}": f"sum({weight}) FILTER (regexp_full_match({value}, '{form.pattern}'))" for form in FORMS}
    form = r"'^(\d{1,2})[/.-](\d{1,2})[/.-]\d{4}'"
    first, second = (f"TRY_CAST(regexp_extract({value}, {form}, {n}) AS INTEGER)" for n in (1, 2))
    found["day_first"] = f"sum({weight}) FILTER ({first} BETWEEN 13 AND 31 AND {second} BETWEEN 1 AND 12)"
    found["month_first"] = f"sum({weight}) FILTER ({second} BETWEEN 13 AND 31 AND {first} BETWEEN 1 AND 12)"
    found["either"] = f"sum({weight}) FILTER ({first} BETWEEN 1 AND 12 AND {second} BETWEEN 1 AND 12)"
    return found


def clock_of(counts: dict[str, int], filled: int, *, named_like_a_time: bool) -> Clock | None:
    """The clock that the counts of a column's values speak for, or None where it holds no times."""
    if not filled:
        return None
    name = max(BY_NAME, key=lambda form: counts[f"form_{form}"])
    form, rows = BY_NAME[name], counts[f"form_{name}"]
    if rows < CLOCK_SHARE * filled or (name.startswith("unix") and not named_like_a_time):
        return None
    share = rows / filled
    called = "Unix time" if name.startswith("unix") else form.time_format or "ISO 8601"
    seen = f"{rows:,} of {filled:,} values have the form {called}"
    if form.offset:
        zone = "; the unit is fixed, no zone is needed" if name.startswith("unix") else "; each carries its offset"
        return Clock(None, True, form.sql, share, seen + zone, grain_s=form.grain_s)
    if not form.order:
        return Clock(form.time_format, False, form.sql, share, f"{seen}; none carries a zone", grain_s=form.grain_s)
    return _ordered(form, counts, share, f"{rows:,} of {filled:,} values are written 9{form.order}9{form.order}9999")


def _ordered(form: Form, counts: dict[str, int], share: float, seen: str) -> Clock:
    day, month, either = counts["day_first"], counts["month_first"], counts["either"]
    decided = True
    if day and not month:
        order, why = "%d{0}%m{0}%Y", f"{day:,} can only be day before month, none the other way; {either:,} would fit both"
    elif month and not day:
        order, why = "%m{0}%d{0}%Y", f"{month:,} can only be month before day, none the other way; {either:,} would fit both"
    elif day and month:
        order, decided = ("%d{0}%m{0}%Y" if day >= month else "%m{0}%d{0}%Y"), False
        why = f"contradictory: {day:,} can only be day before month, {month:,} only month before day"
    else:
        order, decided, why = "%d{0}%m{0}%Y", False, f"undecidable: all {either:,} fit both orders"
    time_format = order.format(form.order) + (form.time_format or "")
    sql = f"try_strptime(replace({{}}, ',', ''), '{time_format}')"
    return Clock(time_format, False, sql, share, f"{seen}; {why}; none carries a zone", decided, form.grain_s)
