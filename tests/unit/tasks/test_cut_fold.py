"""The fold by changes says at every cut what a fold from the beginning says, over many logs, cuts and months; layers put
together lose and add nothing."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from typing import Any

import pytest

from pipeline.tables import frame
from schemas.errors import StageError
from schemas.events import EVENT_COLUMNS
from schemas.files import canonical_json
from tasks.cut import CutCase, Cuts, connect, cut_states, load
from tasks.cut_fold import Kind, Record, Row, Tied, untied, written
from tests.unit.tasks.cut_rows import BOOK, CUT, RECORD, row

ORDER = ("status", "due", "tier", "late_column", "case", "account", "total")
VALUES: dict[str, list[Any]] = {"tier": ["basic", "gold"], "total": [5, 700], "late_column": ["z", None, {"b": 1, "a": 2}]}
MICROSECOND = timedelta(microseconds=1)


def random_log(rng: random.Random) -> list[dict[str, Any]]:
    """Rows that tie, come late, are planned, delete and make again, in any order."""
    rows = []
    for _ in range(rng.randint(5, 80)):
        kind = rng.choices(["create", "change", "delete"], [3, 6, 1])[0]
        name = None if kind == "delete" or rng.random() < 0.2 else rng.choice(ORDER)
        at = CUT - timedelta(days=rng.uniform(-20, 70))
        if rng.random() < 0.5:
            at = at.replace(hour=0, minute=0, second=0, microsecond=0)
        recorded = at + timedelta(seconds=rng.choice([0, 0, 0, 7200, -900_000]))
        value = rng.choice(VALUES.get(name or "", ["a", "b", "c"]))
        rows.append(
            row(
                "shop",
                "order",
                rng.choice("ABC"),
                None if rng.random() < 0.03 else at,
                name,
                value,
                seq=rng.choice([None, rng.randint(1, 3), rng.randint(1, 300)]),
                type=kind,
                recorded=recorded,
                grain=rng.choice([0, 0, 60, 86400]),
            )
        )
    return rows


def seen_from(event: dict[str, Any]) -> datetime | None:
    if event["event_ts"] is None:
        return None
    if event["field"] == "due":
        planned: datetime = event["recorded_ts"] + MICROSECOND
        return planned
    grain = max(timedelta(seconds=event["ts_grain_s"]), MICROSECOND)
    seen: datetime = max(event["event_ts"] + grain, event["recorded_ts"] + MICROSECOND)
    return seen


def from_the_beginning(rows: list[dict[str, Any]], cut: datetime) -> tuple[dict[str, Any], set[tuple[str, str]]]:
    """State and ties by the table of semantics 2, by going through every row for this one cut."""
    never = datetime(1, 1, 1, tzinfo=CUT.tzinfo)
    state: dict[str, Any] = {}
    ties: set[tuple[str, str]] = set()
    for record in sorted({r["record_id"] for r in rows}):
        mine = [r for r in rows if r["record_id"] == record]
        seen = [r for r in mine if (since := seen_from(r)) is not None and since <= cut]
        acts = [r for r in seen if r["type"] != "change"]
        last = max(acts, key=lambda r: (r["event_ts"], r["seq"] or 0, r["type"] == "create"), default=None)
        if not seen or (last is not None and last["type"] == "delete"):
            continue
        state[record] = dict.fromkeys(ORDER)
        for name in ORDER:
            told = [r for r in (mine if name == "tier" else seen) if r["field"] == name and r["type"] != "delete"]
            if not told:
                continue
            text = {id(r): canonical_json(json.loads(r["value_json"])) for r in told}
            ordered = sorted(told, key=lambda r: text[id(r)], reverse=True)
            top = max(reversed(ordered), key=lambda r: (r["event_ts"] or never, r["seq"] or 0))
            state[record][name] = json.loads(text[id(top)])
            if name == "tier":
                continue
            near = [r for r in told if r["event_ts"] + max(timedelta(seconds=r["ts_grain_s"]), MICROSECOND) > top["event_ts"]]
            numbers = [r["seq"] for r in told if r["seq"] is not None]
            at_top = {text[id(r)] for r in near if numbers and r["seq"] == max(numbers)}
            if len({text[id(r)] for r in near}) > 1 and (any(r["seq"] is None for r in near) or len(at_top) > 1):
                state[record][name] = None
                ties.add((record, name))
    return state, ties


def found_by_layers(cuts: Cuts, case_id: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for digest in cuts.states[case_id].parts:
        found.update(json.loads(cuts.texts[digest])["shop"]["order"])
    return found


def test_every_cut_of_every_month_is_as_folded_from_the_beginning() -> None:
    tied = gone = layered = 0
    for seed in range(40):
        rng = random.Random(seed)
        rows = random_log(rng)
        moments = {f"T{n}": CUT - timedelta(days=rng.uniform(-5, 70)) for n in range(8)}
        con = connect()
        con.register("events", frame(rows, EVENT_COLUMNS).to_arrow())
        load(con, BOOK, ["O1"], list(moments), RECORD)
        cases = [CutCase(name, "O1", None, int(at.timestamp() * 1_000_000)) for name, at in moments.items()]
        cuts = cut_states(con, cases)
        con.close()
        for case in cases:
            at = CUT + timedelta(microseconds=case.cut_us - int(CUT.timestamp() * 1_000_000))
            state, ties = from_the_beginning(rows, at)
            named = cuts.states[case.case_id]
            assert found_by_layers(cuts, case.case_id) == state, (seed, case.case_id)
            assert {(a.record_id, a.field) for a in named.ambiguous} == ties, (seed, case.case_id)
            tied += bool(ties)
            layered += len(named.parts) == 2
            gone += len(state) < len({r["record_id"] for r in rows if (since := seen_from(r)) and since <= at})
    # The logs show what they are to show.
    assert min(tied, gone, layered) >= 5, (tied, gone, layered)


def test_a_record_moved_back_is_as_it_was() -> None:
    con = connect()
    rows = [row("shop", "order", "A", CUT - timedelta(days=d), "status", f"s{d}", seq=9 - d, type="create") for d in (3, 2, 1)]
    con.register("events", frame(rows, EVENT_COLUMNS).to_arrow())
    load(con, BOOK, ["O1"], [], RECORD)
    # Two organisations never share a record, but two cases of one requester may look at one earlier request in any order.
    for order in ([1, 2, 3], [3, 1, 2], [2, 3, 1]):
        cases = [CutCase(f"T{d}", "O1", None, int((CUT - timedelta(days=d - 0.5)).timestamp() * 1_000_000)) for d in order]
        cuts = cut_states(con, cases)
        assert {c.case_id: found_by_layers(cuts, c.case_id)["A"]["status"] for c in cases} == {"T1": "s1", "T2": "s2", "T3": "s3"}


def test_untied_tells_a_tie_from_its_instant_on_until_something_later_decides() -> None:
    told: list[tuple[Any, ...]] = []
    rows = [
        Row(1, 0, 11, 1, None, 10, 0, '"a"', '"p"'),
        Row(1, 0, 20, 2, None, 10, 0, '"b"', '"q"'),
        Row(1, 0, 31, 3, None, 30, 0, '"c"', None),
    ]
    untied(rows, told)
    assert [(at, value) for at, _, _, value, _ in told] == [
        (11, '"a"'),
        (20, Tied('"b"', '"q"', '["p","q"]')),
        (31, '"c"'),
    ]


def test_layers_name_systems_and_kinds_once_and_nothing_makes_none() -> None:
    kinds = [Kind('"bank"', '"payment"'), Kind('"shop"', '"account"'), Kind('"shop"', '"order"')]
    rows = [(Record(n, kind, f"R{n}", f'"R{n}"'), (f'"R{n}":{{}}', f'"R{n}":{{}}')) for n, kind in enumerate([*kinds, kinds[2]])]
    layer = written(rows)
    assert layer is not None
    assert layer[0] == '{"bank":{"payment":{"R0":{}}},"shop":{"account":{"R1":{}},"order":{"R2":{},"R3":{}}}}'
    assert layer[1] == layer[0]
    assert written([]) is None


def test_connections_of_a_process_share_no_table_and_a_folder_without_events_is_an_error(tmp_path: Any) -> None:
    one, other = connect(spill=tmp_path / "one"), connect(spill=tmp_path / "other")
    one.execute("CREATE TEMP TABLE ev(a INTEGER)")
    assert other.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'ev'").fetchone() in [(0,), None]
    one.close()
    with pytest.raises(StageError, match="holds no events"):
        connect(tmp_path)
    other.execute("CREATE TEMP TABLE ev(a INTEGER)")
    other.close()
