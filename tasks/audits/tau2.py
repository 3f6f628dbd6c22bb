"""tau2-bench: the shortcut panel and the certificates that apply, on the files of its checkout, by replays on its own databases.

Its tools are its own Python code; they run in a process of their own (`_isolate`, `_tau2_driver`). How an episode is scored
follows its evaluators (`_tau2_score`); nothing of it is asked of a language model, and what one would decide is counted apart.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments.seen import Seen
from pipeline.progress import progress
from schemas.errors import StageError
from tasks.audits import _tau2_driver
from tasks.audits._isolate import Isolated, wall
from tasks.audits._tau2_agents import (
    ESCALATE,
    RANDOM_CALLS,
    RANDOM_EPISODES,
    options,
    panel,
    random_runs,
    reversed_writes,
    with_extra,
    with_wrong_values,
    without_reads,
    writes,
)
from tasks.audits._tau2_files import Task, check_checkout, choose_domains, missing_data, read_tasks, source
from tasks.audits._tau2_score import (
    Run,
    Verdict,
    basis,
    criteria,
    gold_calls,
    judged_by_a_model,
    opening_text,
    required_strings,
    scenario_text,
    verdict,
)
from tasks.audits._types import Asked, Audit, AuditResult, DomainAudit, Measure
from tasks.duplicates import alike, reading_of

DRIVER = Path(_tau2_driver.__file__)
FREE_WORDS = ("think", "generic")
"""Types of tools whose arguments are the agent's own words or sums: they need not be seen."""
NOTES = (
    "Passing is decided as the checkout's own evaluators decide it, per task by its reward_basis: src/tau2/evaluator/evaluator.py"
    " (product of the parts), evaluator_env.py (database hashes and assertions; a gold call that raises is swallowed), "
    "evaluator_action.py, evaluator_communicate.py.",
    "NL_ASSERTION is decided there by a language model (evaluator_nl_assertions.py). It is not asked here: an episode that passes"
    " every other part of its basis is not counted as full but after a plus sign; a task whose basis names NL_ASSERTION and that"
    " has no assertion passes that part, as it does there.",
    "That look-ups and checks are not scored, and that one who rightly refuses need do nothing, is its declared choice"
    " (docs/evaluation.md); the table says what follows from it for an agent that learns from this reward.",
    "An episode of a scripted agent begins with the benchmark's greeting and is ended by the user; one that its user simulator "
    "would break off scores 0 there and cannot be told here. An agent has no finishing act of its own: finishing at once is "
    "doing nothing.",
)
NOT_APPLICABLE = (
    ("C8", "the rules allow the reference at its date", "the policy is prose: no rule is declared that a program could check"),
    ("C10", "the answer cannot be read without acting", "an agent sees only its policy and tools; the answer is in neither"),
    ("C12", "grader files cannot be read or written by the agent", "the agent has tools and no files"),
    ("C13", "the requester tells facts only on ask", "the requester is a language model that is given the whole scenario"),
    (
        "C14",
        "the impossible variant is not full",
        "the target is computed anew by replaying the gold calls, whatever fails in them",
    ),
    ("C15", "one person has one token", "nothing is pseudonymised"),
)


@dataclass(slots=True)
class Played:
    """What came of one task."""

    task: Task
    runs: dict[str, list[Verdict]] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)
    """Gold calls that raise, as the grader replays them."""
    repeated: bool = True
    """The gold calls led to the same state three times."""
    start: str = ""
    target: str = ""
    unseen: str = ""
    """First value of the gold path that stands nowhere before it is used, as tool.argument; "" if none."""
    customer: str = ""


def run(asked: Asked) -> AuditResult:
    """The audit of the checkout at `asked.path`; see `Audit`. Domains that cannot be run are named with their reason."""
    path = asked.path.resolve()
    check_checkout(path)
    if asked.limit is not None and asked.limit < 1:
        raise StageError(f"--limit: found {asked.limit}, allowed 1 or more")
    names = choose_domains(path, asked.domains)
    found: list[DomainAudit] = []
    not_run: dict[str, str] = {}
    missing = {name: why for name in names if (why := missing_data(path, name))}
    for name in asked.domains:
        if name in missing:
            raise StageError(f"domain {name}: {missing[name]}")
    for name in names:
        if name in missing:
            not_run[name] = missing[name]
            continue
        with Isolated(DRIVER, [str(path), name], [path]) as driver:
            if "fault" not in driver.first:
                found.append(_domain(name, path, driver, asked))
                continue
            absent = ", ".join(driver.first["stand_ins"])
            why = f"its environment cannot be built here: {driver.first['fault']}"
            not_run[name] = why + (f" (libraries that it asks for and that are not installed: {absent})" if absent else "")
    if not found:
        raise StageError(f"no domain could be run: {'; '.join(f'{k}: {v}' for k, v in not_run.items())}")
    return AuditResult(
        audit="tau2",
        source=f"tau2-bench {source(path, [d.name for d in found])}",
        isolation=wall([path, DRIVER])[1],
        domains=tuple(found),
        not_run=not_run,
        notes=NOTES,
    )


def _domain(name: str, path: Path, driver: Isolated, asked: Asked) -> DomainAudit:
    tasks, splits = read_tasks(path, name)
    tasks = tasks[: asked.limit]
    tools = {tool["name"]: tool for tool in driver.first["tools"]}
    every = [c for t in tasks for c in writes(tools, gold_calls(t)) if c["requestor"] == "assistant"]
    scripts = Counter(json.dumps(writes(tools, gold_calls(t)), sort_keys=True) for t in tasks)
    constant = json.loads(min(scripts, key=lambda text: (-scripts[text], text)))
    played = []
    with progress(f"{name}: tasks", len(tasks), quiet=asked.quiet) as advance:
        for at, task in enumerate(tasks):
            played.append(_play(task, at, driver, tools, every, constant))
            advance()
    apart = driver.ask({"do": "isolated", "task": tasks[_writing(played)]})
    if "fault" in apart:
        raise StageError(f"domain {name}: {apart['fault']}")
    notes = [f"stand-ins for libraries that are not installed: {', '.join(driver.first['stand_ins']) or 'none'}"]
    notes.append("reward bases: " + ", ".join(f"{'+'.join(b) or 'none'} {n}" for b, n in _counted(basis(t) for t in tasks)))
    where = _counted(p.unseen for p in played if p.unseen)
    if where:
        notes.append(
            "first value that stands nowhere before its use: " + ", ".join(f"{argument} {n}" for argument, n in where[:8])
        )
    return DomainAudit(
        name,
        len(tasks),
        tuple(_measures(played, tools, apart, splits, scripts[json.dumps(constant, sort_keys=True)])),
        tuple(notes),
    )


def _counted(values: Iterable[Any]) -> list[tuple[Any, int]]:
    return sorted(Counter(values).items(), key=lambda pair: (-pair[1], str(pair[0])))


def _writing(played: Sequence[Played]) -> int:
    """A task whose gold calls change the state, to see whether that reaches another environment."""
    return next((at for at, p in enumerate(played) if p.start != p.target), 0)


def _asked(driver: Isolated, task: Task, runs: Sequence[Run], repeat: int) -> dict[str, Any]:
    said = driver.ask({"do": "task", "task": task, "repeat": repeat, "runs": [r.request() for r in runs]})
    faults = [x["fault"] for x in (said, *said.get("gold", ()), *said.get("runs", ()), said.get("start", {})) if "fault" in x]
    if faults:
        raise StageError(f"task {task['id']}: the replay failed: {faults[0]}")
    return said


def _play(
    task: Task, at: int, driver: Isolated, tools: Mapping[str, Any], every: Sequence[dict[str, Any]], constant: Sequence[Any]
) -> Played:
    """Every episode of one task: the gold path walked first, then the panel and the altered references."""
    first = _asked(driver, task, [Run(gold_calls(task), walk=True)], repeat=3)
    gold, walked = first["gold"][0], first["runs"][0]["calls"]
    done = Played(task, errors=gold["errors"], start=first["start"]["exact"], target=gold["exact"])
    done.repeated = len({g["exact"] for g in first["gold"]}) == 1
    answers = [c["answer"] for c in walked if c["ok"]]
    done.unseen = _unseen(task, driver.first["policy"], tools, walked)
    done.customer = _customer(task, answers, driver.first["customers"])
    groups = {name: [one] for name, one in panel(task, tools).items()}
    groups["random"] = random_runs(task, tools, answers)
    groups["constant"] = [Run(tuple(constant))]
    groups["without_read"] = without_reads(task, tools)
    groups["extra_write"] = with_extra(task, tools, every, at)
    groups["wrong_value"] = with_wrong_values(task, tools, every)
    groups["reversed"] = reversed_writes(task, tools)
    flat = [(name, one) for name, runs in groups.items() for one in runs]
    second = _asked(driver, task, [one for _, one in flat], repeat=1)
    results: dict[str, list[tuple[Run, dict[str, Any]]]] = {name: [] for name in groups}
    for (name, one), came in zip(flat, second["runs"], strict=True):
        results[name].append((one, came))
    changed = [pair for pair in results["extra_write"] if pair[1]["exact"] != gold["exact"]]
    results["extra_write"] = changed[:1]
    done.runs = {name: [verdict(task, one, came, gold) for one, came in pairs] for name, pairs in results.items()}
    return done


def _unseen(task: Task, policy: str, tools: Mapping[str, Any], walked: Sequence[Mapping[str, Any]]) -> str:
    """The first value of the agent's gold calls that stands in no scenario, policy or answer before it is used; "" if none."""
    told = scenario_text(task)
    seen = Seen(told, told.replace("_", " "), policy, *required_strings(task))  # their user ids are spelled from names: readable
    for call, answer in zip(gold_calls(task), walked, strict=True):
        tool = tools.get(call["name"])
        if tool and call["requestor"] == "assistant" and tool["type"] not in FREE_WORDS:
            for name, value in call["arguments"].items():
                kind = tool["parameters"].get(name, {}).get("kind", "")
                if value != "" and value not in options(kind) and not seen.holds(value):
                    return f"{call['name']}.{name}"
        seen.add(answer["answer"])
        seen.add(" | ".join(_ids(answer["answer"])))
    return ""


def _ids(answer: str) -> list[str]:
    """The keys of a JSON answer that are ids of rows and not names of fields: those with a digit."""
    try:
        left = [json.loads(answer)]
    except ValueError:  # an answer that is a sentence
        return []
    found = []
    while left:
        value = left.pop()
        if isinstance(value, dict):
            found += [key for key in value if any(c.isdigit() for c in key)]
            left += value.values()
        elif isinstance(value, list):
            left += value
    return found


def _customer(task: Task, answers: Sequence[str], customers: Sequence[Mapping[str, str]]) -> str:
    """Whose task it is: an id of the database in the scenario, the gold calls or their answers, else the one person whose name
    (and postcode, where several share it) the scenario holds; "" if nobody can be told."""
    told = scenario_text(task)
    arguments = json.dumps([c["arguments"] for c in gold_calls(task)])
    for text in (told, arguments, *answers):
        found = sorted((text.find(c["id"]), c["id"]) for c in customers if c["id"] and c["id"] in text)
        if found:
            return found[0][1]
    named = [c for c in customers if c["name"] and c["name"].casefold() in told.casefold()]
    narrowed = [c for c in named if c["zip"] and c["zip"] in told] or named
    return narrowed[0]["id"] if len(narrowed) == 1 else ""


# --- what is counted --------------------------------------------------------------------------------------------------------


def _measures(
    played: Sequence[Played], tools: Mapping[str, Any], apart: Mapping[str, bool], splits: Mapping[str, list[str]], constant: int
) -> list[Measure]:
    count = len(played)
    errors = [p for p in played if p.errors]

    def agent(key: str, label: str, certificate: str = "C2", wanted: str = "0", note: str = "") -> Measure:
        rows = [p for p in played if p.runs.get(key)]
        if not rows:
            return Measure(key, certificate, label, applies=False, note="no task has such an episode")
        full = tuple(str(p.task["id"]) for p in rows if "full" in p.runs[key])
        judged = tuple(str(p.task["id"]) for p in rows if "judge" in p.runs[key] and "full" not in p.runs[key])
        return Measure(key, certificate, label, len(full), len(rows), len(judged), wanted, note, True, full, judged)

    def each(key: str, label: str, certificate: str, note: str) -> Measure:
        made = [(p, v) for p in played for v in p.runs.get(key, ())]
        if not made:
            return Measure(key, certificate, label, applies=False, note="no task has such an episode")
        full, judged = ([str(p.task["id"]) for p, v in made if v == said] for said in ("full", "judge"))
        ids, judged_ids = (tuple(dict.fromkeys(some)) for some in (full, judged))
        return Measure(key, certificate, label, len(full), len(made), len(judged), "0", note, True, ids, judged_ids)

    def tasks(
        key: str, certificate: str, label: str, which: Callable[[Played], bool], wanted: str = "", note: str = ""
    ) -> Measure:
        ids = tuple(str(p.task["id"]) for p in played if which(p))
        return Measure(key, certificate, label, len(ids), count, 0, wanted, note, ids=ids)

    beyond = sum("full" in p.runs["random"] and p.runs["do_nothing"] != ["full"] for p in played)
    random_note = (
        f"{RANDOM_EPISODES} episodes of {RANDOM_CALLS} calls a task, at least one full; {beyond} of these not by doing nothing"
    )
    found = [
        agent("reference", "reference replayed as an agent is full", "C1", "all"),
        Measure(
            "gold_errors",
            "C1",
            "gold paths with an error that is swallowed",
            len(errors),
            count,
            0,
            "0",
            "by tool: "
            + (", ".join(f"{tool} {n}" for tool, n in _counted(e["tool"] for p in errors for e in p.errors)) or "none"),
            ids=tuple(str(p.task["id"]) for p in errors),
        ),
        tasks("repeated", "C1", "gold path gives the same state three times", lambda p: p.repeated, "all"),
        agent("do_nothing", "do nothing (or finish at once)"),
        agent(
            "refuse_all",
            "refuse all",
            note="of these, tasks whose right answer is a refusal are right to pass, but for their reads",
        ),
        agent("escalate_all", f"escalate all ({ESCALATE})"),
        agent("echo", "echo", note="says back all that the person is told"),
        agent("random", f"random tools x{RANDOM_EPISODES}", note=random_note),
        agent(
            "constant",
            "constant outcome",
            "C3",
            "",
            f"the most frequent gold writes, everywhere; they are the gold ones of {constant} of {count} tasks (the base rate)",
        ),
        each("without_read", "reference less one look-up: still full", "C4", "counted: look-ups left out"),
        each("extra_write", "reference plus another task's write: still full", "C5", "one a task, that changes the state"),
        agent("needless_transfer", "reference plus a needless transfer: still full", "C5"),
        each("wrong_value", "one wrong value in a write: still full", "C6", "counted: writes of the agent"),
        tasks(
            "unscored",
            "C7",
            "criteria that the reward basis leaves out",
            _unscored,
            "0",
            "nl_assertions, communicate_info",
        ),
        tasks("judged", "C7", "part of the reward is a model's verdict", lambda p: judged_by_a_model(p.task)),
        tasks(
            "derivable",
            "C9",
            "every gold value stands somewhere before use",
            lambda p: not p.unseen,
            "all",
            "in the scenario, the policy, or an answer of the path's own earlier calls; paths without any look-up: "
            f"{sum(not p.runs['without_read'] for p in played)}",
        ),
        Measure(
            "isolated",
            "C11",
            "environments start alike and stay apart",
            int(apart["same_start"] and apart["untouched"]),
            1,
            wanted="all",
        ),
        *_holdout(played, splits),
        agent("writes_only", "writes only, and says what must be said", "C17", note="no look-up, check or question"),
        agent("writes_only_silent", "writes only, silent", "C17"),
        agent("reversed", "gold writes in reverse order: full", "C18", "", "steps that depend on one another may rightly fail"),
    ]
    found += [Measure(c.lower(), c, label, applies=False, note=f"not applicable: {why}") for c, label, why in NOT_APPLICABLE]
    return sorted(found, key=lambda m: int(m.certificate[1:]))


def _unscored(played: Played) -> bool:
    told, parts = criteria(played.task), basis(played.task)
    return bool(
        (told.get("nl_assertions") and "NL_ASSERTION" not in parts)
        or (told.get("communicate_info") and "COMMUNICATE" not in parts)
    )


def _holdout(played: Sequence[Played], splits: Mapping[str, list[str]]) -> list[Measure]:
    labels = ("test tasks whose customer is in train", "test tasks that read like a train task")
    sides = {side: [p for p in played if p.task["id"] in set(splits.get(side, ()))] for side in ("train", "test")}
    if not all(sides.values()):
        why = "not applicable: the checkout has no train and test split of these tasks"
        return [
            Measure(key, "C16", label, applies=False, note=why)
            for key, label in zip(("customers", "duplicates"), labels, strict=True)
        ]
    known = {p.customer for p in sides["train"] if p.customer}
    shared = tuple(str(p.task["id"]) for p in sides["test"] if p.customer in known)
    nobody = sum(not p.customer for p in (*sides["test"], *sides["train"]))

    read = [reading_of(opening_text(p.task)) for p in sides["train"]]
    test = [(str(p.task["id"]), reading_of(opening_text(p.task))) for p in sides["test"]]
    twins = tuple(task_id for task_id, mine in test if any(alike(mine, other) for other in read))
    note = f"train {len(sides['train'])} tasks of {len(known)} customers" + (f"; no customer told in {nobody}" if nobody else "")
    return [
        Measure("customers", "C16", labels[0], len(shared), len(sides["test"]), 0, "0", note, ids=shared),
        Measure(
            "duplicates",
            "C16",
            labels[1],
            len(twins),
            len(sides["test"]),
            0,
            "0",
            "reason for the call and known facts",
            ids=twins,
        ),
    ]


AUDIT = Audit(
    name="tau2",
    about="tau2-bench; PATH is the root of its checkout (with src/tau2 and data/tau2)",
    run=run,
)
