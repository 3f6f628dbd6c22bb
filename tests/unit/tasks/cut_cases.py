"""The 22 cases of the cut, worked out: `python -m tests.unit.tasks.cut_cases` prints each case's answers under row shuffles.

The table's cases are folded in one query, each in an organisation of its own, so that 20 shuffles cost seconds. Cases that are
decided before the table (by ingest, by policies, by git, by digests) go through the functions that decide them. A program of its
own because the process's zone must be set before it starts.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from ingest import merge
from ingest.mail_times import received_at
from ingest.policies import read_policies
from ingest.source import Context, Output, Part
from ingest.sources.sql import SOURCE
from ingest.times import TimeFault, from_local
from pipeline.tables import frame
from schemas.events import EVENT_COLUMNS, LINK_COLUMNS, POLICY_COLUMNS, RECORD_COLUMNS
from schemas.spec import PoliciesSpec, SourceSpec
from tasks.case import Case, Turn
from tasks.cut import CutCase, Cuts, connect, cut_states, load, measure_skew, opening_rows
from tasks.cut_attachments import Attachment, attachments_at
from tasks.cut_git import commits_at, objects_at
from tasks.merged import merged_customers
from tasks.policy import in_force, versions_of
from tasks.prompt import started_us
from tests.unit.tasks.cut_rows import BOOK, CUT, OLD, RECORD, ago, later, row

SHUFFLES = 20
ZONE = "Europe/Berlin"
LOCAL = "%Y-%m-%d %H:%M"
Row = dict[str, Any]


def micros(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000)


class Bench:
    """Rows of one case: all in the organisation, and with the record ids, of its number."""

    def __init__(self, number: int, cut: datetime = CUT) -> None:
        self.number, self.cut, self.rows = number, cut, list[Row]()
        self.organisation, self.ticket = f"O{number}", f"T{number}"
        for name, value in ((None, None), ("subject", "help"), ("priority", "high"), ("status", "solved")):
            self.put("desk", "ticket", "T", cut, name, value, type="create", seq=10)

    def put(
        self, system: str, kind: str, record: str, at: datetime | None, field: str | None, value: Any = None, **more: Any
    ) -> None:
        more.setdefault("organisation", self.organisation)
        self.rows.append(row(system, kind, f"{record}{self.number}", at, field, value, **more))

    def order(self, at: datetime = OLD, record: str = "A", **more: Any) -> None:
        self.put("shop", "order", record, at, None, type="create", **{"seq": 1, **more})

    def set(
        self, at: datetime | None, value: Any, seq: int | None = 2, *, field: str = "status", record: str = "A", **more: Any
    ) -> None:
        self.put("shop", "order", record, at, field, value, seq=seq, **more)


class Seen:
    """What the cut says of one case."""

    def __init__(self, bench: Bench, cuts: Cuts, opening: dict[str, Any]) -> None:
        self.bench, self.opening, self.untimed = bench, opening, cuts.untimed
        self.found = cuts.states[bench.ticket]
        self.state: dict[str, Any] = {}
        for digest in self.found.parts:
            for system, kinds in json.loads(cuts.texts[digest]).items():
                for kind, rows in kinds.items():
                    self.state.setdefault(system, {}).setdefault(kind, {}).update(rows)

    def field(self, name: str = "status", kind: str = "shop.order", record: str = "A") -> Any:
        system, of = kind.split(".")
        rows = self.state.get(system, {}).get(of, {})
        return rows[f"{record}{self.bench.number}"][name] if f"{record}{self.bench.number}" in rows else "absent"


TABLE: dict[str, tuple[Bench, Callable[[Seen], Any]]] = {}
"""Name of a case -> its rows, and how its answer is read off."""
APART: dict[str, Callable[[int], Any]] = {}
"""Name of a case that needs no fold -> its answer for one shuffle of what it reads."""


def case(name: str, look: Callable[[Seen], Any], cut: datetime = CUT) -> Callable[[Callable[[Bench], None]], None]:
    """Registers the rows that the decorated function gives."""

    def add(fill: Callable[[Bench], None]) -> None:
        number = name.split("_", maxsplit=1)[0]
        bench = Bench(int(number) * 10 + sum(other.startswith(f"{number}_") for other in TABLE), cut)
        fill(bench)
        TABLE[name] = (bench, look)

    return add


@case("1_update_at_the_cut", lambda s: [s.field(), s.opening.get("subject")])
def _(b: Bench) -> None:
    b.order()
    b.set(ago(days=1), "placed", 2)
    b.set(CUT, "shipped", 3)


@case("2_opening_record", lambda s: s.opening)
def _(b: Bench) -> None:
    b.put("desk", "ticket", "T", later(hours=1), "subject", "help, corrected", seq=11)


@case("3_same_time_with_seq", lambda s: [s.field(), len(s.found.ambiguous)])
def _(b: Bench) -> None:
    b.order()
    b.set(ago(days=1), "placed", 7)
    b.set(ago(days=1), "packed", 8)


@case("3_same_time_without_seq", lambda s: [s.field(), [f"{a.record_id}.{a.field}" for a in s.found.ambiguous]])
def _(b: Bench) -> None:
    b.order(seq=None)
    b.set(ago(days=1), "placed", None)
    b.set(ago(days=1), "packed", None)


@case("4_late_arrival", lambda s: [s.field(), sorted(s.found.late)])
def _(b: Bench) -> None:
    b.order()
    b.set(ago(days=3), "placed", 2)
    b.set(ago(days=1), "shipped", 3, recorded=later(hours=2))


@case("5_scheduled", lambda s: [s.field(), s.field("due")])
def _(b: Bench) -> None:
    b.order()
    b.set(ago(days=3), "placed", 2)
    b.set(later(days=5), "renewed", 3, recorded=ago(days=1))
    b.set(later(days=5), "2025-06-15", 3, field="due", recorded=ago(days=1))


@case("6_overwritten_without_history", lambda s: [s.field(), s.field("tier")])
def _(b: Bench) -> None:
    b.order()
    b.set(later(days=20), "delivered", 9)
    b.set(later(days=20), "gold", 9, field="tier")


@case("7_back_filled", lambda s: s.field("late_column"))
def _(b: Bench) -> None:
    b.order()
    b.set(OLD, "x", 2, field="late_column", recorded=later(days=9))


@case("8_deleted_before", lambda s: s.field())
def _(b: Bench) -> None:
    b.order()
    b.set(ago(days=3), "placed", 2)
    b.put("shop", "order", "A", ago(days=2), None, type="delete", seq=3)


@case("9_deleted_after_with_log", lambda s: [s.field(), s.found.unrebuildable])
def _(b: Bench) -> None:
    b.order()
    b.set(ago(days=3), "placed", 2)
    b.put("shop", "order", "A", later(days=1), None, type="delete", seq=3)


@case("9_deleted_after_without_log", lambda s: [s.field(), s.found.unrebuildable])
def _(b: Bench) -> None:
    b.put("shop", "order", "A", later(days=1), None, type="delete", seq=3)


@case("10_there_and_back", lambda s: s.field())
def _(b: Bench) -> None:
    b.order()
    b.set(ago(days=3), "A", 2)
    b.set(ago(days=2), "B", 3)
    b.set(later(days=1), "A", 4)


@case("11_minute_over", lambda s: s.field())
def _(b: Bench) -> None:
    b.order()
    b.set(ago(minutes=1), "placed", 2, grain=60)
    b.set(ago(seconds=59), "shipped", 3, grain=60)


@case("11_day_not_over", lambda s: s.field())
def _(b: Bench) -> None:
    b.order()
    b.set(ago(days=3), "placed", 2, grain=86400)
    b.set(CUT.replace(hour=0), "shipped", 3, grain=86400)


def policies(folder: Path, versions: list[tuple[int, str, str, str]], shuffle: int) -> pl.DataFrame:
    """(version, published, in force from, in force to) as ingest reads them, in any order."""
    for number, published, start, end in versions:
        head = f"---\ndocument: refunds\nversion: {number}\ntitle: Refunds\npublished: {published}\nin_force_from: {start}\n"
        ends = f"in_force_to: {end}\n" if end else ""
        (folder / f"v{number}.md").write_text(f"{head}{ends}---\n1.1 Version {number}.\n", encoding="utf-8")
    rows = read_policies(PoliciesSpec(path="*.md", zone=ZONE), folder)
    random.Random(shuffle).shuffle(rows)
    return frame(rows, POLICY_COLUMNS)


def day_grain_policies(shuffle: int) -> Any:
    """In force by date in the supplier's zone: 31 May 22:30 UTC is already 1 June in Berlin."""
    with tempfile.TemporaryDirectory() as folder:
        table = policies(
            Path(folder), [(1, "2025-01-01", "2025-01-01", "2025-06-01"), (2, "2025-06-01", "2025-06-01", "")], shuffle
        )
    at = [datetime(2025, 5, 31, 21, 59, tzinfo=UTC), datetime(2025, 5, 31, 22, 0, tzinfo=UTC)]
    return [[v.policy.version for v in in_force(versions_of(table), micros(a))[0]] for a in at]


APART["11_day_grain_policies"] = day_grain_policies

FOLD = "2025-10-26 02:{:02d}"
"""The hour that Berlin's clocks had twice: 00:00 to 01:00 and 01:00 to 02:00 UTC."""


def arrived(text: str) -> datetime:
    """The cut of a request that arrived at a local time, as the pipeline takes it: from the record that its message opened."""
    stamp = from_local(text, ZONE, LOCAL)
    output = Output("test")
    with output.row("f", "line:1", 1) as told:
        told.mark(("desk", "ticket", "T"), "opened", stamp, ("t", 1, 0))
    opened = output.marks[0]["ts"]
    turn = Turn(micros(stamp.at), 1, "a", "help", True, True, "r")  # type: ignore[arg-type]
    request = Case("T", None, micros(opened), 1, None, None, turns=[turn])
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=started_us(request))


@case("12_fold", lambda s: [s.field(), s.bench.cut.isoformat()], cut=arrived(FOLD.format(30)))
def _(b: Bench) -> None:
    b.order(b.cut - timedelta(days=30))
    b.set(from_local("2025-10-26 01:59", ZONE, LOCAL).at, "placed", 2)
    b.set(from_local(FOLD.format(10), ZONE, LOCAL).at, "shipped", 3)


def no_such_time(_: int) -> Any:
    found = []
    for role in ("event", "cut"):
        try:
            found.append(str(from_local("2025-03-30 02:30", ZONE, LOCAL, role).at))  # type: ignore[arg-type]
        except TimeFault as fault:
            found.append(fault.reason)
    return found


APART["12_no_such_time"] = no_such_time


@case("13_skewed_clocks", lambda s: [s.field(kind="bank.payment"), s.field()])
def _(b: Bench) -> None:
    """Forty links show that the bank's clock is 20 s behind; the shop's is not measurable, and is believed."""
    for number in range(40):
        at = OLD + timedelta(hours=number)
        b.put("desk", "ticket", f"S{number}x", at, "about", f"P{number}x{b.number}", seq=number)
        behind, made_for = at - timedelta(seconds=20), f"S{number}x{b.number}"
        b.put("bank", "payment", f"P{number}x", behind, None, type="create", seq=number, reference=made_for)
    b.order()
    b.set(ago(seconds=10), "placed", 2)
    b.put("bank", "payment", "A", OLD, None, type="create", seq=50)
    b.put("bank", "payment", "A", ago(seconds=30), "status", "captured", seq=51)
    b.put("bank", "payment", "A", ago(seconds=10), "status", "refunded", seq=52)


PLANS = [
    ("even", 100, "2025-01-01", "2025-03-01"),
    ("even", 120, "2025-03-01", "2025-06-10 12:00"),
    ("even", 150, "2025-06-10 12:00", None),
    ("gap", 200, "2025-01-01", "2025-03-01"),
    ("gap", 220, "2025-07-01", None),
    ("twice", 300, "2025-01-01", None),
    ("twice", 320, "2025-05-01", None),
    ("twice", 310, "2024-01-01", "2024-06-01"),
]
"""Rows (plan, price, valid from, valid to), in UTC."""


def plans(shuffle: int) -> tuple[pl.DataFrame, Output]:
    """A table of versions as ingest reads it."""
    rows = [(k, p, *(f"{t} 00:00"[:16] if t else None for t in times)) for k, p, *times in PLANS]
    random.Random(shuffle).shuffle(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plans.sqlite"
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE plans (no TEXT, price INTEGER, valid_from TEXT, valid_to TEXT)")
            db.executemany("INSERT INTO plans VALUES (?, ?, ?, ?)", rows)
        db.close()
        validity = {"start": "valid_from", "end": "valid_to"}
        table = {
            "table": "plans",
            "system": "shop",
            "kind": "plan",
            "key": "no",
            "columns": {"price": "price"},
            "validity": validity,
        }
        options = {"url": f"sqlite:///{path}", "tables": [table]}
        spec = SourceSpec(name="plans", format="sql", zone="UTC", time_format=LOCAL, options=options)
        context = Context(spec, "spec.toml", Path(folder), BOOK, SOURCE.options.model_validate(options))
        output = Output("plans")
        for part in SOURCE.parts(context):
            SOURCE.read(context, Part(part.name, part.payload), output)
    events = merge.sequenced(merge.staged({"events": output.events, "marks": [], "owners": [], "rows": []})["events"])
    return events.with_columns(pl.lit("O140").alias("organisation")).select(list(EVENT_COLUMNS)), output


def versions_found(shuffle: int) -> Any:
    _, output = plans(shuffle)
    refused = sorted([r["reason"], r["found"], r["allowed"]] for r in output.quarantine)
    return [refused, [name.partition(": ")[2] for name in output.findings], len(output.rows)]


APART["14_overlap_and_gap"] = versions_found


@case(
    "14_half_open",
    lambda s: [s.state["shop"]["plan"].get(name, {"price": "absent"})["price"] for name in ("even", "gap", "twice")],
)
def _(b: Bench) -> None:
    """Its rows come from `plans`. The version that begins exactly at the cut is not yet in force, the one before it is over."""


@case("15_link_after", lambda s: [s.field("case"), s.field()])
def _(b: Bench) -> None:
    b.order()
    b.set(ago(days=3), "placed", 2)
    b.set(later(hours=1), b.ticket, 3, field="case")


@case("16_aggregate", lambda s: [s.field(name, "shop.account", "K") for name in ("orders", "spent", "visits")])
def _(b: Bench) -> None:
    """Two orders of three are the account's at the cut; a third comes after it, a fourth is deleted, a fifth was another's."""
    b.put("shop", "account", "K", OLD, None, type="create", seq=1)
    b.put("shop", "account", "L", OLD, None, type="create", seq=2)
    for number, (record, at) in enumerate(
        [("A", ago(days=30)), ("B", ago(days=2)), ("C", later(days=1)), ("D", ago(days=3)), ("E", ago(days=3))], 3
    ):
        b.order(at, record, seq=number)
        b.set(at, f"{'L' if record == 'E' else 'K'}{b.number}", number, field="account", record=record)
        b.set(at, 100 * number, number, field="total", record=record)
    b.put("shop", "order", "D", ago(days=1), None, type="delete", seq=20)
    b.set(later(days=2), f"K{b.number}", 21, field="account", record="E")
    # What the systems' own counters say on the day of the export.
    for name, value in (("orders", 4), ("spent", 9999), ("visits", 17)):
        b.put("shop", "account", "K", later(days=30), name, value, seq=30)


def policy_to_come(shuffle: int) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        table = policies(
            Path(folder), [(1, "2025-01-01", "2025-01-01", "2025-07-01"), (2, "2025-05-01", "2025-07-01", "")], shuffle
        )
    return [v.policy.version for v in in_force(versions_of(table), micros(CUT))[0]]


APART["17_published_not_effective"] = policy_to_come


def merge_links(shuffle: int) -> dict[str, str]:
    """Account M was merged into account N of another organisation, three days after the cut."""
    ends = {"left_system": "shop", "left_kind": "account", "right_system": "shop", "right_kind": "account"}
    links: list[Row] = [
        {**ends, "left_id": "M180", "name": "merged_into", "right_id": "N180", "event_ts": later(days=3)},
        {**ends, "left_id": "Q180", "name": "referred_by", "right_id": "N180", "event_ts": later(days=3)},
    ]
    records = [{"system": "shop", "kind": "account", "record_id": r, "organisation": o} for r, o in OWNERS.items()]
    random.Random(shuffle).shuffle(links)
    random.Random(shuffle).shuffle(records)
    table = frame([{**dict.fromkeys(LINK_COLUMNS), **link} for link in links], LINK_COLUMNS)
    return merged_customers(table, frame([{**dict.fromkeys(RECORD_COLUMNS), **r} for r in records], RECORD_COLUMNS), RECORD)


OWNERS = {"M180": "O180", "N180": "O180b", "Q180": "O9"}


@case(
    "18_merged_after", lambda s: [s.field("name", "shop.account", "M"), s.field("name", "shop.account", "N"), s.field("account")]
)
def _(b: Bench) -> None:
    for record, organisation, name in (("M", "O180", "Meyer"), ("N", "O180b", "Neumann")):
        b.put("shop", "account", record, OLD, None, type="create", seq=1, organisation=organisation)
        b.put("shop", "account", record, OLD, "name", name, seq=1, organisation=organisation)
    b.order()
    b.set(ago(days=2), "M180", 3, field="account")
    b.set(later(days=3), "N180", 4, field="account")
    b.put("shop", "account", "M", later(days=3), "name", "Neumann", seq=5)


APART["18_one_group"] = merge_links


@case("19_null_time", lambda s: [s.field(), s.untimed])
def _(b: Bench) -> None:
    b.order()
    b.set(None, "lost", 9)
    b.set(ago(days=3), "placed", 2)


HEADERS = [
    ("Received", "from mx.example.org (mx.example.org [192.0.2.1]) by store.example.org; Tue, 10 Jun 2025 12:00:09 +0000"),
    (
        "Received",
        "from sender.example.net by mx.example.org (8.17/8.17) with ESMTPS id x; Tue, 10 Jun 2025 14:00:00 +0200 (CEST)",
    ),
    ("Received", "from laptop by sender.example.net; Mon, 01 Jan 2001 00:00:00 -0800"),
    ("Date", "Fri, 13 Dec 2030 08:00:00 +0000"),
    ("Subject", "help"),
]


def mail_times(shuffle: int) -> Any:
    """The order of Received lines means something; where the other headers stand does not."""
    lines, rest = HEADERS[:3], HEADERS[3:]
    random.Random(shuffle).shuffle(rest)
    headers = [*rest[:1], *lines, *rest[1:]]
    found: list[Any] = [str(received_at(headers).at), str(received_at(headers, ["mx.example.org", "store.example.org"]).at)]
    try:
        received_at(rest)
    except TimeFault as fault:
        found.append(fault.reason)
    return found


APART["20_server_time"] = mail_times


def rebased(folder: Path) -> Any:
    """A fix dated before the base was rebased on it; something that the base builds on is dated after it."""
    names = {"NAME": "t", "EMAIL": "t@example.org"}
    identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in names.items()}
    environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments: str, day: int = 1) -> str:
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"2025-06-{day:02d}T12:00:00+0000")
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, env={**environment, **dates}
        )
        return done.stdout.strip()

    def commit(name: str, day: int) -> str:
        (folder / name).write_text(name, encoding="utf-8")
        git("add", name)
        git("commit", "-q", "-m", name, day=day)
        return git("rev-parse", "HEAD")

    git("init", "-q", "-b", "main")
    first = commit("first", 1)
    git("checkout", "-q", "-b", "fix")
    commit("fix", 2)
    git("checkout", "-q", "main")
    ahead = commit("ahead-of-its-time", 20)
    base = commit("base", 10)
    git("checkout", "-q", "fix")
    git("rebase", "-q", "main", day=3)
    fix = git("rev-parse", "HEAD")
    blob = git("rev-parse", "HEAD:fix")
    known, objects = commits_at(folder, base), objects_at(folder, base)
    return [first in known, ahead in known, base in known, fix in known, blob in objects, len(known)]


def rebased_once(cache: list[Any], _: int) -> Any:
    if not cache:
        with tempfile.TemporaryDirectory() as folder:
            cache.append(rebased(Path(folder)))
    return cache[0]


APART["21_rebased"] = partial(rebased_once, [])


def attached(shuffle: int) -> Any:
    old, new = b"as it was", b"as it is today"
    bytes_of = {hashlib.sha256(b).hexdigest(): b for b in (old, new)}
    digests = list(bytes_of)
    before, after = micros(ago(days=1)), micros(later(days=1))
    known = [
        Attachment("T", "known.pdf", digests[0], before, before),
        Attachment("T", "known.pdf", digests[1], after, after),
        Attachment("T", "only-a-link.pdf", None, before, before),
        Attachment("T", "hashed-later.pdf", digests[1], before, after),
        Attachment("T", "not-delivered.pdf", "0" * 64, before, before),
    ]
    random.Random(shuffle).shuffle(known)
    found = attachments_at(known, micros(CUT), bytes_of.get)
    lying = attachments_at(known, micros(CUT), lambda digest: new)
    return [{name: content.decode() for (_, name), content in found.items()}, len(lying)]


APART["22_attachments"] = attached


def folded(shuffle: int) -> dict[str, Any]:
    """Answers of all cases of the table, from one fold of its shuffled rows."""
    rows = [r for bench, _ in TABLE.values() for r in bench.rows]
    versions, _ = plans(shuffle)
    rows += versions.to_dicts()
    random.Random(shuffle).shuffle(rows)
    con = connect()
    con.register("events", frame(rows, EVENT_COLUMNS).to_arrow())
    benches = [bench for bench, _ in TABLE.values()]
    skew = measure_skew(con, RECORD, ["about"])
    load(
        con,
        BOOK,
        [b.organisation for b in benches],
        [b.ticket for b in benches],
        RECORD,
        skew_us=skew,
        groups=merge_links(shuffle),
    )
    asked = [CutCase(b.ticket, b.organisation, None, micros(b.cut)) for b in benches]
    cuts, own = cut_states(con, asked), opening_rows(con)
    con.close()
    return {name: look(Seen(bench, cuts, own[bench.ticket][0])) for name, (bench, look) in TABLE.items()}


def main() -> None:
    """{case: [each answer that came out]}: one each, where the order of rows does not matter."""
    answers: dict[str, set[str]] = {}
    for shuffle in range(SHUFFLES):
        found = {**folded(shuffle), **{name: run(shuffle) for name, run in APART.items()}}
        for name, answer in found.items():
            answers.setdefault(name, set()).add(json.dumps(answer, sort_keys=True))
    json.dump({name: [json.loads(a) for a in sorted(found)] for name, found in answers.items()}, sys.stdout)


if __name__ == "__main__":
    main()
