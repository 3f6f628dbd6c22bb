"""Each planted mess is in the export, where the truth says, and in no smaller share than its knob."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from typing import Any

import pytest

from samples.clock import FOLD_START, local_text
from samples.settings import OBSTACLES, PLANTS
from tests.unit.samples.conftest import Sample

Row = dict[str, Any]
RARE = {"clock_skew", "dst_fold"}
"""These apply only where the clock and the calendar allow."""


def planted(sample: Sample, name: str) -> list[Row]:
    return [row for row in sample.truth("tickets") if name in row["planted"]]


@pytest.mark.parametrize("name", sorted(OBSTACLES))
def test_obstacles_have_their_share_and_make_tickets_not_clean(sample: Sample, name: str) -> None:
    rows = planted(sample, name)
    assert abs(len(rows) - OBSTACLES[name] * len(sample.truth("tickets"))) <= 4
    assert not any(row["clean"] for row in rows)
    assert {row["solvable"] for row in rows} == {name == "trivial"}


@pytest.mark.parametrize("name", sorted(set(PLANTS) - RARE))
def test_harmless_mess_lies_on_clean_tickets(sample: Sample, name: str) -> None:
    rows = [row for row in planted(sample, name) if row["clean"]]
    assert len(rows) >= 0.45 * PLANTS[name] * len(sample.clean)


def test_deleted_tickets_are_rows_without_a_log(sample: Sample) -> None:
    rows = {str(row["id"]): row for row in sample.rows("tickets")}
    for ticket in planted(sample, "deleted"):
        assert rows[ticket["ticket_id"]]["status"] == "deleted"
        assert ticket["ticket_id"] not in sample.audits


def test_merged_tickets_name_the_other_one(sample: Sample) -> None:
    for ticket in planted(sample, "merged"):
        rels = [
            a["via"]["source"]["to"].get("ticket_id")
            for a in sample.audits[ticket["ticket_id"]]
            if a["via"]["source"]["rel"] == "merge"
        ]
        assert len(rels) == 1
        other = [a for a in sample.audits[str(rels[0])] if a["via"]["source"]["rel"] == "merge"]
        assert [a["via"]["source"]["from"]["ticket_id"] for a in other] == [int(ticket["ticket_id"])]
        assert not other[0]["events"][0]["public"]


def test_texts_are_broken_dressed_and_quoted(sample: Sample) -> None:
    true = {row["event_id"]: row for row in sample.truth("bodies")}
    for ticket in planted(sample, "mojibake"):
        events = [str(event["id"]) for _, event, _ in sample.comments(ticket["ticket_id"])]
        assert any(e in true and true[e]["plain"] != true[e]["true"] for e in events)
    for ticket in planted(sample, "html_only"):
        if "cp1252_line" not in ticket["planted"]:
            assert sample.comments(ticket["ticket_id"])[0][1]["plain_body"] is None
    for ticket in planted(sample, "quoted_reply"):
        assert any("wrote:\n>" in text for _, _, text in sample.comments(ticket["ticket_id"]))
    assert all("▇" in sample.comments(t["ticket_id"])[0][2] for t in planted(sample, "redaction"))


def test_old_lines_are_not_utf_8_but_can_be_read(sample: Sample) -> None:
    unreadable = 0
    for path in (sample.out / "helpdesk").glob("ticket_audits-*.ndjson"):
        for raw in path.read_bytes().splitlines():
            try:
                raw.decode()
            except UnicodeDecodeError:
                unreadable += 1
    assert 0 < unreadable <= len(planted(sample, "cp1252_line"))


def test_names_repeat_across_organisations_but_not_within(sample: Sample) -> None:
    names: dict[str, set[str]] = defaultdict(set)
    users = {str(row["id"]): row for row in sample.rows("users")}
    for row in sample.truth("identities"):
        if row["kind"] == "person" and row["records"][0]["record_id"] in users:
            names[row["names"][0]].add(row["identity"])
    assert sum(len(people) > 1 for people in names.values()) >= 20
    forms = Counter(row["form"] for row in sample.truth("mentions"))
    assert (
        min(
            forms[form]
            for form in ("nickname", "initials", "typo", "first", "full", "lower", "last_first", "email", "phone", "address")
        )
        >= 15
    )


def test_second_addresses_share_the_phone_of_the_first(sample: Sample) -> None:
    users = {str(row["id"]): row for row in sample.rows("users")}
    pairs = 0
    for row in sample.truth("identities"):
        own = [users[r["record_id"]] for r in row["records"] if row["kind"] == "person" and r["record_id"] in users]
        if len(own) == 2:
            pairs += 1
            assert own[0]["email"] != own[1]["email"]
            assert {u["phone"].replace(" ", "").removeprefix("+49").removeprefix("0") for u in own} == {row["phones"][0][3:]}
    assert pairs >= 100


def test_history_holds_late_scheduled_tied_deleted_and_unordered_changes(sample: Sample) -> None:
    with closing(sqlite3.connect(sample.out / "orders" / "orders.sqlite")) as db:
        late = db.execute("SELECT count(*) FROM shipments_history WHERE valid_at < recorded_at AND field = 'carrier'").fetchone()[
            0
        ]
        scheduled = db.execute(
            "SELECT count(*) FROM shipments_history WHERE valid_at > recorded_at AND field IS NULL"
        ).fetchone()[0]
        tied = db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM orders_history WHERE field = 'ship_to' AND op = 'update' GROUP BY "
            "record_no, valid_at"
            " HAVING count(*) = 2)"
        ).fetchone()[0]
        unordered = db.execute("SELECT count(*) FROM orders_history WHERE history_id IS NULL").fetchone()[0]
        deleted = db.execute("SELECT count(*) FROM orders_history WHERE op = 'delete'").fetchone()[0]
        hour = local_text(FOLD_START)[:13] + "%"
        folded = db.execute("SELECT count(*) FROM shipments_history WHERE valid_at LIKE ?", (hour,)).fetchone()[0]
        elsewhere = db.execute("SELECT count(*) FROM payments_history WHERE valid_at LIKE ?", (hour,)).fetchone()[0]
    assert late >= len(planted(sample, "late_arrival"))
    assert scheduled >= len(planted(sample, "scheduled"))
    assert tied >= len(planted(sample, "tied_events"))
    assert unordered == 2 * len(planted(sample, "ambiguous_tie"))
    assert deleted >= len(planted(sample, "deleted_before"))
    assert folded == len(planted(sample, "dst_fold")) > 0
    assert elsewhere == 0


def test_skewed_clock_stamps_a_later_change_before_the_request(sample: Sample) -> None:
    opened = {row["opened_at"]: row for row in planted(sample, "clock_skew")}
    assert opened
    just_after = [
        row for row in sample.truth("facts") if row["field"] == "carrier" and row["true_ts"][:-4] in {at[:-4] for at in opened}
    ]
    assert len(just_after) >= 0.5 * len(opened)


def test_ticket_rows_tags_and_ratings_give_the_outcome_away(sample: Sample) -> None:
    rows = {str(row["id"]): row for row in sample.rows("tickets")}
    for ticket in sample.clean:
        values = {entry["id"]: entry["value"] for entry in rows[ticket["ticket_id"]]["custom_fields"]}
        assert values == {9001: ticket["workflow"], 9002: ticket["code"], 9003: ticket["about"]}
        assert ("out_pos" if ticket["outcome_class"] == "grant" else "out_neg") in rows[ticket["ticket_id"]]["tags"]
    scores = Counter((t["outcome_class"], rows[t["ticket_id"]]["satisfaction_rating"]["score"]) for t in sample.clean)
    assert scores[("grant", "good")] > 3 * scores[("grant", "bad")]
    assert scores[("refuse", "bad")] > scores[("refuse", "good")]
