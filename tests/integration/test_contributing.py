"""The recipes of CONTRIBUTING.md, followed literally in a copy of the repository: the contract tests pick each newcomer up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = re.compile(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"\.(?!ci$|gitignore$).*|data|dist|build|__pycache__")
RECIPES = {
    "chatlog": "test_source_contract.py",
    "loyalty": "test_system_contract.py",
    "weekdays": "test_rule_contract.py",
    "credential_field": "test_leak_contract.py",
    "plate": "test_detector_contract.py",
    "pairs": "test_audit_contract.py",
}


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with every file that the recipes show."""
    copy = tmp_path_factory.mktemp("copy") / "recordgym"
    shutil.copytree(ROOT, copy, ignore=lambda _, names: [n for n in names if LEFT_OUT.fullmatch(n)])
    files = FILE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert files
    for name, text in files:
        path = copy / name
        assert not path.exists(), f"{name} is there already: a recipe must show a newcomer"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return copy


def run(copy: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_the_contract_tests_pick_every_newcomer_up_and_pass(followed: Path) -> None:
    tests = "tests/contract/"
    pytest_of = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    run(followed, *pytest_of, tests + "test_source_contract.py", "-k", "chatlog", RECORDGYM_WRITE_EXPECTED="1")
    expected = (followed / "tests" / "fixtures" / "chatlog" / "expected.json").read_text(encoding="utf-8")
    assert "2025-03-01T08:02:00Z" in expected, "09:02 at +01:00"
    for name, contract in RECIPES.items():
        told = run(followed, *pytest_of, tests + contract, tests + "test_plugin_folders.py", "-k", name)
        passed = re.search(r"(\d+) passed", told)
        assert passed, told
        assert int(passed[1]) >= 4, f"the contract tests hardly saw {name}"


def test_the_recipes_are_formatted_typed_and_within_the_import_contracts(followed: Path) -> None:
    files = [name for name, _ in FILE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")) if name.endswith(".py")]
    run(followed, "-m", "ruff", "check", "--no-cache", *files)
    run(followed, "-m", "ruff", "format", "--no-cache", "--check", *files)
    run(followed, "-m", "mypy", "--cache-dir", str(followed / ".mypy"), "--follow-imports=silent", *files)
