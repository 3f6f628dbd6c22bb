"""A whole run: resumed to the bit after a kill, stopped whole by a NaN, and never near the held-out side."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pipeline.cli import run_command
from schemas.errors import StageError
from training import checkpoint, losses, ppo
from training.config import Config, identity
from training.evaluate import evaluate_run
from training.gae import gae
from training.lab import prepare, resume
from training.report import write_report
from training.rollout import play
from training.sides import open_training_side, split_validation
from training.tape import Tape

from .conftest import killed_at, parameters, read_rows, untimed


def test_a_killed_run_goes_on_to_the_same_bits(tiny: Config, repo_root: Path) -> None:
    # what was played so far decides what is played next, and the iteration what is left of the learning rate
    tiny = dataclasses.replace(tiny, sampling="difficulty", anneal=0.5)
    unbroken = ppo.train(dataclasses.replace(tiny, run="unbroken"))
    killed = killed_at(dataclasses.replace(tiny, run="killed"), 2, repo_root)
    assert 2 in checkpoint.steps(killed)
    assert ppo.train(dataclasses.replace(tiny, run="killed")) == killed
    for name, value in parameters(unbroken).items():
        assert torch.equal(value, parameters(killed)[name]), name
    assert untimed(unbroken) == untimed(killed)


def test_a_finished_run_is_left_alone(tiny: Config) -> None:
    config = dataclasses.replace(tiny, iterations=1, save_every=1)
    folder = ppo.train(config)
    before = (folder / "metrics.jsonl").read_bytes()
    assert ppo.train(config) == folder
    assert (folder / "metrics.jsonl").read_bytes() == before


def test_a_run_folder_of_other_settings_is_refused(tiny: Config) -> None:
    config = dataclasses.replace(tiny, iterations=0, run="mine")
    ppo.train(config)
    with pytest.raises(StageError, match=r"mine was made with other settings: --lr 1\.0 \(there 0\.\d+\); use another --run"):
        ppo.train(dataclasses.replace(config, lr=1.0))


def test_a_run_that_is_older_than_a_setting_goes_on_with_what_was_done_then(tiny: Config) -> None:
    config = dataclasses.replace(tiny, iterations=0, run="old", anneal=0.0)
    folder = ppo.train(config)
    made = json.loads((folder / "config.json").read_text())
    del made["settings"]["anneal"]  # and its digest has never held it
    assert "anneal" not in identity(config)
    (folder / "config.json").write_text(json.dumps(made))
    assert ppo.train(config) == folder
    with pytest.raises(StageError, match=r"--anneal 0\.5 \(there 0\.0\)"):
        ppo.train(dataclasses.replace(config, anneal=0.5))


def test_the_held_out_side_is_refused(small_folder: Path) -> None:
    with pytest.raises(StageError, match="held out"):
        open_training_side(str(small_folder / "heldout"))
    assert open_training_side(str(small_folder / "train")).side == "train"


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `python -m training.ppo`."""
    with pytest.raises(SystemExit) as left:
        run_command(lambda: ppo.main(arguments))
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


@pytest.mark.parametrize("wrong", [("--taskset", "nowhere"), ("--taskset", "nowhere", "--minibatch", "100")])
def test_what_cannot_be_is_one_line_and_exit_code_2(wrong: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = command(capsys, *wrong)
    assert code == 2
    assert err.count("\n") == 1
    assert ("nowhere" in err) or ("--minibatch 100" in err)


def test_a_loss_that_is_not_finite_stops_with_a_whole_checkpoint(tiny: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    config = dataclasses.replace(tiny, run="nan", save_every=1)
    plain = losses.value_loss

    def poisoned(*args: torch.Tensor, clip: float) -> torch.Tensor:
        loss = plain(*args, clip=clip)
        return loss * float("nan") if len(read_rows(folder)) == 2 else loss

    folder = Path(os.environ["RECORDGYM_DATA"]) / "runs" / "nan"
    with monkeypatch.context() as patch:
        patch.setattr(losses, "value_loss", poisoned)
        with pytest.raises(StageError, match="iteration 3: loss or gradient is not finite"):
            ppo.train(config)
    assert checkpoint.steps(folder)[-1] == 2
    assert all(bool(torch.isfinite(v).all()) for v in parameters(folder).values())
    ppo.train(config)
    assert checkpoint.steps(folder)[-1] == 4


def test_only_the_value_head_moves_while_it_warms_up(tiny: Config) -> None:
    folder = ppo.train(dataclasses.replace(tiny, iterations=1, value_warmup=1, save_every=1))
    _, warm = checkpoint.load(folder, 0)
    _, after = checkpoint.load(folder, 1)
    moved = {name for name, value in warm["policy"].items() if not torch.equal(value, after["policy"][name])}
    assert moved
    assert all(name.startswith("value.") for name in moved)


def test_a_cut_episode_bootstraps_with_the_value_after_its_last_token(tiny: Config) -> None:
    tape = Tape("t", truncated=True)
    tape.choose(1, 0, (1, 2), -0.1)
    tape.rewards = [0.25]
    assert ppo.estimate(tiny, tape, tape.action_rewards(), [0.5], 0.75) == gae([0.25], [0.5], 0.75)


def test_shuffled_rewards_are_a_permutation_of_the_returns(tiny: Config) -> None:
    config = dataclasses.replace(tiny, control="shuffled_reward", kl_warm=0.0, iterations=0)
    folder = ppo.train(config)
    lab = prepare(config, folder, open_training_side(config.taskset))
    resume(lab)
    played = play(
        lab.policy,
        lab.taskset,
        lab.grader,
        lab.codec,
        ppo.jobs(lab, 0),
        context=384,
        generator=torch.Generator().manual_seed(1),
    )
    tapes = [p.tape for p in played]
    samples, _ = ppo.advantages(lab, tapes, 1, torch.Generator().manual_seed(2))
    paid = sorted(round(float(s.target[-1]), 5) for s in samples)
    assert paid == sorted(round(sum(t.rewards), 5) for t in tapes)


def test_a_context_that_the_reference_does_not_fit_is_said(tiny: Config) -> None:
    with pytest.raises(StageError, match="--context 64 is too small"):
        ppo.train(dataclasses.replace(tiny, context=64))


def test_validation_organisations_are_whole_and_apart(tiny: Config) -> None:
    taskset = open_training_side(tiny.taskset)
    train, validation = split_validation(taskset, 0.3)
    assert sorted(train + validation) == sorted(taskset.tasks)
    assert not {taskset.tasks[t].organisation for t in train} & {taskset.tasks[t].organisation for t in validation}


def test_the_evaluation_says_everything_and_the_report_renders(tiny: Config) -> None:
    folder = ppo.train(dataclasses.replace(tiny, iterations=1, save_every=1))
    with pytest.raises(StageError, match="no checkpoint 17; there: 0, 1"):
        evaluate_run(folder, step=17, samples=1, quiet=True)
    evaluation = evaluate_run(folder, samples=1, quiet=True)
    write_report(folder)
    assert evaluation["tasks"] == 6
    agents = evaluation["agents"]
    assert agents["reference"]["all"]["success"]["mean"] == 1.0
    assert agents["do nothing"]["all"]["success"]["mean"] == 0.0
    assert agents["never grants, knows how"]["classes"]["all: grant"]["mean"] == 0.0
    assert agents["never grants, knows how"]["classes"]["all: refuse"]["mean"] == 1.0
    assert {"warm start, greedy", "warm start, sampled", "after PPO, greedy", "after PPO, sampled"} <= set(agents)
    report = (folder / "report.md").read_text()
    for part in ("Recall by outcome class", "Success by held-out slice", "Action mix", "Paired with the warm start"):
        assert part in report
    assert json.loads((folder / "evaluation.json").read_text())["order"][0] == "warm start, greedy"


def test_the_trainer_runs_where_only_its_own_libraries_are(tiny: Config, repo_root: Path) -> None:
    """A trainer machine has no polars, duckdb, presidio or gymnasium; matplotlib may be missing, too."""
    code = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
BLOCKED = set("polars duckdb presidio_analyzer presidio_anonymizer spacy gymnasium msgspec matplotlib trl ray".split())
sys.meta_path.insert(0, Block())
import dataclasses, training.ppo, training.evaluate
from training.config import Config, identity
folder = training.ppo.train(Config(**eval(sys.argv[1])))
training.report.write_report(folder)
print((folder / "report.md").read_text().count("matplotlib is not installed"))
bad = [n for n in sys.modules if n.split(".")[0] in BLOCKED or n.split(".")[0] in ("ingest", "deid", "tasks", "samples")]
print(bad)
"""
    settings = dataclasses.asdict(dataclasses.replace(tiny, iterations=1, warm_epochs=1))
    done = subprocess.run(
        [sys.executable, "-c", code, repr(settings)], cwd=repo_root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == ["1", "[]"]


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "--help")
    assert code == 0
    for words in ("--taskset", "held-out side is refused", "--control", "--kl-stop", "ten to twenty minutes"):
        assert words in out
