from __future__ import annotations

from pathlib import Path

import pytest

from schemas.errors import WorldError
from schemas.plugins import load_plugin, load_plugins, plugin_names


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A plug-in folder with two good files, one helper, and two that export the wrong thing."""
    package = tmp_path / "shapes_for_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "circle.py").write_text("SHAPE = 1\n")
    (package / "square.py").write_text("SHAPE = 2\n")
    (package / "_helper.py").write_text("SHAPE = 'not a plug-in'\n")
    (package / "notes.txt").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "shapes_for_test"


def test_the_file_name_is_the_registration(folder: str) -> None:
    assert plugin_names(folder) == ["circle", "square"]
    assert load_plugins(folder, "SHAPE", int) == {"circle": 1, "square": 2}


def test_a_misspelt_name_is_answered_with_did_you_mean(folder: str) -> None:
    with pytest.raises(WorldError, match=r"no plug-in 'circel'; did you mean 'circle'\? \(there: circle, square\)"):
        load_plugin(folder, "circel", "SHAPE", int)


def test_a_name_like_none_lists_what_is_there(folder: str) -> None:
    with pytest.raises(WorldError, match=r"no plug-in 'zzz' \(there: circle, square\)"):
        load_plugin(folder, "zzz", "SHAPE", int)


def test_a_helper_is_not_a_plugin(folder: str) -> None:
    with pytest.raises(WorldError, match="no plug-in '_helper'"):
        load_plugin(folder, "_helper", "SHAPE", str)


def test_a_file_that_exports_nothing_or_another_type_says_what_it_must(folder: str) -> None:
    with pytest.raises(WorldError, match=r"circle\.py must export FORM as int, found nothing"):
        load_plugin(folder, "circle", "FORM", int)
    with pytest.raises(WorldError, match=r"circle\.py must export SHAPE as str, found int"):
        load_plugin(folder, "circle", "SHAPE", str)
