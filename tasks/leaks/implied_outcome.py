"""The wording of the request tells the outcome class of its workflow: by a probe (TF-IDF, logistic regression, out of fold), by
single phrases that stand in requests of one class only, and by the phrase that goes most with the classes.

So does the wording of the requester's answers that hold a value: the values are the content, and the words around them a manner
of speaking. Outcomes are shuffled among tasks in which the same is told. Answers without values are content as a whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._chance import Group, alpha_of, best_phrase, testable
from tasks.leaks._probe import probe_workflows
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import words

LONGEST = 3
"""Words of the longest phrase."""
PURE = 0.95
"""Share of one class among the requests with a phrase from which the phrase tells it."""
FEWEST = 8
"""Requests, and ORGANISATIONS among them, that hold the phrase: what one person writes is a habit."""
ORGANISATIONS = 3
STRENGTH = 0.3
"""Cramer's V from which a phrase is worth acting on."""


def run(data: LeakInput) -> list[Finding]:
    groups = testable(data)
    found = probe_workflows(data, "implied_outcome", "opening", features)
    for group in groups:
        alpha = alpha_of(groups)
        said = [texts([task]) for task in group.tasks]
        ways = [_answers(task) for task in group.tasks]
        told = [n for n, way in enumerate(ways) if way]
        strata = [",".join(sorted({slot for fact in group.tasks[n].requester.facts for slot in fact.slots})) for n in told]
        one = phrase(group, alpha)
        found += [one] if one is not None else []
        found += _telling(group, "opening/wording", said, [0] * len(said), range(len(said)), alpha, data.seed)
        found += _telling(group, "requester/facts/wording", [ways[n] for n in told], strata, told, alpha, data.seed)
    return found


def _answers(task: TaskSpec) -> list[str]:
    """The words of the requester's answers that hold values, the values left out."""
    found = []
    for fact in task.requester.facts:
        text = fact.answer
        for value in sorted(fact.values.values(), key=len, reverse=True):
            text = re.sub(re.escape(value), " ", text, flags=re.IGNORECASE) if value else text
        if fact.values:
            found.append(" ".join(words(text)))
    return found


def _telling(
    group: Group,
    path: str,
    said: Sequence[Sequence[str]],
    strata: Sequence[str | int],
    of: Sequence[int],
    alpha: float,
    seed: int,
) -> list[Finding]:
    """Whether one phrase goes with the classes. `said`: texts of each task that has some; `of`: their numbers in the group."""
    import numpy as np

    if len(of) < 2 * FEWEST:
        return []
    phrases = [sorted({gram for text in texts_ for gram in _phrases(text)}) for texts_ in said]
    spread = Counter(gram for grams_ in phrases for gram in grams_)
    names = {gram: n for n, gram in enumerate(sorted(g for g, count in spread.items() if count >= FEWEST))}
    held = np.zeros((len(of), len(names)), dtype=np.float32)
    for n, grams_ in enumerate(phrases):
        held[n, [names[gram] for gram in grams_ if gram in names]] = 1.0
    classes = [group.classes[n] for n in of]
    best = best_phrase(held, classes, strata, seed)
    if best is None:
        return []
    column, strength, p = best
    holders = [n for n, yes in zip(of, held[:, column], strict=True) if yes]
    spoken = len({group.tasks[n].organisation for n in holders}) >= ORGANISATIONS
    bad = p <= alpha and strength >= STRENGTH and spoken
    detail = f"{group.workflow}: a phrase of {len(holders)} of {len(of)} tasks, Cramer's V {strength:.2f}, p {p:.5f}"
    numbers = {"strength": round(strength, 4), "p": p, "alpha": alpha, "tasks": len(of)}
    place = f"{path}/{group.workflow}"
    return [Finding("implied_outcome", "failed" if bad else "passed", place, detail, numbers=numbers)]


def _phrases(text: str) -> Iterator[str]:
    """Runs of up to LONGEST words."""
    said = text.split()
    for size in range(1, LONGEST + 1):
        for n in range(len(said) - size + 1):
            yield " ".join(said[n : n + size])


def features(tasks: Sequence[TaskSpec]) -> Any:
    """(tasks, terms) TF-IDF of words and pairs of words, ids as their types."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"\S+").fit_transform(texts(tasks))


def texts(tasks: Sequence[TaskSpec]) -> list[str]:
    return [" ".join(words(f"{task.opening.subject} {task.opening.text}")) for task in tasks]


def phrase(group: Group, alpha: float) -> Finding | None:
    """A finding where phrases stand in requests of one class only, beyond chance over all phrases and classes (Bonferroni)."""
    import numpy as np
    from scipy.stats import hypergeom
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(ngram_range=(1, LONGEST), min_df=FEWEST, token_pattern=r"\S+", binary=True, dtype=np.float64)
    try:
        held = counter.fit_transform(texts(group.tasks)).tocsc()
    except ValueError:  # no phrase stands in FEWEST requests
        return None
    classes = sorted(set(group.classes))
    members = np.array([[c == k for c in group.classes] for k in classes], dtype=np.float64)
    total = np.asarray(held.sum(axis=0)).ravel()
    of_class = np.asarray((held.T @ members.T).T)
    sizes = members.sum(axis=1)
    p = hypergeom.sf(of_class - 1, len(group.tasks), sizes[:, None], total[None, :])
    level = alpha / p.size
    telling = np.argwhere((p <= level) & (of_class >= PURE * total))
    organisations = np.array([task.organisation for task in group.tasks])
    spread = [(k, n) for k, n in telling if len(set(organisations[held[:, n].indices])) >= ORGANISATIONS]
    if not spread:
        return None
    k, n = min(spread, key=lambda kn: p[kn[0], kn[1]])
    covered = int(np.asarray(held[:, [n for _, n in spread]].sum(axis=1) > 0).sum())
    detail = (
        f"{group.workflow}: {len(spread)} of {len(total)} phrases of one class only, in {covered} of {len(group.tasks)} tasks; "
        f"the clearest in {int(of_class[k, n])} of {int(total[n])}, class {classes[k]}"
    )
    numbers = {"p": float(p[k, n]), "alpha": float(level), "tasks": len(group.tasks)}
    return Finding("implied_outcome", "failed", f"opening/phrase/{group.workflow}", detail, numbers=numbers)


def planted(data: LeakInput) -> LeakInput:
    def hinted(task: TaskSpec) -> TaskSpec:
        hint = "as agreed with your colleague" if data.answers[task.task_id].outcome_class == "grant" else "whenever it suits you"
        return task.model_copy(update={"opening": task.opening.model_copy(update={"text": f"{task.opening.text} {hint}"})})

    return replace(data, tasks=tuple(hinted(task) for task in data.tasks))


LEAK = Leak("implied_outcome", run, planted, statistical=True)
