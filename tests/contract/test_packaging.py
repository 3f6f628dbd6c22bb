"""The built wheel: our top-level names are ours, and a trainer machine needs no table, Parquet or privacy library."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import Distribution, distributions
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: list[str] = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]


@pytest.fixture(scope="module")
def lock() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recordgym_lock", ROOT / ".ci" / "lock.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory, wheel: Path, lock: ModuleType) -> Path:
    """The Python of a fresh environment with the wheel and what `recordgym[train]` needs, linked from here and nothing else."""
    folder = tmp_path_factory.mktemp("trainer")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    needed, faults = lock.closure(PROJECT["project"]["dependencies"] + EXTRAS["train"])
    assert not faults
    for name in needed:
        distribution = Distribution.from_name(name)
        for top in {file.parts[0] for file in distribution.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            target = Path(str(distribution.locate_file(top)))
            if not (site / top).exists():
                (site / top).symlink_to(target, target_is_directory=target.is_dir())
    return python


def test_our_top_level_names_belong_to_recordgym_alone() -> None:
    """`deid` and `tasks` are names that other projects use too: two of them in one environment would overwrite each other."""
    for distribution in distributions():
        if canonicalize_name(distribution.metadata["Name"]) == "recordgym":
            continue
        tops = {file.parts[0] for file in distribution.files or []}
        clash = tops & set(PACKAGES)
        assert not clash, f"{distribution.metadata['Name']} installs {', '.join(sorted(clash))}, names of recordgym: uninstall it"


def test_the_wheel_holds_our_packages_typed_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/", 1)[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    for package in PACKAGES:
        assert f"{package}/py.typed" in names
    assert "tasks/specs/helpdesk_v1.toml" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_every_package_of_the_house_is_in_the_wheel() -> None:
    found = {path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name not in ("tests", "benchmarks")}
    assert found == set(PACKAGES)


def test_installed_names_are_those_of_the_wheel(trainer: Path) -> None:
    code = f"""
import importlib, importlib.metadata as metadata
owners = metadata.packages_distributions()
for name in {PACKAGES!r}:
    assert set(owners[name]) == {{"recordgym"}}, (name, owners[name])
    assert "site-packages" in (importlib.import_module(name).__file__ or ""), name
"""
    subprocess.run([trainer, "-I", "-c", code], check=True)


def test_a_trainer_machine_needs_only_the_train_extra(trainer: Path) -> None:
    """Every module of schemas, rewards, environments and training imports there, but for the doors (each names its own extra)."""
    code = """
import importlib, pkgutil, sys
failed = []
def walk(package):
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if info.name.startswith("environments.doors.") or info.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(info.name)
        except ImportError as error:
            failed.append(f"{info.name}: {error}")
for name in ("schemas", "pipeline", "rewards", "environments", "training"):
    walk(importlib.import_module(name))
for heavy in ("polars", "duckdb", "presidio_analyzer", "pyarrow", "pandas"):
    try:
        importlib.import_module(heavy)
    except ImportError:
        continue
    failed.append(f"{heavy} is there: the environment of this test is not a trainer's")
sys.exit("\\n".join(failed) or 0)
"""
    done = subprocess.run([trainer, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_lock_pins_all_that_the_extras_need_and_nothing_else(lock: ModuleType) -> None:
    wanted = PROJECT["project"]["dependencies"] + [need for extra in EXTRAS.values() for need in extra]
    pinned = {}
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, version = line.split("==")
            pinned[name] = version
            assert version == Version(version).public, f"{name}: a local version is one machine's"
    for text in wanted:
        need = Requirement(text)
        version = pinned.get(canonicalize_name(need.name))
        assert version, f"{need.name} is not in requirements.lock: run `make lock`"
        assert need.specifier.contains(version, prereleases=True), f"{need} does not allow the locked {version}: run `make lock`"
    found, faults = lock.closure(wanted)
    assert not faults
    assert found.keys() == pinned.keys(), "run `make lock`"
