"""The sample's task set against the truth that the sample keeps: yield, off-system steps, states as recorded, planted leaks.

    python -m benchmarks.sample_truth            (after make ingest deid build-tasks; needs the vault and its key)

A benchmark may open the vault and data/truth; no stage does. Prints one line a figure with its target; exit code 1 if one is
missed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deid.tokens import load_key
from deid.vault import Vault
from pipeline.cli import run_command
from schemas.errors import StageError
from schemas.files import read_models
from schemas.paths import clean_dir, data_dir, taskset_dir, vault_file
from schemas.spec import load_spec
from schemas.task import Answer, LedgerRow, TaskSpec
from schemas.taskset import TaskSet, open_taskset
from tasks.case import open_clean
from tasks.certified import drafts_dir
from tasks.cut import connect, measure_skew
from tasks.fit import Fit
from tasks.ledger import read_ledger
from tasks.requester import TOKEN

SPEC = Path("tasks/specs/helpdesk_v1.toml")
SLICES = ("unseen_organisations", "unseen_months", "both")
Figure = tuple[str, str, str, bool]
"""(what, measured, target, met)."""


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as handle:
        for line in handle:
            yield json.loads(line)


def yields(ledger: dict[str, LedgerRow], truth: dict[str, dict[str, Any]]) -> Iterator[Figure]:
    solvable = [t for t in truth if truth[t]["solvable"]]
    clean = [t for t in truth if truth[t]["clean"]]
    kept = [t for t in truth if t in ledger and ledger[t].kept]
    # What the hold-out sets aside is certified, only not usable: it is no failure to understand a ticket.
    certified = [t for t in solvable if t in ledger and (ledger[t].kept or ledger[t].reason in ("embargo", "near_duplicate"))]
    dropped = [t for t in clean if t not in ledger or ledger[t].reason not in ("kept", "embargo", "near_duplicate")]
    yield "certified tasks", str(len(kept)), ">= 400", len(kept) >= 400
    share = len(certified) / max(1, len(solvable))
    yield "solvable tickets certified", f"{share:.3f} ({len(certified)}/{len(solvable)})", ">= 0.85", share >= 0.85
    share = len(dropped) / max(1, len(clean))
    yield "clean tickets dropped", f"{share:.3f} ({len(dropped)}/{len(clean)})", "<= 0.05", share <= 0.05
    for why in sorted({str(t["unsolvable_reason"]) for t in truth.values() if not t["solvable"]}):
        mine = [t for t in truth if truth[t]["unsolvable_reason"] == why]
        through = [t for t in mine if t in kept]
        # A cut line of the export says that something is lost, not what: such a case may still be whole in what is left.
        allowed = why == "broken_line"
        yield f"unsolvable kept: {why}", f"{len(through)}/{len(mine)}", "any" if allowed else "0", allowed or not through
    print(
        "  clean, dropped by:",
        dict(Counter(ledger[t].reason if t in ledger else "not in the ledger" for t in dropped)),
        file=sys.stderr,
    )


def found_by(
    ledger: dict[str, LedgerRow], truth: dict[str, dict[str, Any]], fits: dict[str, Fit], off: set[str]
) -> Iterator[Figure]:
    """Planted steps off the systems by their reason, and planted breaches of a rule by the replay of what people recorded."""
    told = Counter(ledger[t].reason for t in off if t in ledger)
    share = (told["off_system"] + told["underivable"]) / max(1, len(off))
    figures = f"{share:.3f} of {len(off)} {dict(sorted(told.items()))}"
    yield "off-system steps found by derivability", figures, "1.000", share == 1.0
    broke = [t for t in truth if truth[t]["unsolvable_reason"] == "broke_rule"]
    seen = [t for t in broke if t in fits and fits[t].broken]
    print("  planted breach, not seen by the rules:", sorted(set(broke) - set(seen)), file=sys.stderr)
    share = len(seen) / max(1, len(broke))
    yield "planted breaches found by the rules", f"{share:.3f} ({len(seen)}/{len(broke)})", "1.000", share == 1.0
    clean = [t for t in truth if truth[t]["clean"] and t in fits]
    wrong = [t for t in clean if fits[t].broken]
    yield "clean tickets that break a rule", f"{len(wrong)}/{len(clean)}", "0", not wrong
    unjudged = sum(bool(fit.unjudged) for fit in fits.values())
    yield "replays with a rule that could not be judged", f"{unjudged}/{len(fits)}", "0", not unjudged


def kinds(tasks: list[TaskSpec], answers: dict[str, Answer]) -> Iterator[Figure]:
    found: dict[str, set[str]] = defaultdict(set)
    for task in tasks:
        found[task.workflow].add(answers[task.task_id].outcome_class)
    whole = [w for w, classes in found.items() if {"grant", "refuse"} <= classes]
    yield "kinds in grant and refusal", f"{len(whole)}/6", "6", len(whole) == 6
    counts: Counter[str] = Counter(task.slice for task in tasks)
    for name in SLICES:
        yield f"held out: {name}", str(counts[name]), ">= 40", counts[name] >= 40


class Originals:
    """Tokens back to what the export says."""

    def __init__(self, vault: Vault) -> None:
        self._held = vault.tokens()

    def of(self, token: str) -> list[str]:
        return self._held.get(token, [])


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def plain(value: Any) -> str:
    return "".join(c for c in str(value).casefold() if c.isalnum())


def same_value(shown: Any, true: Any, originals: Originals, shift: timedelta) -> bool:
    """A token stands for any spelling of its original; times are shifted by whole weeks."""
    if shown == true or (shown is None and true in (None, "")):
        return True
    if isinstance(shown, str):
        if TOKEN.fullmatch(shown):
            return plain(true) in {plain(o) for o in originals.of(shown)} or _digits_agree(true, originals.of(shown))
        if TOKEN.search(shown):
            return True  # free text with people in it: compared by deid's own benchmark
        try:
            return instant(shown) - shift == instant(str(true))
        except ValueError:
            return plain(shown) == plain(true)
    return str(shown) == str(true)


def _digits_agree(true: Any, written: list[str]) -> bool:
    """Phone numbers are written in more than one way: the last nine digits say which it is."""
    digits = "".join(c for c in str(true) if c.isdigit())[-9:]
    return len(digits) >= 7 and any("".join(c for c in o if c.isdigit())[-9:] == digits for o in written)


def state_as_recorded(
    facts: dict[Any, list[dict[str, Any]]], cut: datetime, skew: dict[str, timedelta]
) -> dict[Any, dict[str, Any]]:
    """(system, kind, record) -> fields, by the plain definition: a slow twin of the cut."""
    found: dict[Any, dict[str, Any]] = {}
    for key, rows in facts.items():
        row: dict[str, Any] | None = None
        until = cut - skew.get(key[0], timedelta(0))
        for fact in rows:
            if fact["at"] >= until or fact["known"] >= until:
                continue
            if fact["deleted"]:
                row = None
            else:
                row = row or {}
                row[fact["field"]] = fact["value"]
        if row is not None:
            found[key] = row
    return found


def states(
    sets: list[TaskSet], truth: dict[str, dict[str, Any]], folder: Path, originals: Originals, skew: dict[str, timedelta]
) -> Iterator[Figure]:
    facts: dict[str, dict[Any, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    owners: dict[Any, str] = {}
    rows = list(lines(folder / "facts.jsonl"))
    for fact in rows:
        key = (fact["system"], fact["kind"], fact["record_id"])
        if fact["field"] in ("organisation", "account_id", "order_id", "about") and isinstance(fact["value"], str):
            owners.setdefault(key, fact["value"])
    parents = {key[2]: value for key, value in owners.items()}
    for fact in rows:
        key = (fact["system"], fact["kind"], fact["record_id"])
        owner = key[2]
        for _ in range(4):
            owner = parents.get(owner, owner)
        facts[owner][key].append({**fact, "at": instant(fact["true_ts"]), "known": instant(fact["recorded_ts"])})
    checked = wrong = missing = extra = ambiguous = 0
    examples: Counter[str] = Counter()
    for taskset in sets:
        for task in list(taskset.tasks.values())[::4]:
            ticket = originals.of(task.task_id)[0]
            cut = instant(truth[ticket]["opened_at"])
            shift = instant(task.started_at) - cut
            expected = state_as_recorded(facts[truth[ticket]["group"]], cut, skew)
            shown = taskset.state(task)
            seen = set()
            for system in ("accounts", "orders", "payments", "approvals"):
                for kind, records in shown[system].items():
                    for token, row in records.items():
                        ids = [o for o in originals.of(token) if (system, kind, o) in expected]
                        if not ids:
                            extra += 1
                            examples[f"extra {system}.{kind}"] += 1
                            continue
                        key = (system, kind, ids[0])
                        seen.add(key)
                        for name, value in row.items():
                            checked += 1
                            if not same_value(value, expected[key].get(name), originals, shift):
                                if value is None:
                                    ambiguous += 1
                                    examples[f"unknown {system}.{kind}.{name}"] += 1
                                else:
                                    wrong += 1
                                    examples[f"wrong {system}.{kind}.{name}"] += 1
            for key in expected.keys() - seen:
                if key[0] in ("accounts", "orders", "payments", "approvals"):
                    missing += 1
                    examples[f"missing {key[0]}.{key[1]}"] += 1
            taskset._states.clear()
    print("  differences:", dict(examples.most_common(12)), file=sys.stderr)
    yield "state values unlike truth as recorded", f"{wrong} of {checked}", "0", wrong == 0
    yield "state records missing or extra", f"{missing} + {extra}", "0", missing + extra == 0
    yield "state values left unknown (ties)", f"{ambiguous} of {checked}", "few", ambiguous <= checked // 1000


def leaks(sets: list[TaskSet], truth: dict[str, dict[str, Any]], folder: Path, originals: Originals) -> Iterator[Figure]:
    """Planted leaks of a ticket inside anything that an agent can be shown, in its own task or in one that starts before it was
    decided.

    A closing comment of a ticket that the same requester had answered earlier is that requester's history, and no leak.
    """
    by_ticket: dict[str, list[str]] = defaultdict(list)
    for row in lines(folder / "leaks.jsonl"):
        if row["kind"] not in ("metric", "tag") and len(str(row["literal"])) > 6:
            by_ticket[row["ticket_id"]].append(str(row["literal"]))
    codes = re.compile(r"zq[a-z0-9]{8,12}")
    owner = {literal: ticket for ticket, literals in by_ticket.items() for literal in literals}
    found: Counter[str] = Counter()
    for taskset in sets:
        for task in taskset.tasks.values():
            ticket = originals.of(task.task_id)[0]
            cut = instant(truth[ticket]["opened_at"])
            facts = [f.answer for f in task.requester.facts]
            shown = json.dumps([task.opening.model_dump(), facts, list(task.requester.dont_know)])
            shown += "".join((taskset.folder / "content" / d).read_text(encoding="utf-8") for d in task.state)
            found["own"] += sum(literal in shown for literal in by_ticket[ticket])
            for literal in codes.findall(shown):
                other = owner.get(literal)
                found["of a later ticket"] += other is not None and instant(truth[other]["solved_at"]) > cut
    planted = sum(len(rows) for rows in by_ticket.values())
    yield "planted leaks in an observation", f"{found.total()} of {planted} {dict(found)}", "0", not found.total()


def main() -> int:
    spec = load_spec(SPEC)
    folder = data_dir() / "truth" / spec.supplier
    if not (folder / "tickets.jsonl").is_file():
        raise StageError(f"{folder / 'tickets.jsonl'} is missing: `make sample` writes the sample with its truth")
    truth = {t["ticket_id"]: t for t in lines(folder / "tickets.jsonl")}
    originals = Originals(Vault(vault_file(spec.supplier), load_key(spec, create=False)))
    here = taskset_dir(spec.name)
    rows = read_ledger(here / "ledger.parquet")
    ledger = {originals.of(row.record_id)[0]: row for row in rows}
    fits = {originals.of(f.record_id)[0]: f for f in read_models(drafts_dir(spec.name) / "fit.jsonl", Fit)}
    off = {row["ticket_id"] for row in lines(folder / "off_system.jsonl")}
    sets = [open_taskset(here, "train"), open_taskset(here, "heldout")]
    tasks = [task for taskset in sets for task in taskset.tasks.values()]
    answers = {a.task_id: a for side in ("train", "heldout") for a in read_models(here / side / "answers.jsonl", Answer)}
    clean = open_clean(clean_dir(spec.supplier), spec.select)
    links = [
        key.rsplit(".", 1)[1]
        for key, rule in clean.codebook.fields.items()
        if key.startswith("helpdesk.ticket.") and rule.type == "id"
    ]
    skew = {s: timedelta(microseconds=d) for s, d in measure_skew(connect(clean.folder), clean.record, links).items()}
    figures = [
        *yields(ledger, truth),
        *found_by(ledger, truth, fits, off),
        *kinds(tasks, answers),
        *states(sets, truth, folder, originals, skew),
        *leaks(sets, truth, folder, originals),
    ]
    for what, measured, target, met in figures:
        print(f"{'ok ' if met else 'MISS'}  {what:<44}{measured:>24}   target {target}")
    return 0 if all(met for *_, met in figures) else 1


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    run_command(main)
