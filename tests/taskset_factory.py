"""A small but whole task set on disk, made from the schemas alone: what tests of environments, rewards and training open.

`build_taskset(folder)` writes 18 training tasks (each sample workflow in grant and refusal, one under the older
policy) and 6 held-out ones of another organisation. Same bytes on every call.
`python -m tests.taskset_factory FOLDER` writes one for trying things out.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from schemas.episode import RowChange, RowRef, ToolCall
from schemas.files import put_content, read_json, sha256_file, write_json, write_models
from schemas.proof import PolicyInterval, Proof
from schemas.records import OutcomeCode
from schemas.spec import RuleSpec, load_spec
from schemas.task import (
    CERTIFICATE_VERSION,
    CHECK_IDS,
    Answer,
    Certificate,
    Check,
    Fact,
    Opening,
    Outcome,
    PolicyClause,
    PolicySpec,
    ReferenceStep,
    RequesterSpec,
    RuleRef,
    ScoreBounds,
    SystemRef,
    TaskSpec,
)
from schemas.taskset import SideManifest, TaskSetManifest, task_digest
from tests.taskset_cases import CODES, FORMS, GRANTS, POLICY_TEXTS, STARTS, Case, all_cases, token
from tests.taskset_states import Ids, customers, state_of

SPEC = Path(__file__).resolve().parent.parent / "tasks" / "specs" / "helpdesk_v1.toml"
PROOF = Proof(
    seed=1,
    token_scope="cross_system",
    codes={
        code: OutcomeCode(workflow=workflow, outcome_class="grant" if code in GRANTS else "refuse", label=code)
        for workflow, codes in CODES.items()
        for code in codes
    },
    rules=load_spec(SPEC).rules,
    policies=tuple(
        PolicyInterval(document=document, version=version, start=start, end=end)
        for version, start, end in ((1, None, "2025-07-01T00:00:00Z"), (2, "2025-07-01T00:00:00Z", None))
        for document in POLICY_TEXTS[version]
    ),
)
"""What the certificates of the small task set are derived from."""
HELD_OUT = ("late_grant", "damaged_refused", "cancel_grant", "cancel_refused", "recovery_grant", "goodwill_refused")


class _Path:
    """Collects the reference steps of one case and where each argument came from."""

    def __init__(self) -> None:
        self.steps: list[ReferenceStep] = []

    def add(self, tool: str, *, planned: bool, rules: tuple[str, ...] = (), **arguments: tuple[Any, str]) -> str:
        self.steps.append(
            ReferenceStep(
                call=ToolCall(tool=tool, arguments={k: v for k, (v, _) in arguments.items()}),
                planned=planned,
                required_by=rules,
                derived_from={k: source for k, (_, source) in arguments.items()},
            )
        )
        return f"step {len(self.steps) - 1}"


def _facts(case: Case, ids: Ids) -> tuple[Fact, ...]:
    told = dict(case.asks)
    if case.order and not case.names_order:
        told["order_id"] = ids.of("ORDER")
    if case.workflow in ("account_recovery", "address_change"):
        told["postcode"] = token("POSTCODE", "wrong") if case.wrong_identity else ids.of("POSTCODE")
        told["phone"] = f"{ids.of('PERSON')}_PHONE"
    said = {
        "order_id": "The order number is {}.",
        "postcode": "My postcode is {}.",
        "phone": "You have {} on file.",
        "new_address": "Please send it to {}.",
        "sku": "I would like {} instead.",
    }
    facts = [
        Fact(id=f"f{index}", slots=(slot,), values={slot: value}, question=FORMS["ask"][slot][0], answer=said[slot].format(value))
        for index, (slot, value) in enumerate(sorted(told.items()), 1)
    ]
    unasked = Fact(id="v1", slots=("remark",), answer="Take your time, I am at home all day.", volunteered=True)
    return (*facts, unasked)


def _reference(case: Case, ids: Ids, facts: tuple[Fact, ...]) -> tuple[ReferenceStep, ...]:
    path = _Path()
    account, order, email = ids.of("ACCOUNT"), ids.of("ORDER"), f"{ids.of('PERSON')}_EMAIL"
    source = {slot: f"fact {fact.id}" for fact in facts for slot in fact.values}
    if asked := [FORMS["ask"][slot][0] for fact in facts for slot in fact.values]:
        for text in [" ".join(asked[i : i + 2]) for i in range(0, len(asked), 2)]:
            path.add("reply_to_requester", planned=True, text=(text, "constant"))
    if case.order:
        where = "opening" if case.names_order else source["order_id"]
        read = path.add("get_order", planned=True, rules=("refund_reads_order_and_account",), order_id=(order, where))
        if case.workflow == "refund":
            path.add("get_account", planned=True, rules=("refund_reads_order_and_account",), account_id=(account, read))
        if case.payments > 1 or "charged" in case.text or case.approval:
            read_payments = path.add("list_payments", planned=True, order_id=(order, where))
        if case.workflow == "address_change":
            path.add(
                "verify_identity",
                planned=True,
                rules=("address_verifies_identity",),
                account_id=(account, read),
                postcode=(ids.of("POSTCODE"), source["postcode"]),
                phone=(f"{ids.of('PERSON')}_PHONE", source["phone"]),
            )
            path.add(
                "change_address",
                planned=False,
                order_id=(order, where),
                new_address=(case.asks["new_address"], source["new_address"]),
            )
        if case.approval:
            path.add(
                "request_approval",
                planned=False,
                rules=("refund_approval_v2",),
                about=(order, where),
                amount_minor=(case.amount, read),
            )
        if case.code == "refund_granted":
            amount = read_payments if case.reason == "double_charge" else read
            path.add(
                "create_refund",
                planned=False,
                order_id=(order, where),
                amount_minor=(case.amount, amount),
                reason=(case.reason, "decision"),
            )
        if case.code == "order_cancelled":
            path.add("cancel_order", planned=False, order_id=(order, where))
        if case.code == "exchange_created":
            line = ids.of("LINE", "0")
            path.add(
                "create_exchange",
                planned=False,
                order_id=(order, where),
                line_id=(line, read),
                new_sku=(case.asks["sku"], source["sku"]),
            )
        path.add("resolve", planned=False, code=(case.code, "decision"), about=(order, where))
        return tuple(path.steps)
    found = path.add("find_account", planned=True, email=(email, "opening"))
    if case.workflow == "account_recovery":
        postcode = next(f.values["postcode"] for f in facts if "postcode" in f.values)
        path.add(
            "verify_identity",
            planned=True,
            rules=("recovery_verifies_identity",),
            account_id=(account, found),
            postcode=(postcode, source["postcode"]),
            phone=(f"{ids.of('PERSON')}_PHONE", source["phone"]),
        )
        if case.code == "access_restored":
            path.add("unlock_account", planned=False, account_id=(account, found))
    else:
        path.add("get_account", planned=True, rules=("credit_reads_account",), account_id=(account, found))
        path.add("list_credits", planned=True, rules=("credit_reads_account",), account_id=(account, found))
        if case.code == "credit_granted":
            path.add("read_policy", planned=True, document=("accounts", "opening"))
            path.add(
                "grant_credit",
                planned=False,
                account_id=(account, found),
                amount_minor=(case.amount, "policy accounts 2 2.1"),
                reason=(case.reason, "decision"),
            )
    path.add("resolve", planned=False, code=(case.code, "decision"), about=(account, found))
    return tuple(path.steps)


def _changes(case: Case, ids: Ids) -> tuple[RowChange, ...]:
    account, order = ids.of("ACCOUNT"), ids.of("ORDER")

    def created(system: str, kind: str, **fields: Any) -> RowChange:
        return RowChange(system=system, kind=kind, op="create", record_id=None, fields=fields)

    def updated(system: str, kind: str, record: str, **fields: Any) -> RowChange:
        return RowChange(system=system, kind=kind, op="update", record_id=record, fields=fields)

    changes: list[RowChange] = []
    if case.approval:
        changes.append(created("approvals", "approval", about=order, amount_minor=case.amount, decision=case.approval))
    match case.code:
        case "refund_granted":
            changes.append(created("payments", "refund", order_id=order, amount_minor=case.amount, reason=case.reason))
        case "order_cancelled":
            changes.append(updated("orders", "order", order, status="cancelled"))
        case "address_changed":
            changes.append(updated("orders", "order", order, ship_to=case.asks["new_address"]))
        case "exchange_created":
            line = ids.of("LINE", "0")
            changes.append(created("orders", "exchange", order_id=order, line_id=line, new_sku=case.asks["sku"]))
        case "access_restored":
            changes.append(updated("accounts", "account", account, status="active"))
        case "credit_granted":
            changes.append(created("accounts", "credit", account_id=account, amount_minor=case.amount, reason=case.reason))
    return tuple(changes)


IGNORED = (
    "payments.refund.created_at",
    "orders.exchange.created_at",
    "accounts.credit.created_at",
    "approvals.approval.requested_at",
    "approvals.approval.decided_at",
)


def _rules(specs: tuple[RuleSpec, ...], version: int) -> tuple[RuleRef, ...]:
    return tuple(
        RuleRef(
            id=r.id,
            rule=r.rule,
            sentence=f"{r.document} {r.clause}: {r.id.replace('_', ' ')}",
            parameters=r.parameters,
            document=r.document,
            version=version,
            clause=r.clause,
            hard=r.hard,
        )
        for r in specs
        if version in r.versions
    )


def _task(
    case: Case, organisation: str, content: Callable[[Any], str], shared: str, name: str, side: str
) -> tuple[TaskSpec, Answer]:
    spec = load_spec(SPEC)
    ids = Ids(case.key, organisation)
    facts = _facts(case, ids)
    person = ids.of("PERSON")
    started = STARTS[case.version]
    slots = {slot: list(words) for slot, words in spec.requester.slots.items()}
    extra: dict[str, dict[str, Any]] = {
        "helpdesk": {"codes": [code for codes in CODES.values() for code in codes], "slots": slots}
    }
    policies = [
        PolicySpec(
            document=document,
            version=case.version,
            title=document.title(),
            clauses=tuple(PolicyClause(clause=c, text=t) for c, t in clauses.items()),
        )
        for document, clauses in POLICY_TEXTS[case.version].items()
    ]
    task = TaskSpec(
        task_id=f"{name}-{case.key}" if side == "train" else f"{name}-h-{case.key}",
        taskset=name,
        workflow=case.workflow,
        started_at=started,
        organisation=organisation,
        opening=Opening(
            record=RowRef(system="helpdesk", kind="ticket", record_id=ids.of("TICKET")),
            requester_id=ids.of("USER"),
            requester_name=person,
            contact=f"{person}_EMAIL",
            subject=case.subject,
            text=f"{case.text} It is order {ids.of('ORDER')}." if case.names_order else case.text,
            received_at=started,
        ),
        systems=tuple(
            SystemRef(name=s.name, plugin=s.plugin, config={**s.config, **extra.get(s.name, {})}) for s in spec.systems
        ),
        state=(shared, content(state_of(case, ids))),
        policies=tuple(content(p.model_dump(mode="json")) for p in policies),
        rules=_rules(spec.rules, case.version),
        requester=RequesterSpec(
            facts=facts,
            dont_know=("I am sorry, I could not say.",),
            patience=spec.requester.patience,
            facts_per_message=spec.requester.facts_per_message,
        ),
        max_steps=spec.max_steps,
        slice="train" if side == "train" else "unseen_organisations",
    )
    about = ids.of("ORDER") if case.order else ids.of("ACCOUNT")
    outcome = Outcome(kind="difference", code=case.code, about=about, changes=_changes(case, ids), ignored_fields=IGNORED)
    return task, Answer(
        task_id=task.task_id,
        outcome=outcome,
        outcome_class="grant" if case.code in GRANTS else "refuse",
        reference=_reference(case, ids, facts),
        bounds=ScoreBounds(g_min=-0.65, g_max=0.9),
    )


def build_taskset(
    folder: Path,
    *,
    name: str = "small",
    cases: tuple[str, ...] = (),
    bystanders: int = 3,
    moved: Mapping[str, str] | None = None,
    organisations: int = 0,
) -> Path:
    """Writes a valid task set into `folder` (both sides, contents, certificates, manifests) and returns it.

    `cases` keeps only the training cases of those keys; no task is about the `bystanders` (customers of about ten rows each);
    `moved` puts single tasks on another side (task id -> side), as two builds apart from each other may. `organisations` above 0
    adds so many to either side, each with all of the cases under ids of its own: a set that is large enough to learn from.
    `schemas.taskset.open_taskset(folder, "train")` opens the result.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def content(value: Any) -> str:
        return put_content(folder / "content", value)

    shared = content(customers(bystanders))
    sides: dict[str, list[tuple[TaskSpec, Answer]]] = {"train": [], "heldout": []}
    for case in all_cases():
        if not cases or case.key in cases:
            sides["train"].append(_task(case, token("ORG", "seen"), content, shared, name, "train"))
        if case.key in HELD_OUT:
            sides["heldout"].append(_task(case, token("ORG", "unseen"), content, shared, name, "heldout"))
    for number, side in itertools.product(range(organisations), sides):
        organisation = token("ORG", side, str(number))
        added = [_task(case, organisation, content, shared, f"{name}-{number}", side) for case in all_cases()]
        sides[side] += [(task.model_copy(update={"taskset": name}), answer) for task, answer in added]
    for task_id, there in (moved or {}).items():
        task, answer = next(pair for pairs in sides.values() for pair in pairs if pair[0].task_id == task_id)
        sides = {side: [pair for pair in pairs if pair[0].task_id != task_id] for side, pairs in sides.items()}
        sides[there].append((task.model_copy(update={"slice": "train" if there == "train" else "unseen_months"}), answer))
    certificates = []
    placed: dict[str, Any] = {}
    for side, pairs in sides.items():
        here = folder / side
        write_models(here / "tasks.jsonl", [task for task, _ in pairs])
        write_models(here / "answers.jsonl", [answer for _, answer in pairs])
        digests = {task.task_id: task_digest(task, answer) for task, answer in pairs}
        files = {file: sha256_file(here / file) for file in ("tasks.jsonl", "answers.jsonl")}
        write_json(
            here / "manifest.json",
            SideManifest(
                taskset=name, side="train" if side == "train" else "heldout", tasks=len(pairs), files=files, ids=digests
            ).model_dump(mode="json"),
        )
        passed = tuple(Check(id=check, verdict="passed") for check in CHECK_IDS)
        certificates += [
            Certificate(task_id=i, task_sha256=d, code_version="test", checks=passed, version=CERTIFICATE_VERSION)
            for i, d in digests.items()
        ]
        placed |= {t.task_id: {"slice": t.slice, "sha256": digests[t.task_id], "cluster": t.task_id} for t, _ in pairs}
    write_models(folder / "certificates.jsonl", certificates)
    write_json(folder / "splits.json", {"tasks": placed})
    manifest = TaskSetManifest(
        name=name,
        supplier="sample",
        code_version="test",
        spec_sha256=sha256_file(SPEC),
        inputs={},
        counts={side: len(pairs) for side, pairs in sides.items()},
        forms=content(FORMS),
        proof=content(PROOF.model_dump(mode="json")),
    )
    write_json(folder / "manifest.json", manifest.model_dump(mode="json"))
    seal(folder)
    return folder


def seal(folder: Path) -> None:
    """Binds sides, splits and certificates as they stand now, as a build does at its end (and as who tampers could)."""
    manifest = TaskSetManifest.model_validate(read_json(folder / "manifest.json"))
    files = {name: sha256_file(folder / name) for name in ("train/manifest.json", "heldout/manifest.json", "splits.json")}
    certificates = sha256_file(folder / "certificates.jsonl")
    sealed = manifest.model_copy(update={"files": files, "certificates_sha256": certificates}).sealed()
    write_json(folder / "manifest.json", sealed.model_dump(mode="json"))


if __name__ == "__main__":
    print(build_taskset(Path(sys.argv[1])))
