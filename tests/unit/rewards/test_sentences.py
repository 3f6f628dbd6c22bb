"""The sentences of rules, as an agent and a reviewer read them: plain English that states every number."""

from __future__ import annotations

from typing import Any

import pytest

from rewards.path import compile_rule

ORDER = {"argument": "order_id", "system": "orders", "kind": "order"}
TIER = {**ORDER, "field": "account_id", "then": {"system": "accounts", "kind": "account", "field": "tier"}}
SENTENCES: list[tuple[str, dict[str, Any], str]] = [
    (
        "required_before",
        {"tool": "cancel_order", "needs": [{"tools": ["get_order"], "same": {"order_id": "order_id"}}]},
        "Before cancel_order, call get_order with the same order_id.",
    ),
    (
        "required_before",
        {
            "tool": "resolve",
            "when": {"code": ["a", "b", "c"]},
            "needs": [{"tools": ["get_order"], "same": {"order_id": "about"}}],
        },
        "Before resolve with code a, b or c, call get_order with its about as order_id.",
    ),
    (
        "required_before",
        {
            "tool": "change_address",
            "needs": [
                {
                    "tools": ["verify_identity"],
                    "same": {"account_id": {**ORDER, "field": "account_id"}},
                    "told": {"postcode": "postcode", "phone": "phone"},
                    "returned": {"verified": True},
                },
                {"tools": ["get_order", "list_orders"]},
            ],
        },
        "Before change_address, call verify_identity with the account_id of the order named in order_id as "
        "account_id and the phone "
        "and postcode that the requester told (it must return verified true) and call get_order or list_orders.",
    ),
    (
        "exact",
        {
            "tool": "create_refund",
            "argument": "amount_minor",
            "rows": {"system": "orders", "kind": "line", "match": "order_id", "factors": ["quantity", "unit_minor"]},
        },
        "For create_refund, amount_minor must be exactly the quantity times the unit_minor of at least 1 "
        "line with the same order_id.",
    ),
    (
        "exact",
        {
            "tool": "create_refund",
            "argument": "amount_minor",
            "rows": {
                "system": "payments",
                "kind": "payment",
                "match": "order_id",
                "where": {"status": ["captured"]},
                "factors": ["amount_minor"],
                "at_least": 2,
            },
        },
        "For create_refund, amount_minor must be exactly the amount_minor that at least 2 payment rows with "
        "the same order_id and "
        "status captured share.",
    ),
    (
        "exact",
        {"tool": "grant_credit", "argument": "amount_minor", "amounts": {"gold": 2500, "basic": 1000}, "by": TIER},
        "For grant_credit, amount_minor must be exactly 10.00 (1000 in minor units) for basic, 25.00 (2500 "
        "in minor units) for gold, "
        "depending on the tier of the account of the order named in order_id.",
    ),
    (
        "limit",
        {
            "tool": "grant_credit",
            "count": 1,
            "days": 180,
            "rows": {"system": "accounts", "kind": "credit", "match": "account_id", "time": "created_at"},
        },
        "At most 1 grant_credit for the same account_id within 180 days, counting every credit that accounts already holds.",
    ),
    (
        "limit",
        {"tool": "create_refund", "argument": "amount_minor", "max": {**ORDER, "field": "total_minor"}},
        "For create_refund, amount_minor must be at most the total_minor of the order named in order_id.",
    ),
    (
        "approval",
        {"tool": "create_refund", "argument": "amount_minor", "about": "order_id", "above": 8000},
        "Before create_refund with amount_minor above 80.00 (8000 in minor units), call request_approval "
        "with its order_id as about, "
        "for at least that amount (it must be approved).",
    ),
    (
        "overdue",
        {"tool": "act", "days": 3, "due": {**ORDER, "field": "promised_at"}, "came": {**ORDER, "field": "delivered_at"}},
        "act only if the delivered_at of the order named in order_id is more than 3 days after its promised_at.",
    ),
    (
        "overdue",
        {
            "tool": "act",
            "days": 3,
            "due": {"argument": "line_id", "system": "orders", "kind": "line", "field": "promised_at"},
            "came": {**ORDER, "field": "delivered_at"},
        },
        "act only if the delivered_at of the order named in order_id is more than 3 days after the "
        "promised_at of the line named in "
        "line_id.",
    ),
    (
        "forbidden",
        {"tool": "cancel_order", "state": {**ORDER, "field": "status"}, "values": ["shipped", "delivered", "cancelled"]},
        "Never cancel_order while the status of the order named in order_id is shipped, delivered or cancelled.",
    ),
]


@pytest.mark.parametrize(("rule", "parameters", "sentence"), SENTENCES, ids=range(len(SENTENCES)))
def test_a_rule_is_told_in_plain_words(rule: str, parameters: dict[str, Any], sentence: str) -> None:
    plugin, compiled = compile_rule(rule, parameters)
    assert plugin.sentence(compiled) == sentence
