"""Leak checks: what a quick look passes over, the slow one that it stands for passes over too."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from datetime import timedelta

from schemas.plugins import load_plugins
from tasks.leaks import Leak, run_check
from tasks.leaks import _may_hold_times as quick
from tasks.leaks import _times as times
from tasks.leaks._decode import disguised, may_wrap
from tasks.leaks._literals import coined, holder, plain
from tasks.leaks._may_hold_times import may_hold_times
from tasks.leaks._plant import with_field, with_task
from tasks.leaks._states import tokens_in
from tasks.leaks._time_ids import ids_in
from tasks.leaks._walk import must_instant
from tasks.leaks._whole_months import months_in
from tasks.leaks.late_identifier import _alone
from tests.unit.tasks.leak_inputs import leak_input

LEAKS = load_plugins("tasks.leaks", "LEAK", Leak)
SMALL = leak_input(tasks=40)
PIECES = (
    *("2025", "19", "20", "1", "2", "9", "0", "12", "31", "-", "/", ".", "'", " ", "\n", "_", "T", "Z", "x", "+", "24. Dec"),
    *(
        "14Nov",
        "14_Nov_23",
        "\u201925",
        "23:15",
        "1f15f0325dd56980",
        "8f00",
        "11f1",
        "019e8bb377187a4c",
        "01kt5v6xrr7zk2m4q8xw0vhd3r",
        "11/",
    ),
    *("january", "März", "mÄrz", "Sept", "1700000000", "ab12", "4e5f-1abc-8def-", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "٣", "²", "ſ"),
    *("refund", "Granted", "REFUND", "granted", "x9)", "A1", "credit", "\\u005f", "%5F", "&amp;", "{", "[", "é", "\u2010"),
    *("ORDER_1A2B3C4D", "1a2b3c4d", "deadbeef", "abcdefgh", "ABCDEFGH", "PERSON_66517119_FIRST", "\ud800", "ı"),
)
CODES = ("refund_granted", "creditGranted", "A1", "x9)", "ship_sent")
LONG = re.compile(r"[A-Za-z0-9+/]{16}")
ESCAPED = re.compile(r"""%[0-9A-Fa-f]{2}|&(?:#\w+|[a-zA-Z]+);|\\[nuxt"']|[\[{]|[A-Za-z0-9+/_-]{16}|[^\x00-\x7f]""")
CODED = re.compile(r"%[0-9A-Fa-f]{2}|&(?:#\w+|[a-zA-Z]+);|\\[uUxX]")
TOKEN = re.compile(r"[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_[A-Z]+\d?)?")
EIGHT = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}(?![0-9A-Fa-f])")


def texts(number: int = 8000) -> list[str]:
    chance = random.Random(1)
    return ["".join(chance.choices(PIECES, k=chance.randrange(1, 8))) for _ in range(number)]


def test_no_text_that_a_pattern_of_times_reads_is_passed_over() -> None:
    for text in texts():
        slow = quick._QUICK.search(text) is not None or any(
            quick._month_before(text, number.start()) for number in quick._NUMBER.finditer(text)
        )
        assert may_hold_times(text) == slow, text


def test_no_text_that_holds_a_day_in_words_a_month_or_an_id_made_of_a_time_is_passed_over() -> None:
    passed_over = [text for text in texts() if not may_hold_times(text)]
    for text in passed_over:
        assert not any(pattern.search(text) for pattern in times._PATTERNS if "n" in pattern.groupindex), text
        assert not list(months_in(text, named=True)), text
        assert not list(ids_in(text)), text
    assert len(passed_over) > 1000


def test_what_may_hold_something_inside_is_told_as_the_patterns_tell_it() -> None:
    for text in texts():
        assert may_wrap(text) == (len(text) >= 4 and bool(ESCAPED.search(text)) and not TOKEN.fullmatch(text)), text
        assert disguised(text) == (not text.isascii() or bool(CODED.search(text)) or bool(LONG.search(text))), text


def test_no_text_in_which_a_code_is_found_is_passed_over() -> None:
    may_hold = holder(CODES)
    patterns = (coined(CODES), coined(CODES, blanks=True))
    for text in texts():
        assert may_hold(text) or not any(p.search(text) for p in patterns if p is not None), text
        assert plain(text * 5) == re.sub(r"[\W_]+", "", text * 5).casefold()


def test_the_digits_of_pseudonyms_are_read_as_the_pattern_reads_them() -> None:
    for text in texts():
        assert [digits.decode() for digits in _alone(text)] == [digits.upper() for digits in EIGHT.findall(text)], text


def test_a_pseudonym_on_a_line_of_a_text_makes_no_pseudonym_of_the_text() -> None:
    assert tokens_in(("see\nORDER_1A2B3C4D\nend",)) == set()
    assert tokens_in(("see\nORDER_1A2B3C4D\nend", "USER_1A2B3C4D")) == {"USER_1A2B3C4D"}
    later = must_instant(SMALL.tasks[0].started_at, "cut") + timedelta(days=3)
    lines = f"PERSON_1A2B3C4D\nsigned {later:%d.%m.%Y %H:%M}"
    signed = with_task(
        SMALL, 0, lambda t: t.model_copy(update={"opening": t.opening.model_copy(update={"requester_name": lines})})
    )
    noted = with_field(replace(SMALL), 0, "orders", "order", "note", lines)
    for data in (signed, noted):
        assert {f.verdict for f in run_check(LEAKS["late_time"], data)} == {"failed"}
