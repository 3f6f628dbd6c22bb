"""The reference pages."""

from __future__ import annotations

import dataclasses
import re
from enum import Enum

import pytest

from schemas.episode import RefusalKind
from schemas.task import RewardWeights
from training import reference
from training.config import Config


def test_the_pages_are_those_of_the_code() -> None:
    for name, text in reference.pages().items():
        assert (reference.FOLDER / name).read_text(encoding="utf-8") == text, f"run `make reference`: {name}"


def test_every_setting_coefficient_refusal_and_tool_is_explained() -> None:
    pages = reference.pages()
    for field in dataclasses.fields(Config):
        assert f"| `--{field.name.replace('_', '-')}` |" in pages["training-settings.md"]
    for name in RewardWeights.model_fields:
        assert f"| `{name}` |" in pages["rewards.md"]
    for kind in RefusalKind:
        assert f"| `{kind.value}` |" in pages["tools-and-actions.md"]
    for _, tool in reference.tools():
        assert f"#### `{tool.name}`" in pages["tools-and-actions.md"]


def test_no_cell_of_a_table_is_empty_where_a_meaning_belongs() -> None:
    for name in ("training-settings.md", "evaluation.md"):
        for line in reference.pages()[name].splitlines():
            if line.startswith("| `--"):
                assert all(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]), line


def test_what_has_no_docstring_stops_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare(Enum):
        one = "one"

    monkeypatch.setattr(reference, "RefusalKind", Bare)
    with pytest.raises(KeyError, match="one"):
        reference.actions_page()


def test_two_runs_give_the_same_bytes() -> None:
    assert reference.pages() == reference.pages()
