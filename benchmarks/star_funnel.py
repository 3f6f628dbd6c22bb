"""The ledger of star_v1 against an independent count of the same archives, record by record.

    python -m benchmarks.star_funnel ../shared/real/star      (after make ingest deid build-tasks SPEC=... EXPORT=...; needs the
                                                               vault and its key, to know whose record a token is)

Runs the folder's own `funnel.py`, reads the same archives once more to know which dialogues each of its steps drops (the two
must agree in every count), and sets the ledger beside it: reasons against reasons, then the two faults that life itself planted.
Arguments that the requester never said must be found because nothing shows them, bookings without a check by the rule; every
dialogue on which the two differ is counted under its cause. At least 90% of the strict count must be tasks. Tasks that it
excludes (it looks for a value in words that the requester said, where an interface may have shown it) are counted apart; all in
all there are never more than the strict count: more would mean leaking, or not filtering. Exit code 1 if a bound is missed or a
difference has no cause.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from deid.tokens import load_key
from deid.vault import Vault
from environments.seen import numbers_in
from pipeline.cli import run_command
from schemas.paths import taskset_dir, vault_file
from schemas.spec import Spec, load_spec
from schemas.task import LedgerRow
from tasks.ledger import read_ledger

SPEC = Path("tasks/specs/star_v1.toml")
STEPS = ("not_complete", "several_tasks", "out_of_scope", "no_query", "few_turns", "ungrounded", "no_definite_answer", "trivial")
"""What funnel.py drops, in its order, under the ledger's names; "ungrounded" is its own: there the ledger says "underivable"."""
IDENTIFYING = ("ShortString", "Integer")
EARLIER = ("few_turns", "no_definite_answer")
"""Reasons of the ledger that come before it asks whether a value is shown."""
HELD_OUT = ("embargo", "near_duplicate", "leak", "certificate")
"""Reasons that funnel.py knows nothing of: what is dropped after a task was found."""


def plain(value: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", str(value).lower())


@dataclass(slots=True)
class Dialogue:
    """What funnel.py makes of one dialogue."""

    step: str = "strict"
    unsaid: dict[str, str] = field(default_factory=dict)
    """Identifying argument of the last query that no turn of the user holds -> its value."""
    listed: set[str] = field(default_factory=set)
    """Listed arguments of the last query."""
    untraced: dict[str, str] = field(default_factory=dict)
    """Of these, those of which no turn of the user holds a trace -> value; funnel.py looks at none."""
    booked: bool = False
    unchecked: bool = False
    """Booked, and no Check before it."""
    shown: str = ""
    """What earlier queries answered."""
    said: str = ""
    turns: list[str] = field(default_factory=list)
    last: dict[str, str] = field(default_factory=dict)
    checks: list[dict[str, str]] = field(default_factory=list)
    books: list[dict[str, str]] = field(default_factory=list)


def counted(folder: Path) -> tuple[dict[str, int], dict[str, int]]:
    """What funnel.py counts: by step, and its extra figures."""
    archives = [str(folder / name) for name in ("dialogues.tar.gz", "policies_and_apis.tar.gz")]
    done = subprocess.run([sys.executable, str(folder / "funnel.py"), *archives], capture_output=True, text=True, check=True)
    steps, extra = done.stdout.splitlines()[:2]
    return ast.literal_eval(steps), ast.literal_eval(extra)


def members(path: Path) -> Iterator[tuple[str, Any]]:
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and (handle := archive.extractfile(member)) is not None:
                yield member.name, handle.read()


def dialogues(folder: Path, spec: Spec) -> dict[str, Dialogue]:
    """Dialogue -> what funnel.py's own definitions say of it."""
    types = {
        PurePosixPath(name).stem: {i["Name"]: i["Type"] for i in json.loads(raw)["input"]}
        for name, raw in members(folder / "policies_and_apis.tar.gz")
        if name.startswith("apis/apis/")
    }
    source = (folder / "funnel.py").read_text(encoding="utf-8")
    definite = re.search(r"^DEFINITE = r'(.*)'$", source, re.MULTILINE)
    assert definite is not None, "funnel.py declares no DEFINITE"
    scope = {w.name for w in spec.workflows}
    return {
        PurePosixPath(name).stem: one_dialogue(json.loads(raw), types, scope, definite[1])
        for name, raw in members(folder / "dialogues.tar.gz")
    }


def one_dialogue(raw: Mapping[str, Any], types: Mapping[str, Mapping[str, str]], scope: set[str], definite: str) -> Dialogue:
    found = Dialogue()
    tasks = [c["Task"] for c in raw["Scenario"]["WizardCapabilities"]]
    if raw["CompletionLevel"] != "Complete":
        found.step = "not_complete"
    elif len(tasks) != 1:
        found.step = "several_tasks"
    elif tasks[0] not in scope:
        found.step = "out_of_scope"
    if found.step != "strict":
        return found
    turns, first, item, shown = [], "", None, ""
    for event in raw["Events"]:
        if event.get("Agent") == "User" and event.get("Text"):
            turns.append(event["Text"])
        if event.get("Action") == "query" and event.get("Constraints"):
            found.last = {k: str(v).strip('"') for pair in event["Constraints"] for k, v in pair.items()}
            found.shown = shown
            (found.books if found.last.get("RequestType") == "Book" else found.checks).append(found.last)
            if found.last.get("RequestType") == "Book":
                found.booked = True
                found.unchecked |= not any(check.get("RequestType") == "Check" for check in found.checks)
        if event.get("Action") == "return_item":
            item = event.get("Item")
            shown += " " + " ".join(plain(v) for v in (item or {}).values())
    if not found.last:
        found.step = "no_query"
        return found
    found.turns = turns
    found.said, first = plain(" " + " ".join(turns)), turns[0] if turns else ""
    kinds = types[tasks[0]]
    asked = {k: v for k, v in found.last.items() if k != "RequestType"}
    found.unsaid = {k: v for k, v in asked.items() if kinds.get(k) in IDENTIFYING and plain(v) and plain(v) not in found.said}
    listed = {k: v for k, v in asked.items() if kinds.get(k) == "Categorical"}
    found.listed = set(listed)
    found.untraced = {k: v for k, v in listed.items() if not v.startswith("api.") and not traced(v, " ".join(turns))}
    long = [plain(v) for v in asked.values() if len(plain(v)) > 2]
    message = " ".join(str(v) for v in (item or {}).values()).lower()
    if len(turns) < 3:
        found.step = "few_turns"
    elif found.unsaid:
        found.step = "ungrounded"
    elif not re.search(definite, message) and tasks[0] != "bank_balance":
        found.step = "no_definite_answer"
    elif long and all(v in plain(first) for v in long):
        found.step = "trivial"
    return found


NUMBERS = re.findall(r"\w+", "zero one two three four five six seven eight nine ten eleven twelve")
HOUR = re.compile(r"(\d{1,2}) ?([ap])m")
FILLERS = frozenset({"hotel", "apartments", "venue", "club", "inn"})


def traced(value: str, said: str) -> bool:
    """True if the words could say a listed value at all, read as loosely as can be: any number that could be the hour or the day,
    a beginning of the weekday, any word of a name. Yes and no always could."""
    low = said.lower()
    if value.lower() in ("yes", "no"):
        return True
    if hour := HOUR.fullmatch(value.lower()):
        number, late = int(hour[1]) % 12, hour[2] == "p"
        forms = {str(number or 12), NUMBERS[number or 12], str(number + 12 * late), "noon" if late and not number else "midnight"}
        lasting = re.search(r"\b(?:\d+|one|two|three|four|five)[- ]?(?:hours?|hrs?)\b", low) is not None
        return lasting or any(re.search(rf"(?<!\d){form}(?!\d)", low) for form in forms)
    if re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)", value):
        number = int(value[:-2])
        words = r"first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|twent|thirt"
        return re.search(rf"(?<!\d)0?{number}(?!\d)|{words}", low) is not None
    parts = [word for word in re.findall(r"[a-z]+", value.lower()) if len(word) > 2 and word not in FILLERS]
    return any(word[:4] in low for word in parts) or (
        value.endswith("day") and re.search(rf"\b{value[:3].lower()}", low) is not None
    )


def why_unsaid_is_shown(one: Dialogue, row: LedgerRow) -> str:
    """Why a dialogue with unsaid arguments is not dropped as underivable; "" = for no reason known here."""
    if row.reason in EARLIER:
        return f"dropped before that is asked: {row.reason}"
    causes = set()
    for value in one.unsaid.values():
        if value == "null":
            causes.add("null: no value was given")
        elif inner := re.fullmatch(r"api\.is_equal_to\((.*)\)", value):
            causes.add("an equality, whose value was said" if plain(inner[1]) in one.said else "an equality with nothing")
        elif plain(value) in one.shown:
            causes.add("shown by an earlier answer of the interface")
        elif value.isdigit() and any(int(value) in numbers_in(turn)[0] for turn in one.turns):
            causes.add("a number that the requester said in words")
        else:
            return ""
    return " + ".join(sorted(causes))


def why_said_is_not_shown(one: Dialogue, detail: str) -> str:
    """Why the first value that nothing shows counts as said by funnel.py, which looks for it in all turns run together."""
    argument = detail.partition(" (")[0].partition(".")[2]
    value = one.last.get(argument, "")
    if argument in one.untraced:
        return "a listed value, which funnel.py does not look at, and of which no turn holds a trace"
    if argument in one.listed:
        return (
            "a listed value, which funnel.py does not look at: other words, a word that fits several, or said of something else"
        )
    if value.startswith("api."):
        return "an open condition of a type that funnel.py does not look at"
    words = re.findall(r"[a-z]+|\d+", value.lower())
    whole = [turn for turn in one.turns if f" {' '.join(words)} " in f" {' '.join(re.findall(r'[a-z]+|[0-9]+', turn.lower()))} "]
    if not whole:
        return "only inside other words or numbers, or across turns"
    return "said, but as part of a time or an amount, hidden by a pseudonym, or of somebody else, or after the decision"


def why_unchecked_is_kept(one: Dialogue, row: LedgerRow) -> str:
    if row.reason in (*EARLIER, "underivable", "no_reference", "trivial"):
        return f"dropped before the rules are asked: {row.reason}"
    if one.last.get("RequestType") != "Book":
        return "the deciding query is no booking"
    return "checked after a first booking and before the deciding one" if any(met(one.last, c) for c in one.checks) else ""


def met(booked: Mapping[str, str], check: Mapping[str, str]) -> bool:
    """True if the check asked what was booked."""
    names = booked.keys() & check.keys() - {"RequestType"}
    return check.get("RequestType") == "Check" and bool(names) and all(plain(booked[n]) == plain(check[n]) for n in names)


def why_checked_breaks(one: Dialogue) -> str:
    if one.unchecked:
        return ""
    if not one.booked:
        return ""
    checks = [check for check in one.checks if check.get("RequestType") == "Check"]
    shared = [{k: v for k, v in check.items() if k in one.last and k != "RequestType"} for check in checks]
    if any(all(plain(one.last[k]) == plain(v) for k, v in check.items()) for check in shared):
        return "the check left out what the booking names"
    return "the check was about something else than the booking"


def against(title: str, peers: set[str], ours: set[str], why: Mapping[str, str]) -> bool:
    """Prints how the two sets meet, and the differences by cause; True where each has one."""
    both, more = len(peers & ours), len(ours - peers)
    print(f"\n{title}: {len(peers)} by funnel.py, of these {both} in the ledger; {more} in the ledger only")
    for cause, count in sorted(Counter(why[name] or "NO CAUSE KNOWN" for name in (peers ^ ours)).items()):
        print(f"  {count:>5}  {cause}")
    return all(why[name] for name in peers ^ ours)


def main(folder: Path) -> int:
    spec = load_spec(SPEC)
    steps, extra = counted(folder)
    peers = dialogues(folder, spec)
    original = Vault(vault_file(spec.supplier), load_key(spec, create=False)).tokens()
    rows = {original[row.record_id][0]: row for row in read_ledger(taskset_dir(spec.name) / "ledger.parquet")}
    bad = compared(steps, extra, peers, rows)
    kept, strict = {name for name, row in rows.items() if row.kept}, steps["strict"]
    covered = {name for name in kept if peers[name].step == "strict"}
    beyond = Counter(peers[name].step for name in kept - covered)
    met = len(covered) / strict >= 0.9 and len(kept) <= strict
    print(f"\nof the {strict} of the strict count {len(covered)} are tasks: {len(covered) / strict:.3f}, target 0.90 or more")
    sayable = {name for name, one in peers.items() if one.step == "strict" and not one.untraced}
    share = len(covered & sayable) / len(sayable)
    print(f"  {strict - len(sayable)} rest on a listed value, which funnel.py does not look at, and no turn holds a trace of it")
    print(f"  of the other {len(sayable)} {len(covered & sayable)} are tasks: {share:.3f}")
    print(f"  tasks with a listed value of which no turn holds a trace: {len(covered - sayable)}")
    excluded = ", ".join(f"{step} {count}" for step, count in sorted(beyond.items())) or "none"
    print(f"tasks that the strict count excludes: {beyond.total()} ({excluded})")
    print(f"tasks in all: {len(kept)} of {strict}, {len(kept) / strict:.3f}, target at most 1.00{'' if met else '   MISS'}")
    return 0 if met and not bad and set(rows) == set(peers) else 1


def compared(
    steps: Mapping[str, int], extra: Mapping[str, int], peers: Mapping[str, Dialogue], rows: Mapping[str, LedgerRow]
) -> int:
    """Prints the comparison; the number of bounds missed."""
    mine = Counter(one.step for one in peers.values())
    lost = [before - after for before, after in zip(steps.values(), list(steps.values())[1:], strict=False)]
    unsaid = {name for name, one in peers.items() if one.unsaid}
    unchecked = {name for name, one in peers.items() if one.unchecked}
    agree = [mine[step] for step in STEPS] == lost and (len(unsaid), len(unchecked)) == (
        extra["ungrounded"],
        extra["booked_without_check"],
    )
    print(f"steps read again as funnel.py counts them: {'yes' if agree else 'NO'}")
    reasons = sorted(
        {row.reason for row in rows.values()}, key=lambda r: (r not in STEPS, STEPS.index(r) if r in STEPS else 0, r)
    )
    cells = Counter((one.step, rows[name].reason) for name, one in peers.items())
    print(f"{'funnel.py drops':<20}{'':>6}  the ledger says")
    for step in (*STEPS, "strict"):
        row = ", ".join(f"{reason} {cells[step, reason]}" for reason in reasons if cells[step, reason])
        print(f"{step:<20}{mine[step]:>6}  {row}")
    by_values = {name for name, row in rows.items() if row.reason in ("underivable", "off_system")}
    by_rule = {name for name, row in rows.items() if row.reason == "breaks_rule"}
    values = {
        name: why_unsaid_is_shown(one, rows[name]) if one.unsaid else why_said_is_not_shown(one, rows[name].detail)
        for name, one in peers.items()
    }
    acts = {
        name: why_unchecked_is_kept(one, rows[name]) if one.unchecked else why_checked_breaks(one) for name, one in peers.items()
    }
    explained = [
        against("arguments never said, found as underivable", unsaid, by_values, values),
        against("bookings without a check, found as breaks_rule", unchecked, by_rule, acts),
    ]
    return (not agree) + sum(not one for one in explained)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("../shared/real/star"), help="the archives and funnel.py")
    asked = parser.parse_args()
    run_command(lambda: main(asked.folder))
