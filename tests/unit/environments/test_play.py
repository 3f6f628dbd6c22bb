"""A person plays: lines in, a graded journal out."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from environments.__main__ import main
from environments.episode import Episode
from environments.play import Player, Unclear, parse_line
from schemas.episode import EpisodeTrace
from schemas.errors import LeakError, StageError
from schemas.taskset import TaskSet, open_taskset

ROOT = Path(__file__).resolve().parents[3]
GAME = """help
tools
rules

get_odrer x
reply_to_requester Hello, what is your order number please?
get_order ORDER_98AE155D
get_account ACCOUNT_ECFD4E3C
create_refund order_id=ORDER_98AE155D amount_minor=590 reason=late_delivery
history
resolve {"code": "refund_granted", "about": "ORDER_98AE155D"}
"""


def play(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lines: str, *arguments: str) -> tuple[str, str]:
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["play", *arguments]) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_whole_task_is_played_from_a_pipe(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = play(monkeypatch, capsys, GAME, str(small_folder), "late_grant")
    assert "My order came later than promised" in out
    assert "did you mean 'get_order'" in out
    assert "requester: The order number is ORDER_98AE155D." in out
    assert "full: solved, and no rule was broken" in out
    assert "return +0.90, score 100 of 100" in out


def test_no_word_of_the_request_is_cut_off_on_a_narrow_screen(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("quit\n"))
    monkeypatch.setenv("COLUMNS", "40")
    main(["play", str(small_folder), "late_grant"])
    out = capsys.readouterr().out
    words = out[out.index("task small") :].replace("│", " ").split()
    said = open_taskset(small_folder, "train").tasks["small-late_grant"].opening.text.split()
    assert " ".join(said) in " ".join(words)


def test_what_went_wrong_is_shown_with_its_evidence(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "cancel_order ORDER_362193AD\nresolve order_cancelled ORDER_362193AD\n"
    out, _ = play(monkeypatch, capsys, lines, str(small_folder), "small-cancel_refused")
    assert "not solved" in out
    assert "broke cancel_status_v2 at step 0" in out
    assert "evidence: orders.order ORDER_362193AD" in out
    assert "wrong: code" in out
    assert "collateral: orders.order ORDER_362193AD.status was changed" in out


def test_the_trace_is_printed_as_json(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = play(monkeypatch, capsys, GAME, str(small_folder), "late_grant", "--json", "--seed", "4")
    trace = EpisodeTrace.model_validate_json(out.splitlines()[-1])
    assert trace.seed == 4
    assert trace.grade is not None
    assert trace.grade.full
    assert "graded journal" in err


def test_stopping_early_gives_no_grade(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for lines in ("", "quit\n"):
        out, _ = play(monkeypatch, capsys, lines, str(small_folder), "late_grant")
        assert "no grade" in out


def test_without_a_task_the_tasks_are_listed(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = play(monkeypatch, capsys, "", str(small_folder))
    assert "small-late_grant" in out
    assert "18 tasks (train)" in out


def test_a_held_out_task_is_refused_unless_its_side_is_named(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(LeakError, match="--side heldout"):
        main(["play", str(small_folder), "small-h-late_grant"])
    out, _ = play(monkeypatch, capsys, "quit", str(small_folder), "small-h-late_grant", "--side", "heldout")
    assert "small-h-late_grant" in out


def test_a_wrong_name_is_one_clear_line(small_folder: Path) -> None:
    with pytest.raises(StageError, match="did you mean 'small-late_grant'"):
        main(["play", str(small_folder), "small-late_grnt"])
    with pytest.raises(StageError, match="make ingest deid build-tasks"):
        main(["play", "nothing_here"])
    done = subprocess.run(
        [sys.executable, "-m", "environments", "play", "nothing"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no task set 'nothing'")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("get_order ORDER_1", {"order_id": "ORDER_1"}),
        ("create_refund ORDER_1 590 late_delivery", {"order_id": "ORDER_1", "amount_minor": 590, "reason": "late_delivery"}),
        (
            "create_refund reason=late_delivery ORDER_1 5.90",
            {"reason": "late_delivery", "order_id": "ORDER_1", "amount_minor": "5.90"},
        ),
        ('reply_to_requester "What is it?"', {"text": "What is it?"}),
        ("reply_to_requester It's me: what = that?", {"text": "It's me: what = that?"}),
        ("reply_to_requester text='one two'", {"text": "one two"}),
        ('get_order {"order_id": "ORDER_1"}', {"order_id": "ORDER_1"}),
        ('{"tool": "get_order", "arguments": {"order_id": "ORDER_1"}}', {"order_id": "ORDER_1"}),
        ("read_policy refunds 2.1", {"document": "refunds", "clause": "2.1"}),
        ("search_tickets USER_1 page=2", {"requester_id": "USER_1", "page": 2}),
    ],
)
def test_a_line_is_a_call(episode: Episode, line: str, arguments: dict[str, Any]) -> None:
    episode.reset("small-late_grant")
    assert parse_line(line, episode.tools).arguments == arguments


@pytest.mark.parametrize(
    ("line", "lesson"),
    [
        ("get_odrer x", "did you mean 'get_order'"),
        ("get_order oder_id=x", "did you mean 'order_id'"),
        ("get_order a b", "one word too many"),
        ("get_order 'a", "quote is not closed"),
        ("get_order {x", "not JSON"),
        ("{x", "that JSON is no call"),
        ('{"tool": 1}', "that JSON is no call"),
        ('{"tool":' * 50_000, "that JSON is no call"),
        ("get_order " + '{"a":' * 50_000, "not JSON"),
    ],
    ids=range(9),
)
def test_an_unclear_line_teaches(episode: Episode, line: str, lesson: str) -> None:
    episode.reset("small-late_grant")
    with pytest.raises(Unclear, match=lesson):
        parse_line(line, episode.tools)


def test_help_names_every_argument(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = play(monkeypatch, capsys, "help create_refund\nopening\nquit\n", str(small_folder), "late_grant")
    assert "amount_minor (integer): Amount in minor units" in out
    assert "One of: late_delivery, damaged_item, double_charge." in out
    assert json.dumps("ticket") not in out


def test_bytes_that_are_no_text_are_a_line_like_any_other(small_folder: Path) -> None:
    command = [sys.executable, "-m", "environments", "play", str(small_folder), "late_grant"]
    done = subprocess.run(
        command, input=b"\xff\xfe\nget_order \xff\nquit\n", capture_output=True, cwd=ROOT, check=False, env={"PYTHONUTF8": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert b"there is no order" in done.stdout


def test_a_result_that_was_cut_off_is_shown_as_it_is(
    small: TaskSet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("environments.episode.MAX_OBSERVATION", 50)
    lines = iter(["search_policy late delivery", "quit"])
    Player(Episode(small), Console(width=200), lines).play("small-late_grant", 0)
    assert '{"clauses":[{"document":"refunds"' in capsys.readouterr().out


def test_an_interrupted_game_is_said_to_have_no_grade(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("environments.play.Player.play", interrupt)
    assert main(["play", str(small_folder), "late_grant"]) == 130
    assert "no grade" in capsys.readouterr().out
