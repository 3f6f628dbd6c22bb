"""A language model on disk without a hub: a byte-level BPE learnt from a task set's texts, and a random Qwen3 or Llama.

`build_language_model(folder, taskset)` writes what `--model FOLDER` opens. The parameters say nothing; only their shape is real.
`python -m tests.language_model_factory TASKSET FOLDER` writes a tiny one for trying things out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from environments.episode import tools_for
from schemas.files import read_models
from schemas.task import Trajectory
from schemas.taskset import TaskSet, open_taskset
from training.messages import as_json

START, END, UNKNOWN = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
TINY = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}


def texts_of(taskset: TaskSet) -> Iterable[str]:
    """Everything that an episode of the training side shows or says."""
    for row in read_models(taskset.folder / "train" / "trajectories.jsonl", Trajectory):
        yield from row.observations
        yield from row.actions
    for task in taskset.tasks.values():
        for tool in tools_for(taskset, task).values():
            yield as_json(tool.schema())


def build_tokenizer(texts: Iterable[str], size: int = 600, *, template: str | None = None) -> PreTrainedTokenizerFast:
    """A byte-level BPE that also merges across words (so that the tools are few tokens); its pad is its end, as in many published
    ones."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = [UNKNOWN, START, END]
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(sorted(set(texts)), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token=END, unk_token=UNKNOWN, bos_token=START, chat_template=template
    )


def build_language_model(
    folder: Path,
    taskset: TaskSet,
    *,
    kind: Literal["qwen3", "llama"] = "qwen3",
    template: str | None = None,
    shape: dict[str, Any] | None = None,
    rows: int = 0,
    size: int = 2500,
    positions: int = 8192,
    seed: int = 11,
) -> Path:
    """Writes tokenizer and random parameters; `rows` of the embedding at least."""
    tokenizer = build_tokenizer(texts_of(taskset), size, template=template)
    common = {
        **(shape or TINY),
        "vocab_size": max(rows, len(tokenizer)),
        "max_position_embeddings": positions,
        "tie_word_embeddings": True,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": None,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "qwen3":
            head = {"head_dim": common["hidden_size"] // common["num_attention_heads"]}
            model: Any = Qwen3ForCausalLM(Qwen3Config(**{**head, **common}, initializer_range=0.1))
        else:
            model = LlamaForCausalLM(LlamaConfig(**common, initializer_range=0.1))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    print(build_language_model(Path(sys.argv[2]), open_taskset(Path(sys.argv[1]), "train")))
