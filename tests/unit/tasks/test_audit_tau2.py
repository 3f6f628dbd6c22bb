"""The audit of tau2-bench: scoring as its evaluators do, wrong checkouts, isolation; and its own checkout where there is one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import StageError
from tasks.audits import _isolate
from tasks.audits._isolate import GUARDED, WALLED, Isolated, wall
from tasks.audits._tau2_agents import acts, random_runs, with_wrong_values
from tasks.audits._tau2_files import check_checkout, choose_domains, missing_data, read_tasks, source
from tasks.audits._tau2_score import Run, opening_text, scenario_text, verdict
from tasks.audits._types import Asked, Measure
from tasks.audits.tau2 import DRIVER, _unseen, run
from tests.stopping import INTERRUPTED, all_gone, stop

MINIATURE = Path(__file__).resolve().parents[2] / "fixtures" / "audits" / "tau2" / "checkout"
CHECKOUT = os.environ.get("RECORDGYM_TAU2")
needs_checkout = pytest.mark.skipif(CHECKOUT is None, reason="RECORDGYM_TAU2 does not name a tau2-bench checkout")
GOLD = {"exact": "after/None"}


def played(exact: str = "after/None", *, assertions: tuple[bool, ...] = (), actions: tuple[bool, ...] = ()) -> Mapping[str, Any]:
    return {"exact": exact, "assertions": list(assertions), "actions": list(actions)}


def task(**criteria: Any) -> dict[str, Any]:
    return {"id": "1", "user_scenario": {"instructions": "words"}, "evaluation_criteria": {"actions": [], **criteria}}


# --- scoring ----------------------------------------------------------------------------------------------------------------


def test_without_criteria_every_episode_is_full_as_it_is_there() -> None:
    assert verdict({"id": "1", "evaluation_criteria": None}, Run(), played("else/None"), GOLD) == "full"


def test_without_a_basis_database_and_communication_count() -> None:
    one = task(communicate_info=["1628"])
    assert verdict(one, Run(says=("It is $1,628.",)), played(), GOLD) == "full"
    assert verdict(one, Run(says=("It is a lot.",)), played(), GOLD) == "not_full"
    assert verdict(one, Run(says=("It is $1,628.",)), played("else/None"), GOLD) == "not_full"


def test_each_part_counts_only_if_the_basis_names_it() -> None:
    bad = played("else/None", assertions=(True, False), actions=(False,))
    for part in ("DB", "ENV_ASSERTION", "ACTION"):
        assert verdict(task(reward_basis=[part]), Run(), bad, GOLD) == "not_full"
    assert verdict(task(reward_basis=["COMMUNICATE"]), Run(), bad, GOLD) == "full"


def test_a_judges_part_is_left_open_unless_another_part_fails_or_there_is_nothing_to_judge() -> None:
    judged = task(reward_basis=["DB", "NL_ASSERTION"], nl_assertions=["is polite"])
    assert verdict(judged, Run(), played(), GOLD) == "judge"
    assert verdict(judged, Run(), played("else/None"), GOLD) == "not_full"
    assert verdict(task(reward_basis=["DB", "NL_ASSERTION"], nl_assertions=None), Run(), played(), GOLD) == "full"
    assert verdict(task(reward_basis=["DB"], nl_assertions=["is polite"]), Run(), played(), GOLD) == "full"


def test_without_actions_and_assertions_the_database_is_not_compared() -> None:
    nothing = task(reward_basis=["DB"], actions=None, env_assertions=None)
    assert verdict(nothing, Run(), played("else/None"), GOLD) == "full"


def test_what_the_greeting_or_the_history_says_counts_as_said() -> None:
    assert verdict(task(communicate_info=["help you today"]), Run(), played(), GOLD) == "full"
    with_history = {
        **task(communicate_info=["42"]),
        "initial_state": {"message_history": [{"role": "assistant", "content": "42"}]},
    }
    assert verdict(with_history, Run(), played(), GOLD) == "full"


def test_the_opening_leaves_out_how_the_person_is_to_be_played() -> None:
    told = {"reason_for_call": "A refund.", "known_info": "You are Ada.", "task_instructions": "Be rude.", "unknown_info": None}
    one = {"id": "1", "user_scenario": {"persona": "Loud.", "instructions": told}}
    assert opening_text(one) == "A refund.\nYou are Ada."
    assert "Be rude." in scenario_text(one)
    assert opening_text({"id": "1", "user_scenario": {"instructions": "All in one."}}) == "All in one."


# --- agents -----------------------------------------------------------------------------------------------------------------

TOOLS = {
    "look": {"by": "assistant", "type": "read", "writes": False, "parameters": {"id": {"kind": "str", "required": True}}},
    "pay": {
        "by": "assistant",
        "type": "write",
        "writes": True,
        "parameters": {"to": {"kind": "str", "required": True}, "how": {"kind": "Literal['cash', 'card']", "required": True}},
    },
    "transfer_to_human_agents": {"by": "assistant", "type": "generic", "writes": False, "parameters": {}},
}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "requestor": "assistant"}


def test_acts_are_writes_and_handing_on_but_no_look_up() -> None:
    made = [call("look", id="7"), call("pay", to="Ada", how="cash"), call("transfer_to_human_agents")]
    assert [c["name"] for c in acts(TOOLS, made)] == ["pay", "transfer_to_human_agents"]


def test_a_wrong_value_is_another_number_option_or_record_and_never_the_same() -> None:
    one = task(actions=[call("pay", to="Ada", how="cash")])
    [changed] = with_wrong_values(one, TOOLS, [call("pay", to="Ben", how="card")])
    assert changed.calls[0]["arguments"] == {"to": "Ben", "how": "cash"}
    [listed] = with_wrong_values(one, TOOLS, [call("pay", to="Ada", how="cash")])
    assert listed.calls[0]["arguments"] == {"to": "Ada", "how": "card"}
    [number] = with_wrong_values(task(actions=[call("pay", amount=5, to="Ada")]), TOOLS, [])
    assert number.calls[0]["arguments"] == {"amount": 6, "to": "Ada"}
    assert with_wrong_values(task(actions=[call("look", id="7")]), TOOLS, []) == []


def test_random_episodes_are_the_same_for_a_task_and_others_for_another() -> None:
    assert random_runs(task(), TOOLS, []) == random_runs(task(), TOOLS, [])
    assert random_runs(task(), TOOLS, []) != random_runs({**task(), "id": "2"}, TOOLS, [])


def test_a_row_that_an_answer_names_by_its_key_has_been_shown() -> None:
    tools = {**TOOLS, "pay": {**TOOLS["pay"], "parameters": {"row": {"kind": "str"}}}}
    one = task(actions=[call("look", id="words"), call("pay", row="L-501")])
    walked = [{"answer": '{"rows": [{"L-501": {"days": 14}}], "L-502": 1}'}, {"answer": "done"}]
    assert _unseen(one, "", tools, walked) == ""
    assert _unseen(one, "", tools, [{"answer": '{"rows": []}'}, {"answer": "done"}]) == "pay.row"
    assert _unseen(one, "", tools, [{"answer": "L-501 is the row"}, {"answer": "done"}]) == ""


# --- files ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MINIATURE, tmp_path / "checkout"))


def test_a_folder_of_something_else_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "src/tau2/domains").mkdir(parents=True)
    with pytest.raises(StageError, match="not a tau2-bench checkout: it has no data/tau2/domains"):
        check_checkout(tmp_path)


def test_a_domain_without_its_database_is_named_and_the_others_run(copy: Path) -> None:
    result = run(Asked(copy, limit=1, quiet=True))
    assert [d.name for d in result.domains] == ["library"]
    assert "db.json is missing" in result.not_run["archive"]


def test_a_domain_asked_for_that_cannot_be_run_is_an_error(copy: Path) -> None:
    with pytest.raises(StageError, match=r"domain archive: .*db\.json is missing"):
        run(Asked(copy, ("archive",), quiet=True))


def test_a_file_that_is_only_a_large_file_pointer_is_told(copy: Path) -> None:
    (copy / "data/tau2/domains/library/db.json").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    assert "Git LFS pointer" in missing_data(copy, "library")


def test_code_that_does_not_load_is_told_with_its_error(copy: Path) -> None:
    (copy / "src/tau2/domains/library/environment.py").write_text("raise RuntimeError('an old version')\n")
    with pytest.raises(StageError, match="cannot be built here: RuntimeError: an old version"):
        run(Asked(copy, ("library",), quiet=True))


def test_code_that_ends_its_process_is_told(copy: Path) -> None:
    (copy / "src/tau2/domains/library/environment.py").write_text("import os\nos._exit(3)\n")
    with pytest.raises(StageError, match="ended its process"):
        run(Asked(copy, ("library",), quiet=True))


def test_tasks_of_another_format_are_refused(copy: Path) -> None:
    (copy / "data/tau2/domains/library/tasks.json").write_text('[{"instance_id": "x"}]')
    with pytest.raises(StageError, match="something else than a list of tasks"):
        read_tasks(copy, "library")


def test_only_the_default_split_is_audited() -> None:
    tasks, splits = read_tasks(MINIATURE, "library")
    assert "not_in_base" not in {t["id"] for t in tasks}
    assert set(splits) == {"train", "test", "base"}


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(StageError, match="--limit: found 0"):
        run(Asked(MINIATURE, limit=0, quiet=True))


def test_domains_are_those_with_an_environment_and_keep_the_order_asked() -> None:
    assert choose_domains(MINIATURE, ()) == ["archive", "library"]
    assert choose_domains(MINIATURE, ("library", "archive", "library")) == ["library", "archive"]


def test_the_commit_is_read_from_the_git_files(copy: Path) -> None:
    assert "commit unknown" in source(copy, ["library"])
    git = copy / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text("# pack-refs\n" + "a" * 40 + " refs/heads/main\n")
    assert f"commit {'a' * 40}" in source(copy, ["library"])
    (git / "HEAD").write_text("b" * 40 + "\n")
    assert f"commit {'b' * 40}" in source(copy, ["library"])


# --- isolation --------------------------------------------------------------------------------------------------------------


def walked(name: str) -> dict[str, Any]:
    tasks, _ = read_tasks(MINIATURE, "library")
    with Isolated(DRIVER, [str(MINIATURE), "library"], [MINIATURE]) as driver:
        assert "fault" not in driver.first
        asked = {"do": "task", "task": tasks[0], "repeat": 1, "runs": [{"calls": [call(name)], "walk": True}]}
        return dict(driver.ask(asked)["runs"][0]["calls"][0])


@pytest.fixture(params=["as here", "without bubblewrap"])
def isolation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without bubblewrap":
        monkeypatch.setattr(_isolate.shutil, "which", lambda name: None)


@pytest.mark.usefixtures("isolation")
@pytest.mark.parametrize("tool", ["phone_home", "write_home"])
def test_the_audited_code_can_neither_open_a_socket_nor_write_a_file(tool: str) -> None:
    said = walked(tool)
    assert not said["ok"]
    assert "not allowed in an audit" in said["answer"]
    assert not (MINIATURE / "data/written").exists()


@pytest.mark.usefixtures("isolation")
def test_the_audited_code_sees_no_variable_of_ours(monkeypatch: pytest.MonkeyPatch, copy: Path) -> None:
    monkeypatch.setenv("RECORDGYM_TOKEN_KEY", "secret")
    file = copy / "src/tau2/domains/library/environment.py"
    file.write_text(file.read_text() + "\n\nassert 'RECORDGYM_TOKEN_KEY' not in os.environ\n")
    assert [d.name for d in run(Asked(copy, ("library",), limit=1, quiet=True)).domains] == ["library"]


def test_without_bubblewrap_the_result_is_the_same_and_says_what_then_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    before = run(Asked(MINIATURE, ("library",), quiet=True))
    monkeypatch.setattr(_isolate.shutil, "which", lambda name: None)
    after = run(Asked(MINIATURE, ("library",), quiet=True))
    assert after.domains == before.domains
    assert after.isolation == GUARDED.format(why="it is not installed")


def test_a_bubblewrap_that_may_not_run_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_isolate, "_bwrap", lambda readable: ["false"])
    monkeypatch.setattr(_isolate.shutil, "which", lambda name: "/usr/bin/bwrap")
    assert wall([]) == ([], GUARDED.format(why="it cannot run here"))


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_bubblewrap_is_used_where_it_runs() -> None:
    command, says = wall([MINIATURE])
    assert (says == WALLED) == bool(command)


# --- the real checkout ------------------------------------------------------------------------------------------------------


@needs_checkout
def test_the_first_retail_tasks_of_the_real_checkout() -> None:
    """Whatever the version: the gold path as an agent's path scores what the benchmark says it scores, and look-ups are free."""
    assert CHECKOUT is not None
    [domain] = run(Asked(Path(CHECKOUT), ("retail",), limit=5, quiet=True)).domains
    found: dict[str, Measure] = {m.key: m for m in domain.measures}
    assert found["reference"].count + found["reference"].judged == 5
    assert found["without_read"].count + found["without_read"].judged == found["without_read"].of > 0
    assert found["extra_write"].count + found["extra_write"].judged == 0


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc to see a process's children in")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_an_audit_that_is_stopped_ends_at_once_and_leaves_no_process(sent: signal.Signals, repo_root: Path) -> None:
    """Ctrl-C reaches the whole group, as from a terminal; a kill the command alone."""
    command = [sys.executable, "-m", "tasks", "audit", "tau2:tests/fixtures/audits/tau2/checkout"]
    with subprocess.Popen(
        command, cwd=repo_root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        while not children.read_text().strip():
            time.sleep(0.05)
        stop(running.pid, sent)
        _, said = running.communicate(timeout=30)
    if sent == signal.SIGINT:
        assert running.returncode == 130
        assert said == f"{INTERRUPTED}\n"
    assert all_gone(running.pid)
