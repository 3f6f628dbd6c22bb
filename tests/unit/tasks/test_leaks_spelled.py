"""Leak checks: days and months of other languages, programs, cameras, files and spans, and what only looks like one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tasks.leaks import LeakInput, run_check
from tasks.leaks._month_names import NUMBERS, any_of, number_of
from tasks.leaks._plant import with_field, with_text
from tasks.leaks._times import times_in
from tasks.leaks._walk import must_instant
from tasks.leaks.late_time import LEAK
from tests.unit.tasks.leak_inputs import leak_input

SMALL = leak_input(tasks=40)
FIRST = SMALL.tasks[0]
CUT = must_instant(FIRST.started_at, "cut")
NEXT = CUT.replace(day=15) + timedelta(days=62)


def failed(data: LeakInput) -> list[str]:
    findings = run_check(LEAK, data)
    assert "could_not_run" not in {f.verdict for f in findings}
    return [f.path for f in findings if f.verdict == "failed"]


def noted(value: object) -> LeakInput:
    return with_field(SMALL, 0, "orders", "order", "note", value)


def read(text: str) -> list[str]:
    return sorted({f"{time.readings[0]:%Y-%m}" if time.month else f"{time.readings[0]:%Y-%m-%d}" for time in times_in(text)})


@pytest.mark.parametrize(
    ("text", "day"),
    [
        *(("20 juni 2017", "2017-06-20"), ("20 maart 2017", "2017-03-20"), ("20 mrt. 2017", "2017-03-20")),
        *(("20 giugno 2017", "2017-06-20"), ("1º agosto 2017", "2017-08-01"), ("20 de junho de 2017", "2017-06-20")),
        *(("20 czerwca 2017 r.", "2017-06-20"), ("20 marca 2017", "2017-03-20"), ("20 wrzesnia 2017", "2017-09-20")),
        *(("20. června 2017", "2017-06-20"), ("20. cervence 2017", "2017-07-20"), ("den 20 maj 2017", "2017-05-20")),
        *(("20. marts 2017", "2017-03-20"), ("20. desember 2017", "2017-12-20"), ("20 augusti 2017", "2017-08-20")),
        *(("2017年6月20日", "2017-06-20"), ("2017 年 06 月 20 日", "2017-06-20"), ("2017년 6월 20일", "2017-06-20")),
        *(("2017年6月20日(火) 11:30", "2017-06-20"), ("2017年6月20日 下午3点20分", "2017-06-20")),
        *(("datetime.datetime(2017, 6, 20, 10, 30)", "2017-06-20"), ("date(2017,6,20)", "2017-06-20")),
        *(("new Date(2017, 5, 20)", "2017-06-20"), ("LocalDate.of(2017, 6, 20)", "2017-06-20")),
        *(("Timestamp(year=2017, month=6, day=20)", "2017-06-20"), ("tm_year=2017, tm_mon=6, tm_mday=20", "2017-06-20")),
        *(("{'day': 20, 'month': 6, 'year': 2017}", "2017-06-20"), ("Jahr: 2017, Monat: 6, Tag: 20", "2017-06-20")),
        *(("2017:06:20 11:30:03", "2017-06-20"), ("2017:06:20", "2017-06-20"), ("export-2017-06-20.csv", "2017-06-20")),
    ],
)
def test_a_day_is_read_in_other_languages_and_as_programs_and_cameras_write_it(text: str, day: str) -> None:
    for written in (text, f"It came {text}, I think."):
        assert read(written) == [day], written


@pytest.mark.parametrize(
    "text",
    [
        *("maart 2018", "marzo 2018", "março de 2018", "w marcu 2018", "březen 2018", "mars 2018", "marts 2018", "2018年3月"),
        *("2018년 3월", "datetime.datetime(2018, 3, ...)", "date(2018, 3)", '{"year": 2018, "month": 3}', "year=2018&month=03"),
        *('{"month": "March", "year": "2018"}', "March (2018)", "March+2018", "March [2018]", "2018+March", "report-2018-03.csv"),
        *(
            "report_2018_03",
            "_2018_03",
            "report-03-2018.xlsx",
            "2018-03-report.pdf",
            "report_201803.csv",
            "report.2018-03.json.gz",
            "bills/2018/03/all.pdf",
            "2018/03.csv",
        ),
    ],
)
def test_a_month_is_read_in_other_languages_in_brackets_and_in_the_names_of_files(text: str) -> None:
    for written in (text, f"It is {text} there."):
        assert read(written) == ["2018-03"], written


@pytest.mark.parametrize("between", ["/", "--", "-", "..", ":", " - ", "\u2013"])
@pytest.mark.parametrize("form", ["%Y-%m", "%m/%Y"])
def test_both_months_of_a_span_are_read(form: str, between: str) -> None:
    first, second = (datetime(2017, month, 1).strftime(form) for month in (6, 8))
    assert read(f"for {first}{between}{second} only") == ["2017-06", "2017-08"]


@pytest.mark.parametrize(
    "text",
    [
        *("Ms May, 2018 was long", "Dear Ms. May 12, 2018", "Mr. T. August 2018", "Frau April 2018", "Mme Juin, 2018"),
        *("you may 2018", "they may, 2018 times", "who may 2018", "YOU MAY 2018", "in 2018 may be"),
        *("RE 2017/10", "RG 10/2017", "INV 2017-10", "room 08-2017", "Zimmer 08/2017", "desk 2017/10", "file 10/2017"),
        *(
            "Ott 2017",
            "Maja 2018",
            "la marca 2018",
            "1 set 2018",
            "2 out 2018",
            "3rd gen 2019",
            "40 leden 2018",
            "Marco 2018",
            "der Bau des 2018",
        ),
        *("RMA-2017-10.pdf", "invoice_201710.pdf", "IMG_201710.jpg", "report-201713.csv", "report_2017_13", "v2017_10"),
        *(
            "update(2017, 6)",
            "cost (2017, 6)",
            "date(2017, 13)",
            "2001:10:20:30::1",
            "model_year: 2019, months: 3",
            "3人 2017 年報",
        ),
    ],
)
def test_names_verbs_numbers_and_calls_that_look_like_a_month_are_none(text: str) -> None:
    assert read(text) == []


def test_the_name_of_a_month_in_any_language_is_read_as_it_stands() -> None:
    for name, number in NUMBERS.items():
        for written in (name, name.upper(), name.capitalize()):
            expected = [f"2018-{number:02d}-12"] if written.lower() == name else []
            assert read(f"12 {written} 2018") == expected, written
            assert number_of(written) == number


def test_a_pattern_of_words_finds_the_longest_that_stands_there() -> None:
    import re

    words = ("a", "ab", "abc", "bcd", "b", "abd")
    pattern = re.compile(any_of(words))
    for word in words:
        assert pattern.fullmatch(word)
        assert pattern.match(f"{word}x")[0] == word  # type: ignore[index]
    assert pattern.match("cab") is None
    assert any_of(()) == ""


FORMS: dict[str, Callable[[datetime], str]] = {
    "Chinese": lambda at: f"{at.year}年{at.month}月{at.day}日",
    "Korean, month": lambda at: f"{at.year}년 {at.month}월",
    "Python": lambda at: repr(at.replace(tzinfo=None)),
    "EXIF": lambda at: f"{at:%Y:%m:%d %H:%M:%S}",
    "Polish": lambda at: f"{at.day} {('', *_POLISH)[at.month]} {at.year}",
    "file": lambda at: f"stock-{at:%Y-%m}.csv",
    "bracket": lambda at: f"{at:%B} ({at:%Y})",
    "span": lambda at: f"{CUT:%Y-%m}/{at:%Y-%m}",
    "parts": lambda at: f"{{'year': {at.year}, 'month': {at.month}}}",
}
_POLISH = (
    *("stycznia", "lutego", "marca", "kwietnia", "maja", "czerwca"),
    *("lipca", "sierpnia", "września", "października", "listopada", "grudnia"),
)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_spelled_out_is_found_after_the_cut_and_fine_before_it(form: str) -> None:
    late, early = (FORMS[form](at) for at in (NEXT, CUT - timedelta(days=70)))
    assert any(path.startswith("state/orders/order/note") for path in failed(noted({"log": [f"done {late}"]})))
    assert failed(noted({"log": [f"done {early}"]})) == []
    assert any(path.startswith("opening/text") for path in failed(with_text(SMALL, 0, lambda before: f"{before} See {late}.")))


def test_a_month_in_the_name_or_the_folder_of_a_file_that_is_given_is_found() -> None:
    for name, paths in (
        (f"{NEXT:%Y/%m}/log.txt", ["files"]),
        (f"logs/{NEXT:%Y-%m}/log", ["files"]),
        (f"log-{NEXT:%Y_%m}", ["files"]),
        (f"log{NEXT:%Y%m}", []),
        (f"invoice-{NEXT:%Y-%m}", []),
        (f"{CUT:%Y/%m}/log.txt", []),
    ):
        files = replace(SMALL, file_times={FIRST.task_id: {name: FIRST.started_at}})
        assert failed(files) == paths, name
