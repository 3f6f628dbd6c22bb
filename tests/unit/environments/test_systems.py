"""What the sample's systems do beyond the contract that all systems share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from environments.episode import Episode
from schemas.taskset import State


def rows(episode: Episode) -> State:
    return episode.taskset.state(episode.task)


def do(episode: Episode, tool: str, **arguments: Any) -> Any:
    return json.loads(episode.step({"tool": tool, "arguments": arguments}).observation.text)


def own(episode: Episode, system: str, kind: str) -> str:
    """The row of the task's own customer."""
    contact = episode.task.opening.contact
    accounts = rows(episode)["accounts"]["account"]
    account = next(i for i, row in accounts.items() if row["email"] == contact)
    if kind == "account":
        return account
    order = next(i for i, row in rows(episode)["orders"]["order"].items() if row["account_id"] == account)
    return order if kind == "order" else next(i for i, row in rows(episode)[system][kind].items() if row["order_id"] == order)


def test_what_an_identity_is_checked_against_is_never_shown(episode: Episode) -> None:
    for task_id in episode.taskset.tasks:
        episode.reset(task_id)
        account = rows(episode)["accounts"]["account"][own(episode, "accounts", "account")]
        shown = [
            do(episode, "find_account", email=episode.task.opening.contact),
            do(episode, "get_account", account_id=own(episode, "accounts", "account")),
            do(episode, "search_tickets", requester_id=episode.task.opening.requester_id),
            do(episode, "read_ticket", ticket_id=episode.task.opening.record.record_id),
            do(episode, "list_orders", account_id=own(episode, "accounts", "account")),
            do(episode, "verify_identity", account_id=own(episode, "accounts", "account"), postcode="x", phone="y"),
        ]
        assert account["phone"] not in str(shown)
        assert account["billing_postcode"] not in str(shown)
        assert shown[-1]["verified"] is False


def test_an_identity_needs_both_parts_in_whatever_case(episode: Episode) -> None:
    episode.reset("small-recovery_grant")
    name = own(episode, "accounts", "account")
    account = rows(episode)["accounts"]["account"][name]
    phone, postcode = account["phone"], account["billing_postcode"]
    assert do(episode, "verify_identity", account_id=name, postcode=postcode.lower(), phone=phone)["verified"] is True
    assert do(episode, "verify_identity", account_id=name, postcode=postcode, phone="PERSON_00000000_PHONE")["verified"] is False


def test_no_more_is_refunded_than_was_paid(episode: Episode) -> None:
    episode.reset("small-late_grant")
    order = own(episode, "orders", "order")
    assert "refund_id" in do(episode, "create_refund", order_id=order, amount_minor=6000, reason="late_delivery")
    refused = do(episode, "create_refund", order_id=order, amount_minor=501, reason="late_delivery")
    assert refused["refused"] == "over_limit"
    assert "500 of 6500" in refused["message"]
    assert "refund_id" in do(episode, "create_refund", order_id=order, amount_minor=500, reason="late_delivery")
    assert len(do(episode, "list_payments", order_id=order)["refunds"]) == 2


def test_the_systems_refuse_only_what_they_cannot_do(episode: Episode) -> None:
    episode.reset("small-cancel_refused")
    order = own(episode, "orders", "order")
    assert do(episode, "cancel_order", order_id=order)["status"] == "cancelled", "a packed order: policy is the grader's business"
    assert do(episode, "cancel_order", order_id=order)["refused"] == "conflict"
    assert do(episode, "unlock_account", account_id=own(episode, "accounts", "account"))["refused"] == "conflict"
    there = rows(episode)["orders"]["order"][order]["ship_to"]
    assert do(episode, "change_address", order_id=order, new_address=there)["refused"] == "conflict"
    assert do(episode, "get_order", order_id=order)["status"] == "cancelled", "a read sees what was written"


def test_a_line_of_another_order_is_not_exchanged(episode: Episode) -> None:
    episode.reset("small-exchange_grant")
    order = own(episode, "orders", "order")
    other = next(i for i, row in rows(episode)["orders"]["line"].items() if row["order_id"] != order)
    assert do(episode, "create_exchange", order_id=order, line_id=other, new_sku="X")["refused"] == "not_found"
    line = own(episode, "orders", "line")
    do(episode, "create_exchange", order_id=order, line_id=line, new_sku="KETTLE-BLUE")
    assert [x["new_sku"] for x in do(episode, "get_order", order_id=order)["exchanges"]] == ["KETTLE-BLUE"]


@pytest.mark.parametrize(("amount", "decision"), [(50_000, "approved"), (50_001, "denied")])
def test_the_approver_answers_by_rule(episode: Episode, amount: int, decision: str) -> None:
    episode.reset("small-approval_grant")
    about = own(episode, "orders", "order")
    assert do(episode, "request_approval", about=about, amount_minor=amount)["decision"] == decision


def test_policies_are_those_in_force_and_an_unknown_one_names_those_there_are(episode: Episode) -> None:
    episode.reset("small-cancel_grant_old")
    assert do(episode, "read_policy", document="orders")["version"] == 1
    assert "refunds, orders, accounts" in do(episode, "read_policy", document="gifts")["message"]
    assert "1.1" in do(episode, "read_policy", document="orders", clause="9.9")["message"]
    found = do(episode, "search_policy", query="is a final-sale line exchanged?")["clauses"]
    assert len(found) <= 5
    episode.reset("small-exchange_refused")
    assert do(episode, "search_policy", query="final sale lines")["clauses"][0]["clause"] == "3.3"


def test_a_long_list_comes_in_pages(episode: Episode) -> None:
    episode.reset("small-goodwill_grant")
    account = own(episode, "accounts", "account")
    for _ in range(12):
        do(episode, "grant_credit", account_id=account, amount_minor=100, reason="goodwill")
    first, second = (do(episode, "list_credits", account_id=account, page=page) for page in (1, 2))
    assert (len(first["credits"]), len(second["credits"]), first["pages"], first["total"]) == (10, 2, 2, 12)
    assert do(episode, "list_credits", account_id=account, page=3)["refused"] == "not_found"
    assert [c["credit_id"] for c in first["credits"]] == sorted(c["credit_id"] for c in first["credits"])


def test_an_internal_note_changes_nothing(episode: Episode) -> None:
    episode.reset("small-late_grant")
    before = episode._context.state.digest() if episode._context else ""
    do(episode, "add_note", text="looked at it")
    assert episode._context is not None
    assert episode._context.state.digest() == before
