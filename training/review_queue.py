"""The review queue: which episodes of the last evaluation people should look at, chosen without anybody choosing.

Written with the evaluation: `review.jsonl` (one episode a line, with its journal and the evidence of its rules) and `review.csv`,
a form with an empty column for the label. The first reason draws at random from all episodes, so that what people say of it
holds for all of them; the others are where the reward and other signs disagree. Labels are read back by `training.review`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewards.score import Grader
from schemas.episode import EpisodeTrace, Grade
from schemas.errors import StageError
from schemas.files import canonical_json, sha256_file, sha256_json, write_text
from schemas.taskset import TaskSet
from training.transcripts import episode_facts, task_facts

NAME, FORM = "review.jsonl", "review.csv"
COLUMNS = ("task", "episode", "question", "label", "reviewer", "note")
LABELS = ("right", "wrong", "unclear")
QUESTION = "Was this case handled as it should have been? (right, wrong or unclear)"
PER_REASON = 8
"""Episodes of each reason."""
AT_RANDOM = 12
"""Episodes of the first reason: enough to see a reward that is wrong in one case of four."""
QUICK = 0.6
"""A success in at most this share of the reference's calls left look-ups out."""
NEAR = 0.75
"""Share of outcome fields right from which a failure is near enough to ask whether the grader is too strict."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An episode with what a reason asks of it."""

    trace: EpisodeTrace
    grade: Grade
    refusals: int
    calls: int
    reference_calls: int


REASONS: dict[str, Callable[[Candidate], bool]] = {
    "drawn at random": lambda c: True,
    "highest reward": lambda c: c.grade.full and c.refusals == 0,
    "full reward although calls were refused": lambda c: c.grade.success and c.refusals > 0,
    "solved in very few calls": lambda c: c.grade.success and c.calls <= QUICK * c.reference_calls,
    "outcome right, not counted as solved": lambda c: c.grade.outcome_right and not c.grade.success,
    "nearly right, not counted as solved": lambda c: c.grade.quality >= NEAR and not c.grade.outcome_right,
}
"""Why an episode is in the queue. An episode is there once, under the first reason that takes it."""


def queue(traces: Sequence[EpisodeTrace], taskset: TaskSet, grader: Grader, at_random: int = AT_RANDOM) -> list[dict[str, Any]]:
    """The chosen episodes as JSON: at most one of a task under each reason, in the order of digests."""
    candidates = [_candidate(trace, grader) for trace in traces]
    taken: set[str] = set()
    out = []
    for reason, holds in REASONS.items():
        tasks: set[str] = set()
        for c in sorted(candidates, key=lambda c, why=reason: sha256_json([why, episode_id(c.trace)])):  # type: ignore[misc]
            name = episode_id(c.trace)
            if len(tasks) == (at_random if reason == "drawn at random" else PER_REASON):
                break
            if name in taken or c.trace.task_id in tasks or not holds(c):
                continue
            taken.add(name)
            tasks.add(c.trace.task_id)
            task = taskset.tasks[c.trace.task_id]
            facts = task_facts(task, grader.criteria(task.task_id).answer)
            head = {
                "episode": name,
                "reason": reason,
                "question": QUESTION,
                "reward_says": "right" if c.grade.success else "wrong",
            }
            out.append(head | facts | {"played": episode_facts(c.trace, task)})
    return out


def episode_id(trace: EpisodeTrace) -> str:
    """Digest of who played what and how: a label belongs to exactly these calls."""
    calls = [[e.call.tool, e.call.arguments] for e in trace.journal.entries]
    return sha256_json([trace.agent, trace.task_id, trace.seed, calls])[:12]


def _candidate(trace: EpisodeTrace, grader: Grader) -> Candidate:
    if trace.grade is None:
        raise StageError(f"task {trace.task_id}: the episode of {trace.agent} was not graded")
    entries = trace.journal.entries
    reference = len(grader.criteria(trace.task_id).answer.reference)
    return Candidate(trace, trace.grade, sum(not e.ok for e in entries), len(entries), reference)


def form(rows: Sequence[dict[str, Any]]) -> str:
    """The text of review.csv."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([row["task_id"], row["episode"], row["question"], "", "", ""] for row in rows)
    return out.getvalue()


def write_queue(folder: Path, rows: Sequence[dict[str, Any]], name: str = NAME, form_name: str = FORM) -> None:
    """Writes a queue and a new form; a form in which somebody has written is kept under another name."""
    before = folder / form_name
    blank = form(rows)
    if before.exists() and before.read_bytes() != blank.encode() and _written_in(before):
        before.rename(folder / f"{before.stem}-{sha256_file(before)[:12]}.csv")
    write_text(folder / name, "".join(canonical_json(row) + "\n" for row in rows))
    write_text(before, blank)


def _written_in(path: Path) -> bool:
    """True unless every row has three empty last columns; what cannot be read was written by somebody."""
    try:
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))[1:]
    except (UnicodeDecodeError, csv.Error):
        return True
    return any(len(row) != len(COLUMNS) or any(row[3:]) for row in rows)
