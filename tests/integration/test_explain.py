"""A small sample to drafts: every value that an agent can see is explained, and the order of rows changes nothing."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import deid.run
import ingest.run
from deid.tokens import load_key
from deid.vault import Vault
from environments.agents import ReferenceAgent, run_episode
from environments.episode import Episode
from pipeline.tables import write_table
from rewards.score import Grader
from samples.publish import make_sample
from samples.settings import Settings
from schemas.errors import StageError
from schemas.files import read_models, sha256_file, write_json, write_models
from schemas.paths import clean_dir, raw_dir, taskset_dir, vault_file
from schemas.spec import Spec, load_spec
from schemas.task import LedgerRow
from schemas.taskset import SideManifest, TaskSet
from tasks.build import _draft_shards
from tasks.draft import work_shard
from tasks.explain import WARNING, explain
from tasks.explain_values import RESERVED, Value, values
from tasks.ledger import write_ledger
from tasks.shard import Draft

TICKETS = 60
WALKED = 8
"""Tasks whose values are all walked."""


@pytest.fixture(scope="module")
def spec(repo_root: Path) -> Spec:
    return load_spec(repo_root / "tasks" / "specs" / "helpdesk_v1.toml")


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory, spec: Spec, repo_root: Path) -> Iterator[list[Draft]]:
    """Drafts of a small sample, laid out as a task set (not certified: explaining needs no certificates)."""
    root = tmp_path_factory.mktemp("explain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDGYM_DATA", str(root / "data"))
        patch.setenv("RECORDGYM_HOME", str(root / "home"))
        make_sample(Settings(tickets=TICKETS), raw_dir("sample"), root / "truth")
        ingest.run.ingest(repo_root / "tasks" / "specs" / "helpdesk_v1.toml", raw_dir("sample"), workers=1, quiet=True)
        deid.run.run(spec, workers=1, quiet=True)
        folder = taskset_dir(spec.name)
        work_drafts(spec, clean_dir("sample"), folder)
        drafts = list(read_models(folder / "drafts.jsonl", Draft))
        for side, lines in (("train", drafts), ("heldout", [])):
            write_models(folder / side / "tasks.jsonl", [d.task for d in lines])
            write_models(folder / side / "answers.jsonl", [d.answer for d in lines])
            manifest = SideManifest(taskset=spec.name, side=side, tasks=len(lines), files={}, ids={})  # type: ignore[arg-type]
            write_json(folder / side / "manifest.json", manifest.model_dump(mode="json"))
        write_json(folder / "manifest.json", {})
        write_json(folder / "splits.json", {"tasks": {}, "gone": {}})
        rows = list(read_models(folder / "ledger.jsonl", LedgerRow))
        write_ledger(folder / "ledger.parquet", rows)
        yield drafts


def work_drafts(spec: Spec, source: Path, out: Path) -> list[str]:
    """Runs the shards of the draft stage, here one; returns what identifies each."""
    shards = _draft_shards(spec, source)
    assert len(shards) == 1
    work_shard(shards[0].payload, out)
    return [shard.key for shard in shards]


def opened(spec: Spec) -> TaskSet:
    manifest = SideManifest(taskset=spec.name, side="train", tasks=0, files={}, ids={})
    return TaskSet(taskset_dir(spec.name), "train", manifest, {}, {"ask": {}, "tell": {}})


def sort_of(value: Value) -> str:
    """What sort of value a path names: its system, kind and field, without the ids."""
    parts = value.path.split("/")
    if parts[0] in RESERVED:
        return "/".join((parts[0], *(parts[1:2] if parts[0] == "opening" else ()), "null" if value.value is None else ""))
    return "/".join((*parts[:2], *parts[3:4], *parts[5:], "null" if value.value is None else ""))


def test_every_value_of_a_task_rests_on_a_row_a_declaration_or_a_reason(drafted: list[Draft], spec: Spec) -> None:
    taskset = opened(spec)
    vault = Vault(vault_file(spec.supplier), load_key(spec, create=False))
    places: dict[str, Any] = {}
    sorts = set()
    for draft in drafted[:WALKED]:
        for value in values(taskset, draft.task):
            assert value.explained, value
            sorts.add(sort_of(value).split("/", 1)[0])
            for reference in value.references:
                places.setdefault(reference, vault.place(reference))
    assert {"opening", "requester", "policies", "rules", "systems", "helpdesk", "orders", "accounts", "payments"} <= sorts
    assert places
    assert None not in places.values()


def test_explain_answers_for_each_sort_of_value(drafted: list[Draft], spec: Spec) -> None:
    taskset = opened(spec)
    asked: set[str] = set()
    for draft in drafted[:WALKED]:
        for value in values(taskset, draft.task):
            if (sort := sort_of(value)) in asked:
                continue
            asked.add(sort)
            told = explain(
                spec.name, draft.task.task_id, value.path, originals=False, resolve=lambda reference: f"at {reference}"
            )
            assert told.startswith(f"{value.path}\n  the agent sees ")
            assert "NOT EXPLAINED" not in told
            assert re.search(r"\n  (?:because|declared|export) ", told), told
    # Each sort of value that the brief of explain names came up.
    for sort in ("helpdesk/ticket/messages/text/", "requester/", "policies/", "rules/", "systems/", "opening/contact/"):
        assert sort in asked
    assert any(sort.endswith("/null") for sort in asked)


def test_a_message_leads_to_its_own_line(drafted: list[Draft], spec: Spec) -> None:
    taskset = opened(spec)
    vault = Vault(vault_file(spec.supplier), load_key(spec, create=False))
    texts = [v for d in drafted for v in values(taskset, d.task) if re.search(r"/messages/\d+/text$", v.path)]
    assert texts
    raw = {
        path.relative_to(raw_dir("sample")).as_posix(): path.read_bytes().split(b"\n")
        for path in raw_dir("sample").glob("helpdesk/*")
    }
    by_place: dict[tuple[str, str], set[str]] = {}
    for value in texts:
        place = vault.place(value.references[0])
        assert place is not None
        by_place.setdefault(place, set()).add(value.value)
        line, event = re.fullmatch(r"line:(\d+)#events/(\d+)", place[1]).groups()  # type: ignore[union-attr]
        assert json.loads(raw[place[0]][int(line) - 1])["events"][int(event)]["type"] == "Comment"
    assert all(len(said) == 1 for said in by_place.values())


COMPUTED = ("line_total_minor",)
"""What a tool works out from the fields that it shows beside it."""


def shown(observations: list[str]) -> set[str]:
    """Every text and number that stands in an observation."""
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                if name not in COMPUTED:
                    walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            found.add(str(value))

    for text in observations:
        walk(json.loads(text))
    return found


OWN_WORDS = re.compile(r"\d{1,2}|[A-Z]+_0{5}\d{3}|solved|approved|denied|active|cancelled")
"""What tools say of themselves: pages and counts, ids that they make, and the states that an act leads to."""


def test_what_an_agent_is_shown_in_an_episode_is_among_the_values_that_are_explained(drafted: list[Draft], spec: Spec) -> None:
    taskset, unexplained = opened(spec), []
    for draft in drafted[:WALKED]:
        taskset.tasks[draft.task.task_id] = draft.task
        grader = Grader(taskset, {draft.task.task_id: draft.answer})
        trace = run_episode(
            Episode(taskset, grader), ReferenceAgent(draft.answer.reference), draft.task.task_id, name="reference"
        )
        known = {str(v.value) for v in values(taskset, draft.task)}
        known |= {str(a) for step in draft.answer.reference for a in step.call.arguments.values()}
        known |= {name for p in taskset.policies(draft.task) for name in (p.document, *(c.clause for c in p.clauses))}
        answers = " ".join(v for v in known if len(v) > 2)
        for text in shown([o.text for o in trace.observations]) - known:
            stamped = re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", text) and text >= draft.task.started_at
            own = OWN_WORDS.fullmatch(text) or stamped
            if not own and not _of_several(text, answers):
                unexplained.append(text)
    assert not unexplained


def _of_several(text: str, answers: str) -> bool:
    """A reply of the requester may put several facts together; each word of it is one's."""
    words = set(answers.split())
    return all(word in words for word in text.split())


def test_originals_of_people_are_shown_only_after_saying_so(
    drafted: list[Draft], spec: Spec, tmp_path: Path, repo_root: Path
) -> None:
    task_id = drafted[0].task.task_id
    vault = Vault(vault_file(spec.supplier), load_key(spec, create=False))

    def resolve(what: str) -> str:
        place = vault.place(what)
        return f"{place[0]}:{place[1]}" if place else " | ".join(vault.originals(what))

    original = vault.originals(drafted[0].task.opening.requester_name)[0]
    sample = repo_root / "tasks" / "specs" / "helpdesk_v1.toml"
    real = tmp_path / "real.toml"
    real.write_text(sample.read_text().replace("sample = true", "sample = false", 1))
    told = explain(spec.name, task_id, "opening/requester_name", spec=real, resolve=resolve)
    assert told.startswith(WARNING)
    assert original in told.partition(WARNING)[2]
    for path, file, lacks in (
        ("opening/received_at", real, "no original in it"),
        ("opening/requester_name", sample, "the sample's people are made up"),
    ):
        assert "PERSONAL DATA" not in explain(spec.name, task_id, path, spec=file, resolve=resolve), lacks
    locked = explain(spec.name, task_id, "opening/requester_name", spec=real, resolve=lambda _: "not resolved here: no key")
    assert "PERSONAL DATA" not in locked
    quiet = explain(spec.name, task_id, "opening/requester_name", resolve=resolve, originals=False)
    assert WARNING not in quiet
    assert original not in quiet
    assert "helpdesk/users-" in quiet


def test_unknown_names_are_met_with_the_nearest(drafted: list[Draft], spec: Spec) -> None:
    task = drafted[0].task
    with pytest.raises(StageError, match="did you mean 'helpdesk_v1'"):
        explain("helpdesk_v", None, None)
    with pytest.raises(StageError, match=f"did you mean '{task.task_id}'"):
        explain(spec.name, task.task_id[:-1] + "~", None)
    with pytest.raises(StageError, match="did you mean text"):
        explain(spec.name, task.task_id, "opening/txt")
    with pytest.raises(StageError, match="did you mean orders"):
        explain(spec.name, task.task_id, "order/order/x")
    with pytest.raises(StageError, match="there: ") as sorts:
        explain(spec.name, task.task_id, "zzz/x")
    for sort in ("opening", "orders", "policies", "requester", "rules", "systems"):
        assert sort in str(sorts.value), "each sort of value is listed"
    assert "values:" in explain(spec.name, task.task_id, "policies")


@pytest.mark.parametrize("own", ["100", "3610001", "A-100001"])
def test_the_suppliers_own_number_is_met_with_how_a_pseudonym_is_looked_up(drafted: list[Draft], spec: Spec, own: str) -> None:
    with pytest.raises(StageError, match="ids are pseudonyms like TICKET_") as told:
        explain(spec.name, own, None)
    assert f"python -m deid resolve --spec FILE {drafted[0].task.task_id}" in str(told.value)
    assert "\n" not in str(told.value)


def test_the_list_comes_at_once(drafted: list[Draft], spec: Spec, repo_root: Path) -> None:
    """No model and no table library is loaded for it."""
    code = "import sys; from tasks.__main__ import main; main(['explain', 'helpdesk_v1']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=repo_root)
    listed, modules = done.stdout.rsplit("\n", 2)[:2]
    assert f"train: {len(drafted)} tasks" in listed
    for heavy in ("'pydantic'", "'polars'", "'duckdb'", "'pandas'"):
        assert heavy not in modules
    started = time.process_time()
    explain(spec.name, None, None)
    assert time.process_time() - started < 1


def test_the_order_of_rows_changes_no_draft(drafted: list[Draft], spec: Spec, tmp_path: Path) -> None:
    """The events shuffled, and over other files: the same drafts, ledger and contents, byte by byte."""
    assert drafted
    source = clean_dir("sample")
    events = pl.concat([pl.read_parquet(path) for path in sorted((source / "events").glob("*.parquet"))])
    digests = []
    for seed in range(3):
        mixed = tmp_path / f"clean{seed}"
        for path in source.iterdir():
            if path.is_file():
                (mixed / path.name).parent.mkdir(exist_ok=True)
                (mixed / path.name).write_bytes(path.read_bytes())
        order = list(range(events.height)) if seed == 0 else random.Random(seed).sample(range(events.height), events.height)
        parts = 1 + seed
        for part in range(parts):
            write_table(events[order[part::parts]], mixed / "events" / f"part-{part:04d}.parquet")
        names = work_drafts(spec, mixed, tmp_path / f"out{seed}")
        files = {
            p.relative_to(tmp_path / f"out{seed}").as_posix(): sha256_file(p)
            for p in sorted((tmp_path / f"out{seed}").rglob("*"))
            if p.is_file()
        }
        digests.append((names, files))
    assert "drafts.jsonl" in digests[0][1]
    assert digests[1] == digests[0]
    assert digests[2] == digests[0]
