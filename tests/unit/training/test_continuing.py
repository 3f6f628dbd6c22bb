"""Going on from a run on a newer task set: what is carried, what is refused, what is forgotten, and that no hold-out is lost."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from schemas.errors import StageError
from schemas.files import write_json
from schemas.taskset import open_taskset
from tests.reference_episodes import add_trajectories
from tests.taskset_cases import all_cases
from tests.taskset_factory import build_taskset
from training import audit, checkpoint, ppo
from training.carried import carried
from training.config import Config
from training.continuing import find
from training.corpus import read_trajectories
from training.evaluate import evaluate_run
from training.lab import prepare, run_folder
from training.report import write_report
from training.run_files import load_run
from training.sides import open_training_side, split_validation
from training.verdict import verdict

from .conftest import killed_at, parameters, read_rows, untimed

ONLY_OLD, ONLY_NEW, TRAINED_THEN_HELD = "small-damaged_refused", "small-late_grant", "small-double_grant"


def built(folder: Path, *, without: str = "", moved: dict[str, str] | None = None) -> Path:
    kept = tuple(case.key for case in all_cases() if f"small-{case.key}" != without)
    return add_trajectories(build_taskset(folder, cases=kept, moved=moved))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("deliveries")


@pytest.fixture(scope="module")
def first(root: Path) -> Iterator[Path]:
    """A finished run on the first delivery."""
    small = {"width": 32, "layers": 1, "heads": 2, "context": 384, "min_count": 1, "warm_epochs": 1, "iterations": 1}
    sizes = {"episodes": 4, "minibatch": 4, "microbatch": 4, "eval_every": 0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDGYM_DATA", str(root))
        yield ppo.train(Config(taskset=str(built(root / "old", without=ONLY_NEW)), run="first", quiet=True, **small, **sizes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def new(root: Path) -> Path:
    """The next delivery: one task is new, one is gone, and one that was trained on is held out."""
    return built(root / "new", without=ONLY_OLD, moved={TRAINED_THEN_HELD: "heldout"})


@pytest.fixture
def going_on(tiny: Config, first: Path, new: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Config:
    """The settings of the run that goes on, in a data folder of its own."""
    monkeypatch.setenv("RECORDGYM_DATA", str(tmp_path / "data"))
    return dataclasses.replace(tiny, taskset=str(new), continue_from=str(first))


@pytest.fixture
def copy(first: Path, tmp_path: Path) -> Path:
    """The first run, to be damaged."""
    return Path(shutil.copytree(first, tmp_path / "copy"))


def test_it_starts_from_the_last_policy_value_head_and_vocabulary_with_a_fresh_optimizer(going_on: Config, first: Path) -> None:
    folder = ppo.train(dataclasses.replace(going_on, iterations=0))
    _, state = checkpoint.load(folder, 0)
    assert any(name.startswith("value.") for name in state["policy"])
    for name, value in parameters(first).items():
        assert torch.equal(value, state["policy"][name]), name
    assert not state["optimizer"]["state"]
    assert (folder / "vocabulary.json").read_bytes() == (first / "vocabulary.json").read_bytes()
    warm = json.loads((folder / "warmstart.json").read_text())
    assert (warm["episodes"], warm["epochs"]) == (0, [])


def test_the_operator_is_told_what_is_carried_and_what_is_not(going_on: Config, capsys: pytest.CaptureFixture[str]) -> None:
    ppo.train(dataclasses.replace(going_on, iterations=0, quiet=False))
    told = capsys.readouterr().err
    for words in (
        "after iteration 1",
        "a new optimizer",
        "words of the new set are unknown",
        "1 held-out tasks",
        "replay: 2 of 8",
    ):
        assert words in told


def test_the_identity_of_a_run_holds_the_checkpoint_that_it_continues(going_on: Config, copy: Path) -> None:
    taskset = open_training_side(going_on.taskset)
    here = find(going_on, taskset)
    elsewhere = find(dataclasses.replace(going_on, continue_from=str(copy)), taskset)
    assert run_folder(going_on, taskset, here) == run_folder(going_on, taskset, elsewhere)
    other = dataclasses.replace(here, sha256="0" * 64)
    assert run_folder(going_on, taskset, other) != run_folder(going_on, taskset, here)


def test_a_killed_continuation_goes_on_to_the_same_bits(going_on: Config, repo_root: Path) -> None:
    unbroken = ppo.train(dataclasses.replace(going_on, run="unbroken"))
    killed = killed_at(dataclasses.replace(going_on, run="killed"), 2, repo_root)
    assert ppo.train(dataclasses.replace(going_on, run="killed")) == killed
    for name, value in parameters(unbroken).items():
        assert torch.equal(value, parameters(killed)[name]), name
    assert untimed(unbroken) == untimed(killed)
    logs = [(folder / audit.NAME).read_text().split("\n", 1)[1] for folder in (unbroken, killed)]
    assert logs[0] == logs[1]


def no_checkpoint(run: Path) -> None:
    shutil.rmtree(run / "step_0")
    shutil.rmtree(run / "step_1")


def unfinished(run: Path) -> None:
    shutil.rmtree(run / "step_1")


def no_log(run: Path) -> None:
    (run / audit.NAME).unlink()


def edited_log(run: Path) -> None:
    (run / audit.NAME).write_text((run / audit.NAME).read_text().replace(ONLY_OLD, "small-nothing", 1))


def leaking(run: Path) -> None:
    write_json(run / "held_out.json", {"ids": [ONLY_NEW]})


def not_known_what_was_held_out(run: Path) -> None:
    (run / "held_out.json").unlink()
    config = json.loads((run / "config.json").read_text())
    write_json(run / "config.json", {**config, "taskset_sha256": "0"})


def damaged_config(run: Path) -> None:
    (run / "config.json").write_text("{}")


def damaged_hold_out(run: Path) -> None:
    (run / "held_out.json").write_text("[]")


def chain_without_hold_out(run: Path) -> None:
    (run / "held_out.json").unlink()
    write_json(run / "continued.json", {})


def damaged_meta(run: Path) -> None:
    (run / "step_1" / "meta.json").write_text('{"format": 2}')


def nothing_at_all(run: Path) -> None:
    shutil.rmtree(run)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (nothing_at_all, "is no run"),
        (no_checkpoint, "has no checkpoint"),
        (unfinished, "0 of 1 iterations"),
        (no_log, "what it was trained on cannot be told"),
        (edited_log, "what it was trained on cannot be told"),
        (leaking, f"1 training tasks of small were held out for that run, e.g. {ONLY_NEW}"),
        (not_known_what_was_held_out, "what it held out cannot be told"),
        (damaged_config, "is damaged"),
        (damaged_hold_out, "what it held out cannot be told"),
        (chain_without_hold_out, "what the runs before it held out cannot be told"),
        (damaged_meta, "is damaged"),
    ],
    ids=lambda case: getattr(case, "__name__", None),
)
def test_a_run_that_cannot_be_continued_is_refused(
    going_on: Config, copy: Path, damage: Callable[[Path], None], says: str
) -> None:
    damage(copy)
    with pytest.raises(StageError, match=says) as refused:
        ppo.train(dataclasses.replace(going_on, continue_from=str(copy)))
    assert "\n" not in str(refused.value)


def test_what_was_held_out_and_is_to_be_trained_on_is_a_leak(going_on: Config, tmp_path: Path) -> None:
    moved = {"small-h-late_grant": "train", "small-h-cancel_grant": "train"}
    leaky = built(tmp_path / "leaky", without=ONLY_OLD, moved=moved)
    with pytest.raises(StageError, match=r"2 training tasks of small were held out for that run, e\.g\. small-h-cancel_grant"):
        ppo.train(dataclasses.replace(going_on, taskset=str(leaky)))


def test_other_sizes_are_refused_with_the_flags_to_give(going_on: Config) -> None:
    with pytest.raises(StageError, match=r"needs --width 32 --layers 1$"):
        ppo.train(dataclasses.replace(going_on, width=64, layers=2))


def test_what_the_old_vocabulary_cannot_write_is_refused_by_name(going_on: Config, tmp_path: Path, tiny: Config) -> None:
    refunds = tuple(case.key for case in all_cases() if case.workflow == "refund")
    narrow = add_trajectories(build_taskset(tmp_path / "narrow", cases=refunds))
    run = ppo.train(dataclasses.replace(tiny, taskset=str(narrow), iterations=0, warm_epochs=0))
    with pytest.raises(StageError, match=r"cannot write: .*argument create_exchange\.line_id"):
        ppo.train(dataclasses.replace(going_on, continue_from=str(run)))


def test_words_that_the_old_vocabulary_lacks_are_counted_with_their_share(going_on: Config, first: Path) -> None:
    taskset = open_training_side(going_on.taskset)
    found = find(going_on, taskset).codec.vocabulary
    told = carried(found, taskset, read_trajectories(taskset))
    fewer = dataclasses.replace(found, symbols=tuple(symbol for symbol in found.symbols if not symbol.startswith("w:")))
    bare = carried(fewer, taskset, read_trajectories(taskset))
    assert told.words < bare.words
    assert bare.word_share == 1.0
    assert 0.0 <= told.word_share < 0.2
    assert bare.unwritable == told.unwritable == ()


def test_what_an_earlier_run_was_trained_on_is_not_scored_and_is_counted(going_on: Config) -> None:
    folder = ppo.train(dataclasses.replace(going_on, iterations=0))
    evaluation = evaluate_run(folder, samples=1, quiet=True)
    assert evaluation["continued"]["excluded"] == 1
    assert (evaluation["tasks"], evaluation["held_out_tasks"]) == (6, 7)
    played = {json.loads(line)["task_id"] for line in (folder / "episodes.jsonl").read_text().splitlines()}
    assert TRAINED_THEN_HELD not in played
    run = load_run(folder)
    assert run.audit is not None
    assert TRAINED_THEN_HELD in run.audit.tasks
    assert any("none of them is among the evaluated" in line.text for line in verdict(run).lines)


def test_what_was_held_out_stays_held_out_over_several_deliveries(going_on: Config, new: Path) -> None:
    second = ppo.train(dataclasses.replace(going_on, iterations=0))
    held = set(json.loads((second / "held_out.json").read_text())["ids"])
    assert held == {*open_taskset(new, "heldout").tasks}
    write_json(second / "held_out.json", {"ids": [*held, "small-gone"]})
    third = ppo.train(dataclasses.replace(going_on, iterations=0, continue_from=str(second), run="third"))
    assert "small-gone" in json.loads((third / "held_out.json").read_text())["ids"]
    tasks = audit.check(third, 0)
    assert tasks is not None
    assert {ONLY_OLD, TRAINED_THEN_HELD} <= tasks.tasks  # what the first run was trained on


def test_forgetting_is_paired_on_the_old_held_out_tasks_and_stands_everywhere(going_on: Config) -> None:
    folder = ppo.train(going_on)
    evaluation = evaluate_run(folder, samples=1, quiet=True)
    write_report(folder)
    old = evaluation["continued"]["old"]
    assert old["tasks"] == 6
    rows = [json.loads(line) for line in (folder / "episodes_old.jsonl").read_text().splitlines()]
    for mode in ("greedy", "sampled"):
        before, after = (
            {row["task_id"]: row["score"] for row in rows if row["agent"] == f"{when}, {mode}"}
            for when in ("warm start", "after PPO")
        )
        assert old["forgetting"][mode]["score"]["mean"] == pytest.approx(sum(after[t] - before[t] for t in before) / 6)
    assert "| score, greedy |" in (folder / "report.md").read_text()
    assert "score, greedy" in (folder / "report.html").read_text()
    assert "- forgetting, greedy" in (folder / "card.md").read_text()
    assert json.loads((folder / "card.json").read_text())["continued"]["forgetting"] == old["forgetting"]


def test_an_old_task_set_that_is_gone_leaves_forgetting_unknown_and_not_zero(going_on: Config, copy: Path, root: Path) -> None:
    gone = Path(shutil.copytree(root / "old", copy.parent / "gone"))
    config = json.loads((copy / "config.json").read_text())
    write_json(copy / "config.json", {**config, "taskset_folder": str(gone)})
    folder = ppo.train(dataclasses.replace(going_on, iterations=0, continue_from=str(copy)))
    shutil.rmtree(gone)
    evaluation = evaluate_run(folder, samples=1, quiet=True)
    write_report(folder)
    assert evaluation["continued"]["old"] is None
    assert "forgetting is not known" in (folder / "report.md").read_text()
    assert json.loads((folder / "card.json").read_text())["continued"]["forgetting"] is None
    assert any(line.level == "open" and "forgetting is not known" in line.text for line in verdict(load_run(folder)).lines)


def test_a_share_of_each_rollout_is_old_tasks_those_that_are_gone_too(going_on: Config) -> None:
    folder = ppo.train(dataclasses.replace(going_on, replay_old=0.5, iterations=6))
    assert [row["replayed"] for row in read_rows(folder)] == [4] * 6
    played = [json.loads(line)["episodes"] for line in (folder / audit.NAME).read_text().splitlines()[1:]]
    assert [len(one) for one in played] == [8] * 6
    again = [task for one in played for task, _ in one]
    assert ONLY_OLD in again
    assert TRAINED_THEN_HELD not in again


def test_no_replay_is_none_and_a_missing_folder_is_said(going_on: Config, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ppo.train(dataclasses.replace(going_on, replay_old=0.0, iterations=1))
    assert "replayed" not in read_rows(folder)[0]
    config = json.loads((copy / "config.json").read_text())
    write_json(copy / "config.json", {**config, "taskset_folder": "/nowhere/old"})
    changed = dataclasses.replace(going_on, continue_from=str(copy), run="missing", quiet=False, replay_old=0.5, iterations=4)
    folder = ppo.train(changed)
    assert "the old task set cannot be played: /nowhere/old is not there as it was" in capsys.readouterr().err
    log = audit.check(folder, 4)
    assert log is not None
    played = [task for line in (folder / audit.NAME).read_text().splitlines()[1:] for task, _ in json.loads(line)["episodes"]]
    assert ONLY_OLD not in played


def test_a_set_that_was_built_again_under_its_name_is_found_in_the_copy_beside_it(
    going_on: Config, copy: Path, root: Path, new: Path, tmp_path: Path
) -> None:
    sets, named = tmp_path / "sets", tmp_path / "sets" / "helpdesk"
    shutil.copytree(root / "old", sets / "helpdesk_before")
    shutil.copytree(new, named)
    config = json.loads((copy / "config.json").read_text())
    write_json(copy / "config.json", {**config, "taskset_folder": str(named)})
    changed = dataclasses.replace(going_on, taskset=str(named), continue_from=str(copy))
    old = find(changed, open_training_side(changed.taskset)).old
    assert old is not None
    assert old.folder == sets / "helpdesk_before"


def test_no_organisation_that_was_trained_on_is_one_to_watch_by(going_on: Config) -> None:
    taskset = open_training_side(going_on.taskset)
    spread = {t: task.model_copy(update={"organisation": f"ORG_{n % 5}"}) for n, (t, task) in enumerate(taskset.tasks.items())}
    wide = dataclasses.replace(taskset, tasks=spread)
    _, free = split_validation(wide, 0.4)
    assert free
    _, watched = split_validation(wide, 0.4, {free[0]})
    assert not {spread[t].organisation for t in watched} & {spread[free[0]].organisation}


def test_a_run_that_continues_none_has_the_identity_that_it_had(going_on: Config) -> None:
    plain = dataclasses.replace(going_on, continue_from="")
    taskset = open_training_side(plain.taskset)
    assert run_folder(plain, taskset) == run_folder(dataclasses.replace(plain, replay_old=0.9), taskset)
    folder = prepare(dataclasses.replace(plain, run="plain"), run_folder(plain, taskset), taskset).folder
    assert "small-h-late_grant" in json.loads((folder / "held_out.json").read_text())["ids"]
