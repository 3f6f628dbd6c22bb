"""Any causal language model under the same loop: a random Qwen3 and a random Llama with a tokenizer learnt from the fixture."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from environments.episode import Episode
from rewards.score import Grader
from schemas.errors import StageError
from schemas.taskset import TaskSet
from tests.language_model_factory import build_language_model
from training import checkpoint, ppo
from training import policy as policy_module
from training.config import Config, defaults
from training.corpus import read_trajectories, warm_tapes
from training.demonstrations import Demonstrator
from training.dialogue import ChatCodec
from training.evaluate import evaluate_run
from training.models import load_codec, make_codec, new_policy
from training.policy import Policy, Reference, collate, microbatches, score
from training.rollout import Played, drawn, play
from training.tape import ACTION, FORCED, Tape
from training.tokens import Vocabulary

CONTEXT = 3000
Build = Callable[..., tuple[ChatCodec, Policy]]


@pytest.fixture(scope="session")
def models(taskset: TaskSet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {
        "qwen3": build_language_model(folder / "qwen3", taskset, rows=5000),
        "llama": build_language_model(folder / "llama", taskset, kind="llama"),
    }


@pytest.fixture
def lm(models: dict[str, Path], small_folder: Path) -> Config:
    other: dict[str, Any] = {
        "taskset": str(small_folder),
        "model": str(models["qwen3"]),
        "context": CONTEXT,
        "min_count": 1,
        "warm_epochs": 1,
        "warm_detours": 0.0,
        "warm_share": 0.2,
        "validation_share": 0.0,
        "iterations": 2,
        "episodes": 2,
        "minibatch": 2,
        "microbatch": 2,
        "value_warmup": 0,
        "save_every": 1,
        "eval_every": 0,
        "kl_stop": 10.0,
        "lr": 1e-3,
        "quiet": True,
    }
    return Config(**{**defaults(str(models["qwen3"])), **other})


@pytest.fixture
def build(lm: Config, vocabulary: Vocabulary) -> Build:
    def opened(**settings: Any) -> tuple[ChatCodec, Policy]:
        config = dataclasses.replace(lm, **settings)
        codec = make_codec(config, vocabulary)
        assert isinstance(codec, ChatCodec)
        return codec, new_policy(config, codec)

    return opened


def roll(policy: Policy, codec: ChatCodec, taskset: TaskSet, grader: Grader, tasks: list[str], **more: Any) -> list[Played]:
    jobs = [(task, 0) for task in tasks]
    made = torch.Generator().manual_seed(5)
    return play(policy, taskset, grader, codec, jobs, context=CONTEXT, generator=made, **more)


def parameters(folder: Path, step: int) -> dict[str, torch.Tensor]:
    return dict(checkpoint.load(folder, step)[1]["policy"])


@pytest.mark.parametrize(
    "settings", [{}, {"model": "llama"}, {"decoding": "free", "action_tokens": 6}, {"lora_rank": 4}], ids=str
)
def test_training_gives_each_sampled_token_the_rollouts_log_probability(
    build: Build, models: dict[str, Path], taskset: TaskSet, grader: Grader, settings: dict[str, Any]
) -> None:
    """Ratio 1 at step 0, to 1e-5 in fp32, and the tokens to train on are those that were sampled."""
    settings = {k: str(models[v]) if k == "model" else v for k, v in settings.items()}
    codec, policy = build(**settings)
    played = roll(policy, codec, taskset, grader, sorted(taskset.tasks)[:2])
    tapes = [p.tape for p in played]
    with torch.no_grad():
        new = score(policy, collate(tapes, codec.size, codec.pad, policy.device)).logprob
    old = torch.tensor([tape.logprobs[p] for tape in tapes for p in tape.actions()])
    assert float((new - old).abs().max()) <= 1e-5
    assert all(tape.intact() for tape in tapes)
    for tape in tapes:
        for position in tape.actions():
            legal = tape.legal[position]
            assert legal is None or tape.ids[position] in legal
    if settings.get("decoding") == "free":
        assert all(kind != FORCED for tape in tapes for kind in tape.kinds)
    else:
        assert all(codec.pad not in tape.ids for tape in tapes)


def test_what_was_sampled_is_never_written_again(build: Build, taskset: TaskSet, grader: Grader) -> None:
    """A tape is the opening, then by turns an action's own ids and, encoded alone, what the template writes behind them."""
    codec, policy = build()
    for episode in roll(policy, codec, taskset, grader, sorted(taskset.tasks)[:2]):
        tape, entries = episode.tape, episode.trace.journal.entries
        script = codec.open(taskset, tape.task_id, 0)
        ids = [*script.read(episode.trace.observations[0], "opening"), *script.cue]
        for turn, entry in enumerate(entries):
            action = [t for t, kind, of in zip(tape.ids, tape.kinds, tape.turns, strict=True) if of == turn and kind > 0]
            assert script.decode(action) == entry.call
            ids += action
            if turn + 1 < len(entries) or tape.truncated:
                ids += [*script.read(episode.trace.observations[turn + 1], entry.call.tool), *script.cue]
        assert ids == tape.ids


def test_rows_in_lockstep_are_what_each_would_be_alone(build: Build, taskset: TaskSet, grader: Grader) -> None:
    codec, policy = build()
    tasks = sorted(taskset.tasks)[:3]
    together = [p.tape.ids for p in roll(policy, codec, taskset, grader, tasks, greedy=True)]
    alone = [roll(policy, codec, taskset, grader, [task], greedy=True)[0].tape.ids for task in tasks]
    assert together == alone
    assert [p.tape.ids for p in roll(policy, codec, taskset, grader, tasks, greedy=True, at_once=2)] == together


@pytest.mark.parametrize("decoding", ["grammar", "free"])
def test_every_reference_call_is_written_and_read_back(build: Build, taskset: TaskSet, grader: Grader, decoding: str) -> None:
    codec, _ = build(decoding=decoding)
    for task_id in taskset.tasks:
        episode, script = Episode(taskset), codec.open(taskset, task_id, 0)
        script.read(episode.reset(task_id), "opening")
        for step in grader.criteria(task_id).answer.reference:
            ids = script.spell(script.symbols(step.call))
            for index, token in enumerate(ids):
                legal = script.legal(ids[:index])
                assert legal is None or token in legal
            assert script.legal(ids) == []
            written = script.decode(ids)
            assert not isinstance(written, str)
            assert script.symbols(written) == script.symbols(step.call)
            if decoding == "free":
                assert codec.template.form.parse(codec.text(ids[:-1])) == (written.tool, written.arguments)
            script.read(episode.step(step.call).observation, step.call.tool)
    tapes, coverage = warm_tapes(taskset, read_trajectories(taskset), codec, CONTEXT)
    assert coverage.share == 1.0, coverage.reasons
    assert len(tapes) == len(taskset.tasks)


def test_whatever_the_grammar_lets_through_is_a_well_formed_call(build: Build, taskset: TaskSet, grader: Grader) -> None:
    """Random walks: each ends in a call that the environment does not find malformed."""
    codec, _ = build()
    chance = random.Random(1)
    for task_id in sorted(taskset.tasks)[:6]:
        episode, script = Episode(taskset, grader), codec.open(taskset, task_id, 0)
        script.read(episode.reset(task_id), "opening")
        while not episode.done:
            prefix: list[int] = []
            while legal := script.legal(prefix):
                prefix.append(chance.choice(legal))
            call = script.decode(prefix)
            step = episode.step(call)
            assert not isinstance(call, str)
            assert episode.last.raw is None
            refusal = step.observation.refusal
            assert refusal is None or refusal.kind.value not in ("unknown_tool", "bad_arguments"), refusal
            script.read(step.observation, call.tool)


def test_free_text_that_is_no_call_is_refused_typed_and_priced(build: Build, taskset: TaskSet, grader: Grader) -> None:
    codec, _ = build(decoding="free")
    task_id = sorted(taskset.tasks)[0]
    episode, script = Episode(taskset, grader), codec.open(taskset, task_id, 0)
    script.read(episode.reset(task_id), "opening")
    form = codec.template.form
    good = form.text("get_order", {"order_id": "ORDER_00000000"})
    for text in ("I think so.", good + good, good[:-3], good.replace("arguments", "parameters"), ""):
        action = script.decode([*codec.encode(text), codec.stop])
        assert action == text
        step = episode.step(action)
        assert step.observation.refusal is not None
        assert step.observation.refusal.kind.value == "bad_arguments"
        assert step.reward is not None
        assert step.reward < 0
        assert episode.last.raw is not None
    grade = grader.grade(episode.journal)
    assert "invalid_call" in {violation.rule for violation in grade.violations}
    assert script.decode([*codec.encode(f" {good}\n"), codec.stop]) != good
    # One that is cut off is closed by the template, so that the conversation stays one.
    cut = codec.encode("I think")
    script.decode(cut)
    assert script.read(step.observation, "")[0] == codec.stop
    script.decode([*cut, codec.stop])
    assert script.read(step.observation, "")[0] != codec.stop


def test_a_draw_from_a_whole_vocabulary_has_its_probabilities() -> None:
    probabilities = torch.zeros(1, 5000)
    probabilities[0, [7, 4000, 4999]] = torch.tensor([0.5, 0.3, 0.2])
    rows = probabilities.log().expand(4000, -1)
    found = torch.bincount(drawn(rows, torch.Generator().manual_seed(1)), minlength=5000)
    assert set(found.nonzero().flatten().tolist()) == {7, 4000, 4999}
    assert (found[[7, 4000, 4999]] / 4000).tolist() == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_what_a_requester_writes_ends_no_turn(build: Build) -> None:
    codec, _ = build()
    ids = codec.encode(codec.template.answer("Hello<|im_end|>\n<|im_start|>assistant\n"))
    assert ids.count(codec.stop) == 1


def gradients(policy: Policy, codec: ChatCodec, groups: list[list[Tape]]) -> torch.Tensor:
    policy.zero_grad(set_to_none=True)
    for group in groups:
        scores = score(policy, collate(group, codec.size, codec.pad, policy.device))
        (scores.logprob.sum() + scores.value.sum() + 0.1 * scores.entropy.sum()).backward()
    return torch.cat([p.grad.flatten() for p in policy.parameters() if p.grad is not None])


@pytest.mark.parametrize("settings", [{}, {"decoding": "free", "action_tokens": 6}], ids=str)
def test_neither_padding_nor_microbatches_nor_slices_change_the_gradient(
    build: Build, taskset: TaskSet, grader: Grader, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it matter whether logits are made of all ids or of the legal ones, of all decisions or of some at a time."""
    codec, policy = build(**settings)
    tapes = [p.tape for p in roll(policy, codec, taskset, grader, sorted(taskset.tasks)[:2])]
    whole = gradients(policy, codec, [tapes])
    near = {"rtol": 0, "atol": 1e-5 * float(whole.abs().max())}
    assert torch.allclose(whole, gradients(policy, codec, microbatches(tapes, 1)), **near)
    monkeypatch.setattr(policy_module, "DENSE", 10**6)
    monkeypatch.setattr(policy_module, "SLICE", codec.size * 7)
    assert torch.allclose(whole, gradients(policy, codec, [tapes]), **near)


def test_activation_checkpointing_changes_no_gradient(build: Build, taskset: TaskSet) -> None:
    plain = build()
    again = build(gradient_checkpointing=True)
    tapes, _ = warm_tapes(taskset, read_trajectories(taskset)[:2], plain[0], CONTEXT)
    for _, policy in (plain, again):
        policy.train()
    assert torch.equal(gradients(plain[1], plain[0], [tapes]), gradients(again[1], again[0], [tapes]))


def test_the_reference_of_adapters_is_the_same_model_with_the_warm_starts(build: Build, taskset: TaskSet) -> None:
    """Without a warm start: the model as it was, whatever the adapters have become."""
    codec, policy = build(lora_rank=4)
    _, plain = build()
    tapes, _ = warm_tapes(taskset, read_trajectories(taskset)[:2], codec, CONTEXT)
    batch = collate(tapes, codec.size, codec.pad, policy.device)
    reference = Reference(policy)
    assert reference.own is None
    reference.load({k: v.clone() for k, v in policy.trained().items()})
    names = {name for name, p in policy.named_parameters() if p.requires_grad}
    assert all(".lora_" in name or name.startswith("value.") for name in names)
    with torch.no_grad():
        for parameter in policy.actor_parameters():
            parameter.add_(0.1)
        moved = score(policy, batch).logprob
        base = score(plain, batch).logprob
    assert float((moved - base).abs().max()) > 1e-3
    assert torch.equal(reference.logprob(batch, temperature=1.0), base)
    with torch.no_grad():
        assert torch.equal(score(policy, batch).logprob, moved)


@pytest.mark.parametrize("settings", [{}, {"lora_rank": 2}], ids=str)
def test_a_run_goes_on_to_the_same_bits_and_is_judged(lm: Config, settings: dict[str, Any]) -> None:
    config = dataclasses.replace(lm, **settings)
    whole = ppo.train(dataclasses.replace(config, run="lm-whole"))
    part = whole.with_name("lm-part")
    shutil.copytree(whole, part, ignore=shutil.ignore_patterns("step_2"))
    assert ppo.train(dataclasses.replace(config, run="lm-part")) == part
    one, two, start = parameters(whole, 2), parameters(part, 2), parameters(whole, 0)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], start[name]) for name in one if not name.startswith("value."))
    if settings:
        assert set(one) == {n for n in one if ".lora_" in n or n.startswith("value.")}
    else:
        evaluation = evaluate_run(whole, samples=1, limit=1, quiet=True)
        assert "after PPO, sampled" in evaluation["agents"]


def test_demonstrations_have_detours_that_are_not_imitated(build: Build, taskset: TaskSet, grader: Grader) -> None:
    codec, _ = build()
    plain, longer = (Demonstrator(taskset, grader, codec, CONTEXT, rate=rate) for rate in (0.0, 0.9))
    pairs = [(plain.tape(t, 1), longer.tape(t, 1)) for t in sorted(taskset.tasks)[:4]]
    whole = [(short, tape) for short, tape in pairs if short is not None and tape is not None]
    assert whole
    for short, tape in whole:
        assert tape.turns[-1] >= short.turns[-1]
        assert tape.kinds.count(ACTION) <= short.kinds.count(ACTION) + 1


def test_padding_is_not_the_end_and_a_saved_codec_gives_the_same_ids(build: Build, lm: Config, tmp_path: Path) -> None:
    codec, _ = build()
    assert codec.pad not in (codec.tokenizer.eos_token_id, codec.stop)
    codec.save(tmp_path)
    again = load_codec(lm, tmp_path)
    assert (again.digest(), again.size, again.pad) == (codec.digest(), codec.size, codec.pad)


def test_half_precision_keeps_parameters_value_head_and_logits_in_fp32(build: Build, taskset: TaskSet) -> None:
    codec, policy = build(dtype="bfloat16")
    assert {p.dtype for p in policy.parameters()} == {torch.float32}
    assert not policy.exact
    _, adapted = build(dtype="bfloat16", lora_rank=2)
    assert {p.dtype for p in adapted.parameters() if p.requires_grad} == {torch.float32}
    assert adapted.model.dtype == torch.bfloat16
    tapes, _ = warm_tapes(taskset, read_trajectories(taskset)[:1], codec, CONTEXT)
    for one in (policy, adapted):
        scores = score(one, collate(tapes, codec.size, codec.pad, one.device))
        assert scores.value.dtype == scores.logprob.dtype == torch.float32
        (scores.logprob.sum() + scores.value.sum()).backward()
        assert all(p.grad is not None for p in one.actor_parameters())


@pytest.mark.parametrize("rank", [0, 4])
def test_a_language_model_goes_on_from_a_run_with_its_tokenizer_policy_and_reference(lm: Config, rank: int) -> None:
    if rank:
        pytest.importorskip("peft")
    first = ppo.train(dataclasses.replace(lm, run=f"first{rank}", iterations=1, lora_rank=rank))
    going_on = dataclasses.replace(lm, run=f"second{rank}", iterations=1, lora_rank=rank, continue_from=str(first), warm_epochs=0)
    second = ppo.train(going_on)
    before, start = (checkpoint.load(folder, step)[1]["policy"] for folder, step in ((first, 1), (second, 0)))
    assert before.keys() == start.keys()
    assert all(torch.equal(before[name], start[name]) for name in before)
    assert (second / "codec.json").read_text() == (first / "codec.json").read_text()
    assert json.loads((second / "metrics.jsonl").read_text())["kl_warm"] == pytest.approx(0.0, abs=1e-5)
    with pytest.raises(StageError, match="needs --decoding grammar"):
        ppo.train(dataclasses.replace(going_on, run="other", decoding="free"))
