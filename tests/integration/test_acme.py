"""The smallest export, as the README says to build it; then the two mistakes that a newcomer makes with such a spec."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import deid.run
import ingest.run
from schemas.files import read_json
from schemas.paths import taskset_dir
from schemas.spec import Spec, load_spec
from schemas.taskset import open_taskset
from tasks.build import build, summary
from tasks.explain import explain
from tasks.ledger import read_ledger
from tests.integration.test_readme import commands

KEY = "0123456789abcdef" * 4
"""Which organisations are held out follows from the tokens, and these from the key."""


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Iterator[tuple[Spec, Path, Path]]:
    """(spec, its file, export), ingested and pseudonymised; data, home and key stay set for all tests of the module."""
    root = tmp_path_factory.mktemp("acme")
    made, key, built = commands("Your own export")
    assert "openssl rand -hex 32" in key
    assert built == "make ingest deid build-tasks SPEC=samples/acme/acme_v1.toml EXPORT=data/raw/acme"
    command = made.replace(".venv/bin/python", sys.executable).removesuffix(" data/raw/acme") + f" {root / 'acme'}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDGYM_DATA", str(root / "data"))
        patch.setenv("RECORDGYM_HOME", str(root / "home"))
        patch.setenv("RECORDGYM_TOKEN_KEY", KEY)
        subprocess.run(command, shell=True, check=True, cwd=repo_root, capture_output=True)
        file = repo_root / "samples" / "acme" / "acme_v1.toml"
        yield prepared(file, root / "acme"), file, root / "acme"


def prepared(file: Path, export: Path) -> Spec:
    ingest.run.ingest(file, export, workers=1, quiet=True)
    spec = load_spec(file)
    deid.run.run(spec, workers=1, quiet=True)
    return spec


def test_ten_tickets_become_certified_tasks_on_both_sides(acme: tuple[Spec, Path, Path]) -> None:
    spec, _, _ = acme
    result = build(spec, workers=1, quiet=True)
    told = summary(result)
    assert result.sound, told
    train, held = open_taskset(result.folder, "train"), open_taskset(result.folder, "heldout")
    assert len(train.tasks) + len(held.tasks) >= 8
    assert train.tasks
    assert held.tasks
    assert "in no state" not in told
    assert "suspect" not in told
    assert "floor: an agent that looks everywhere and reads nothing" in told
    assert "orders" in explain(spec.name, next(iter(train.tasks)), None)


def varied(file: Path, folder: Path, old: str, new: str, name: str) -> Path:
    text = file.read_text(encoding="utf-8")
    assert old in text
    path = folder / f"{name}.toml"
    path.write_text(text.replace(old, new).replace('name = "acme_v1"', f'name = "{name}"'), encoding="utf-8")
    return path


def findings(folder: Path) -> list[dict[str, Any]]:
    return list(read_json(folder / "report.json")["leaks"])


def test_a_set_without_anything_held_out_is_no_matter_of_the_canary(acme: tuple[Spec, Path, Path], tmp_path: Path) -> None:
    spec = load_spec(varied(acme[1], tmp_path, "share_of_groups = 0.3", "share_of_groups = 0", "all_train"))
    result = build(spec, workers=1, quiet=True)
    assert result.counts["heldout"] == 0
    assert not (result.folder / "heldout" / "tasks.jsonl").read_text(encoding="utf-8")
    assert [f["verdict"] for f in findings(result.folder) if f["check"] == "canary"] == ["passed"]
    assert "0 held out: the spec holds nothing out" in result.verdict
    assert result.sound, result.verdict


def test_orders_that_belong_to_nobody_are_named_with_the_option_that_says_whose_they_are(
    acme: tuple[Spec, Path, Path], tmp_path: Path
) -> None:
    file = varied(acme[1], tmp_path, 'organisation = "org_no" #', "#", "of_nobody")
    spec = prepared(file, acme[2])
    result = build(spec, workers=1, quiet=True)
    rows = read_ledger(taskset_dir(spec.name) / "ledger.parquet")
    assert {row.reason for row in rows} == {"underivable"}
    assert all("get_order refused: no such order; the state holds 0 orders.order" in row.detail for row in rows)
    assert "the state holds 0 orders.order" in explain(spec.name, rows[0].record_id, None)
    assert not result.sound
    assert result.verdict.splitlines()[1].strip() == "0 tasks are held out (no record became a task: underivable 10)"
    line = "orders.order: none of its 10 records is in any task's state: none says whose it is; set "
    assert line + "sources.shop.options.tables.orders.organisation (or .parent)" in summary(result)
    screen = read_json(result.folder / "report.json")["screen"]["cancel"]
    assert (screen["rules"], screen["rules_written"]) == (3, True)
