"""Neither the words of an opening nor what stands around it tells whether the request will be granted, unless planted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from samples.cases import CASES
from tests.unit.samples.conftest import Sample

Row = dict[str, Any]
MARGIN = 0.10
"""Allowed above the majority's balanced accuracy, which is 0.5."""


def opening_of(sample: Sample, ticket: Row) -> str:
    subject = next(e["value"] for e in sample.audits[ticket["ticket_id"]][0]["events"] if e.get("field_name") == "subject")
    return f"{subject}\n{sample.comments(ticket['ticket_id'])[0][2]}"


def balanced_accuracy(model: Any, inputs: Any, grants: Any) -> float:
    """Out of five folds."""
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return float(balanced_accuracy_score(grants, cross_val_predict(model, inputs, grants, cv=folds)))


@pytest.mark.parametrize("kind", ["all kinds", *CASES])
def test_a_classifier_on_the_opening_does_not_beat_the_majority(sample: Sample, kind: str) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rows = [row for row in sample.clean if kind in ("all kinds", row["workflow"])]
    texts = [opening_of(sample, row) for row in rows]
    grants = np.array([row["outcome_class"] == "grant" for row in rows])
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    model = make_pipeline(words, LogisticRegression(max_iter=500, class_weight="balanced"))
    assert balanced_accuracy(model, texts, grants) <= 0.5 + MARGIN


def test_nor_does_one_on_what_stands_around_it(sample: Sample) -> None:
    from sklearn.ensemble import RandomForestClassifier

    rows = sample.clean
    kinds, groups = sorted(CASES), sorted({row["group"] for row in rows})
    orders = Counter(row["value"] for row in sample.truth("facts") if row["kind"] == "order" and row["field"] == "account_id")
    accounts = {row["record_id"]: row["value"] for row in sample.truth("facts") if row["field"] == "account_id"}
    table = []
    for row in rows:
        text = opening_of(sample, row)
        account = accounts.get(row["about"], row["about"])
        day, hour = int(row["opened_at"][8:10]), int(row["opened_at"][11:13])
        digits = int(row["about"][2:])
        table.append([
            kinds.index(row["workflow"]), groups.index(row["group"]), day, hour, len(text), text.count("\n"), orders[account],
            digits, digits % 97, int(row["ticket_id"]) % 13, int("second_address" in row["planted"]),
            len(sample.comments(row["ticket_id"])[0][1]["html_body"]),
        ])  # fmt: skip
    grants = np.array([row["outcome_class"] == "grant" for row in rows])
    model = RandomForestClassifier(n_estimators=60, min_samples_leaf=8, random_state=0)
    assert balanced_accuracy(model, np.array(table), grants) <= 0.5 + MARGIN


def test_a_planted_phrase_does_give_the_outcome_away(sample: Sample) -> None:
    trivial = [row for row in sample.truth("tickets") if "trivial" in row["planted"]]
    assert len(trivial) >= 40
    for row in trivial:
        text = opening_of(sample, row)
        assert "pre-approved" in text
        assert row["outcome_class"] == "grant"
        assert row["about"] in text


def test_openings_are_not_near_duplicates(sample: Sample) -> None:
    shingles = []
    for row in sample.clean:
        words = opening_of(sample, row).lower().split()
        shingles.append(({tuple(words[i : i + 3]) for i in range(len(words) - 2)}, len(words)))
    holders: dict[tuple[str, ...], list[int]] = {}
    for index, (own, _) in enumerate(shingles):
        for shingle in own:
            holders.setdefault(shingle, []).append(index)
    close = 0
    for index, (own, length) in enumerate(shingles):
        shared = Counter(other for shingle in own for other in holders[shingle] if other < index)
        for other, count in shared.most_common(3):
            jaccard = count / len(own | shingles[other][0])
            close += jaccard >= (0.5 if min(length, shingles[other][1]) > 60 else 0.8)
    assert close <= 0.005 * len(shingles)
