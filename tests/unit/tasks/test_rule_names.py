"""What a rule names must be there: a misspelt tool, argument, code, field or version stops the build before any draft."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.errors import SpecError
from schemas.records import CodeBook, OutcomeCode
from schemas.spec import Spec, load_spec
from schemas.task import PolicyClause, PolicySpec
from tasks.declared import Api
from tasks.policy import Version
from tasks.rule_names import Known, check_rules, known_of
from tests.taskset_cases import CODES, GRANTS

APPROVAL = "denied_refund_asks_approval"
VERSIONS = [
    Version(PolicySpec(document=d, version=n, title="T", clauses=(PolicyClause(clause="1", text="w"),)), None, None, {})
    for d in ("refunds", "orders", "accounts")
    for n in (1, 2)
]


@pytest.fixture(scope="module")
def spec(repo_root: Path) -> Spec:
    return load_spec(repo_root / "tasks" / "specs" / "helpdesk_v1.toml")


@pytest.fixture(scope="module")
def known(spec: Spec) -> Known:
    tables = [table for source in spec.sources for table in source.options.get("tables", ())]
    fields = {f"{t['system']}.{t['kind']}.{name}": {"type": "code"} for t in tables for name in t["columns"].values()}
    outcomes = {
        code: {"workflow": workflow, "outcome_class": "grant" if code in GRANTS else "refuse", "label": code}
        for workflow, codes in CODES.items()
        for code in codes
    }
    codes = {"approvals.approval.decision": ["approved", "denied"]}
    book = CodeBook.model_validate({"supplier": "sample", "fields": fields, "outcomes": outcomes, "codes": codes})
    return known_of(spec, book, {}, VERSIONS)


def changed(spec: Spec, rule_id: str, change: Callable[[str], str], **more: object) -> tuple[Spec, int]:
    """The spec with the parameters of a rule changed as JSON text, and the rule's place."""
    at = [rule.id for rule in spec.rules].index(rule_id)
    text = json.dumps(spec.rules[at].parameters)
    rule = spec.rules[at].model_copy(update={"parameters": json.loads(change(text)), **more})
    assert rule != spec.rules[at]
    return spec.model_copy(update={"rules": (*spec.rules[:at], rule, *spec.rules[at + 1 :])}), at


def test_the_shipped_rules_name_only_what_is_there(spec: Spec, known: Known) -> None:
    check_rules(spec, known)


@pytest.mark.parametrize(
    ("rule_id", "right", "wrong", "fault"),
    [
        ("cancel_reads_order", '"cancel_order"', '"cancel_ordr"', "tool: 'cancel_ordr' is no tool of this spec; did you mean"),
        ("cancel_reads_order", '"get_order"', '"get_oder"', "needs.0.tools.0: 'get_oder' is no tool of this spec"),
        ("refund_approval_v1", '"above"', '"request_tool": "ask_boss", "above"', "request_tool: 'ask_boss' is no tool"),
        (
            "cancel_reads_order",
            '"order_id": "order_id"',
            '"order": "order_id"',
            "needs.0.same: 'order' is no argument of get_order",
        ),
        ("cancel_reads_order", ': "order_id"', ': "oder_id"', "needs.0.same.order_id: 'oder_id' is no argument of cancel_order"),
        ("recovery_verifies_identity", '"postcode": "', '"zip": "', "needs.0.told: 'zip' is no argument of verify_identity"),
        ("recovery_verifies_identity", ': "postcode"', ': "postcod"', "told.postcode: 'postcod' is no slot of requester.slots"),
        ("recovery_verifies_identity", '"verified"', '"verifid"', "returned: 'verifid' is no value that verify_identity answers"),
        (APPROVAL, '"decision"', '"decison"', "returned: 'decison' is no value that request_approval answers with; did you mean"),
        (APPROVAL, '"denied"', '"denid"', "returned.decision: 'denid' is no value that decision may have; did you mean 'denied'"),
        ("refund_late_amount", '"reason"', '"reson"', "when: 'reson' is no argument of create_refund; did you mean 'reason'?"),
        (
            "refund_late_amount",
            "late_delivery",
            "late_delivry",
            "when.reason: 'late_delivry' is no value that create_refund takes",
        ),
        (
            "cancel_decision_reads_order",
            "order_cancelled",
            "order_canceled",
            "when.code: 'order_canceled' is no value that resolve",
        ),
        ("refund_late_amount", '"amount_minor"', '"amount"', "argument: 'amount' is no argument of create_refund"),
        ("cancel_status_v1", '"status"', '"state"', "state.field: 'state' is no field of orders.order"),
        ("cancel_status_v1", '"kind": "order"', '"kind": "oder"', "state.kind: 'orders.oder' is no kind of record of this spec"),
        ("refund_approval_v1", '"tier"', '"teir"', "by.then.field: 'teir' is no field of accounts.account; did you mean 'tier'?"),
        ("refund_double_charge", '"status"', '"stat"', "rows.where: 'stat' is no field of payments.payment"),
        ("refund_damaged_amount", '"quantity"', '"count"', "rows.factors.0: 'count' is no field of orders.line"),
        ("credit_frequency", '"created_at"', '"at"', "rows.time: 'at' is no field of accounts.credit"),
        ("credit_frequency", '"days": 180', '"days": 0', "days: 0 found; allowed are 1 or more"),
        ("exchange_window_v1", '"days": 30', '"days": -30', "days: Input should be greater than or equal to 0"),
        ("credit_amount_v1", '"standard": 1000', '"standard": 0', "amounts.standard: 0 found; allowed are 1 or more"),
    ],
)
def test_what_is_not_there_is_a_fault_at_its_place(
    spec: Spec, known: Known, rule_id: str, right: str, wrong: str, fault: str
) -> None:
    bad, at = changed(spec, rule_id, lambda text: text.replace(right, wrong, 1))
    with pytest.raises(SpecError) as caught:
        check_rules(bad, known)
    assert len(caught.value.faults) == 1
    assert caught.value.faults[0].startswith(f"rules.{at}.parameters")
    assert fault in caught.value.faults[0]


def test_every_fault_of_every_rule_is_listed_and_an_unknown_rule_file_too(spec: Spec, known: Known) -> None:
    bad, first = changed(spec, "cancel_reads_order", lambda text: text.replace("cancel_order", "cancel_ordr"))
    bad, second = changed(bad, "cancel_status_v1", lambda text: text.replace("status", "state"), versions=(1, 3))
    bad, third = changed(bad, "address_status", str, rule="forbiden")
    bad, fourth = changed(bad, "refund_limit", str, versions=())
    with pytest.raises(SpecError) as caught:
        check_rules(bad, known)
    places = {fault.partition(": ")[0] for fault in caught.value.faults}
    assert places == {
        f"rules.{first}.parameters.tool",
        f"rules.{second}.versions",
        f"rules.{second}.parameters.state.field",
        f"rules.{third}.rule",
        f"rules.{fourth}.versions",
    }


def test_the_tools_of_a_declared_system_come_from_its_declarations(repo_root: Path) -> None:
    star = load_spec(repo_root / "tasks" / "specs" / "star_v1.toml")
    rule = next(rule for rule in star.rules if rule.id == "apartment_schedule_checks_first")
    small = star.model_copy(update={"rules": (rule,)})
    names = ("Name", "Day", "StartTimeHour")
    inputs = {name: {"Name": name, "Type": "ShortString"} for name in names}
    api = Api("apartment_schedule", inputs, booking=True, required=frozenset(names))
    outcome = OutcomeCode(workflow=api.name, outcome_class="grant", label="viewing")
    book = CodeBook(supplier="star", fields={}, outcomes={"viewing_scheduled": outcome})
    check_rules(small, known_of(small, book, {api.name: api}, []))
    with pytest.raises(SpecError, match=r"rules\.0\.parameters\.tool: 'apartment_schedule_book' is no tool of this spec"):
        check_rules(small, known_of(small, book, {}, []))
