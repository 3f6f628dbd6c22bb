"""A naive conversion of the same records, as a data team makes it in a day, and what it pays for.

From each task of a certified set: the systems' rows as they are today instead of as they were at the cut; everything that the
requester ever said in the request itself; no rules; to imitate, what the systems' logs hold of the people (writes and the
closing, no look-up); paid is the outcome's code alone. Requests, split, tools and texts stay those of the certified set, so
that nothing else differs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from environments.agents import action_text
from environments.episode import Episode
from rewards.events import NOTHING
from rewards.score import Grader, Stepper
from rewards.values import same
from schemas.episode import JournalEntry, StepEvents, Violation
from schemas.events import EVENT_COLUMNS
from schemas.files import put_content, read_models, sha256_file, write_models, write_text
from schemas.records import CodeBook
from schemas.task import Answer, TaskSpec, Trajectory
from schemas.taskset import SideManifest, State, TaskSet, open_taskset, task_digest

VISIBLE = ("start", "history", "static")
"""What the code book lets any state show; the naive one differs in when, not in which columns."""
Side = Literal["train", "heldout"]
SIDES: tuple[Side, ...] = ("train", "heldout")
Row = tuple[str, str, str]
"""(system, kind, record id)."""


@dataclass(slots=True)
class OutcomeOnly(Stepper):
    """Pays 1 for the recorded code at the end; how it was reached, and what was written, counts for nothing."""

    def _accepted(self, entry: JournalEntry, step: int) -> list[Violation]:
        return []

    def _refused(self, entry: JournalEntry, step: int) -> list[Violation]:
        return []

    def _finished(self, step: int, found: list[Violation]) -> tuple[int, float, float, float]:
        said = self._finish.call.arguments.get("code") if self._finish is not None else None
        return int(same(said, self.criteria.answer.outcome.code)), 0.0, 0.0, 0.0

    def _record(
        self, found: list[Violation], *, success: int = 0, quality: float = 0.0, speed: float = 0.0, delay: float = 0.0
    ) -> tuple[StepEvents, float]:
        events = StepEvents(success=1, quality=0.0, efficiency=0.0, violation=0, delay=0.0) if success else NOTHING
        self._events.append(events)
        self._rewards.append(float(success))
        return events, float(success)


class OutcomeOnlyGrader(Grader):
    def stepper(self, task_id: str, seed: int = 0) -> Stepper:
        criteria = self.criteria(task_id)
        return OutcomeOnly(criteria, self._taskset.state(criteria.task), None, seed)


def naive_grader(taskset: TaskSet) -> OutcomeOnlyGrader:
    path = taskset.folder / taskset.side / "answers.jsonl"
    return OutcomeOnlyGrader(taskset, {answer.task_id: answer for answer in read_models(path, Answer)})


def current_rows(clean: Path, codebook: CodeBook) -> dict[str | None, State]:
    """Organisation -> its systems' rows as the log leaves them: the last value of every field that a state may show."""
    import polars as pl

    files = sorted((clean / "events").glob("*.parquet"))
    log = pl.scan_parquet(files).select(list(EVENT_COLUMNS)).filter(pl.col("type").is_in(["create", "change", "delete"]))
    rows: dict[Row, dict[str, Any]] = defaultdict(dict)
    owners: dict[Row, str | None] = {}
    gone: set[Row] = set()
    for event in log.sort("event_ts", "seq", nulls_last=False).collect().iter_rows(named=True):
        row = (event["system"], event["kind"], event["record_id"])
        if event["type"] == "delete":
            gone.add(row)
        owners[row] = event["organisation"] or owners.get(row)
        name = event["field"]
        rule = codebook.fields.get(f"{row[0]}.{row[1]}.{name}") if name is not None else None
        if rule is not None and rule.known_at in VISIBLE:
            rows[row][name] = json.loads(event["value_json"] or "null")
    found: dict[str | None, State] = defaultdict(dict)
    for row, values in rows.items():
        if row not in gone:
            found[owners[row]].setdefault(row[0], {}).setdefault(row[1], {})[row[2]] = values
    return found


def today(state: State, current: State, own: tuple[str, str]) -> State:
    """A task's state with each row as it is today, and the organisation's later rows beside them; of the request's own kind only
    the records that the state holds (the others are other people's)."""
    found: State = {system: {kind: {} for kind in kinds} for system, kinds in state.items()}
    for system, kinds in found.items():
        for kind, rows in kinds.items():
            now, then = current.get(system, {}).get(kind, {}), state[system][kind]
            if (system, kind) == own or not now:
                rows.update({record_id: {**values, **now.get(record_id, {})} for record_id, values in then.items()})
            else:
                rows.update(now)
    return found


def convert(certified: Path, clean: Path, codebook: CodeBook, out: Path, *, logged: bool = True) -> None:
    """Writes the naive twin of the task set at `certified` to `out`, both sides. Without `logged` the certified references are
    what is to be imitated, look-ups and questions too: more than any log holds."""
    rows = current_rows(clean, codebook)
    for side in SIDES:
        source = open_taskset(certified, side)
        answers = {a.task_id: a for a in read_models(certified / side / "answers.jsonl", Answer)}
        tasks = [_naive_task(source, task, rows, out / "content") for _, task in sorted(source.tasks.items())]
        here = out / side
        twin = TaskSet(out, side, _manifest(out, side, [], []), {t.task_id: t for t in tasks}, source.forms)
        played = [_played(twin, task, answers[task.task_id], logged) for task in tasks]
        given = [answer for answer, _ in played]
        write_models(here / "tasks.jsonl", tasks)
        write_models(here / "answers.jsonl", given)
        if side == "train":
            write_models(here / "trajectories.jsonl", [episode for _, episode in played])
        write_text(here / "manifest.json", _manifest(out, side, tasks, given).model_dump_json(indent=1) + "\n")


def open_naive(folder: Path, side: Side, like: TaskSet) -> TaskSet:
    """A side of a naive set, which has no certificate; its message forms are those of the certified set."""
    taskset = open_taskset(folder, side, certified=False)
    taskset.forms = dict(like.forms)
    return taskset


def _manifest(out: Path, side: Side, tasks: list[TaskSpec], answers: list[Answer]) -> SideManifest:
    names = [name for name in ("answers.jsonl", "tasks.jsonl", "trajectories.jsonl") if (out / side / name).is_file()]
    return SideManifest(
        taskset=out.name,
        side=side,
        tasks=len(tasks),
        files={name: sha256_file(out / side / name) for name in names},
        ids={task.task_id: task_digest(task, answer) for task, answer in zip(tasks, answers, strict=True)},
    )


def _naive_task(source: TaskSet, task: TaskSpec, rows: Mapping[str | None, State], content: Path) -> TaskSpec:
    record = task.opening.record
    state = today(source.state(task), rows.get(task.organisation, {}), (record.system, record.kind))
    for digest in task.policies:
        put_content(content, source.content(digest))
    for system in task.systems:
        for value in system.config.values():
            if isinstance(value, str) and value.startswith("content:"):
                put_content(content, source.content(value.removeprefix("content:")))
    own = {record.system: state.pop(record.system)} if record.system in state else {}
    told = [fact.answer for fact in task.requester.facts]
    opening = task.opening.model_copy(update={"text": "\n".join([task.opening.text, *told])})
    return task.model_copy(
        update={
            "opening": opening,
            "state": (put_content(content, state), put_content(content, own)),
            "provenance": (),
            "rules": (),
            "requester": task.requester.model_copy(update={"facts": ()}),
            "canary": "",
        }
    )


def _played(taskset: TaskSet, task: TaskSpec, answer: Answer, logged: bool) -> tuple[Answer, Trajectory]:
    """The acts to imitate, as the reference and as an episode of the naive world: those that systems log (writes and the
    closing), or all. A call that this world refuses is left out. Raises ValueError where it refuses the closing."""
    episode = Episode(taskset)
    texts, kept = [episode.reset(task.task_id, 0).text], []
    for step in answer.reference:
        tool = episode.tools[step.call.tool]
        if logged and tool.effect is None and not tool.finishing:
            continue
        text = episode.step(step.call).observation.text
        if episode.journal.entries[-1].ok:
            texts.append(text)
            kept.append(step)
    if not episode.done:
        raise ValueError(f"task {task.task_id}: the naive world refuses the recorded closing")
    actions = tuple(action_text(step.call) for step in kept)
    given = answer.model_copy(update={"reference": tuple(kept), "canary": "", "bounds": None})
    return given, Trajectory(task_id=task.task_id, agent="recorded", observations=tuple(texts), actions=actions)
