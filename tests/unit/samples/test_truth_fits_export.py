"""What the truth says can be found in the export, and each clean outcome follows from policy, state and words."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from contextlib import closing
from typing import Any

import pytest

from samples.cases import CASES
from tests.unit.samples.conftest import Sample
from tests.unit.samples.judge import Facts, judge

Row = dict[str, Any]


@pytest.fixture(scope="module")
def facts(sample: Sample) -> Facts:
    return Facts([row for row in sample.truth("facts") if row["system"] != "helpdesk"])


@pytest.fixture(scope="module")
def people(sample: Sample) -> dict[str, Row]:
    """Helpdesk user id -> identity row."""
    return {
        record["record_id"]: row
        for row in sample.truth("identities")
        if row["kind"] == "person"
        for record in row["records"]
        if record["system"] == "helpdesk"
    }


def requester(sample: Sample, ticket: Row) -> int:
    events = (event for audit in sample.audits[ticket["ticket_id"]] for event in audit["events"])
    return int(next(event["value"] for event in events if event.get("field_name") == "requester_id"))


def said(sample: Sample, ticket: Row) -> list[str]:
    """The requester's public words up to the closing comment."""
    user = requester(sample, ticket)
    return [
        text
        for audit, event, text in sample.comments(ticket["ticket_id"])
        if event["public"] and event["author_id"] == user and audit["created_at"] <= ticket["solved_at"]
    ]


def told_mentions(sample: Sample, form: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sample.truth("mentions"):
        if row["form"] == form:
            found.setdefault(row["ticket_id"], []).append(row)
    return found


def account_of(ticket: Row, facts: Facts) -> str:
    return str(facts.account_of[ticket["about"]])


def claim_of(ticket: Row, sample: Sample) -> str:
    subject = sample.comments(ticket["ticket_id"])[0][2].lower()
    words = {
        "double_charge": r"twice|two times|double|(?:2|two) (?:debits|charges|bookings|amounts)|surplus|extra|second one",
        "late_delivery": r"shipping|freight|delivery (?:fee|charge|costs|part)|postage",
    }
    hits = [claim for claim, pattern in words.items() if re.search(pattern, subject)]
    return hits[0] if hits else "damaged_item"


def test_mentions_stand_where_the_truth_says(sample: Sample) -> None:
    texts = {str(event["id"]): text for ticket in sample.audits for _, event, text in sample.comments(ticket)}
    bad = {row["record"] for row in sample.truth("bad_rows")}
    checked = 0
    for row in sample.truth("mentions"):
        if row["ticket_id"] not in bad:
            assert texts[row["event_id"]][row["start"] : row["end"]] == row["text"]
            checked += 1
    assert checked > 8000


def test_facts_are_the_history_of_the_database(sample: Sample) -> None:
    with closing(sqlite3.connect(sample.out / "orders" / "orders.sqlite")) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE name LIKE '%!_history' ESCAPE '!'")]
        logged = sum(
            db.execute(f"SELECT count(*) FROM {t} WHERE field IS NOT NULL OR op = 'delete'").fetchone()[0] for t in tables
        )
    bad = sum("history" in row["place"] for row in sample.truth("bad_rows"))
    assert logged - bad == sum(row["system"] != "helpdesk" for row in sample.truth("facts"))


def test_policy_and_recorded_state_give_the_recorded_outcome_of_every_clean_ticket(sample: Sample, facts: Facts) -> None:
    postcodes, phones = told_mentions(sample, "postcode"), told_mentions(sample, "phone")
    numbers = {row["identity"]: row["phones"][0] for row in sample.truth("identities") if row["phones"]}
    for ticket in sample.clean:
        key = ticket["ticket_id"]
        told: tuple[str, str] | None = None
        if key in postcodes:
            phone = next(m for m in phones[key] if m["event_id"] == postcodes[key][0]["event_id"])
            told = (postcodes[key][0]["text"], str(numbers.get(phone["identity"], phone["text"])))
        state = facts.at(account_of(ticket, facts), ticket["opened_at"])
        reason = next((w["arguments"]["reason"] for w in ticket["writes"] if w["tool"] == "create_refund"), None)
        row = {**ticket, "claim": reason or {
            "refund_refused_not_late": "late_delivery", "refund_refused_single_charge": "double_charge",
        }.get(ticket["code"]) or claim_of(ticket, sample)}  # fmt: skip
        codes, writes = judge(row, state, told)
        assert ticket["code"] in codes, key
        if ticket["workflow"] not in ("exchange", "address_change"):
            assert all(write in writes for write in ticket["writes"]), key
            assert ticket["writes"] or not writes or len(codes) > 1, key


def test_writes_are_in_the_history_under_the_ticket(sample: Sample) -> None:
    tables = {
        "create_refund": "refunds", "request_approval": "approvals", "cancel_order": "orders", "change_address": "orders",
        "create_exchange": "exchanges", "unlock_account": "accounts", "grant_credit": "credits",
    }  # fmt: skip
    found: dict[str, list[str]] = defaultdict(list)
    with closing(sqlite3.connect(sample.out / "orders" / "orders.sqlite")) as db:
        for table in sorted(set(tables.values())):
            for number, _ in db.execute(
                f"SELECT DISTINCT ticket_ref, record_no FROM {table}_history WHERE ticket_ref IS NOT NULL"
            ):
                found[str(number)].append(table)
    expected = {
        t["ticket_id"]: sorted(tables[write["tool"]] for write in t["writes"]) for t in sample.truth("tickets") if t["writes"]
    }
    assert {key: sorted(names) for key, names in found.items()} == expected


def test_every_value_that_a_clean_ticket_needs_is_told_or_shown(sample: Sample, facts: Facts, people: dict[str, Row]) -> None:
    addresses = {row["id"]: row["email"] for row in sample.rows("users")}
    for ticket in sample.clean:
        words = "\n".join(said(sample, ticket))
        squeezed = re.sub(r"A ?(\d{6})", r"A-\1", words)
        account = account_of(ticket, facts)
        state = facts.at(account, ticket["opened_at"])
        mail = people[str(requester(sample, ticket))]
        primary = addresses[requester(sample, ticket)] == mail["emails"][0]
        found = primary or account in words or ticket["about"] in squeezed
        assert found, ticket["ticket_id"]
        if ticket["workflow"] not in ("account_recovery", "goodwill"):
            orders = state[("orders", "order")]
            shown = {key: [ln["product"] for ln in state[("orders", "line")].values() if ln["order_id"] == key] for key in orders}
            fitting = [key for key, names in shown.items() if any(name.split(",")[0] in words.lower() for name in names)]
            assert ticket["about"] in squeezed or list(orders) == [ticket["about"]] or fitting == [ticket["about"]], ticket[
                "ticket_id"
            ]
        for write in ticket["writes"]:
            for name in ("new_address", "new_sku"):
                if name in write["arguments"]:
                    assert write["arguments"][name] in words


def test_what_was_settled_off_the_systems_is_nowhere_said(sample: Sample) -> None:
    rows = {row["ticket_id"]: row for row in sample.truth("off_system")}
    tickets = {row["ticket_id"]: row for row in sample.truth("tickets")}
    assert {row["kind"] for row in rows.values()} == {"order_id", "account_id", "new_sku", "new_address", "identity"}
    for key, row in rows.items():
        assert not tickets[key]["solvable"]
        assert row["underivable_value"]
        for text in said(sample, tickets[key]):
            assert row["underivable_value"] not in re.sub(r"A ?(\d{6})", r"A-\1", text)


def test_planted_leaks_are_in_the_export_and_not_in_the_opening(sample: Sample) -> None:
    rows = {str(row["id"]): row for row in sample.rows("tickets")}
    broken = {row["record"] for row in sample.truth("bad_rows")}
    for leak in sample.truth("leaks"):
        key = leak["ticket_id"]
        texts = [text for _, _, text in sample.comments(key)]
        assert leak["literal"] not in texts[0]
        if leak["kind"] in ("closing_comment", "internal_note", "requester_thanks") and key not in broken:
            assert any(leak["literal"] in text for text in texts)
        elif leak["kind"] == "tag":
            assert leak["literal"] in rows[key]["tags"]
        elif leak["kind"] == "subject":
            assert leak["literal"] in rows[key]["subject"]


def test_bad_rows_are_bad(sample: Sample) -> None:
    assert {row["reason"] for row in sample.truth("bad_rows")} == {
        "a JSON line cut off", "bytes of no charset", "a value that is not in the code book",
        "a time that does not exist in the zone",
        "not a whole number", "a time in another format",
    }  # fmt: skip


def test_every_code_is_common_and_every_kind_both_granted_and_refused(sample: Sample) -> None:
    codes = [row["code"] for row in sample.clean]
    assert min(codes.count(code) for module in CASES.values() for _, code, _ in module.TARGETS) >= 25
    assert 0.65 <= len(sample.clean) / len(sample.truth("tickets")) <= 0.75
    for kind in CASES:
        grants = [row["outcome_class"] == "grant" for row in sample.clean if row["workflow"] == kind]
        assert 0.4 <= sum(grants) / len(grants) <= 0.6
