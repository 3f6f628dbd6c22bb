"""A small sample through all stages to certified tasks: what is kept, what is dropped and why; a build is restartable."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import deid.run
import ingest.run
from deid.tokens import load_key
from deid.vault import Vault
from pipeline.stage import WORK
from samples.publish import make_sample
from samples.settings import Settings
from schemas.files import read_models, sha256_file
from schemas.paths import data_dir, raw_dir, taskset_dir, vault_file
from schemas.spec import Spec, load_spec
from schemas.task import Answer, TaskSpec
from schemas.taskset import open_taskset
from tasks.build import build
from tasks.certified import drafts_dir
from tasks.explain import explain
from tasks.ledger import read_ledger
from tasks.verify import verify

TICKETS = 120


@pytest.fixture(scope="module")
def spec(repo_root: Path) -> Spec:
    return load_spec(repo_root / "tasks" / "specs" / "helpdesk_v1.toml")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, spec: Spec, repo_root: Path) -> Any:
    """The folder of the task set; the module's own data and home stay set for all its tests."""
    root = tmp_path_factory.mktemp("tasks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDGYM_DATA", str(root / "data"))
        patch.setenv("RECORDGYM_HOME", str(root / "home"))
        make_sample(Settings(tickets=TICKETS), raw_dir("sample"), data_dir() / "truth" / "sample")
        spec_file = repo_root / "tasks" / "specs" / "helpdesk_v1.toml"
        ingest.run.ingest(spec_file, raw_dir("sample"), workers=1, quiet=True)
        deid.run.run(spec, workers=1, quiet=True)
        build(spec, workers=1, quiet=True)
        yield taskset_dir(spec.name)


def originals(spec: Spec) -> dict[str, str]:
    vault = Vault(vault_file(spec.supplier), load_key(spec, create=False))
    return {row.record_id: vault.originals(row.record_id)[0] for row in read_ledger(taskset_dir(spec.name) / "ledger.parquet")}


def digests(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): sha256_file(p)
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name not in ("timings.json", ".lock")
    }


def test_the_task_set_opens_on_both_sides_with_certificates_that_hold(built: Path) -> None:
    train, held = open_taskset(built, "train"), open_taskset(built, "heldout")
    assert len(train.tasks) + len(held.tasks) >= TICKETS // 2
    assert {task.slice for task in train.tasks.values()} == {"train"}
    assert "train" not in {task.slice for task in held.tasks.values()}
    assert not set(train.tasks) & set(held.tasks)


def test_what_a_build_writes_is_verified_from_its_folder_alone(built: Path, tmp_path: Path) -> None:
    """A task of each side: that the whole set is verified is test_verify's, on a set laid out by hand."""
    elsewhere = Path(shutil.copytree(built, tmp_path / "copied"))
    for side in ("train", "heldout"):
        task_id = next(iter(open_taskset(elsewhere, side).tasks))  # type: ignore[arg-type]
        found = verify(elsewhere, task=task_id, workers=1, quiet=True)
        assert (found.tasks, found.hold, found.faults) == (1, 1, [])


def test_what_a_decision_demands_to_be_read_does_not_tell_the_decision(built: Path) -> None:
    demanded = {"goodwill": {"get_account", "list_credits"}, "refund": {"get_order", "get_account"}, "cancel": {"get_order"}}
    counted: dict[tuple[str, str], int] = {}
    for side in ("train", "heldout"):
        tasks = {task.task_id: task for task in read_models(built / side / "tasks.jsonl", TaskSpec)}
        for answer in read_models(built / side / "answers.jsonl", Answer):
            workflow = tasks[answer.task_id].workflow
            if workflow in demanded:
                counted[workflow, answer.outcome_class] = counted.get((workflow, answer.outcome_class), 0) + 1
                assert demanded[workflow] <= {step.call.tool for step in answer.reference}, answer.task_id
    assert set(counted) == {(workflow, decision) for workflow in demanded for decision in ("grant", "refuse")}


def test_the_canary_stands_in_every_held_out_file_and_in_no_other(built: Path) -> None:
    canary = json.loads((built / "heldout" / "manifest.json").read_text())["canary"]
    for path in built.rglob("*"):
        if path.is_file() and path.suffix in (".json", ".jsonl", ".html"):
            assert (canary in path.read_text(encoding="utf-8")) == (path.parent.name == "heldout"), path


def test_the_ledger_holds_every_ticket_once_and_truth_agrees_with_its_reasons(built: Path, spec: Spec) -> None:
    truth = {
        t["ticket_id"]: t for t in map(json.loads, (data_dir() / "truth" / "sample" / "tickets.jsonl").read_text().splitlines())
    }
    names = originals(spec)
    rows = {names[row.record_id]: row for row in read_ledger(built / "ledger.parquet")}
    assert len(rows) == len(names)
    clean = [t for t in truth.values() if t["clean"]]
    lost = [t for t in clean if rows[t["ticket_id"]].reason not in ("kept", "embargo", "near_duplicate")]
    assert len(lost) <= len(clean) // 20
    unsolvable = [t for t in truth.values() if not t["solvable"] and t["unsolvable_reason"] != "broken_line"]
    through = [
        (t["ticket_id"], t["unsolvable_reason"]) for t in unsolvable if t["ticket_id"] in rows and rows[t["ticket_id"]].kept
    ]
    assert not through


def test_what_a_leaking_record_taught_is_unlearnt_and_the_rest_certified_anew(
    built: Path, spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two training records that share a sentence of their own: it becomes a form, until both are found to leak."""
    from tasks import certified, settled
    from tasks.leaks import Finding, LeakInput

    by_code: dict[str, list[str]] = {}
    for answer in read_models(built / "train" / "answers.jsonl", Answer):
        by_code.setdefault(answer.outcome.code, []).append(answer.task_id)
    leaking = next(ids[:2] for ids in by_code.values() if len(ids) > 1)
    sentence = "Seventeen grey herons approved this already."
    shutil.copytree(data_dir(), tmp_path / "data", ignore=shutil.ignore_patterns("raw", "records"))
    monkeypatch.setenv("RECORDGYM_DATA", str(tmp_path / "data"))
    shutil.rmtree(taskset_dir(spec.name))
    teach, seen = certified.teach, []

    def taught(decided: Any, spec: Spec, train: Any) -> None:
        said = [d.model_copy(update={"closing": sentence}) if d.task.task_id in leaking else d for d in train]
        teach(decided, spec, said)

    def check(data: LeakInput, *args: Any, **more: Any) -> list[Finding]:
        seen.append(sentence in str(data.forms))
        there = tuple(t.task_id for t in data.tasks if t.task_id in leaking)
        return [Finding("resolution_text", "failed", task_ids=there)] if there else [Finding("resolution_text", "passed")]

    monkeypatch.setattr(certified, "teach", taught)
    monkeypatch.setattr(settled, "teach", taught)
    monkeypatch.setattr(settled, "run_leaks", check)
    build(spec, workers=1, quiet=True)
    again = taskset_dir(spec.name)
    train = open_taskset(again, "train")
    assert seen == [True, False, False]
    assert sentence not in str(train.forms)
    assert not {*leaking} & {*train.tasks, *train.requester["learnt"]["fitted_on"]}
    assert {r.reason for r in read_ledger(again / "ledger.parquet") if r.record_id in leaking} == {"leak"}
    assert verify(again, task=next(iter(train.tasks)), workers=1, quiet=True).faults == []


def test_a_second_build_is_a_no_op(built: Path, spec: Spec) -> None:
    assert build(spec, workers=1, quiet=True).ran is False


def test_a_half_deleted_build_comes_back_to_the_same_bytes_with_other_workers(built: Path, spec: Spec) -> None:
    before = digests(built)
    (built / "stage.json").unlink()
    (built / "train" / "tasks.jsonl").write_text("half")
    shutil.rmtree(drafts_dir(spec.name))
    assert build(spec, workers=2, quiet=True).ran is True
    assert digests(built) == before
    assert not (built / WORK).exists()


def test_a_value_leads_back_to_the_line_of_the_export(built: Path, repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo_root)
    task_id = next(iter(open_taskset(built, "train").tasks))
    whole = explain(built.name, task_id, None)
    assert "reference" in whole
    assert "resolve(" in whole
    told = explain(built.name, task_id, "opening/text")
    assert "helpdesk/ticket_audits-" in told
    monkeypatch.setenv("RECORDGYM_HOME", str(built / "nowhere"))
    assert "only the vault and its key lead further" in explain(built.name, task_id, "opening/text")


def test_a_record_that_became_no_task_is_explained_by_the_ledger(built: Path) -> None:
    dropped = next(row for row in read_ledger(built / "ledger.parquet") if not row.kept)
    assert explain(built.name, dropped.record_id, None).startswith(f"{dropped.record_id} did not become a task: {dropped.reason}")
