"""The 22 cases of the cut (semantics 2), each with its right answer, under 20 row shuffles and three process time zones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
Answers = dict[str, list[Any]]

OVERLAP = ["valid at the same time as another row of its record", "no end", "a start where the row before it ends"]
BESIDE = ["its record has other rows that are valid at one time: none of them is taken", None, None]
NEVER_WAS = "no such local time: the clocks were put forward over it"

# (number and promise, name in cut_cases, right answer)
CASES: list[tuple[str, str, Any]] = [
    (
        "1 an update stamped exactly at the cut is excluded, the opening event itself is not",
        "1_update_at_the_cut",
        ["placed", "help"],
    ),
    (
        "2 the record that the opening inserted is included by id, with known_at start only",
        "2_opening_record",
        {"subject": "help"},
    ),
    ("3 of two rows with the same time the highest seq counts", "3_same_time_with_seq", ["packed", 0]),
    ("3 a tie without seq and with different values is ambiguous", "3_same_time_without_seq", [None, ["A31.status"]]),
    ("4 an event recorded after the cut is excluded, and its record is named late", "4_late_arrival", ["placed", ["A40"]]),
    ("5 a scheduled event is no fact, and visible only as a planned field", "5_scheduled", ["placed", "2025-06-15"]),
    (
        "6 an overwritten field is unknown, never its current value, unless static",
        "6_overwritten_without_history",
        [None, "gold"],
    ),
    ("7 a column back-filled onto early rows is null at the start", "7_back_filled", None),
    ("8 what was deleted before the cut is absent", "8_deleted_before", "absent"),
    ("9 what was deleted after the cut is restored from its log", "9_deleted_after_with_log", ["placed", []]),
    (
        "9 what was deleted after the cut without a log cannot be rebuilt",
        "9_deleted_after_without_log",
        ["absent", ["shop.order A91"]],
    ),
    ("10 A to B before and back after the cut is B", "10_there_and_back", "B"),
    ("11 a stamp of minute grain counts once its minute is over", "11_minute_over", "placed"),
    ("11 a stamp of day grain whose day is not over is excluded", "11_day_not_over", "placed"),
    ("11 a policy of day grain is in force by date in the supplier's zone", "11_day_grain_policies", [[1], [2]]),
    ("12 in a fold an event takes the later instant, a cut the earlier", "12_fold", ["placed", "2025-10-26T00:30:00+00:00"]),
    ("12 a local time that does not exist is an error", "12_no_such_time", [NEVER_WAS, NEVER_WAS]),
    ("13 of another system the last d before the cut is excluded", "13_skewed_clocks", ["captured", "placed"]),
    (
        "14 a version valid until the cut is over and one valid from the cut on has not begun",
        "14_half_open",
        [120, "absent", "absent"],
    ),
    (
        "14 overlapping versions are quarantined and a gap is a finding, with found and allowed",
        "14_overlap_and_gap",
        [[BESIDE, OVERLAP, OVERLAP], ["found 10540800 s in which no row is valid, allowed 0 s"], 8],
    ),
    ("15 a link made after the cut is absent although both ends exist", "15_link_after", [None, "placed"]),
    ("16 a declared counter or total is recomputed, an undeclared one not trusted", "16_aggregate", [2, 700, None]),
    ("17 of a policy published before and effective after, the old version", "17_published_not_effective", [1]),
    ("18 customers merged after the cut keep their old identities in the state", "18_merged_after", ["Meyer", "Neumann", "M180"]),
    ("18 customers merged after the cut have one group key for the hold-out", "18_one_group", {"O180": "O180", "O180b": "O180"}),
    ("19 a null time is excluded and counted, never first", "19_null_time", ["placed", 1]),
    (
        "20 an e-mail arrived when the server says, whatever its Date says",
        "20_server_time",
        ["2025-06-10 12:00:09+00:00", "2025-06-10 12:00:00+00:00", "no Received header of the receiving server"],
    ),
    ("21 commits are known by reachability from the base, not by date", "21_rebased", [True, True, True, False, False, 3]),
    ("22 an attachment is its bytes known by hash before the cut, or absent", "22_attachments", [{"known.pdf": "as it was"}, 0]),
]


@pytest.fixture(scope="module")
def answers(repo_root: Path) -> dict[str, Answers]:
    """Zone -> what each case gave; a process a zone, all three at once."""
    running = {}
    for zone in ZONES:
        command = [sys.executable, "-W", "error", "-m", "tests.unit.tasks.cut_cases"]
        running[zone] = subprocess.Popen(
            command, cwd=repo_root, env={**os.environ, "TZ": zone}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    found = {}
    for zone, process in running.items():
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err[-2000:]
        found[zone] = json.loads(out)
    return found


@pytest.mark.parametrize(("name", "answer"), [pytest.param(name, answer, id=promise) for promise, name, answer in CASES])
def test_cut_case(answers: dict[str, Answers], name: str, answer: Any) -> None:
    for zone in ZONES:
        assert answers[zone][name] == [answer], zone


def test_every_case_of_the_table_has_its_answer_and_every_answer_its_case(answers: dict[str, Answers]) -> None:
    assert {int(promise.split(" ", 1)[0]) for promise, _, _ in CASES} == set(range(1, 23))
    for zone in ZONES:
        assert set(answers[zone]) == {name for _, name, _ in CASES}
