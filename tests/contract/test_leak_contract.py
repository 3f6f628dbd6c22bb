"""Every leak check finds the leak that it plants itself, is quiet on a clean set, and says so when it could not run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemas.plugins import load_plugins
from tasks.leaks import Leak, LeakInput, run_check
from tests.unit.tasks.leak_inputs import git_repository, leak_input

LEAKS = load_plugins("tasks.leaks", "LEAK", Leak)


@pytest.fixture(params=sorted(LEAKS))
def leak(request: pytest.FixtureRequest) -> Leak:
    return LEAKS[request.param]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> LeakInput:
    return leak_input(repository=git_repository(tmp_path_factory.mktemp("repository")))


def test_check_is_named_as_its_file(leak: Leak) -> None:
    assert LEAKS[leak.name] is leak


def test_check_is_quiet_on_a_clean_set(leak: Leak, clean: LeakInput) -> None:
    assert {f.verdict for f in run_check(leak, clean)} == {"passed"}


def test_check_finds_the_leak_that_it_plants(leak: Leak, clean: LeakInput) -> None:
    planted = leak.planted(clean)
    assert planted != clean
    found = run_check(leak, planted)
    assert any(f.verdict == "failed" for f in found)
    assert all(f.verdict == "failed" or (leak.statistical and f.verdict == "passed") for f in found)
    assert all(f.check == leak.name and f.path for f in found)


def test_planting_leaves_the_clean_set_as_it_was(leak: Leak, clean: LeakInput) -> None:
    before = {digest: clean.content(digest) for task in clean.tasks for digest in task.state}
    leak.planted(clean)
    fresh = leak_input()
    assert before == {digest: fresh.content(digest) for task in fresh.tasks for digest in task.state}
    assert clean.tasks == fresh.tasks
    assert all(clean.content(digest) == fresh.content(digest) for task in fresh.tasks for digest in task.state)


def test_a_check_that_breaks_off_could_not_run_and_never_passes(leak: Leak, clean: LeakInput) -> None:
    def broken(digest: str) -> object:
        raise OSError("gone")

    bad = tuple(t.model_copy(update={"started_at": "yesterday", "state": ("missing",)}) for t in clean.tasks)
    found = run_check(leak, replace(clean, tasks=bad, content=broken, files={}))
    ignores_both = {
        *("near_duplicate", "implied_outcome", "requester_knows", "conflicting_outcome"),
        *("fitted_on_heldout", "requester_template", "late_git_object"),
    }
    assert {f.verdict for f in found} == ({"passed"} if leak.name in ignores_both else {"could_not_run"})


def test_details_hold_no_text_of_a_record(leak: Leak, clean: LeakInput) -> None:
    planted = leak.planted(clean)
    texts = {w for task in planted.tasks for w in task.opening.text.split() if len(w) > 4}
    for finding in run_check(leak, planted):
        assert not texts & set(finding.detail.split())
