"""What training records teach about asking: after which words a requester told which slot, and their "don't know" turns.

One logistic regression a slot over the features of `environments.asking`; the threshold is the one with the best F1 in folds of
dialogues. The result is plain numbers (JSON), names the tasks that it was fitted on, and knows nothing of any held-out record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.asking import MAX_CLAUSES, Learnt, clauses, features, phrases_of
from schemas.files import sha256_text

FOLDS = 4
LEAST_CASES = 20
"""Dialogues below which nothing is fitted: the words of the spec alone decide."""
LEAST_TOLD = 5
"""Times that a slot must have been told for it to be fitted."""
LEAST_DOCUMENTS = 2
"""Messages in which a feature must stand."""
SMALL = 0.05
"""Log-odds below which a weight is left out."""
STRENGTH = 1.0
"""Inverse of the regularisation."""
PLAIN = ("what is your {}?", "could you tell me the {}, please?", "{}?")
"""How a spec's word for a slot becomes a question that asks for it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One requester turn: the message before it, and the slots told in it."""

    message: str
    told: frozenset[str]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The turns of one training record."""

    task_id: str
    turns: tuple[Asked, ...]

    @property
    def slots(self) -> frozenset[str]:
        """Every slot that this requester told at some time."""
        return frozenset().union(*(turn.told for turn in self.turns))


def message_features(message: str) -> frozenset[str]:
    """All features of what a message asks: a turn answers the message as a whole."""
    return frozenset().union(*clause_features(message))


def clause_features(message: str) -> list[frozenset[str]]:
    return [features(clause.text) for clause in clauses(message) if clause.cued][:MAX_CLAUSES]


@dataclass(slots=True)
class _Fitted:
    bias: dict[str, int]
    weights: dict[str, dict[str, int]]

    def score(self, slot: str, message: Sequence[frozenset[str]]) -> float:
        learnt = Learnt(self.bias, self.weights)
        return max((learnt.score(slot, found) for found in message), default=float("-inf"))


def _fit(dialogues: Sequence[Dialogue], slots: Mapping[str, Sequence[str]]) -> _Fitted:
    import numpy as np
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    documents: Counter[str] = Counter()
    examples: list[tuple[frozenset[str], frozenset[str], frozenset[str]]] = []
    for dialogue in dialogues:
        own = dialogue.slots
        for turn in dialogue.turns:
            found = message_features(turn.message)
            documents.update(found)
            examples.append((found, turn.told, own))
    fitted = _Fitted({}, {})
    told = Counter(slot for _, slots_told, _ in examples for slot in slots_told)
    for slot in sorted(told):
        if told[slot] < LEAST_TOLD:
            continue
        rows = [(found, slot in slots_told) for found, slots_told, own in examples if slot in own]
        for phrase in phrases_of(slot, slots):
            rows += [(features(text.format(phrase.strip())), True) for text in PLAIN]
        if all(y for _, y in rows):
            continue
        names = sorted({name for found, _ in rows for name in found if documents[name] >= LEAST_DOCUMENTS})
        column = {name: at for at, name in enumerate(names)}
        cells = [[column[name] for name in sorted(found) if name in column] for found, _ in rows]
        ends = np.cumsum([0, *map(len, cells)])
        flat = np.array([at for row in cells for at in row], dtype=np.int32)
        table = csr_matrix((np.ones(len(flat)), flat, ends), shape=(len(rows), len(names)))
        model = LogisticRegression(C=STRENGTH, solver="liblinear", random_state=0)
        model.fit(table, [y for _, y in rows])
        # Whole thousandths: neither the last bits of the solver nor the order of a sum ever decide.
        fitted.bias[slot] = round(1000 * float(model.intercept_[0]))
        fitted.weights[slot] = {n: round(1000 * float(w)) for n, w in zip(names, model.coef_[0], strict=True) if abs(w) >= SMALL}
    return fitted


def _scored(fitted: _Fitted, dialogues: Iterable[Dialogue]) -> list[tuple[float, bool]]:
    found = []
    for dialogue in dialogues:
        for turn in dialogue.turns:
            message = clause_features(turn.message)
            found += [(fitted.score(slot, message), slot in turn.told) for slot in sorted(dialogue.slots)]
    return found


def best_threshold(scored: Sequence[tuple[float, bool]]) -> int:
    """The score from which calling a pair "asked" has the best F1; the highest among equals. 0 without any pair that was told."""
    ordered = sorted(scored, key=lambda pair: -pair[0])
    wanted = sum(told for _, told in ordered)
    best, at, right = 0.0, 0, 0
    for number, (score, told) in enumerate(ordered, 1):
        right += told
        last = number == len(ordered) or ordered[number][0] < score
        f1 = 2 * right / (number + wanted) if wanted else 0.0
        if last and score > float("-inf") and f1 > best + 1e-9:
            best, at = f1, int(score)
    return at


def learn(
    dialogues: Iterable[Dialogue], slots: Mapping[str, Sequence[str]], dont_know: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The content that `environments.asking.learnt_from` reads, from TRAINING dialogues only. Deterministic.

    With few dialogues nothing is fitted and the spec's words for each slot decide alone.
    """
    rows = sorted((d for d in dialogues if d.turns), key=lambda d: d.task_id)
    content: dict[str, Any] = {
        "bias": {},
        "weights": {},
        "threshold": 0,
        "fitted_on": [d.task_id for d in rows],
        "dont_know": {workflow: list(turns) for workflow, turns in sorted(dont_know.items())},
    }
    if len(rows) < LEAST_CASES:
        return content
    scored: list[tuple[float, bool]] = []
    for fold in range(FOLDS):
        inside = [d for d in rows if fold_of(d.task_id) != fold]
        outside = [d for d in rows if fold_of(d.task_id) == fold]
        scored += _scored(_fit(inside, slots), outside)
    fitted = _fit(rows, slots)
    return {**content, "bias": fitted.bias, "weights": fitted.weights, "threshold": best_threshold(scored)}


def fold_of(task_id: str) -> int:
    """Fold of a dialogue, fixed by its name."""
    return int(sha256_text(f"asking/{task_id}")[:8], 16) % FOLDS
