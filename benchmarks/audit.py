"""Our task sets beside tau2-bench's under the same checks: panel, writes-only, shared customers, erring gold calls.

    python -m benchmarks.audit CHECKOUT      CHECKOUT: a tau2-bench checkout, or a file that `tasks audit tau2:... --json` wrote
                                             (default: the variable RECORDGYM_TAU2; without one, our own columns alone)

Ours are counted from what the task sets carry: a task counts where its certificate does not hold ("failed" or "could not run"),
over the tasks to which the check applies. That is 0 by construction, since a record whose certificate fails does not become a
task; what it cost is in the funnel of each set's report. Theirs are replays on their files; "a+b" is a for certain, and b more
unless a language model, which is part of that grader and is not asked, says no. Exit code 1 if one of ours is not what its
certificate demands.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.cli import run_command
from schemas.files import read_json
from schemas.paths import taskset_dir
from tasks.audit import as_json
from tasks.audits._types import Asked
from tasks.audits.tau2 import run
from tasks.duplicates import alike, reading_of

OURS = ("helpdesk_v1", "star_v1")
PANEL = ("do_nothing", "refuse_all", "escalate_all", "echo", "random")
DOMAINS = ("airline", "retail", "telecom")
ROWS = (
    ("a shortcut of the panel is full (C2)", "C2", PANEL),
    ("  do nothing", "C2", ("do_nothing",)),
    ("  escalate all", "C2", ("escalate_all",)),
    ("writes only is full (C17)", "C17", ("writes_only",)),
    ("less one look-up or check: full (C4)", "C4", ("without_read",)),
    ("plus a forbidden act or write: full (C5)", "C5", ("extra_write",)),
    ("one wrong value: full (C6)", "C6", ("wrong_value",)),
    ("gold path has a call that errs (C1)", "C1", ("gold_errors",)),
    ("a gold value stands nowhere (C9)", "C9", ("derivable",)),
)
"""Label, certificate of ours, measures of theirs of which any counts."""


def ours(name: str) -> dict[str, str]:
    """Label -> figure of one of our task sets, from its certificates and its tasks."""
    folder = taskset_dir(name)
    if not (folder / "certificates.jsonl").exists():
        return {}
    held = [{c["id"]: c["verdict"] for c in line["checks"]} for line in _lines(folder / "certificates.jsonl")]
    found = {"tasks": str(len(held))}
    for label, check, _ in ROWS:
        verdicts = [one.get(check, "could_not_run") for one in held]
        applies = [v for v in verdicts if v != "not_applicable"]
        found[label] = _share(sum(v != "passed" for v in applies), 0, len(applies))
    return found | _split(folder)


def _split(folder: Path) -> dict[str, str]:
    """What the two sides share, counted again from the tasks themselves."""
    train, out = (_lines(folder / side / "tasks.jsonl") for side in ("train", "heldout"))
    unseen = [t for t in out if t["slice"] != "unseen_months"]
    groups = {t["organisation"] for t in train}
    people = {t["opening"]["requester_id"] for t in train}
    read = [reading_of(_opening(t)) for t in train]
    twins = sum(any(alike(mine, other) for other in read) for mine in (reading_of(_opening(t)) for t in out))
    return {
        "test: group also in train (C16)": _share(sum(t["organisation"] in groups for t in unseen), 0, len(unseen)),
        "test: person also in train (C16)": _share(sum(t["opening"]["requester_id"] in people for t in unseen), 0, len(unseen)),
        "test: reads like a train task (C16)": _share(twins, 0, len(out)),
    }


def _opening(task: Mapping[str, Any]) -> str:
    return f"{task['opening']['subject']}\n{task['opening']['text']}"


def theirs(domain: Mapping[str, Any]) -> dict[str, str]:
    """Label -> figure of one domain of the audit."""
    held = {m["key"]: m for m in domain["measures"] if m["applies"]}
    found = {"tasks": str(domain["tasks"])}
    for label, _, keys in ROWS:
        measures = [held[k] for k in keys if k in held]
        if not measures:
            found[label] = "-"
        elif keys == ("derivable",):
            found[label] = _share(measures[0]["of"] - measures[0]["count"], 0, measures[0]["of"])
        elif len(measures) == 1:
            found[label] = _share(measures[0]["count"], measures[0]["judged"], measures[0]["of"])
        else:
            full = {i for m in measures for i in m["ids"]}
            judged = {i for m in measures for i in m["judged_ids"]} - full
            found[label] = _share(len(full), len(judged), domain["tasks"])
    for label, key in (("test: person also in train (C16)", "customers"), ("test: reads like a train task (C16)", "duplicates")):
        found[label] = _share(held[key]["count"], 0, held[key]["of"]) if key in held else "-"
    return found


def _share(count: int, judged: int, of: int) -> str:
    if of == 0:
        return "-"
    shares = dict.fromkeys(f"{100 * n / of:.0f}" for n in (count, count + judged))
    return f"{count}{f'+{judged}' if judged else ''}/{of} {'-'.join(shares)}%"


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def audited(place: str) -> dict[str, Any]:
    """The audit as JSON: read from a file that the command wrote, or run now."""
    path = Path(place)
    if path.is_file():
        return dict(read_json(path))
    there = tuple(d for d in DOMAINS if (path / "src/tau2/domains" / d).is_dir())
    return as_json(run(Asked(path, there)))


def main(place: str | None) -> int:
    columns = {name: ours(name) for name in OURS}
    bad = [
        f"{name}: {label}"
        for name, held in columns.items()
        for label, figure in held.items()
        if label != "tasks" and "person" not in label and not figure.startswith(("0/", "-"))
    ]
    if place:
        audit = audited(place)
        print(f"audited: {audit['source'].partition(';')[0]}")
        columns |= {f"tau2 {d['name']}": theirs(d) for d in audit["domains"] if d["name"] in DOMAINS}
    else:
        print("tau2-bench is not at hand (RECORDGYM_TAU2 names no checkout): our columns alone")
    labels = ["tasks", *(label for label, _, _ in ROWS), *(k for k in next(iter(columns.values()), {}) if k.startswith("test:"))]
    print(f"{'counted: tasks, or acts altered':<42}" + "".join(f"{name:>20}" for name in columns))
    for label in labels:
        print(f"{label:<42}" + "".join(f"{held.get(label, '-') if held else 'not built':>20}" for held in columns.values()))
    print("ours: held-out tasks but those of unseen_months, which share their groups by design; star_v1 keeps wizards apart;")
    print("that people cross there is a signed waiver in its spec, and that row is for information")
    for line in bad:
        print(f"MISS {line}")
    return 1 if bad else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", default=os.environ.get("RECORDGYM_TAU2"), help="a checkout, or the audit's JSON")
    asked = parser.parse_args()
    run_command(lambda: main(asked.checkout))
