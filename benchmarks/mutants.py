"""How many faults of a grader the certificates find.

    python -m benchmarks.mutants                    (after make build-tasks; both task sets where they are built)
    python -m benchmarks.mutants --automatic 0      only the mutants written by hand
    python -m benchmarks.mutants --modules rewards.listed rewards.seen      the automatic ones of some modules

The grader (`rewards/`) is changed in one place at a time, and the certificates of a fixed sample of tasks are derived again under
it: one task for every workflow and outcome code of each set. A mutant is killed where a certificate no longer holds, where the
grades of the certificate's own replays are others, or where the grader breaks off. Each is first measured by the yardstick of C7
(tasks/certificates/_yardstick.py), which is the same for every task; what that lets pass, the replays judge, where one of them
reaches the changed line. How many the replays kill alone, without the yardstick, is counted over the mutants written by hand and
--replays automatic ones. This process imports nothing of the grader, for what a forked process finds imported is never changed;
a mutant whose source was not run is an error. Functions that give no grade are listed apart. Exit code 1 below 95%.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks._mutants_written import EQUIVALENT, OUT_OF_QUESTION, WRITTEN
from benchmarks._mutate import SourceMutant, mutants
from schemas.errors import RecordgymError, StageError
from schemas.files import get_content, read_json, read_models
from schemas.paths import taskset_dir
from schemas.proof import Placed, Proof
from schemas.task import Answer, TaskSpec
from schemas.taskset import SideManifest, TaskSet, TaskSetManifest

MODULES = (
    "rewards.outcome", "rewards.score", "rewards.events", "rewards.path", "rewards.view", "rewards.values", "rewards.rule",
    "rewards.rules.approval", "rewards.rules.exact", "rewards.rules.forbidden", "rewards.rules.limit", "rewards.rules.overdue",
    "rewards.rules.required_before", "rewards.rules.shown_before", "rewards.rules.window", "rewards.listed", "rewards.seen",
    "rewards.yes_no", "rewards.slips",
)  # fmt: skip
"""The modules that decide a grade. `rewards.hinted` is none of them: building a task asks it what a conversation left open."""
SETS = ("helpdesk_v1", "star_v1")
WANTED = 0.95
CONTROL = "the grader as it is"
UNUSED = "unused"
"""How a mutant ended whose source was never run: neither killed nor survived, an error of the harness."""
LONGEST_S = 300
"""CPU seconds after which a mutant counts as one that breaks the grader off (an endless loop)."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the grader as it is says."""

    said: tuple[str, ...]
    """Of each task of the sample, by its replays alone."""
    lines: frozenset[tuple[str, int]]
    """(module, line) that those replays run through."""
    yardstick: str
    """Digest of what the yardstick found."""

    def reaches(self, mutant: SourceMutant) -> bool:
        return any((mutant.module, line) in self.lines for line in range(mutant.lines[0], mutant.lines[1] + 1))


@dataclass(slots=True)
class Sampled:
    """One task of the sample with what its certificate needs."""

    taskset: TaskSet
    task: TaskSpec
    answer: Answer
    proof: Proof
    placed: Placed
    sides: frozenset[str]


def sample(folder: Path, per_code: int = 1) -> list[Sampled]:
    """`per_code` tasks for every workflow, outcome code and set of policies in force of the set at `folder`, first by id."""
    manifest = TaskSetManifest.model_validate(read_json(folder / "manifest.json"))
    proof = Proof.model_validate(get_content(folder / "content", manifest.proof))
    forms = get_content(folder / "content", manifest.forms) if manifest.forms else {"ask": {}, "tell": {}}
    splits = read_json(folder / "splits.json")["tasks"]
    taken: Counter[tuple[Any, ...]] = Counter()
    found = []
    tasks = {t.task_id: t for t in read_models(folder / "train" / "tasks.jsonl", TaskSpec)}
    answers = {a.task_id: a for a in read_models(folder / "train" / "answers.jsonl", Answer)}
    side = SideManifest.model_validate(read_json(folder / "train" / "manifest.json"))
    for task_id, task in sorted(tasks.items()):
        answer = answers[task_id]
        key = (task.workflow, answer.outcome.code, task.policies, len(answer.outcome.changes))
        if taken[key] < per_code:
            taken[key] += 1
            taskset = TaskSet(folder, "train", side, {task_id: task}, forms)
            placed = Placed.model_validate(splits[task_id])
            found.append(Sampled(taskset, task, answer, proof, placed, frozenset({"train"})))
    return found


def derived(tasks: Sequence[Sampled]) -> Iterator[tuple[bool, str]]:
    """(holds, verdicts and digest of the grades) of each task by its replays alone, under the grader as it is now imported."""
    from tasks.certificates import _yardstick
    from tasks.certify import Placement, certify_task

    _yardstick.measured = lambda: ((), "")  # type: ignore[assignment]  # asked for apart; this process does nothing else

    for one in tasks:
        certificate, bounds = certify_task(one.taskset, one.task, one.answer, one.proof, Placement(one.placed, one.sides))
        said = [certificate.grades_sha256, certificate.replays, bounds.model_dump(), [c.verdict for c in certificate.checks]]
        yield certificate.holds, json.dumps(said)


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from another source."""

    def __init__(self, mutant: SourceMutant) -> None:
        self.mutant = mutant
        self.run = False

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.mutant.module else None

    def exec_module(self, module: ModuleType) -> None:
        self.run = True
        exec(compile(self.mutant.source, self.mutant.name, "exec"), module.__dict__)


def judge(mutant: SourceMutant, tasks: Sequence[Sampled], before: Baseline, *, yardstick: bool) -> str:
    """In a process of its own: "yardstick", "verdict", "grades", "broke off" (killed), "survived", or UNUSED."""
    changed = _Changed(mutant)
    sys.meta_path.insert(0, changed)
    end = _judged(mutant, tasks, before, yardstick=yardstick)
    # Where the module was there before, or nothing imported it, the grader as it is was judged.
    return end if changed.run else UNUSED


def _judged(mutant: SourceMutant, tasks: Sequence[Sampled], before: Baseline, *, yardstick: bool) -> str:
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
    try:
        if yardstick and measured() != ((), before.yardstick):
            return "yardstick"
    except Exception:  # a grader that breaks off is a grader that was noticed
        return "yardstick"
    if yardstick and mutant.lines != (0, 0) and not before.reaches(mutant):
        return "survived"
    try:
        for (holds, said), expected in zip(derived(tasks), before.said, strict=True):
            if not holds:
                return "verdict"
            if said != expected:
                return "grades"
    except Exception:  # as above
        return "broke off"
    return "survived"


def measured() -> tuple[tuple[str, ...], str]:
    """What the yardstick says of the grader as it is now imported."""
    from tasks.certificates import _yardstick

    return _yardstick.measured()


def _forked(work: Any, workers: int, jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """(job, result) of `work(job)` in forked processes, so that each imports the grader anew; None where one died."""
    running: dict[int, tuple[int, Any]] = {}
    waiting = list(jobs)[::-1]
    while waiting or running:
        while waiting and len(running) < workers:
            job = waiting.pop()
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    os.close(read)
                    with os.fdopen(write, "w") as pipe:
                        json.dump(work(job), pipe)
                finally:
                    os._exit(0)
            os.close(write)
            running[pid] = (read, job)
        # The oldest first: a child that writes much would otherwise wait for its reader for ever.
        pid, (read, job) = next(iter(running.items()))
        with os.fdopen(read) as pipe:
            text = pipe.read()
        os.waitpid(pid, 0)
        del running[pid]
        yield job, json.loads(text) if text else None


def reached(tasks: Sequence[Sampled]) -> tuple[list[str], list[tuple[str, int]], str]:
    """What the unchanged grader says of each task, the (module, line) that its replays run through, and what the yardstick finds.

    StageError where the yardstick finds the unchanged grader wrong.
    """
    from tasks.certificates import _yardstick

    by_yardstick = _yardstick.measured
    lines: set[tuple[str, int]] = set()
    names = {str(Path(importlib.util.find_spec(name).origin or "")): name for name in MODULES}  # type: ignore[union-attr]

    def trace(frame: Any, event: str, _: Any) -> Any:
        name = names.get(frame.f_code.co_filename)
        if name is None:
            return None
        if event == "line":
            lines.add((name, frame.f_lineno))
        return trace

    for name in MODULES:
        importlib.import_module(name)
    sys.settrace(trace)
    said = [text for _, text in derived(tasks)]
    sys.settrace(None)
    # Last: a text that the readers remember from the yardstick would run through none of their lines.
    wrong, digest = by_yardstick()
    if wrong:
        raise StageError(f"the grader as it is measures false: {', '.join(wrong)}")
    return said, sorted(lines), digest


def written() -> list[SourceMutant]:
    """The mutants written by hand. StageError for one whose text is not in its module exactly once."""
    found = []
    for name, module, old, new in WRITTEN:
        source = source_of(module)
        if source.count(old) != 1:
            raise StageError(f"benchmarks/_mutants_written.py: {name!r}: its text stands {source.count(old)} times in {module}")
        found.append(SourceMutant(name, module, source.replace(old, new)))
    return found


def automatic(modules: Sequence[str] = MODULES) -> tuple[list[SourceMutant], Counter[str]]:
    """Every automatic mutant of `modules`, and how many functions' were left out for which reason."""
    reasons = {name: why for why, names in OUT_OF_QUESTION.items() for name in names}
    kept, out = [], Counter[str]()
    for module in modules:
        for mutant in mutants(module, source_of(module)):
            why = reasons.get(mutant.function)
            if why is None:
                kept.append(mutant)
            else:
                out[why] += 1
    return kept, out


def check_equivalent(named: Collection[str]) -> None:
    """StageError for entries of EQUIVALENT that name none of `named`: what was proved of other code proves nothing."""
    if stale := sorted(set(EQUIVALENT) - set(named)):
        listed = "".join(f"\n  {name}" for name in stale)
        raise StageError(f"benchmarks/_mutants_written.py: EQUIVALENT names mutants that are not there (any more):{listed}")


def source_of(module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise StageError(f"no module {module}")
    return Path(spec.origin).read_text(encoding="utf-8")


def run(
    tasks: Sequence[Sampled], chosen: Sequence[SourceMutant], before: Baseline, workers: int, *, yardstick: bool = True
) -> dict[str, str]:
    """Mutant -> how it ended; a process that died (its time was over) counts as broken off.

    The grader as it is runs along, last: StageError where it does not survive, for then nothing is shown of the others either.
    So where the source of a mutant was never run: call it from a process that has not imported the grader.
    """
    ends = {}
    control = SourceMutant(CONTROL, MODULES[0], source_of(MODULES[0]))
    if there := sorted({m.module for m in (*chosen, control)} & sys.modules.keys()):
        raise StageError(f"already imported, so that no mutant of it would be used: {', '.join(there)}")
    for mutant, end in _forked(lambda m: judge(m, tasks, before, yardstick=yardstick), workers, [*chosen, control]):
        if end == UNUSED:
            raise StageError(f"the source of {mutant.name!r} was never run")
        ends[mutant.name] = end or "broke off"
    if (end := ends.pop(CONTROL)) != "survived":
        raise StageError(f"the unchanged grader did not survive ({end}): code or task set changed while the mutants ran")
    return ends


def baseline(tasks: Sequence[Sampled]) -> Baseline:
    """`reached`, in a process of its own."""
    [(_, result)] = _forked(lambda _: reached(tasks), 1, [None])
    if result is None:
        raise StageError("the certificates of the sample cannot be derived with the grader as it is")
    said, lines, yardstick = result
    return Baseline(tuple(said), frozenset((name, line) for name, line in lines), yardstick)


def _line(kind: str, ends: Mapping[str, str]) -> tuple[str, float]:
    counts = Counter(ends.values())
    killed = len(ends) - counts["survived"]
    same = sum(name in EQUIVALENT for name, end in ends.items() if end == "survived")
    rate = killed / (len(ends) - same) if len(ends) > same else 1.0
    how = ", ".join(f"{counts[k]} by {k}" for k in ("yardstick", "verdict", "grades", "broke off"))
    return f"{kind}: {killed} of {len(ends) - same} killed = {rate:.1%} ({how}; {same} equivalent)", rate


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--tasksets", nargs="*", default=None, help="folders or names; default: those built of helpdesk_v1, star_v1"
    )
    parser.add_argument(
        "--automatic", type=int, default=-1, help="how many automatic mutants, drawn by a fixed seed; default: all"
    )
    parser.add_argument(
        "--replays",
        type=int,
        default=60,
        help="how many automatic mutants are also judged without the yardstick; -1: all; 0: none, nor those written by hand",
    )
    parser.add_argument("--modules", nargs="*", choices=MODULES, default=MODULES, help="where automatic mutants are made")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--per-code", type=int, default=1, help="tasks for each workflow and outcome code")
    asked = parser.parse_args(arguments)
    folders = [Path(n) if Path(n).is_dir() else taskset_dir(n) for n in asked.tasksets or SETS]
    there = [folder for folder in folders if (folder / "manifest.json").is_file()]
    if not there:
        raise StageError(f"none of {', '.join(map(str, folders))} is built; run `make build-tasks`")
    tasks = [one for folder in there for one in sample(folder, asked.per_code)]
    start = time.monotonic()
    before = baseline(tasks)
    by_hand = written()
    check_equivalent({m.name for m in (*by_hand, *automatic()[0])})
    drawn, out = automatic(asked.modules)
    places = {m.name: m.place for m in (*by_hand, *drawn)}
    if 0 <= asked.automatic < len(drawn):
        drawn = sorted(random.Random(1).sample(drawn, asked.automatic), key=lambda m: m.name)
    print(f"{len(tasks)} tasks of {', '.join(folder.name for folder in there)}", flush=True)
    ends = run(tasks, by_hand, before, asked.workers)
    text, hand_rate = _line("written by hand", ends)
    print(text, flush=True)
    auto = run(tasks, drawn, before, asked.workers)
    text, _ = _line("automatic", auto)
    print(text, flush=True)
    survivors = [name for name, end in {**ends, **auto}.items() if end == "survived"]
    for name in survivors:
        print(
            f"  survived: {places[name]} {name}{' (equivalent: ' + EQUIVALENT[name] + ')' if name in EQUIVALENT else ''}",
            flush=True,
        )
    unreached = [m for m in drawn if not before.reaches(m)]
    print(f"in lines that no replay of the sample reaches: {len(unreached)} of {len(drawn)} automatic mutants")
    shown = drawn if asked.replays < 0 else random.Random(2).sample(drawn, min(asked.replays, len(drawn)))
    for kind, some in (("written by hand", by_hand), ("automatic", shown)) if shown else ():
        alone = run(tasks, some, before, asked.workers, yardstick=False)
        print(_line(f"by the replays alone, {kind}", alone)[0], flush=True)
        print(f"  survived: {'; '.join(name for name, end in alone.items() if end == 'survived') or 'none'}")
    for why, count in out.items():
        print(f"left out: {count} automatic mutants in {why}")
    total, rate = _line("together", {**ends, **auto})
    print(f"{total}, {time.monotonic() - start:.0f} s")
    return 0 if rate >= WANTED and hand_rate >= WANTED else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RecordgymError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
