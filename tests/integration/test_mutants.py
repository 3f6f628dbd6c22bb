"""The grader's mutants: each is a program, changes one thing, and the certificates of a small set tell it from the grader."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks._mutants_written import EQUIVALENT, OUT_OF_QUESTION, WRITTEN
from benchmarks._mutate import mutants
from benchmarks.mutants import MODULES, automatic, check_equivalent, source_of, written
from schemas.errors import StageError
from tests.taskset_certified import build_certified

SOURCE = """
def first(a, b):
    if a < b and not b == 3:
        return True
    total = min(a, 1)
    total += b
    note(f"{a + 1} words")
    return total


LIMIT = 3 < 4
"""


def test_a_mutant_changes_one_thing_inside_a_function_and_no_words() -> None:
    made = list(mutants("m", SOURCE))
    names = [m.name.split(" | ")[1].split(", ")[-1] for m in made]
    assert sorted(names) == sorted(
        [
            *("Lt -> LtE", "Lt -> GtE", "and <-> or", "without not", "Eq -> NotEq", "3 -> 4", "not (condition)", "True -> False"),
            *("min -> max", "1 -> 2", "without AugAssign", "without Expr"),
        ]
    )
    assert len({m.source for m in made}) == len(made)
    for mutant in made:
        assert "LIMIT = 3 < 4" in ast.unparse(ast.parse(mutant.source))
        assert mutant.function == "first"


def test_there_are_enough_mutants_and_each_is_a_program() -> None:
    by_hand, (by_machine, _) = written(), automatic()
    assert len({m.name for m in by_hand}) == len(WRITTEN) >= 40
    check_equivalent({m.name for m in (*by_hand, *by_machine)})
    for mutant in (*by_hand, *by_machine):
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(source_of(mutant.module))), mutant.name


def test_the_name_of_a_mutant_follows_what_it_changes_and_not_where_that_stands() -> None:
    before = [m.name for m in mutants("m", SOURCE)]
    assert "m first: if a < b and (not b == 3) | a < b, Lt -> LtE" in before
    moved = SOURCE.replace("def first", "\n\ndef other(a):\n    return a\n\n\ndef first").replace(
        "    note(", "    other(b)\n    note("
    )
    assert [m.name for m in mutants("m", moved) if "other(b)" not in m.name] == before
    edited = {m.name for m in mutants("m", SOURCE.replace("a < b", "a < b + b"))}
    assert set(before) - edited == {name for name in before if "if a < b" in name}


def test_alike_mutants_of_a_function_have_names_of_their_own_that_tell_how_many_there_are() -> None:
    twice = "def f(a):\n    a += 1\n    a += 1\n    return a\n"
    names = [m.name for m in mutants("m", twice)]
    assert len(set(names)) == len(names)
    assert "m f: a += 1 | without AugAssign (1 of 2)" in names
    assert not set(names) & {m.name for m in mutants("m", twice.replace("    return", "    a += 1\n    return"))}


def test_an_entry_of_the_equivalents_that_names_no_mutant_is_an_error() -> None:
    stale = sorted(EQUIVALENT)[0]
    with pytest.raises(StageError, match="not there") as told:
        check_equivalent(set(EQUIVALENT) - {stale})
    assert stale in str(told.value)


def test_what_is_left_out_is_there() -> None:
    functions = {
        f"{node.name}.{inner.name}" if isinstance(node, ast.ClassDef) else node.name
        for module in MODULES
        for node in ast.parse(source_of(module)).body
        for inner in (node.body if isinstance(node, ast.ClassDef) else [node])
        if isinstance(inner, ast.FunctionDef)
    }
    assert {name for names in OUT_OF_QUESTION.values() for name in names} <= functions


def _harness(code: str, repo_root: Path) -> subprocess.CompletedProcess[str]:
    """`code` after the harness is imported, in a process of its own: it forks, and imports the grader only in what it forks."""
    start = "import importlib, json; from benchmarks import mutants as m; from benchmarks._mutate import SourceMutant;"
    return subprocess.run([sys.executable, "-c", start + code], cwd=repo_root, capture_output=True, text=True, check=False)


def test_every_module_of_the_grader_is_judged_by_the_source_of_its_mutant(repo_root: Path) -> None:
    done = _harness(
        "broken = [SourceMutant(name, name, 'raise RuntimeError') for name in m.MODULES];"
        "print(json.dumps(m.run([], broken, m.baseline([]), 2)))",
        repo_root,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == dict.fromkeys(MODULES, "yardstick")


@pytest.mark.parametrize(
    ("module", "first", "said"),
    [
        ("rewards.listed", "importlib.import_module('rewards.seen')", "already imported.*: rewards.listed"),
        ("rewards.hinted", "None", "the source of 'x' was never run"),
    ],
)
def test_a_mutant_that_is_not_used_has_not_survived(module: str, first: str, said: str, repo_root: Path) -> None:
    """The first is imported before the harness forks; the second is imported by nothing that gives a grade."""
    chosen = f"[SourceMutant('x', {module!r}, m.source_of({module!r}))]"
    done = _harness(f"before = m.baseline([]); {first}; print(m.run([], {chosen}, before, 1))", repo_root)
    assert done.stdout == ""
    assert re.search(f"StageError: .*{said}", done.stderr), done.stderr


@pytest.mark.parametrize("case", [("late_grant", "damaged_refused", "goodwill_grant", "approval_grant", "recovery_refused")])
def test_the_certificates_of_a_small_set_kill_the_mutants_that_it_can_show(
    case: tuple[str, ...], tmp_path: Path, repo_root: Path
) -> None:
    """In a process of its own: the harness forks, and imports the grader only in what it forks."""
    folder = build_certified(tmp_path / "small", cases=case)
    wanted = [
        *("accepts any code", "ignores about", "ignores collateral", "compares created rows as a set", "a missing row is right"),
        *("no rule is run", "refused calls count as done", "a look-up of any record counts", "what was told does not matter"),
        *(
            "windows are a day longer",
            "limits are one higher",
            "approval is needed from the limit on",
            "finishing unread is no fault",
        ),
        *("any told fact proves any value", "the first need is enough", "patience is never spent"),
    ]
    code = (
        "import json, sys; from pathlib import Path; from benchmarks import mutants as m;"
        "tasks = m.sample(Path(sys.argv[1])); before = m.baseline(tasks);"
        "chosen = [x for x in m.written() if x.name in json.loads(sys.argv[2])];"
        "print(json.dumps(m.run(tasks, chosen, before, 2, yardstick=False)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), json.dumps(wanted)], cwd=repo_root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    assert set(ends) == set(wanted)
    assert "survived" not in ends.values(), ends
