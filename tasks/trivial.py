"""Whether the opening alone gives the whole outcome: its words tell the class (out of fold), and every argument stands in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from schemas.files import sha256_text
from schemas.spec import Halves
from tasks.requester import TOKEN

FOLDS = 5
MINIMUM = 20
"""Requests of a workflow below which no probe is fitted: nothing is called trivial by it."""


@dataclass(frozen=True, slots=True)
class Request:
    record_id: str
    group: str
    """Requests of one group stand in one fold, so that the probe cannot know the customer."""
    workflow: str
    outcome_class: str
    text: str


def is_trivial(halves: Halves, *, generated: bool, told: bool, stands: bool) -> bool:
    """`told`: the words tell the class; `stands`: every argument of the outcome stands in the opening.

    Both halves, unless the outcome is only a class (a code, a route: there are no arguments) or the spec asks for the arguments
    alone; the words of a generated request tell nothing of what people write, so there only the arguments decide.
    """
    if generated or halves == "arguments":
        return stands
    return told if halves == "class" else told and stands


def words_of(text: str) -> str:
    """Pseudonyms by their type only: which record is named says nothing, that one is named may."""
    return TOKEN.sub(lambda m: re.sub(r"_[0-9A-F]{8}.*", "", m[0]).lower(), text)


def out_of_fold(requests: Sequence[Request]) -> dict[str, float]:
    """Record id -> probability that a probe, fitted on other groups' requests, gives to the true outcome class.

    TF-IDF of words and pairs, logistic regression, one probe per workflow. A workflow with one class is 1.0 throughout;
    one with too few requests, or a class seen in a single fold, is 0.0 where no probe could be fitted.
    """
    found: dict[str, float] = {}
    by_workflow: dict[str, list[Request]] = {}
    for request in sorted(requests, key=lambda r: r.record_id):
        by_workflow.setdefault(request.workflow, []).append(request)
    for rows in by_workflow.values():
        classes = Counter(r.outcome_class for r in rows)
        if len(classes) == 1:
            found.update({r.record_id: 1.0 for r in rows})
        elif len(rows) >= MINIMUM:
            found.update(_probe(rows))
        else:
            found.update({r.record_id: 0.0 for r in rows})
    return found


def _fold(group: str) -> int:
    return int(sha256_text(f"fold/{group}")[:8], 16) % FOLDS


def _probe(rows: list[Request]) -> dict[str, float]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    folds = [_fold(r.group) for r in rows]
    found = {r.record_id: 0.0 for r in rows}
    for fold in range(FOLDS):
        train = [r for r, f in zip(rows, folds, strict=True) if f != fold]
        test = [r for r, f in zip(rows, folds, strict=True) if f == fold]
        if not test or len({r.outcome_class for r in train}) < 2:
            continue
        vectors = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
        try:
            seen = vectors.fit_transform([words_of(r.text) for r in train])
        except ValueError:  # no word stands in two requests: there is nothing to learn from
            continue
        probe = LogisticRegression(C=4.0, max_iter=300, random_state=0)
        probe.fit(seen, [r.outcome_class for r in train])
        column = {name: at for at, name in enumerate(probe.classes_)}
        chances = probe.predict_proba(vectors.transform([words_of(r.text) for r in test]))
        for row, chance in zip(test, chances, strict=True):
            # Rounded, so that the last bits of the solver never decide.
            found[row.record_id] = round(float(chance[column[row.outcome_class]]), 6) if row.outcome_class in column else 0.0
    return found
