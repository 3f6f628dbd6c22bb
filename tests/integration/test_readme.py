"""The README's commands, as written, on a small sample."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TICKETS = 200


def commands(heading: str) -> list[str]:
    """The shell lines of the section, without their comments."""
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [line.split("#", 1)[0].strip() for block in blocks for line in block.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


def run(home: Path, command: str, typed: str = "") -> str:
    """Runs one line of the README in the clone, with data and keys of its own and no key variable, as a newcomer has."""
    environment = {k: v for k, v in os.environ.items() if k != "RECORDGYM_TOKEN_KEY"}
    environment |= {"RECORDGYM_DATA": str(home / "data"), "RECORDGYM_HOME": str(home / "home"), "COLUMNS": "120"}
    command = command.replace(".venv/bin/python", sys.executable)
    done = subprocess.run(
        command, shell=True, cwd=ROOT, env=environment, input=typed, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(home: Path) -> Path:
    """The first command, on a smaller sample."""
    first, second = commands("Two commands")
    assert second == "make test", "the README's test command is what CI runs"
    told = run(home, f"{first} TICKETS={TICKETS} PYTHON={sys.executable}")
    assert "made a token key for the sample" in told
    return home


def test_the_first_command_builds_a_task_set_and_a_second_run_changes_nothing(built: Path) -> None:
    manifests = sorted((built / "data").rglob("manifest.json"))
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in manifests}
    assert any("tasksets" in path.parts for path in manifests)
    run(built, f"{commands('Two commands')[0]} TICKETS={TICKETS} PYTHON={sys.executable}")
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in manifests} == before


def test_the_worked_example_runs_as_written(built: Path) -> None:
    listing, play, explain, trace, verify = commands("Play a task, and explain it")
    listed = run(built, listing)
    tasks = re.findall(r"^(\S+) +refund ", listed, re.MULTILINE)
    assert tasks, listed
    played = run(built, play.replace("TASK", tasks[0]), "help\nrules\ntools\nescalate I do not know\n")
    assert tasks[0] in played
    assert "refunds 3.1" in played
    assert "graded journal" in played
    assert "not solved" in played
    assert "refund" in run(built, explain.replace("TASK", tasks[0]))
    assert re.search(r"helpdesk/ticket\S*\.ndjson", run(built, trace.replace("TASK", tasks[0])))
    held = re.search(r"^PASS: (\d+) of (\d+) certificates hold; 0 disagreements$", run(built, verify), re.MULTILINE)
    assert held, "verify says otherwise"
    assert held[1] == held[2] != "0"


def test_the_audit_runs_as_written_on_a_checkout_of_that_format(tmp_path: Path) -> None:
    [command] = commands("Audit somebody else's task set")
    miniature = ROOT / "tests/fixtures/audits/tau2/checkout"
    command = command.replace("../tau2-bench", str(miniature)).replace("airline,retail,telecom", "library")
    told = run(tmp_path, command.replace("tau2.html", str(tmp_path / "tau2.html")))
    assert "do nothing (or finish at once)" in told
    assert (tmp_path / "tau2.html").exists()
    section = README.split("\n## Audit somebody else's task set\n", 1)[1].split("\n## ", 1)[0]
    shown = re.findall(r"^(C\d+) +(\S.*?)  ", section, re.MULTILINE)
    assert shown, "the README shows no table"
    lines = [line.split() for line in told.splitlines()]
    for certificate, label in shown:
        if label != "gold writes in reverse order: full":  # no task of the miniature has two writes
            assert any(line[:1] == [certificate] and " ".join(line[1:]).startswith(label) for line in lines), label


def test_the_tree_of_the_readme_is_the_tree_of_the_repository() -> None:
    told = set(re.findall(r"^(\w+)/ ", README, re.MULTILINE))
    there = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith((".", "__"))} - {"dist", "build"}
    assert told == there | {"data"}
