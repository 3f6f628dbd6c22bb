"""A held-out request reads like a training request: MinHash over 3-word shingles proposes, exact Jaccard decides."""

from __future__ import annotations

from schemas.task import TaskSpec
from tasks.leaks._plant import some, with_text
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import runs, words

SHINGLE = 3
PERMUTATIONS, BANDS = 128, 64
"""64 bands of 2: a pair at 0.5 is proposed with probability 1 - (1 - 0.25)^64."""
ALIKE, ALIKE_LONG = 0.8, 0.5
LONG = 60
"""Words above which ALIKE_LONG is enough."""
SHORT = 8
"""Requests with fewer words carry nothing and are exempt."""


def run(data: LeakInput) -> list[Finding]:
    from rensa import RMinHash, RMinHashLSH

    train = [task for task in data.tasks if not data.held_out(task)]
    held = [task for task in data.tasks if data.held_out(task)]
    said = {task.task_id: [*words(task.opening.subject), *words(task.opening.text)] for task in data.tasks}
    sizes = {task_id: len(own) for task_id, own in said.items()}
    shingles = {task_id: runs(own, SHINGLE) for task_id, own in said.items() if sizes[task_id] >= SHORT}
    index = RMinHashLSH(threshold=ALIKE_LONG, num_perm=PERMUTATIONS, num_bands=BANDS)

    def signature(task: TaskSpec) -> RMinHash:
        made = RMinHash(num_perm=PERMUTATIONS, seed=data.seed)
        made.update([" ".join(shingle) for shingle in sorted(shingles[task.task_id])])
        return made

    for number, task in enumerate(train):
        if task.task_id in shingles:
            index.insert(number, signature(task))
    findings = []
    for task in held:
        if task.task_id not in shingles:
            continue
        for number in sorted(index.query(signature(task))):
            other = train[number]
            likeness = jaccard(shingles[task.task_id], shingles[other.task_id])
            long = min(sizes[task.task_id], sizes[other.task_id]) > LONG
            if likeness >= ALIKE or (long and likeness >= ALIKE_LONG):
                detail = f"Jaccard {likeness:.2f} with {other.task_id}"
                findings.append(Finding("near_duplicate", "failed", "opening/text", detail, (task.task_id,)))
                break
    return findings


def jaccard(left: set[tuple[str, ...]], right: set[tuple[str, ...]]) -> float:
    """|A and B| / |A or B|, in [0, 1]; 0 for two empty sets."""
    both = len(left & right)
    return both / (len(left) + len(right) - both) if left or right else 0.0


def planted(data: LeakInput) -> LeakInput:
    held, seen = some(data, held_out=True), data.tasks[some(data, held_out=False)]
    text = f"{seen.opening.text} It concerns my last purchase from your web shop, which I made a while ago."
    data = with_text(data, data.tasks.index(seen), lambda _: text)
    return with_text(data, held, lambda _: f"{text} Thanks!")


LEAK = Leak("near_duplicate", run, planted)
