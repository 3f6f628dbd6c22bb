"""Issues of several repositories: a tracker, the forge's checks and commits, and for some tasks the repository itself.

One workflow is answered by a component (three of them), the other accepted or declined. Texts are those of programmers: traces,
versions, options.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from schemas.episode import RowRef, ToolCall
from schemas.records import CodeBook, FieldRule, OutcomeCode
from schemas.spec import HoldoutSpec
from schemas.task import Answer, Fact, Opening, Outcome, ReferenceStep, RequesterSpec, SystemRef, TaskSpec
from tasks.leaks import LeakInput
from tests.plants._edit import stamp
from tests.plants.repositories import git
from tests.plants.suppliers._set import Draft, Store, clean_set, token

START = datetime(2019, 9, 2, 8, 0, tzinfo=UTC)
DAYS = 240
FIELDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tracker.issue.title": ("text", "start", {}),
    "tracker.issue.reporter": ("login", "start", {}),
    "tracker.issue.project": ("id", "start", {"identity": "repository"}),
    "tracker.issue.created": ("time", "start", {}),
    "tracker.issue.thread": ("json", "history", {}),
    "tracker.issue.state_reason": ("code", "post_hoc", {}),
    "tracker.issue.milestone": ("text", "post_hoc", {}),
    "tracker.issue.closed_by": ("login", "post_hoc", {}),
    "tracker.issue.labels": ("tags", "post_hoc", {}),
    "forge.commit.message": ("text", "history", {}),
    "forge.commit.authored": ("time", "history", {}),
    "forge.commit.touches": ("tags", "history", {}),
    "forge.owner.path": ("text", "history", {}),
    "forge.owner.component": ("code", "history", {}),
    "forge.release.branch": ("text", "history", {}),
    "forge.release.frozen": ("bool", "history", {}),
    "forge.release.support_ends": ("date", "history", {"planned_future": True}),
}
CODES = {
    "component_parser": OutcomeCode(workflow="routing", outcome_class="parser", label="Goes to the parser team"),
    "component_storage": OutcomeCode(workflow="routing", outcome_class="storage", label="Goes to the storage team"),
    "component_console": OutcomeCode(workflow="routing", outcome_class="console", label="Goes to the console team"),
    "backport_merged": OutcomeCode(workflow="backport", outcome_class="merged", label="Backport was merged"),
    "backport_rejected_frozen": OutcomeCode(workflow="backport", outcome_class="rejected", label="Branch is frozen"),
}
CALLS = (
    "load_rows",
    "flush_all",
    "read_header",
    "walk_tree",
    "merge_parts",
    "open_stream",
    "fold_lines",
    "emit_table",
    "spool",
    "rewind",
)
ERRORS = (
    "KeyError",
    "ValueError",
    "TimeoutError",
    "OverflowError",
    "a plain segfault",
    "RecursionError",
    "an endless loop",
    "BrokenPipeError",
)
TRIGGERS = (
    "with an empty file",
    "on a network share",
    "under heavy load",
    "with two columns of one name",
    "after a rename",
    "on arm64",
)
TRIGGERS += (
    "with a byte order mark",
    "in a container without a tty",
    "with 12 workers",
    "when the disk is nearly full",
    "over ssh",
)
SIDES = (
    "main is fine",
    "did not bisect yet",
    "same with the nightly build",
    "happens on two machines",
    "went away once and came back",
)
SIDES += (
    "a restart does not help",
    "our tests never saw it",
    "worked before the winter",
    "the docs say nothing",
    "happy to test a patch",
)
OPTIONS = ("--strict", "--no-cache", "--jobs", "--lenient", "--utf8", "--trace", "--limit", "--dry-run")
ASKS = ("which file of ours is at the top of the trace?", "can you paste the top frame?", "what path does the trace start with?")
TALK = (
    "looked at frame {n} of the dump",
    "ran the corpus, case {n} shows it too",
    "pinned runner {n} for it",
    "see my notes of build {n}",
)


def code_book() -> CodeBook:
    fields = {key: FieldRule(type=t, known_at=k, **more) for key, (t, k, more) in FIELDS.items()}  # type: ignore[arg-type]
    return CodeBook(supplier="forge", fields=fields, outcomes=dict(CODES))


def make(seed: int, requests: int = 200, folder: Path | None = None, repositories: int = 6) -> LeakInput:
    """A clean set; with `folder`, `repositories` of its tasks give the agent a git repository made there."""
    rng, store = Random(f"trackers/{seed}"), Store()
    projects = [token("REPOSITORY", seed, i) for i in range(max(8, requests // 12))]
    seen = dict.fromkeys(projects, stamp(START - timedelta(days=900)))
    people = {p: [f"{token('USER', seed, p, i)}" for i in range(9)] for p in projects}
    seen.update({u: stamp(START - timedelta(days=400)) for users in people.values() for u in users})
    commits: dict[str, list[tuple[datetime, str, dict[str, Any]]]] = {p: _commits(seed, p, rng, seen) for p in projects}
    instants = sorted(START + timedelta(seconds=rng.randrange(DAYS * 86_400)) for _ in range(requests))
    past: dict[str, list[dict[str, Any]]] = {p: [] for p in projects}
    drafts = [_issue(seed, i, at, rng.choice(projects), rng, store, people, commits, past, seen) for i, at in enumerate(instants)]
    data = clean_set("forge_v1", drafts, store, code_book(), HoldoutSpec(group="repository", min_per_slice=8), seed, seen)
    if folder is None:
        return data
    given = Random(f"trackers/{seed}/repositories").sample(sorted(t.task_id for t in data.tasks), repositories)
    found = {task_id: repository(folder / task_id / "checkout", number) for number, task_id in enumerate(given)}
    starts = {t.task_id: datetime.fromisoformat(t.started_at) for t in data.tasks}
    times = {
        task_id: {
            "ledger.py": stamp(starts[task_id] - timedelta(days=2)),
            "README.md": stamp(starts[task_id] - timedelta(days=300, seconds=7)),
        }
        for task_id in given
    }
    from dataclasses import replace

    return replace(data, repositories=found, file_times=times)


def repository(folder: Path, number: int) -> tuple[Path, str]:
    """A repository of three commits on one branch, the last of them checked out, without a reflog."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    stream = []
    for step in range(3):
        body = f"def total(rows):\n    # round {number}.{step}\n    return sum(r.amount for r in rows)\n"
        message = f"Step {step} of {number}\n"
        stream += [
            "commit refs/heads/main",
            f"committer dev <dev@example.org> {946_684_800 + 1000 * step + number} +0000",
            f"data {len(message)}\n{message}",
            "M 100644 inline ledger.py",
            f"data {len(body)}\n{body}",
            "M 100644 inline README.md",
            f"data {len(message)}\n{message}",
        ]
    git(folder, "fast-import", "--quiet", stdin="\n".join(stream) + "\n")
    git(folder, "-c", "core.logAllRefUpdates=false", "reset", "--quiet", "--hard", "main")
    return folder, git(folder, "rev-parse", "main")


def _commits(seed: int, project: str, rng: Random, seen: dict[str, str]) -> list[tuple[datetime, str, dict[str, Any]]]:
    found = []
    for i in range(10):
        at = START + timedelta(seconds=rng.randrange(-60 * 86_400, DAYS * 86_400))
        name = token("COMMIT", seed, project, i)
        seen[name] = stamp(at)
        fields = {
            "message": f"{rng.choice(('tidy', 'speed up', 'document', 'split'))} {rng.choice(CALLS)}",
            "authored": stamp(at),
            "touches": rng.sample(["src", "tests", "docs", "tools"], 2),
        }
        found.append((at, name, fields))
    return sorted(found, key=lambda c: c[0])


def _issue(
    seed: int,
    number: int,
    at: datetime,
    project: str,
    rng: Random,
    store: Store,
    people: dict[str, list[str]],
    commits: dict[str, list[tuple[datetime, str, dict[str, Any]]]],
    past: dict[str, list[dict[str, Any]]],
    seen: dict[str, str],
) -> Draft:
    workflow = rng.choice(("routing", "backport"))
    code = rng.choice(sorted(c for c, o in CODES.items() if o.workflow == workflow))
    issue = token("ISSUE", seed, number)
    seen[issue] = stamp(at)
    reporter = rng.choice(people[project])
    call, error = rng.choice(CALLS), rng.choice(ERRORS)
    path = f"pkg{rng.randrange(90)}/{rng.choice(CALLS)}.py"
    branch = f"{rng.randrange(2, 9)}.{rng.randrange(30)}.x"
    said = rng.sample(SIDES, 2)
    if workflow == "routing":
        title = rng.choice((f"{error} in {call}", f"{call} fails {rng.choice(TRIGGERS)}", f"{call}: {error}"))
        lines = [
            f"`{call}` ends in {error} {rng.choice(TRIGGERS)}, line {rng.randrange(20, 900)}.",
            f"Called with `{rng.choice(OPTIONS)} {rng.randrange(99)}`.",
            *said,
        ]
        slot, value, question = "path", path, rng.choice(ASKS)
    else:
        title = rng.choice((f"Backport of the {call} fix", f"{call} on the old branch", f"Please also fix {call} there"))
        lines = [
            f"The repair of `{call}` ({error}) is on main only, we run `{rng.choice(OPTIONS)}` {rng.choice(TRIGGERS)}.",
            f"Affects about {rng.randrange(3, 400)} jobs.",
            *said,
        ]
        slot, value, question = "branch", branch, "on which branch do you need it?"
    told = rng.random() < 0.3
    if told:
        lines.append(f"It is about `{value}`.")
    rng.shuffle(lines)
    text = "\n\n".join(lines)
    facts = (
        ()
        if told
        else (Fact(id="a", slots=(slot,), values={slot: value}, question=question, answer=f"`{value}`, {rng.choice(SIDES)}"),)
    )
    owner = token("OWNER", seed, number)
    release = token("RELEASE", seed, number)
    seen.update({owner: stamp(at - timedelta(days=70)), release: stamp(at - timedelta(days=90))})
    component = CODES[code].outcome_class if workflow == "routing" else rng.choice(("parser", "storage", "console"))
    frozen = code == "backport_rejected_frozen" if workflow == "backport" else rng.random() < 0.5
    row = {"title": title, "reporter": f"{reporter}_LOGIN", "project": project, "created": stamp(at)}
    issues: dict[str, Any] = {issue: row}
    for case in [c for c in past[project] if c["closed"] < at][-2:]:
        issues[case["id"]] = {
            **case["row"],
            "thread": [{"at": stamp(case["at"] + timedelta(hours=1)), "from": "dev", "text": case["said"]}],
        }
    state = {
        "tracker": {"issue": issues},
        "forge": {
            "commit": {name: fields for made, name, fields in commits[project] if made < at},
            "owner": {owner: {"path": path, "component": component}},
            "release": {release: {"branch": branch, "frozen": frozen, "support_ends": "2033-06-30"}},
        },
    }
    provenance = {
        s: {k: {r: {f: f"ref-{token('R', r, f)[2:]}" for f in fields} for r, fields in rows.items()} for k, rows in kinds.items()}
        for s, kinds in state.items()
    }
    closed = at + timedelta(seconds=1800 + min(rng.expovariate(1 / 200_000), 9 * 86_400))
    later = (*(() if told else (question,)), rng.choice(TALK).format(n=rng.randrange(1000, 9999)))
    past[project].append({"id": issue, "row": row, "closed": closed, "at": at, "said": later[-1]})
    answer = {"component": component} if workflow == "routing" else {}
    steps = [
        ToolCall(tool="find_owner", arguments={"path": path})
        if workflow == "routing"
        else ToolCall(tool="get_release", arguments={"branch": branch}),
        ToolCall(tool="decide", arguments={"code": code, **answer}),
    ]
    task = TaskSpec(
        task_id=issue,
        taskset="forge_v1",
        workflow=workflow,
        started_at=stamp(at),
        organisation=project,
        opening=Opening(
            record=RowRef(system="tracker", kind="issue", record_id=issue),
            requester_id=reporter,
            requester_name=reporter,
            contact=f"{reporter}_LOGIN",
            subject=title,
            text=text,
            received_at=stamp(at),
        ),
        systems=(
            SystemRef(name="tracker", plugin="helpdesk", config={"codes": sorted(CODES)}),
            SystemRef(name="forge", plugin="forge"),
        ),
        state=(store.put(state),),
        provenance=(store.put(provenance),),
        requester=RequesterSpec(facts=facts, dont_know=("no clue", "would have to look it up"), patience=6),
        max_steps=20,
        grades=("no_policy",),
    )
    outcome = Outcome(kind="answer", code=code, answer=answer)
    reference = tuple(ReferenceStep(call=c, planned=i == 0) for i, c in enumerate(steps))
    return Draft(
        task,
        Answer(task_id=issue, outcome=outcome, outcome_class=CODES[code].outcome_class, reference=reference),
        closed,
        later,
        reporter,
    )


__all__ = ["make", "repository"]
