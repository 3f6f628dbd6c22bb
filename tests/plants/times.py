"""Times after the cut: in many formats, in fields, nested, in texts, in policies, in what the requester says."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from random import Random
from typing import Any

from schemas.task import Fact
from tasks.leaks import LeakInput
from tests.plants._edit import Edit, choose, key_of, later, own, stamp, task_and_row, when
from tests.plants._planted import Plant, Planted, UnplantableError

SECTION = "time after the cut"
DE = ("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember")
EN = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
FR = ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre")
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def _ulid(moment: datetime) -> str:
    left, text = int(moment.timestamp() * 1000), ""
    for _ in range(10):
        left, digit = divmod(left, 32)
        text = CROCKFORD[digit] + text
    return text + "7ZK2M4Q8XW0VHD3R"


def _uuid7(moment: datetime) -> str:
    return f"{int(moment.timestamp() * 1000):012x}7d3e9b41c0de5a7f2b68"


def _month(form: str) -> Callable[[datetime], str]:
    """The month after the moment's own: the cut may lie in that one."""
    return lambda moment: (moment + timedelta(days=32)).strftime(form)


def _local(moment: datetime, hours: float) -> datetime:
    return moment.astimezone(timezone(timedelta(hours=hours)))


FORMATS: dict[str, tuple[str, Callable[[datetime], Any]]] = {
    "iso_utc": ("ISO 8601 in UTC", stamp),
    "iso_offset": ("ISO 8601 with the offset of another zone", lambda m: _local(m, 5.5).isoformat()),
    "iso_blank": ("ISO 8601 with a blank and no zone", lambda m: m.strftime("%Y-%m-%d %H:%M:%S")),
    "iso_fraction": ("ISO 8601 with a fraction of a second and +0000", lambda m: m.strftime("%Y-%m-%dT%H:%M:%S.123+0000")),
    "iso_basic": ("ISO 8601 basic form", lambda m: m.strftime("%Y%m%dT%H%M%SZ")),
    "iso_week": ("ISO week date", lambda m: f"{m:%G}-W{m:%V}-{m:%u}"),
    "iso_minutes": ("ISO 8601 to the minute", lambda m: m.strftime("%Y-%m-%dT%H:%MZ")),
    "epoch_s": ("Unix seconds, a number", lambda m: int(m.timestamp())),
    "epoch_ms": ("Unix milliseconds, a number", lambda m: int(m.timestamp() * 1000)),
    "epoch_us": ("Unix microseconds, a number", lambda m: int(m.timestamp() * 1_000_000)),
    "epoch_float": ("Unix seconds with a fraction, a number", lambda m: m.timestamp() + 0.25),
    "epoch_text": ("Unix seconds, a text", lambda m: str(int(m.timestamp()))),
    "epoch_ms_text": ("Unix milliseconds, a text", lambda m: str(int(m.timestamp() * 1000))),
    "rfc2822": ("RFC 2822", lambda m: format_datetime(_local(m, -7))),
    "ctime": ("as C's ctime", lambda m: m.strftime("%a %b %d %H:%M:%S %Y")),
    "slash_log": ("as in web server logs", lambda m: m.strftime("%d/%b/%Y:%H:%M:%S +0000")),
    "day_iso": ("ISO day only", lambda m: m.strftime("%Y-%m-%d")),
    "german_words": ("German, month in words", lambda m: f"{m.day}. {DE[m.month - 1]} {m.year}, {m:%H:%M} Uhr"),
    "german_dots": ("German, dots", lambda m: f"{m:%d.%m.%Y} {m:%H:%M}"),
    "german_short": ("German, dots and a year of two digits", lambda m: f"{m.day}.{m.month}.{m:%y}"),
    "us_words": ("US, month in words", lambda m: f"{EN[m.month - 1]} {m.day}, {m.year} {m:%I:%M %p}"),
    "us_slashes": ("US, slashes, a day above 12", lambda m: m.strftime("%m/%d/%Y")),
    "us_ordinal": ("English ordinal", lambda m: f"the {m.day}th of {EN[m.month - 1]} {m.year}"),
    "uk_short": ("English short month", lambda m: m.strftime("%d-%b-%Y")),
    "french_words": ("French, month in words", lambda m: f"le {m.day} {FR[m.month - 1]} {m.year} à {m:%H}h{m:%M}"),
    "ulid": ("in the head of a ULID", _ulid),
    "ulid_lower": ("in the head of a ULID in small letters", lambda m: _ulid(m).lower()),
    "ulid_prefixed": ("in the head of a ULID in small letters behind a prefix", lambda m: f"evt_{_ulid(m).lower()}"),
    "uuid7_bare": ("in a UUID of version 7 without hyphens", _uuid7),
    "month_iso": ("the next month, as ISO 8601", _month("%Y-%m")),
    "month_words": ("the next month in words", _month("in %b %Y")),
    "month_slash": ("the next month with a slash", _month("%m/%Y")),
    "glued": ("day, short month and year glued together", lambda m: m.strftime("%d%b%Y")),
    "glued_short": ("day, short month and two digits of the year glued together", lambda m: m.strftime("%d%b%y").upper()),
    "apostrophe": ("US short month and two digits of the year behind an apostrophe", lambda m: m.strftime("%b %d, '%y")),
    "full_width": ("ISO day in letters of full width", lambda m: "".join(chr(ord(c) + 0xFEE0) for c in f"{m:%Y-%m-%d}")),
    "arabic": ("ISO day in Arabic figures", lambda m: "".join(chr(ord(c) + 0x630) if c != "-" else c for c in f"{m:%Y-%m-%d}")),
    "file_stamp": ("in the name of a file", lambda m: f"export_{m:%Y%m%d}_{m:%H%M}.csv"),
}
SURE_DAY = {"us_slashes", "us_ordinal"}


def _moment(data: LeakInput, rng: Random, form: str) -> tuple[Any, tuple[str, str, str], datetime]:
    for _ in range(200):
        task, at = task_and_row(data, rng)
        moment = later(task, rng, 3, 25)
        if form not in SURE_DAY or 13 <= moment.day <= 20:
            return task, at, moment
    raise UnplantableError("no such day")


def _field(form: str) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        task, at, moment = _moment(data, rng, form)
        value = FORMATS[form][1](moment)
        kind = "time" if isinstance(value, int | float) or form.startswith("iso") else "text"
        edit = Edit(data).declare(key_of(at, "touched"), kind)
        return Planted(edit.field(task.task_id, at, "touched", value).done(), (task.task_id,))

    return make


def one_second(data: LeakInput, rng: Random) -> Planted:
    task, at = task_and_row(data, rng)
    edit = Edit(data).declare(key_of(at, "touched"), "time")
    return Planted(
        edit.field(task.task_id, at, "touched", stamp(when(task.started_at) + timedelta(seconds=1))).done(), (task.task_id,)
    )


def looks_earlier(data: LeakInput, rng: Random) -> Planted:
    """After the cut as an instant, before it as a text: the offset of a zone far west."""
    task, at = task_and_row(data, rng)
    moment = _local(when(task.started_at) + timedelta(hours=2), -11)
    edit = Edit(data).declare(key_of(at, "touched"), "time")
    return Planted(edit.field(task.task_id, at, "touched", moment.isoformat()).done(), (task.task_id,))


def declared_field(data: LeakInput, rng: Random) -> Planted:
    """One of the supplier's own time fields, known from history and not planned, holds a later time."""
    tasks = list(data.tasks)
    rng.shuffle(tasks)
    for task in tasks[:300]:
        for digest in reversed(task.state):
            for system, kinds in sorted(data.content(digest).items()):
                for kind, rows in sorted(kinds.items()):
                    for rid, row in sorted(rows.items()):
                        for name in sorted(row):
                            rule = data.code_book.rule(system, kind, name)
                            if rule and rule.type == "time" and rule.known_at in ("history", "start") and not rule.planned_future:
                                edit = Edit(data).field(task.task_id, (system, kind, rid), name, stamp(later(task, rng)))
                                return Planted(edit.done(), (task.task_id,))
    raise UnplantableError("no time field is shown")


def in_json_string(data: LeakInput, rng: Random) -> Planted:
    task, at = task_and_row(data, rng)
    edit = Edit(data).declare(key_of(at, "payload"), "text")
    value = json.dumps({"sync": {"cursor": [1, {"at": int(later(task, rng).timestamp())}]}})
    return Planted(edit.field(task.task_id, at, "payload", value).done(), (task.task_id,))


def in_messages(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    system, kind, rid = own(task)
    note = [
        {"at": stamp(when(task.started_at) - timedelta(days=2)), "from": "agent", "text": "Thank you, noted."},
        {"at": stamp(later(task, rng)), "from": "agent", "text": "Still on it."},
    ]
    edit = Edit(data).declare(f"{system}.{kind}.messages", "json")
    return Planted(edit.rows(task.task_id, {system: {kind: {rid: {"messages": note}}}}).done(), (task.task_id,))


def in_message_prose(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    system, kind, rid = own(task)
    text = f"We looked at it on {FORMATS['us_words'][1](later(task, rng))} and will write again."
    note = [{"at": stamp(when(task.started_at) - timedelta(days=2)), "from": "agent", "text": text}]
    edit = Edit(data).declare(f"{system}.{kind}.messages", "json")
    return Planted(edit.rows(task.task_id, {system: {kind: {rid: {"messages": note}}}}).done(), (task.task_id,))


def as_key(data: LeakInput, rng: Random) -> Planted:
    task, at = task_and_row(data, rng)
    edit = Edit(data).declare(key_of(at, "by_day"), "json")
    return Planted(
        edit.field(task.task_id, at, "by_day", {later(task, rng).strftime("%Y-%m-%d"): {"n": 1}}).done(), (task.task_id,)
    )


def _opening(form: str, part: str) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        task, _, moment = _moment(data, rng, form)
        text = FORMATS[form][1](moment)
        if part == "subject":
            update = {"subject": f"{task.opening.subject} ({text})"}
        else:
            update = {"text": f"{task.opening.text}\nThe answer that I got is dated {text}, I keep it."}
        return Planted(Edit(data).opening(task.task_id, **update).done(), (task.task_id,))

    return make


def received_late(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    return Planted(Edit(data).opening(task.task_id, received_at=stamp(later(task, rng))).done(), (task.task_id,))


def in_fact(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    day = FORMATS["uk_short"][1](later(task, rng))
    fact = Fact(id="f98", slots=("reminder",), question="Did anybody remind you?", answer=f"Yes, a letter of {day} did.")
    return Planted(Edit(data).fact(task.task_id, fact).done(), (task.task_id,))


def in_fact_value(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    day = FORMATS["day_iso"][1](later(task, rng))
    fact = Fact(id="f98", slots=("seen_on",), values={"seen_on": day}, question="When did you see it?", answer=f"On {day}.")
    return Planted(Edit(data).fact(task.task_id, fact).done(), (task.task_id,))


def in_fact_month(data: LeakInput, rng: Random) -> Planted:
    """A month that begins after the case was closed."""
    task = choose(data, rng)
    month = (when(data.closed_at.get(task.task_id, task.started_at)) + timedelta(days=34)).strftime("%B %Y")
    fact = Fact(id="f98", slots=("reminder",), question="Did anybody remind you?", answer=f"Yes, a letter of {month} did.")
    return Planted(Edit(data).fact(task.task_id, fact).done(), (task.task_id,))


def in_policy(data: LeakInput, rng: Random) -> Planted:
    """A clause with a note that was added after the request came."""
    task = choose(data, rng, lambda t: bool(t.policies))
    edit = Edit(data)
    policy = dict(data.content(task.policies[0]))
    first, *rest = policy["clauses"]
    note = f"{first['text']} (Reworded on {FORMATS['us_words'][1](later(task, rng))} after complaints.)"
    policy["clauses"] = [{**first, "text": note}, *rest]
    edit.task(task.task_id, policies=(edit.put(policy), *task.policies[1:]))
    return Planted(edit.done(), (task.task_id,))


def in_config(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    first, *rest = task.systems
    config = {**first.config, "snapshot_of": stamp(later(task, rng))}
    return Planted(
        Edit(data).task(task.task_id, systems=(first.model_copy(update={"config": config}), *rest)).done(), (task.task_id,)
    )


PLANTS = (
    *(Plant(f"time_{form}", SECTION, f"{words}, in a field of a row", _field(form)) for form, (words, _) in FORMATS.items()),
    Plant("time_one_second", SECTION, "one second after the cut", one_second),
    Plant("time_looks_earlier", SECTION, "offset that makes a later instant read as an earlier text", looks_earlier),
    Plant("time_declared_field", SECTION, "one of the supplier's own time fields holds a later time", declared_field),
    Plant("time_json_string", SECTION, "Unix seconds in a list in JSON inside a text field", in_json_string),
    Plant("time_messages", SECTION, "time of a message in a nested list", in_messages),
    Plant("time_message_prose", SECTION, "date in words in the text of a nested message", in_message_prose),
    Plant("time_dict_key", SECTION, "day as a key of a nested object", as_key),
    Plant("time_opening_us", SECTION, "US date in words inside the prose of the opening", _opening("us_words", "text")),
    Plant(
        "time_opening_german", SECTION, "German date in words inside the prose of the opening", _opening("german_words", "text")
    ),
    Plant(
        "time_opening_french", SECTION, "French date in words inside the prose of the opening", _opening("french_words", "text")
    ),
    Plant("time_opening_rfc", SECTION, "RFC 2822 date inside the prose of the opening", _opening("rfc2822", "text")),
    Plant("time_subject", SECTION, "ISO day in the subject", _opening("day_iso", "subject")),
    Plant("time_received", SECTION, "the opening's own time of receipt lies after the start", received_late),
    Plant("time_fact", SECTION, "date in the words of a requester's fact", in_fact),
    Plant("time_fact_value", SECTION, "day as the value of a requester's fact", in_fact_value),
    Plant(
        "time_opening_month", SECTION, "the next month in words inside the prose of the opening", _opening("month_words", "text")
    ),
    Plant("time_subject_glued", SECTION, "day, short month and year glued together in the subject", _opening("glued", "subject")),
    Plant("time_fact_month", SECTION, "month after the close in the words of a requester's fact", in_fact_month),
    Plant("time_policy", SECTION, "date of a later rewording inside a policy's clause", in_policy),
    Plant("time_config", SECTION, "later snapshot time in a system's configuration", in_config),
)
