"""False alarms of the leak checks over clean sets: samples of many seeds, through every stage, none with a planted leak.

    python -m benchmarks.leaks --seeds 20 --tasks 500                what the checks say, and what they cost
    python -m benchmarks.leaks --seeds 20 --tasks 500 --build-only   the sets alone (most of the time: about 40 CPU s a seed)
    python -m benchmarks.leaks --seeds 20 --tasks 500 --sets FOLDER  what the checks say of sets that were made earlier
    python -m benchmarks.leaks --cost helpdesk_v1 [--repeat-to 10000]  what the checks cost on a built set, each cold

Each seed's records are made once and kept under --scratch until the code that makes them changes (that of the checks does not),
so a broken-off run goes on where it was; a worker makes many seeds, so that it loads the models of deid once. The tasks of a set
are the drafts with their hold-out, before certificates: no check looks at those, and what they drop could only hide an alarm.
Targets: 0 alarms by evidence, at most 1 by probability over 20 sets. Exit code 1 if missed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import multiprocessing
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks.leaks import LeakInput

ROOT = Path(__file__).resolve().parents[1]
SPEC = "tasks/specs/helpdesk_v1.toml"
MADE_BY = ("schemas", "pipeline", "samples", "ingest", "deid", "environments", "rewards", "tasks")
SURPLUS = 1.5
"""Tickets made for each task wanted: about a quarter of them become none."""
ALLOWED = {"deterministic": 0, "statistical": 1}
MOST_MS, MOST_S, MOST_GIB = 2.0, 120.0, 2.0
"""Targets: CPU ms a task of the checks by evidence; CPU s and peak GiB of all checks on 10,000 tasks."""
SKLEARN = ("feature_extraction.text", "linear_model", "model_selection")
ALARMS = ("failed", "could_not_run")


def version() -> str:
    """Digest of the code that makes the sets, the leak checks left out."""
    digest = hashlib.sha256()
    for package in MADE_BY:
        for path in sorted((ROOT / package).rglob("*")):
            inside = path.relative_to(ROOT)
            if path.suffix in (".py", ".toml", ".json") and "leaks" not in inside.parts and path.name != "leak_input.py":
                digest.update(inside.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def make(folder: Path, seed: int, tasks: int) -> float:
    """Sample, ingest, deid and drafts of one seed, into `folder`, which appears whole or not at all; CPU s. Sets this process'
    place of the data."""
    from deid.__main__ import main as deid
    from ingest.__main__ import main as ingest
    from samples.__main__ import main as samples

    start = time.process_time()
    if folder.exists():
        return 0.0
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    os.environ.update(RECORDGYM_DATA=str(part / "data"), RECORDGYM_HOME=str(part / "home"))
    raw, stage = str(part / "raw"), ("--spec", SPEC, "--workers", "1", "--quiet")
    size = ("--tickets", str(max(50, int(tasks * SURPLUS))), "--seed", str(seed), "--quiet")
    with contextlib.redirect_stdout(io.StringIO()):
        _run(samples, "samples", "--out", raw, "--truth", str(part / "truth"), *size)
        _run(ingest, "ingest", *stage, "--export", raw)
        _run(deid, "deid", *stage)
        draft(SPEC)
    part.rename(folder)
    return time.process_time() - start


def _run(main: Callable[[], int | None], *command: str) -> None:
    sys.argv = list(command)
    if main():
        raise RuntimeError(f"{command[0]} failed")


def draft(spec_path: str) -> None:
    """The first half of a build: candidates become drafts."""
    from pipeline.manifest import require_stage
    from pipeline.stage import run_stage
    from schemas.paths import clean_dir
    from schemas.spec import load_spec
    from tasks.build import _draft_stage

    spec = load_spec(Path(spec_path))
    source = clean_dir(spec.supplier)
    run_stage(_draft_stage(spec, source, require_stage(source, "deid")), workers=1, quiet=True)


def drafted(spec_path: str, tasks: int) -> LeakInput:
    """The drafts in the environment's data folder as the builder gives them to the checks, at most `tasks` of them."""
    from schemas.paths import clean_dir
    from schemas.spec import load_spec
    from tasks.case import open_clean
    from tasks.certified import candidate_of, drafts_dir, in_memory
    from tasks.holdout import decide
    from tasks.leak_input import background, leak_input
    from tasks.requester import message_forms
    from tasks.shard import read_drafts

    spec = load_spec(Path(spec_path))
    clean = open_clean(clean_dir(spec.supplier), spec.select)
    drafts = sorted(read_drafts(drafts_dir(spec.name)), key=lambda d: d.task.task_id)[:tasks]
    split = decide([candidate_of(d) for d in drafts], spec.holdout, spec.seed, None)
    slices = split.slices
    placed = [
        d.model_copy(update={"task": d.task.model_copy(update={"slice": slices[d.task.task_id]})})
        for d in drafts
        if d.task.task_id in slices
    ]
    told = [(d.closing, d.answer.outcome.code, d.task.requester) for d in placed if d.task.slice == "train"]
    forms = message_forms(told, spec.requester.slots)
    content = in_memory(spec, drafts_dir(spec.name), {}, forms).content
    return leak_input(spec, clean, split, placed, content, background(clean), forms)


def look(spec_path: str, tasks: int) -> dict[str, Any]:
    """What every check says of the set in the environment's data folder: {"tasks", "seconds", "probe_seconds", "findings"}."""
    from dataclasses import asdict

    from schemas.plugins import load_plugins
    from tasks.leaks import Leak, run_check

    data = drafted(spec_path, tasks)
    for digest in {d for task in data.tasks for d in (*task.state, *task.policies)}:
        data.content(digest)  # reading the files is no cost of a check
    _load_libraries()
    found: list[dict[str, Any]] = []
    seconds = {False: 0.0, True: 0.0}
    for check in load_plugins("tasks.leaks", "LEAK", Leak).values():
        start = time.process_time()
        findings = run_check(check, data)
        seconds[check.statistical] += time.process_time() - start
        kind = "statistical" if check.statistical else "deterministic"
        found += [{**asdict(f), "kind": kind, "numbers": dict(f.numbers)} for f in findings]
    return {"tasks": len(data.tasks), "seconds": seconds[False], "probe_seconds": seconds[True], "findings": found}


def _load_libraries() -> None:
    """Loads what the checks load where they need it: once a process, which is no cost of a task."""
    for name in ("msgspec", "numpy", "rapidfuzz.fuzz", "rensa", "scipy.stats", *map("sklearn.{}".format, SKLEARN)):
        importlib.import_module(name)


def cost(name: str, repeat_to: int) -> int:
    """What each check costs on the built task set `name`, with nothing kept from an earlier look; exit code 1 above a target."""
    import resource

    from schemas.plugins import load_plugins
    from tasks.leaks import Leak, run_check

    data, reading = _many(name, repeat_to)
    _load_libraries()
    itself = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    total = {False: 0.0, True: 0.0}
    tasks = len(data.tasks)
    print(f"{name}: {tasks} tasks")
    for check in load_plugins("tasks.leaks", "LEAK", Leak).values():
        start, read = time.process_time(), reading[0]
        findings = run_check(check, data)
        spent = time.process_time() - start - (reading[0] - read)
        total[check.statistical] += spent
        kind = "by probability" if check.statistical else "by evidence"
        said = ", ".join(f"{n} {v}" for v, n in sorted(Counter(f.verdict for f in findings).items()))
        print(f"{check.name:<22}{kind:<16}{1000 * spent / tasks:>8.3f} CPU ms a task   {said}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    evidence, whole = 1000 * total[False] / tasks, sum(total.values())
    floor = 1000 * _floor(data) / tasks
    print(
        f"by evidence: {evidence:.2f} CPU ms a task, target {MOST_MS}: {'met' if evidence <= MOST_MS else 'missed'}; "
        f"{evidence / floor:.1f} times what json.loads takes to read their states ({floor:.2f} ms)"
    )
    print(
        f"with probes: {whole:.1f} CPU s, {1000 * whole / tasks:.2f} CPU ms a task; "
        f"peak {peak:.2f} GiB, of which {itself:.2f} before the first check"
    )
    bad = evidence > MOST_MS
    if repeat_to:
        bad |= whole > MOST_S or peak > MOST_GIB
        print(f"target {MOST_S} CPU s and {MOST_GIB} GiB: {'met' if whole <= MOST_S and peak <= MOST_GIB else 'missed'}")
    return int(bad)


def _floor(data: LeakInput) -> float:
    """CPU s of reading every part of the states once from its JSON: what any look at them costs at least, on this machine."""
    texts = [json.dumps(data.content(digest)) for digest in {d for task in data.tasks for d in task.state}]
    start = time.process_time()
    for text in texts:
        json.loads(text)
    return time.process_time() - start


def _built(name: str) -> LeakInput:
    """A built task set of the environment's data folder, with what the builder knows of its records."""
    from dataclasses import replace

    from schemas.paths import clean_dir
    from schemas.spec import load_spec
    from tasks.case import open_clean
    from tasks.leak_input import aggregates_of, background
    from tests.plants.built import load

    spec = load_spec(ROOT / "tasks" / "specs" / f"{name}.toml")
    clean = open_clean(clean_dir(spec.supplier), spec.select)
    known = background(clean)
    return replace(load(spec), sequences=known.sequences, columns=known.columns, aggregates=aggregates_of(clean.codebook))


def _many(name: str, least: int) -> tuple[LeakInput, list[float]]:
    """Copies of a built set until it has `least` tasks, and the CPU s spent on reading contents so far.

    The copies are made by a process of their own, and this one reads them as a builder does its drafts: what copying takes is no
    memory of the checks. Contents are made when they are asked for, as they are read when a set is built.
    """
    reading = [0.0]
    if not least:
        data = _built(name)
        for digest in {d for task in data.tasks for d in (*task.state, *task.policies)}:
            data.content(digest)  # reading the files is no cost of a check
        return data, reading
    from schemas.files import get_content
    from schemas.paths import taskset_dir
    from tasks.leaks import LeakInput

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "copies.pickle"
        copying = multiprocessing.get_context("spawn").Process(target=_copy, args=(name, least, path))
        copying.start()
        copying.join()
        if copying.exitcode:
            raise RuntimeError(f"copying {name} ended with {copying.exitcode}")
        with path.open("rb") as file:
            fields, contents = pickle.load(file)
    folder = taskset_dir(name) / "content"

    def content(digest: str) -> Any:
        start = time.process_time()
        number, base = contents.get(digest, (0, digest))
        value = get_content(folder, base)
        if number:
            value = json.loads(_renamed(json.dumps(value), number, contents))
        reading[0] += time.process_time() - start
        return value

    return LeakInput(**fields, content=content), reading


def _renamed(text: str, number: int, contents: dict[str, tuple[int, str]]) -> str:
    """A text with the pseudonyms and digests of copy `number`; `contents` is told of each digest: (copy, original)."""

    def own(match: re.Match[str]) -> str:
        mixed = hashlib.sha256(f"{number}/{match[0]}".encode()).hexdigest()
        if len(match[0]) == 8:
            return mixed[:8].upper()
        contents[mixed] = (number, match[0])
        return mixed

    return _HEX.sub(own, text) if number else text


def _copy(name: str, least: int, path: Path) -> None:
    """Writes the fields of a LeakInput of `least` tasks, but for the contents, and where each content is a copy of.

    Each copy has other task ids and pseudonyms, and two in three of the longer words of its texts are its own, so that no row,
    text or near-duplicate is in two copies.
    """
    from dataclasses import fields

    from schemas.sharing import Sharing
    from schemas.task import Answer, TaskSpec, Trajectory

    data = _built(name)
    copies = max(1, -(-least // len(data.tasks)))
    contents: dict[str, tuple[int, str]] = {}
    sharing = Sharing()

    def renamed(text: str, number: int) -> str:
        return _renamed(text, number, contents)

    def reworded(text: str, number: int) -> str:
        return _LONG_WORD.sub(lambda m: m[0] + "xyz"[(len(m[0]) + number) % 3] * number if len(m[0]) % 3 else m[0], text)

    def task_of(task: TaskSpec, number: int) -> TaskSpec:
        copy = TaskSpec.model_validate_json(renamed(task.model_dump_json(), number))
        facts = tuple(f.model_copy(update={"answer": reworded(f.answer, number)}) for f in copy.requester.facts)
        opening = copy.opening.model_copy(update={"text": reworded(copy.opening.text, number)})
        copy = copy.model_copy(update={"opening": opening, "requester": copy.requester.model_copy(update={"facts": facts})})
        return sharing.task(copy)

    def both(one: Any, number: int) -> Any:
        return json.loads(renamed(json.dumps(one), number))

    numbers = range(copies)
    tasks = [task_of(task, n) if n else task for n in numbers for task in data.tasks][:least]
    kept = {task.task_id for task in tasks}
    later = {n: both({t: list(texts) for t, texts in data.later_messages.items()}, n) for n in numbers}
    turns = {n: both({t: list(texts) for t, texts in data.requester_turns.items()}, n) for n in numbers}
    answers = [Answer.model_validate_json(renamed(a.model_dump_json(), n)) for n in numbers for a in data.answers.values()]
    files: dict[str, str] = {}
    for n in numbers:
        for file, text in data.files.items():
            lined = file.endswith(".jsonl") or n == 0
            files[file] = files.get(file, "") + (renamed(text, n) if lined else "")
    episodes = [Trajectory.model_validate_json(renamed(e.model_dump_json(), n)) for n in numbers for e in data.trajectories]
    changed: dict[str, Any] = {
        "tasks": tuple(tasks),
        "answers": {a.task_id: a for a in answers if a.task_id in kept},
        "later_messages": {
            t: tuple(reworded(x, n) for x in said) for n, by in later.items() for t, said in by.items() if t in kept
        },
        "requester_turns": {
            t: tuple(reworded(x, n) for x in said) for n, by in turns.items() for t, said in by.items() if t in kept
        },
        "first_seen": {renamed(token, n): at for n in numbers for token, at in data.first_seen.items()},
        "groups": {
            g: {t: m for n in numbers for t, m in both(dict(by), n).items() if t in kept} for g, by in data.groups.items()
        },
        "closed_at": {t: at for n in numbers for t, at in both(dict(data.closed_at), n).items() if t in kept},
        "fitted_on": {k: tuple(t for n in numbers for t in both(list(v), n) if t in kept) for k, v in data.fitted_on.items()},
        "trajectories": tuple(e for e in episodes if e.task_id in kept),
        "files": files,
    }
    whole = {one.name: changed.get(one.name, getattr(data, one.name)) for one in fields(data) if one.name != "content"}
    with path.open("wb") as written:
        pickle.dump((whole, contents), written)


_HEX = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9a-f]{64}|(?<=_)[0-9A-F]{8})(?![0-9A-Fa-f])")
_LONG_WORD = re.compile(r"(?<![\w])[a-z]{5,}(?![\w])")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="seeds 1 to N (default 20)")
    parser.add_argument("--tasks", type=int, default=500, help="tasks of each set (default 500)")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "recordgym-leaks")
    parser.add_argument("--build-only", action="store_true", help="make the sets, and look at none")
    parser.add_argument("--sets", type=Path, help="folder with seed-1, seed-2 ... made earlier, whatever code made them")
    parser.add_argument("--workers", type=int, default=2, help="processes that make sets (default 2)")
    parser.add_argument("--cost", metavar="NAME", help="only what the checks cost on this built task set")
    parser.add_argument(
        "--repeat-to", type=int, default=0, help="with --cost: copies of the set, all different, to this many tasks"
    )
    given = parser.parse_args()
    if given.cost:
        return cost(given.cost, given.repeat_to)
    folder = given.sets or given.scratch / f"{version()}-{given.tasks}"
    print(f"sets: {folder}", flush=True)
    alarms: Counter[str] = Counter()
    spent = {"tasks": 0.0, "seconds": 0.0, "probe_seconds": 0.0}
    seeds = range(1, given.seeds + 1)
    pool = ProcessPoolExecutor(max(1, given.workers), mp_context=multiprocessing.get_context("spawn"))
    made = {seed: pool.submit(make, folder / f"seed-{seed}", seed, given.tasks) for seed in seeds}
    for seed in seeds:
        here = folder / f"seed-{seed}"
        print(f"seed {seed}: made in {made[seed].result():.0f} CPU s", file=sys.stderr, flush=True)
        if given.build_only:
            continue
        environment = {**os.environ, "RECORDGYM_DATA": str(here / "data"), "RECORDGYM_HOME": str(here / "home")}
        code = f"import json; from benchmarks.leaks import look; print(json.dumps(look({SPEC!r}, {given.tasks})))"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
        said = json.loads(done.stdout)
        bad = [f for f in said["findings"] if f["verdict"] in ALARMS]
        alarms.update(f["kind"] for f in bad)
        spent = {name: spent[name] + said[name] for name in spent}
        price = f"{1000 * said['seconds'] / said['tasks']:.2f} CPU ms a task, probes {said['probe_seconds']:.1f} CPU s"
        print(f"seed {seed}: {said['tasks']} tasks, {len(bad)} alarms, {price}", flush=True)
        for f in bad:
            print(f"  {f['check']} {f['verdict']} {f['path']}: {f['detail']} ({len(f['task_ids'])} tasks)", flush=True)
    pool.shutdown()
    if given.build_only:
        return 0
    least, probes = (1000 * spent[name] / max(1, spent["tasks"]) for name in ("seconds", "probe_seconds"))
    print(
        f"{given.seeds} sets, {spent['tasks']:.0f} tasks, CPU ms a task: {least:.2f}, and {probes:.2f} for the statistical checks"
    )
    missed = False
    for kind, allowed in ALLOWED.items():
        missed |= alarms[kind] > allowed
        print(f"{kind}: {alarms[kind]} alarms, target at most {allowed}: {'missed' if alarms[kind] > allowed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
