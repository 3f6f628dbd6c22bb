"""Which records become tasks: the first reason against each, in one order, so that the counts of the ledger add up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from schemas.records import CodeBook
from schemas.spec import Spec
from schemas.task import LedgerRow
from tasks.case import Case

REASONS: dict[str, str] = {
    "deleted": "the record was deleted in its system",
    "merged": "the record was merged into another",
    "not_closed": "no end is recorded",
    "no_opening": "the requester's first words, or their time, are missing",
    "not_complete": "the record says that it was not completed",
    "several_tasks": "the record holds several tasks at once",
    "out_of_scope": "the workflow is not one of the spec's",
    "no_query": "nothing was asked of any system",
    "few_turns": "the requester said too little",
    "no_outcome": "no outcome is recorded",
    "unknown_code": "the outcome is not in the code book",
    "no_definite_answer": "the last recorded answer decides nothing",
    "ambiguous_state": "two recorded values tie and nothing orders them",
    "state_unknown": "the state at the start cannot be rebuilt",
    "policy_unknown": "not exactly one version of a policy was in force",
    "no_reference": "the recorded changes cannot be made with the agent's tools",
    "off_system": "a value of the outcome is shown by nothing, and a person wrote of a step outside the recorded systems",
    "underivable": "a value of the outcome is shown by nothing",
    "trivial": "the opening alone gives the whole outcome",
    "breaks_rule": "the recorded path breaks a rule in force",
    "certificate": "the certificate does not hold",
    "leak": "a leak check names the task",
    "embargo": "too close to the time held out",
    "near_duplicate": "held out, and a training request reads the same",
}
"""Code -> meaning, in the order in which they are asked; a record's reason is the first that holds."""
KEPT = "kept"

OFF_SYSTEM = re.compile(
    r"\b(?:(?:he|she|they|customer|caller|requester) (?:phoned|called|rang)"
    r"|(?:phoned|called|rang) (?:in|me|us|back|the (?:desk|hotline|office))"
    r"|(?:by|over|on|via) (?:the )?(?:phone|telephone|hotline)|phone call"
    r"|call(?:ed)? (?:him|her|them)|spoke (?:to|with)|walk(?:ed)?[- ]?(?:in|up)"
    r"|in person|at the (?:front )?(?:desk|counter)|face to face|told me (?:on|in|at)"
    r"|via (?:chat|whatsapp|teams|slack)|in the (?:hallway|corridor))\b",
    re.IGNORECASE,
)
"""What human agents write of a step that no system recorded."""


def basic_reason(case: Case, spec: Spec, codebook: CodeBook) -> str | None:
    """The first reason that the record itself gives, before anything is rebuilt; None = still a candidate."""
    if case.deleted:
        return "deleted"
    if case.code is None and any("merge" in name for name, _ in case.links):
        return "merged"  # the other end of the link goes on and is decided: it has a code
    if case.opening is None or case.opened_us is None or case.requester is None:
        return "no_opening"
    if case.closed_us is None:
        return "not_closed"
    if case.code is None:
        return "no_outcome"
    outcome = codebook.outcomes.get(case.code)
    if outcome is None:
        return "unknown_code"
    if outcome.workflow not in {w.name for w in spec.workflows}:
        return "out_of_scope"
    return None


def speaks_of_off_system(case: Case) -> bool:
    """True if a human agent's note or message tells of a step outside the recorded systems."""
    return any(not t.by_requester and OFF_SYSTEM.search(t.text) for t in case.turns)


def funnel(rows: Iterable[LedgerRow]) -> list[tuple[str, int, int]]:
    """(reason, dropped by it, left after it) in the order of REASONS; the last line's "left" is what was kept."""
    rows = list(rows)
    counts = Counter(row.reason for row in rows)
    left = len(rows)
    lines = []
    for reason in REASONS:
        if counts[reason]:
            left -= counts[reason]
            lines.append((reason, counts[reason], left))
    return lines


def check_ledger(rows: Sequence[LedgerRow], candidates: int) -> None:
    """Raises ValueError unless every candidate stands in the ledger once, with a known reason."""
    unknown = sorted({row.reason for row in rows} - {KEPT, *REASONS})
    if unknown or len({row.record_id for row in rows}) != len(rows) or len(rows) != candidates:
        raise ValueError(f"the ledger does not add up: {len(rows)} rows for {candidates} candidates, unknown reasons {unknown}")
