"""Is a workflow worth simulating: five traits with their counts, per workflow, from the ledger and what was kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from schemas.spec import Spec
from schemas.task import Answer, LedgerRow, TaskSpec

ENOUGH = 40
"""Candidates from which a workflow has volume."""


def screen(
    spec: Spec, ledger: Sequence[LedgerRow], tasks: Sequence[TaskSpec], answers: Mapping[str, Answer]
) -> dict[str, dict[str, Any]]:
    """Workflow -> volume, steps across systems, outcome recorded, rules written, small tool set; each with its figures."""
    found = {}
    for workflow in (w.name for w in spec.workflows):
        rows = [row for row in ledger if row.workflow == workflow]
        mine = [task for task in tasks if task.workflow == workflow]
        lengths = sorted(len(answers[t.task_id].reference) for t in mine)
        used = Counter(step.call.tool for t in mine for step in answers[t.task_id].reference)
        # As declared: a workflow of which no record became a task has its rules all the same.
        rules = [rule.id for rule in spec.rules if not rule.workflows or workflow in rule.workflows]
        undecided = sum(row.reason in ("no_outcome", "unknown_code", "no_definite_answer", "not_closed") for row in rows)
        found[workflow] = {
            "candidates": len(rows),
            "tasks": len(mine),
            "volume": len(rows) >= ENOUGH,
            "calls_median": lengths[len(lengths) // 2] if lengths else 0,
            "tools_used": len(used),
            "outcome_recorded": round(1 - undecided / len(rows), 4) if rows else 0.0,
            "outcome_classes": len({answers[t.task_id].outcome_class for t in mine}),
            "rules": len(rules),
            "rules_written": bool(rules),
        }
    return found
