"""The file name is the registration: every file of a plug-in folder exports its one object, of the folder's one type."""

from __future__ import annotations

import importlib

import pytest

from schemas.errors import WorldError
from schemas.plugins import load_plugin, plugin_names

FOLDERS = {
    "ingest.sources": "SOURCE",
    "deid.detectors": "DETECTOR",
    "environments.systems": "SYSTEM",
    "environments.worlds": "WORLD",
    "rewards.rules": "RULE",
    "tasks.leaks": "LEAK",
    "tasks.audits": "AUDIT",
}
FILES = [(folder, name) for folder in FOLDERS for name in plugin_names(folder)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_plugin_folder_holds_plugins_and_registers_none_by_hand(folder: str) -> None:
    names = plugin_names(folder)
    assert names, "the folder is empty"
    kind = type(load_plugin(folder, names[0], FOLDERS[folder], object))
    for name, value in vars(importlib.import_module(folder)).items():
        held = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
        assert not any(isinstance(one, kind) for one in held), f"{folder}/__init__.py keeps a list of plug-ins in {name}"


@pytest.mark.parametrize(("folder", "name"), FILES)
def test_every_file_exports_its_one_object_of_the_folders_one_type(folder: str, name: str) -> None:
    export = FOLDERS[folder]
    found = load_plugin(folder, name, export, object)
    first = load_plugin(folder, plugin_names(folder)[0], export, object)
    assert type(found) is type(first)
    assert type(found).__module__.startswith(folder.split(".", maxsplit=1)[0] + "."), (
        "the type belongs beside the folder, in its own package"
    )
    named = getattr(found, "name", name)
    assert named == name, f"{folder}/{name}.py calls itself {named!r}"


@pytest.mark.parametrize(("folder", "name"), FILES)
def test_every_file_says_in_its_docstring_what_it_is(folder: str, name: str) -> None:
    assert (importlib.import_module(f"{folder}.{name}").__doc__ or "").strip()


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_unknown_name_is_answered_with_did_you_mean(folder: str) -> None:
    name = plugin_names(folder)[0]
    with pytest.raises(WorldError, match=rf"did you mean '{name}'"):
        load_plugin(folder, name + "x", FOLDERS[folder], object)


@pytest.mark.parametrize("name", plugin_names("environments.doors"))
def test_every_door_imports_with_its_extra_and_says_how_to_use_it(name: str) -> None:
    assert (importlib.import_module(f"environments.doors.{name}").__doc__ or "").startswith("Door:")
