"""Held-out scores are told apart by slice, and once more for tasks under a policy version that training never saw."""

from __future__ import annotations

from training.figures import Result, summary


def result(task_id: str, part: str, success: float, *, unseen_policy: bool = False) -> Result:
    return Result(
        agent="a",
        task_id=task_id,
        seed=0,
        organisation=f"ORG_{task_id}",
        slice=part,
        unseen_policy=unseen_policy,
        workflow="refund",
        code="refund_granted",
        outcome_class="grant",
        success=success,
        full=success,
        violations=0.0,
        timeouts=0.0,
        turns=3.0,
        score=None,
        return_=0.0,
        refusals=0.0,
        tools=(),
        said="",
    )


def test_a_task_under_an_unseen_policy_counts_in_its_slice_and_apart() -> None:
    rows = [
        result("t1", "unseen_months", 1.0),
        result("t2", "unseen_months", 0.0, unseen_policy=True),
        result("t3", "both", 0.0, unseen_policy=True),
        result("t4", "unseen_organisations", 1.0),
    ]
    means = {name: measures["success"]["mean"] for name, measures in summary(rows)["slices"].items()}
    assert means == {"unseen_months": 0.5, "both": 0.0, "unseen_organisations": 1.0, "any, unseen policy": 0.0}


def test_where_no_task_has_the_mark_three_scores_are_told() -> None:
    assert set(summary([result("t1", "both", 1.0), result("t2", "unseen_months", 0.0)])["slices"]) == {"both", "unseen_months"}
