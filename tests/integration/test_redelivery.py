"""The export comes in three growing parts, under one key: nothing held out ever moves, and what is gone or dropped is explained.

Part 1 ends with the sixth month, part 2 with the ninth, part 3 holds the year. Between them a task vanishes and comes again, a
record is edited, an organisation appears, and tickets that were open are decided.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import deid.run
import ingest.run
from deid.tokens import load_key
from deid.vault import Vault
from samples.publish import make_sample
from samples.settings import Settings
from schemas.files import read_json, read_models, write_text
from schemas.paths import data_dir, raw_dir, taskset_dir, vault_file
from schemas.spec import Spec, load_spec
from schemas.task import LedgerRow, TaskSpec
from tasks.build import build
from tasks.explain import explain
from tasks.ledger import read_ledger

TICKETS = 110
ENDS = ("2025-07-01", "2025-10-01", "2026-06-01")
"""First day that a part no longer holds."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a build of one part left; ids are tokens, which are the same in each part."""

    splits: dict[str, Any]
    tasks: dict[str, TaskSpec]
    side: dict[str, str]
    """Task -> folder that its row stands in."""
    ledger: dict[str, LedgerRow]
    report: dict[str, Any]
    sound: bool
    explained: dict[str, str]
    """Id that is gone -> what `tasks explain` says of it."""


def rows_of(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Rows of an export's pages that are whole JSON; the sample plants some that are not."""
    for path in sorted((folder / "helpdesk").glob(f"{name}-*.ndjson")):
        for line in path.read_bytes().splitlines():
            try:
                yield json.loads(line)
            except (UnicodeDecodeError, json.JSONDecodeError):
                continue


def write_part(full: Path, out: Path, end: str, *, without: set[int], edited: set[int]) -> None:
    """The export as it would have been at `end`: earlier tickets and audits, and the history by then. The list of people is whole
    in each part: who is told to be whom changes with what is known of them, and that is not what is tested here."""
    tickets = [t for t in rows_of(full, "tickets") if t["created_at"] < end and t["id"] not in without]
    ids = {t["id"] for t in tickets}
    audits = [a for a in rows_of(full, "ticket_audits") if a["ticket_id"] in ids and a["created_at"] < end]
    for audit in audits:
        for event in audit["events"] if audit["ticket_id"] in edited else ():
            if event["type"] == "Comment":
                event["body"] = event["plain_body"] = f"{event['plain_body']}\n\nPlease excuse the trouble."
    kept: dict[str, list[dict[str, Any]]] = {
        "tickets": tickets,
        "ticket_audits": audits,
        "users": list(rows_of(full, "users")),
        "organizations": list(rows_of(full, "organizations")),
        "ticket_metrics": [m for m in rows_of(full, "ticket_metrics") if m["ticket_id"] in ids],
        "satisfaction_ratings": [r for r in rows_of(full, "satisfaction_ratings") if r["ticket_id"] in ids],
    }
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(full, out, ignore=shutil.ignore_patterns("*.ndjson", ".lock"))
    for name, rows in kept.items():
        write_text(out / "helpdesk" / f"{name}-0001.ndjson", "".join(json.dumps(row) + "\n" for row in rows))
    with sqlite3.connect(out / "orders" / "orders.sqlite") as database:
        for (table,) in database.execute("select name from sqlite_master where name like '%\\_history' escape '\\'").fetchall():
            database.execute(f"delete from {table} where recorded_at >= ?", (end,))
            current = table.removesuffix("_history")
            key = database.execute(f"select name from pragma_table_info('{current}') where pk").fetchone()[0]
            database.execute(f"delete from {current} where {key} not in (select record_no from {table})")


def deliver(spec: Spec, spec_file: Path, part: Path) -> Delivery:
    ingest.run.ingest(spec_file, part, workers=1, quiet=True)
    deid.run.run(spec, workers=1, quiet=True)
    result = build(spec, workers=1, quiet=True)
    folder = taskset_dir(spec.name)
    rows = {s: list(read_models(folder / s / "tasks.jsonl", TaskSpec)) for s in ("train", "heldout")}
    splits = read_json(folder / "splits.json")
    return Delivery(
        splits=splits,
        tasks={t.task_id: t for tasks in rows.values() for t in tasks},
        side={t.task_id: side for side, tasks in rows.items() for t in tasks},
        ledger={row.record_id: row for row in read_ledger(folder / "ledger.parquet")},
        report=read_json(folder / "report.json"),
        sound=result.sound,
        explained={task_id: explain(spec.name, task_id, None) for task_id in splits["gone"]},
    )


@dataclass(frozen=True, slots=True)
class Deliveries:
    parts: tuple[Delivery, Delivery, Delivery]
    vanished: set[str]
    """Tasks of part 1 that part 2 lacks and part 3 has again."""
    edited: set[str]
    """Tasks whose record reads otherwise from part 2 on."""
    newcomers: set[str]
    """Candidates of the organisation that only part 3 has."""


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Iterator[Deliveries]:
    root = tmp_path_factory.mktemp("redelivery")
    spec_file = repo_root / "tasks" / "specs" / "helpdesk_v1.toml"
    spec = load_spec(spec_file)
    spec = spec.model_copy(update={"holdout": spec.holdout.model_copy(update={"min_per_slice": 3})})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDGYM_DATA", str(root / "data"))
        patch.setenv("RECORDGYM_HOME", str(root / "home"))
        full, part = raw_dir("sample"), root / "part"
        make_sample(Settings(tickets=TICKETS), full, data_dir() / "truth" / "sample")
        organisations = Counter(t["organization_id"] for t in rows_of(full, "tickets") if t["created_at"] < ENDS[0])
        late = sorted(name for name in organisations if name)[0]
        newcomers = {t["id"] for t in rows_of(full, "tickets") if t["organization_id"] == late}

        write_part(full, part, ENDS[0], without=newcomers, edited=set())
        first = deliver(spec, spec_file, part)
        vault = Vault(vault_file(spec.supplier), load_key(spec, create=False))
        ticket = {t: int(vault.originals(t)[0]) for t in first.tasks}
        by_slice = {s: sorted(t for t, row in first.tasks.items() if row.slice == s) for s in ("train", "unseen_organisations")}
        vanished = {by_slice["train"][0], by_slice["unseen_organisations"][0]}
        edited = {by_slice["train"][1], by_slice["unseen_organisations"][1]}
        changed = {ticket[t] for t in edited}

        write_part(full, part, ENDS[1], without=newcomers | {ticket[t] for t in vanished}, edited=changed)
        second = deliver(spec, spec_file, part)
        write_part(full, part, ENDS[2], without=set(), edited=changed)
        third = deliver(spec, spec_file, part)
        tokens = {t for t in third.ledger if int(vault_again(spec).originals(t)[0]) in newcomers}
        yield Deliveries((first, second, third), vanished, edited, tokens)


def vault_again(spec: Spec) -> Vault:
    return Vault(vault_file(spec.supplier), load_key(spec, create=False))


def test_no_id_of_an_earlier_delivery_moves(delivered: Deliveries) -> None:
    for before, after in zip(delivered.parts, delivered.parts[1:], strict=False):
        assert len(before.splits["tasks"]) < len(after.splits["tasks"])
        for task_id, entry in before.splits["tasks"].items():
            assert after.splits["tasks"][task_id]["slice"] == entry["slice"], task_id
            if task_id in after.tasks:
                assert after.tasks[task_id].slice == entry["slice"]
                assert (after.side[task_id] == "train") == (entry["slice"] == "train")


def test_boundary_embargo_and_groups_stay(delivered: Deliveries) -> None:
    first, second, third = (d.splits for d in delivered.parts)
    for later in (second, third):
        for what in ("boundary_us", "embargo_us", "group_share"):
            assert later[what] == first[what]
        assert set(first["groups"]) <= set(later["groups"])
        assert not set(later["groups"]) - set(first["groups"]) & set(first["seen_groups"]), (
            "no group that was seen becomes held out"
        )


def test_what_comes_after_the_boundary_is_never_for_training(delivered: Deliveries) -> None:
    first, _, third = delivered.parts
    new = [t for t in third.tasks if t not in first.splits["tasks"]]
    boundary = third.report["holdout"]["boundary"]
    late = [t for t in new if third.tasks[t].started_at >= boundary]
    assert len(late) >= 10
    assert {third.tasks[t].slice for t in late} <= {"unseen_months", "both"}


def test_every_id_that_is_gone_or_dropped_is_explained(delivered: Deliveries) -> None:
    for before, after in zip(delivered.parts, delivered.parts[1:], strict=False):
        for task_id in set(before.splits["tasks"]) - set(after.tasks):
            reason = after.splits["gone"][task_id]
            row = after.ledger.get(task_id)
            assert reason == (row.reason if row is not None else "not in the export")
            assert f": {reason}" in after.explained[task_id]
        assert sum(after.report["holdout"]["ids_of_earlier_builds_not_in_this_one"].values()) == len(after.splits["gone"])
        for task_id, reason in before.splits["dropped"].items():
            assert after.splits["dropped"][task_id] == reason
            assert task_id not in after.tasks


def test_a_task_that_vanishes_comes_again_where_it_stood(delivered: Deliveries) -> None:
    first, second, third = delivered.parts
    for task_id in delivered.vanished:
        assert task_id not in second.tasks
        assert second.splits["gone"][task_id] == "not in the export"
        assert third.tasks[task_id].slice == first.tasks[task_id].slice
        assert without_people(third.tasks[task_id]) == without_people(first.tasks[task_id])


def without_people(task: TaskSpec) -> str:
    """What the task opens with; a first name alone may be told to be another person's once more is known of who takes part."""
    return re.sub(r"PERSON_[0-9A-F]{8}", "PERSON", task.opening.model_dump_json())


def test_a_changed_record_keeps_its_slice_and_no_content_changes_silently(delivered: Deliveries) -> None:
    for before, after in zip(delivered.parts, delivered.parts[1:], strict=False):
        both = set(before.splits["tasks"]) & set(after.tasks)
        was, now = before.splits["tasks"], after.splits["tasks"]
        changed = {t for t in both if was[t]["shown_sha256"] != now[t]["shown_sha256"]}
        assert changed == set(after.splits["changed"])
        assert after.report["holdout"]["content_changed_since_the_build_before"] == len(changed)
        assert len(changed) <= len(both) // 3, "source references, which each delivery has anew, change no content"
    first, second, _ = delivered.parts
    edited = delivered.edited & set(second.tasks)
    assert edited
    assert edited <= set(second.splits["changed"])
    for task_id in edited:
        assert without_people(second.tasks[task_id]) != without_people(first.tasks[task_id])
    for task_id in set(first.tasks) & set(second.tasks) - edited:
        assert without_people(second.tasks[task_id]) == without_people(first.tasks[task_id])


def test_an_organisation_that_is_new_stands_on_one_side(delivered: Deliveries) -> None:
    third = delivered.parts[2]
    mine = [third.tasks[t] for t in delivered.newcomers if t in third.tasks]
    assert mine
    slices = {task.slice for task in mine}
    assert slices <= {"train", "unseen_months"} or slices <= {"unseen_organisations", "both"}


def test_no_delivery_has_a_cluster_or_a_group_on_both_sides(delivered: Deliveries) -> None:
    for part in delivered.parts:
        crossing = [
            (row["what"], name)
            for row in part.report["overlaps"]
            for name, cell in row["slices"].items()
            if cell["tasks"] and not cell["allowed"]
        ]
        assert not crossing
        assert all("cluster" in part.splits["tasks"][t] for t in part.tasks)
