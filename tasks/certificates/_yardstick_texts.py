"""What every reader of texts must find in them: values of a list, yes or no, numbers, days, and nothing in words that fit several.

A grader that takes "not Monday" for Monday, or half past five for five, lets a guess pass as said (`shown_before`), in any task
whose requester happens to speak so. See _yardstick.
"""
# ruff: noqa: E501 - what is said and what it means stand on one line

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewards.listed import hours_apart, lengths, said, spans
from rewards.seen import Choice, Seen, Want, days_in, first_unseen, numbers_in
from rewards.slips import one_slip, slip_of_name
from rewards.yes_no import answered, is_yes, is_yes_no, unknown
from tasks.certificates._yardstick_outcomes import Measure


def text_measures() -> Iterator[Measure]:
    for listed, texts in _LISTED:
        for text, right in texts.items():
            values = sorted(right.split("|")) if right else []
            yield f"{text!r} of {listed[0]!r} and others", sorted(said(text, listed)), values
    yield from _places()
    yield from _hours()
    yield from _slips()
    yield from _yes_no()
    yield from _held()
    yield from _numbers_and_days()
    yield from _chosen()


HOURS = tuple(f"{n} {half}" for half in ("am", "pm") for n in (12, *range(1, 12)))
DATES = tuple(f"{n}{'th' if 10 < n < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}" for n in range(1, 32))
WEEK = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
INNS = ("Harbour View Inn", "Old Mill Inn", "Dr. Abel's Lodge", "The Marlin", "Dr. Stone", "Kestrel")

_LISTED: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
    (HOURS, {
        "at 5 pm": "5 pm", "5PM": "5 pm", "5 p.m.": "5 pm", "five pm": "5 pm", "1 am": "1 am", "12 pm": "12 pm", "11 am": "11 am",
        "5:00 pm": "5 pm", "5:30 pm": "", "5:15 pm or 6 pm": "6 pm", "at 5": "", "": "", "0 pm": "", "13 pm": "",
        "half past 5 pm": "", "ten to 5 pm": "", "we come at half past 5 pm": "", "quarter to 3 in the afternoon": "",
        "17:00": "5 pm", "00:00": "12 am", "23:00": "11 pm", "13:00": "1 pm", "24:00": "", "9:00": "", "17:30": "",
        "noon": "12 pm", "at 12 noon": "12 pm", "midnight": "12 am", "midday": "12 pm",
        "5 in the afternoon": "5 pm", "come 5 in the afternoon": "5 pm", "come 9 in the morning": "9 am", "12 in the afternoon": "12 pm",
        "9 in the afternoon": "", "at 5, this afternoon": "5 pm", "see us 5, this afternoon": "", "we are 5 in the evening": "",
        "we are 8 this evening": "", "a table for 8 o'clock this evening": "8 pm", "party of 8 in the evening": "",
        "2 to 4 pm": "2 pm|4 pm", "2 pm to 4": "2 pm|4 pm", "11 to 1 pm": "11 am|1 pm", "from 9 am until 5": "9 am|5 pm", "10 pm to 2": "10 pm|2 am",
        "1 to 3 pm": "1 pm|3 pm", "3 to 1 pm": "3 am|1 pm", "12 to 2 pm": "12 pm|2 pm", "11 to 12 pm": "11 am|12 pm", "11 to 12 am": "11 pm|12 am",
        "12 am to 1": "12 am|1 am", "9 am to 11 pm": "9 am|11 pm", "5 to 7": "", "7 to 7 pm": "7 pm", "0 to 4 pm": "4 pm", "2 to 0 pm": "",
        "3 to 5:30 pm": "", "5:30 to 7 pm": "7 pm", "3:00 to 6 pm": "3 pm|6 pm", "half past 4 to 6 pm": "6 pm", "4 to 6 in the evening": "4 pm|6 pm",
        "2 to 3 in the evening": "", "11 to 12 am at night": "11 pm|12 am", "from ten to 5 pm": "10 am|5 pm", "5 to 10 pm": "", "10 am to 5": "10 am|5 pm",
        "2pm or 6pm": "2 pm|6 pm", "ORDER_0000005A pm": "", "for ORDER_0000005A at 5 pm": "5 pm", "not at 5 pm": "", "any time but 5 pm": "", "6 pm, not 5 pm": "6 pm",
        "5 pm doesn't work, is 6 pm free": "6 pm", "5 pm is not far": "5 pm", "I am not far off: 5 pm": "5 pm", "5 pm is out of the question": "",
        "for the whole party of us it would be best at about 5 pm": "5 pm", "for the whole party of us it would be best not at 5 pm": "",
        "for the whole party of us it would be best to come at half past 5 pm": "", "why not 5 pm": "5 pm",
    }),
    (("1 pm", "2 pm", "2 am", "13 pm", "13 am"), {"13 pm": "", "13 to 2 pm": "2 pm", "2 to 13 pm": "", "1 pm": "1 pm"}),
    (DATES, {
        "the 12th": "12th", "by 5th": "5th", "12 th": "12th", "the twelfth": "12th", "twelfth": "", "twenty-first of June": "21st", "the thirtieth": "30th",
        "12": "", "May 12": "12th", "12 May": "12th", "12 of May": "12th", "on may the 3": "3rd", "room 12": "", "12 guests": "", "12 pm": "", "32nd": "",
        "2nd floor": "", "the 2nd floor": "", "the 2nd of May visit": "2nd", "my 3rd": "", "my 3rd of May": "3rd", "it is my 4th": "",
        "the second": "", "on the second": "2nd", "the second of May": "2nd", "May third": "3rd", "the fourth": "4th", "a first": "",
        "12 to 15th": "12th|15th", "12th to 15": "12th|15th", "12 to 15": "", "May 3 to 22": "3rd|22nd", "3 to May 22": "3rd|22nd", "3 to 22 of May": "3rd|22nd",
        "12 to 15 of June visit": "12th|15th", "2nd to 5th floor": "", "12 to 15th floor": "", "from first to third": "1st|3rd", "we stay from first to third": "1st|3rd",
        "first to third": "", "first to fourth": "1st|4th", "first to 2": "", "from first to 2": "1st|2nd",
        "2 may work": "", "2nd may work": "2nd", "2 may, please": "2nd", "I may 12": "", "may 12 please": "12th", "I may 12th": "12th", "march 12 boxes over": "", "may 12 to 15": "12th|15th",
        "3 may come": "", "not the 12th": "", "the 12th is impossible": "", "the 1st and the 31st": "1st|31st", "ORDER_0000012A, the 3rd": "3rd",
    }),
    (WEEK, {
        "Monday": "Monday", "mondays": "Monday", "tues": "Tuesday", "wednsday": "Wednesday", "frday": "", "Mon or Wed": "Monday|Wednesday", "not Monday": "", "today": "",
        "on sat": "Saturday", "Friday, sat": "Friday|Saturday", "I sat in the sun": "", "a sundae": "", "Thursday or Friday": "Thursday|Friday", "no, Tuesday": "Tuesday",
        "Monday is not possible": "", "any day except for Friday": "", "Sunday does not suit me": "",
    }),
    (INNS, {
        "Harbour View Inn": "Harbour View Inn", "the harbour-view": "Harbour View Inn", "HARBOURVIEW": "Harbour View Inn", "harbour view inns": "Harbour View Inn",
        "view inn": "Harbour View Inn", "mill inn": "Old Mill Inn", "old": "", "inn": "", "view": "", "harbour": "", "harbour vieww": "Harbour View Inn", "harbour vew": "Harbour View Inn",
        "harbour veww": "", "Abel's": "", "Abel's lodge": "Dr. Abel's Lodge", "ABEL’S LODGE": "Dr. Abel's Lodge", "abel lodge": "Dr. Abel's Lodge", "dr": "", "marlin": "The Marlin", "the marlins": "The Marlin", "marlun": "The Marlin", "marln": "",
        "stone": "Dr. Stone", "stnoe": "", "Dr. Stone": "Dr. Stone", "kestral": "Kestrel", "kestrelss": "", "kestrel or the marlin": "Kestrel|The Marlin", "Kestrel. I": "Kestrel",
        "PERSON_0000001A kestrel": "Kestrel", "Kestrel instead of the Marlin": "Kestrel", "": "",
    }),
    (("North Gate East", "North Gate West"), {"the north gate": "", "north gate east": "North Gate East", "east": "North Gate East", "gate west": "North Gate West"}),
    (("Port Elm", "Fort Elm", "Port Oak"), {"port elm": "Port Elm", "Port Em": "Port Elm", "port": "", "elm": "", "oak": "Port Oak", "Port Elms": "Port Elm", "Port Elm a": "Port Elm", "port el m": "Port Elm"}),
    (("Martina", "Martini"), {"martins": "", "martina": "Martina", "martini": "Martini"}),
    (("A b", "a B"), {"a b": ""}),
    (("Marlins", "Marlin"), {"marlin": "Marlin", "marlins": "Marlins"}),
    (("432198", "555555"), {"432198": "432198", "432198b": "", "432199": "", "no. 555555": "555555"}),
    (("Garage 11", "Depot"), {"garage 11": "Garage 11", "garage 14": "", "garag 11": "Garage 11", "11": "", "depots": "Depot", "depo": ""}),
    (("Inn of the Old Town by the River", "Lodge"), {"the Inn of the old town by the river, please": "Inn of the Old Town by the River", "old": "", "by the river": "Inn of the Old Town by the River"}),
    (("Bo's Inn", "Kestrel Inn"), {"Bo's Inn": "Bo's Inn", "Bo’s": "Bo's Inn", "Bo's doesn't work": "", "Kestrel's is fine": "Kestrel Inn", "inn": ""}),
    (("Blue Box Lid", "Box", "Red"), {"blue box": "Blue Box Lid", "box": "Box", "box lid": "Box", "blue": "", "red": "Red"}),
    (("Blue", "Blue Box Lid", "Lid"), {"blue box lid": "Blue Box Lid", "blue": "Blue", "lid": "Lid", "blue, lid": "Blue|Lid", "box": "Blue Box Lid"}),
    (("The Stone", "Stone Lodge"), {"the lodge": "Stone Lodge", "the": "", "the stone": "The Stone"}), (("Martha", "Ellen"), {"Marta, a room": "", "martah": "Martha"}),
    (("Gate North East", "North Gate West"), {"gate north": "", "gate north east": "Gate North East", "north east": "Gate North East"}),
    (("Lola Ba Oxen", "Ba Inn"), {"lola ba": "", "lola ba oxen": "Lola Ba Oxen", "inn": "Ba Inn"}), (("Lid Stone Cup", "Stone Inn"), {"lid stone": "", "lid stone cup": "Lid Stone Cup"}),
    (("5 pm", "Any hour"), {"any hour": "Any hour", "5 pm": "5 pm"}), (("12th", "Last day"), {"last day": "Last day", "12th": "12th"}),
    (("yes", "no"), {"yes": "", "no": ""}),
)  # fmt: skip
"""(list, what is said -> the values of the list that it says)."""


def _places() -> Iterator[Measure]:
    """The words that say a value, in order."""
    for listed, text, right in (
        (HOURS, "at noon or 5 pm, we are 2", ["noon", "5 pm"]), (DATES, "the 12th. Or: May 3", ["12th", "3"]), (WEEK, "Fri, no: Monday", ["Fri", "Monday"]),
        (INNS, "the old mill or Kestrel", ["old mill", "Kestrel"]),
    ):  # fmt: skip
        yield f"{text!r}: its words", [text[start:end] for start, end, _ in spans(text, listed)], right


def _hours() -> Iterator[Measure]:
    for text, right in (
        ("a two-hour visit", {2}), ("3 hours, or 4 hrs", {3, 4}), ("2 hours ago", set()), ("half an hour", set()), ("2.5 hours", set()),
        ("ORDER_0000002A hours", set()),
    ):  # fmt: skip
        yield f"{text!r} lasts", sorted(lengths(text)), sorted(right)
    for start, end, hours in (
        ("11 am", "1 pm", 2), ("11 pm", "1 am", 2), ("12 am", "1 am", 1), ("12 pm", "1 pm", 1), ("12 am", "12 pm", 12), ("1 pm", "12 pm", 23),
        ("1 am", "1 pm", 12), ("1 pm", "1 pm", None), ("Monday", "1 pm", None), ("1 pm", "Monday", None),
    ):  # fmt: skip
        yield f"from {start} to {end}", hours_apart(start, end), hours


def _slips() -> Iterator[Measure]:
    for spoken, known, right in (
        ("sundey", "sunday", True), ("sundat", "sunday", True), ("synday", "sunday", True), ("bunday", "sunday", False), ("sunda", "sunday", True), ("unday", "sunday", False),
        ("sndav", "sunday", False), ("sundday", "sunday", True), ("sundays", "sunday", True), ("sundayss", "sunday", False), ("sund", "sunday", False), ("sudnay", "sunday", True),
        ("sunady", "sunday", True), ("sundya", "sunday", True), ("snuday", "sunday", True), ("usnday", "sunday", False), ("sudnat", "sunday", False), ("sunxxy", "sunday", False),
        ("sudnayx", "sunday", False), ("sunxdax", "sunday", False), ("suxday", "sunday", True), ("suday", "sunday", True), ("sudya", "sunday", False), ("sundyax", "sunday", False),
        ("s", "su", True), ("", "s", False), ("sndauy", "sunday", False),
    ):  # fmt: skip
        yield f"{spoken!r} is {known!r} with one slip", one_slip(spoken, known), right
    for spoken, known, right in (
        ("sundae", "sunday", False),
        ("sundey", "sunday", True),
        ("gate14", "gate11", False),
        ("gete11", "gate11", True),
        ("gaet14", "gate11", False),
    ):
        yield f"{spoken!r} is the name {known!r} with one slip", slip_of_name(spoken, known), right


PARKING, BADGE = ("parking", "insurance"), ("visitor badge", "a badge")
NEEDS, PAID = "Do you need parking?", "Have you paid for parking?"


def _yes_no() -> Iterator[Measure]:
    for listed, right in (
        (("Yes", "No"), True),
        (("yes", "maybe"), False),
        (("TRUE", "false"), True),
        ((), False),
        (("no",), True),
    ):
        yield f"{listed} is yes or no", is_yes_no(listed), right
    yield "the yes of yes and no", [is_yes(value) for value in ("Yes", "no", "true", "False", True, False)], [True, False] * 3
    for asked, text, yes in _ANSWERS:
        found = answered(asked, text, PARKING)
        yield f"{asked!r} {text!r}", None if found is None else found[2], yes
    for asked, text, words, yes, phrases in (
        (NEEDS, "Yes. I need parking.", "Yes", True, PARKING), (NEEDS, "Well, no, thank you", "no", False, PARKING), (NEEDS, "For us two, sure.", "sure", True, PARKING),
        ("", "Hello.  I need a badge!", "I need a badge", True, BADGE), ("", "no chairs, but we need a badge and two chairs", "we need a badge", True, BADGE),
        (PAID, "Sorry, I haven't paid it yet.", "I haven't paid it yet", False, PARKING), ("", "A visitor badge, please. I need a badge.", "I need a badge", True, BADGE),
        ("", "one badge please", None, None, BADGE), ("", "a badger please", None, None, BADGE), ("", "a visitor, badge please", None, None, BADGE),
        ("", "I need a visitor-badge", "I need a visitor-badge", True, BADGE), ("", "we need a how-to guide", "we need a how-to guide", True, ("how-to guide",)),
        ("", "we need a no smoking room", "we need a no smoking room", True, ("no smoking room",)), ("", "no I don't need a badge", "no I don't need a badge", False, BADGE),
    ):  # fmt: skip
        found = answered(asked, text, phrases)
        yield (
            f"{text!r}: the words of the answer",
            found and (text[found[0] : found[1]].strip(), found[2]),
            words and (words, yes),
        )
    for asked, text, right in (
        (NEEDS, "I can't remember, sorry.", True), ("", "I don't know if I need parking", True), ("", "Hello. I am not sure about parking. Bye.", True),
        ("", "I don't know the way. I need parking.", False), ("What is your name?", "I do not know", False), (NEEDS, "No.", False), (NEEDS, "Fine", False),
        (NEEDS, "Yes. I don't know the way.", False), ("", "I can't say no to parking", False), ("", "I don't know", False), ("", "", False),
    ):  # fmt: skip
        yield f"{asked!r} {text!r}: it is not known", unknown(asked, text, PARKING), right


_ANSWERS: tuple[tuple[str, str, bool | None], ...] = (
    (NEEDS, "Yes", True), (NEEDS, "No.", False), (NEEDS, "I do.", True), (NEEDS, "definitely not", False), (NEEDS, "Thank you, yes", True), (NEEDS, "", None), (NEEDS, "Fine", None),
    (NEEDS, "no breakfast please", None), (NEEDS, "no worries", None), (NEEDS, "never mind, yes", True), (NEEDS, "no problem", None), (NEEDS, "I don’t", False),
    (NEEDS, "I am not sure, yes", None), (NEEDS, "Yes please, I am not sure", None), (NEEDS, "Yes please. I don't know the way, though.", True), (NEEDS, "I'm not sure, no", None),
    (NEEDS, "Thanks, yes, I mean no.", None), (NEEDS, "Thanks, yes. Yes!", True), (NEEDS, "Thanks, no. No!", False), (NEEDS, "yes, but no", None), (NEEDS, "Yes. Wait, no.", None),
    (NEEDS, "Yes. No.", None), (NEEDS, "Yes, please. Definitely not.", None), (NEEDS, "Yes. Sure.", True), (NEEDS, "Yes. I do not eat fish.", True), (NEEDS, "Yes, and we do not eat fish", None),
    (NEEDS, "Yes, please, actually no.", None), (NEEDS, "Yes, please. We are three, oh no.", None), (NEEDS, "Yes, please. We are four.", True), (NEEDS, "no, I mean yes", None),
    (NEEDS, "No thank you. We are four.", False), (NEEDS, "No, I need parking.", None), (NEEDS, "Yes, I need parking.", True), (NEEDS, "No. We don't need parking", False),
    (NEEDS, "I haven't", False), (NEEDS, "I haven't paid it yet", None), (PAID, "I haven't paid it yet", False), (PAID, "No, I haven't paid it yet", False),
    (PAID, "I did not hear you", None), (PAID, "Well, yes. I have not eaten", True), (PAID, "Oops, yes, I haven't paid it yet", None),
    ("", "Yes", None), ("Is it far?", "Yes", None), ("Parking.", "Yes", True), ("Parking. What is your name?", "Yes", None), ("What is your name? Parking.", "Yes", None),
    ("Hello. Parking.", "yes", True), ("Please tell me your name. Parking.", "yes", None), ("How are you? Do you need parking?", "yes", True), ("Do you need parking? How are you?", "yes", None),
    ("Do you need parking? How are you? So, is it parking?", "yes", True), ("Anything else? Do you need parking?", "yes", None), ("Tell me if you need parking.", "yes", True),
    ("Do you need parking? Please tell me your name.", "yes", None), ("Hello. Do you need parking? Bye.", "yes", True), ("Parking. Do you need parking?", "no", False),
    ("How is it? Tell me if you need parking.", "no", False), ("Parking is near. Is it far?", "yes", None), ("Do you need insurance?", "yes", True),
    ("Shall I drop insurance?", "yes", None), ("Is it without parking?", "yes", None), ("You need parking, don't you? It is without parking.", "yes", None),
    ("Do you need parking or breakfast?", "yes", None), ("Do you need parking or not?", "yes", True), ("Is parking not needed?", "yes", None),
    ("", "I need parking", True), ("", "parking please", True), ("", "we come without parking", False), ("", "no parking, please", False), ("", "Parking", None), ("", "Is parking free?", None),
    ("", "Breakfast but not parking", False), ("", "we need parking? Hm.", None), ("", "please cancel parking", None), ("", "I am not sure whether I need parking", None),
    ("", "I paid for parking last time", None), ("", "if we need parking please", None), ("", "so if we need parking please", None), ("", "We need chairs and parking", True),
    ("", "I don't need parking and have no car", False), ("", "I can't do without parking", None), ("", "parking is not needed", False), ("", "the parking is needed", True),
    ("", "we do not stay in that big old house with parking", None), ("", "I don't need breakfast, chairs or parking please", None), ("", "we don't need chairs, we need parking", True),
    ("", "we have chairs, parking please", True), ("", "no, with parking please", True), ("", "We don't need chairs. With parking please.", True), ("", "we don't come early, with parking please", None),
    ("", "We need parking. We don't need parking.", None), ("", "We need parking. With parking please.", True), ("", "no car but I need parking", True),
    ("", "no, I don't need parking", False), ("", "no I don't need parking", False), ("", "not early, not late, parking please", None), ("", "I say parking, no", True),
)  # fmt: skip
"""(message, answer, whether it says yes or no to parking or insurance)."""


def _held() -> Iterator[Measure]:
    """Values that stand in texts."""
    for texts, value, right in (
        (("at 7 PM, room 450",), "7pm", True), (("at 7 PM",), "pm", True), (("at 7 PM",), "p", False), (("Old Mill",), "old  MILL", True), (("Old", "Mill"), "Old Mill", False),
        (('{"a": "Old", "b": "Mill"}',), "Old Mill", False), (('{"Saturday": 1}',), "Saturday", False), (('["x\\nday"]',), "day", True), (('["x\\nday"]',), "nday", False),
        (("{friday",), "Friday", True), (("no [x]",), "x", True), (('{"a": [{"b": "deep"}]}',), "deep", True), (('{"a": true, "b": null, "c": "x"}',), "true", False),
        (('{"a": true, "b": null}',), "None", False), (("x", "y"), "x", True), (("x", "y"), "z", False), ((), "x", False),
        (("ORDER_1A here",), "order_1a", True), (("ORDER_1AB",), "ORDER_1A", False), (("MY_ORDER_1A",), "ORDER_1A", False), (("ORDER_1A 5",), "1A", False), (("x", "ORDER_1A"), "ORDER_1A", True),
        (("no id",), "ORDER_1A", False), (("old_mill",), "old mill", True), (("old mill",), "old_mill", True), (("FOO_1", "BAR"), "FOO_BAR1", False),
        (("x",), None, True), (("x",), True, True), (("x",), False, True), (("a", "b"), ["a", "b"], True), (("a", "b"), ["a", "c"], False), (("a",), {"k": "a"}, True), (("a",), {"k": "a", "l": "b"}, False),
        (("a",), [], True), (("of 450",), 450, True), (("of 450",), -450, True), (("of 450", "of 3"), 3, True), (("of 450",), 45, False), (("x",), 0, False),
        (('{"a": 1, "b": 2}',), "", False), (('{"a": 1, "b": 2}',), "|", False), (("x",), "?", False), (("2025-03-01 x",), "2025-03-01", True), (("1 March 2025",), "2025-03-01", True),
        (("x", "1 March 2025"), "2025-03-01", True), (("1 March 2025",), "2025-03-02", False), (("2 March 2025",), "due 2025-03-02", False), (("no day",), "2025-03-01", False),
    ):  # fmt: skip
        yield f"{texts} show {value!r}", Seen(*texts).shows(Want(value)), right
    late = Seen("of 3")
    found = [late.holds(4), late.holds("2025-03-01")]
    late.add("4 and 1 March 2025")
    late.add_result({"n": 5, "day": "on 2 March 2025", "x": [None, True]})
    found += [late.holds(value) for value in (3, 4, 5, 6, "2025-03-01", "2025-03-02", "2025-03-03", "n", "None", "True")]
    yield "what is shown later", found, [False, False, True, True, True, False, True, True, False, False, False, False]


def _numbers_and_days() -> Iterator[Measure]:
    for text, whole, amounts in (
        ("450 of 1,200", {450, 1200}, set()), ("twenty-five", {25}, set()), ("twenty, thirty nine and ninety", {20, 39, 90}, set()), ("zero or one", {0, 1}, set()), ("nineteen", {19}, set()),
        ("this one, one of us", set(), set()), ("two hundred", set(), set()), ("ORDER_12 at 7:30 on 2025-03-01", set(), set()), ("7:30:15.5", set(), set()),
        ("15.00", set(), {1500}), ("EUR 1.234,50", set(), {123450}), ("1 234.50", set(), {123450}), ("15 EUR", {15}, {1500}), ("$15", {15}, {1500}), ("$15 and 20 pounds", {15, 20}, {1500, 2000}),
        ("1.234", set(), set()), ("1,200.50 or 7.25", set(), {120050, 725}), ("room7", {7}, set()), ("4 on 1 March 2025", {4}, set()),
    ):  # fmt: skip
        found = [sorted(numbers) for numbers in numbers_in(text)]
        yield f"numbers of {text!r}", found, [sorted(whole), sorted(amounts)]
    for text, days in (
        ("2025-03-01", {"2025-03-01"}), ("1.3.2025", {"2025-03-01"}), ("1st of March, 2025", {"2025-03-01"}), ("Mar 2nd, 2025", {"2025-03-02"}), ("december 31 2024", {"2024-12-31"}),
        ("1 March", set()), ("3/1/2025", set()), ("31.2.2025 or 1.3.2025", {"2025-03-01"}), ("30 Feb 2025, 2 Jan 2025 and 3 Jan 2025", {"2025-01-02", "2025-01-03"}), ("", set()),
    ):  # fmt: skip
        yield f"days of {text!r}", sorted(days_in(text)), sorted(days)


def _chosen() -> Iterator[Measure]:
    """The first argument of a call that was never shown."""
    hour, fee = Choice(HOURS), Choice(("Yes", "No"), ("fee",), "No")
    choices = {"start": hour, "end": hour, "day": Choice(WEEK), "fee": fee, "many": Choice(("1", "2"))}
    asks, two = "Is the fee paid?", "two hours from 5 pm"
    cases: tuple[tuple[str, tuple[str, ...], dict[str, Any], str | None], ...] = (
        ("", ("Friday",), {"day": "Friday"}, None), ("", ("Friday",), {"day": "Monday"}, "day"), ("", ("on fri", "Monday"), {"day": "Friday"}, None), ("", (), {}, None),
        ("", ("Friday",), {"note": "Friday", "day": "Monday", "start": "5 pm"}, "day"), ("", ("Friday",), {"note": "fri"}, "note"), ("", ("Friday",), {"day": None, "start": 5}, "start"),
        ("", ("5",), {"start": 5}, None), ("", ("Friday", "Monday"), {"day": ["Friday", "Monday"]}, None), ("", ("Friday",), {"day": ["Friday", "Monday"]}, "day"),
        ("", ("not Friday",), {"day": "Friday"}, "day"), ("", (two,), {"start": "5 pm", "end": "7 pm"}, None), ("", (two,), {"end": "7 pm", "start": "5 pm"}, None),
        ("", (two,), {"start": "5 pm", "end": "8 pm"}, "end"), ("", (two,), {"end": "7 pm"}, "end"), ("", ("two hours",), {"start": "5 pm", "end": "7 pm"}, "start"),
        ("", (two,), {"start": "5 pm", "note": "7 pm"}, "note"), ("", (two,), {"from": "5 pm", "end": "7 pm"}, "end"), ("", ("from 5 pm", "x", "two hours"), {"start": "5 pm", "end": "7 pm"}, None),
        ("", ("5 pm and 5 for two hours",), {"from": "5 pm", "end": "7 pm"}, "end"), ("", ("5 for two hours",), {"start": 5, "end": "7 pm"}, "end"), ("", ("5 pm",), {"start": "5 pm", "end": "7 pm"}, "end"),
        (asks, ("Yes.",), {"fee": "Yes"}, None), (asks, ("Yes.",), {"fee": "No"}, "fee"), (asks, ("No.",), {"fee": "No"}, None), (asks, ("Hm.", "Yes."), {"fee": True}, None),
        (asks, ("No.",), {"fee": True}, "fee"), (asks, ("Hm.",), {"fee": "No"}, "fee"), ("Is it far?", ("Yes.",), {"fee": "Yes"}, "fee"), (asks, ("No.", "Yes."), {"fee": "Yes"}, None),
        (asks, ("I do not know.",), {"fee": "No"}, None), (asks, ("I do not know.",), {"fee": "Yes"}, "fee"), (asks, ("Hm.", "I do not know."), {"fee": "No"}, None),
    )  # fmt: skip
    for asked, texts, arguments, right in cases:
        seen = Seen("Good day")
        for text in texts:
            seen.add(text, asked)
        yield f"{asked!r} {texts} show {arguments}", first_unseen(arguments, choices, seen), right
    told = Seen()
    told.add_result({"a": "Hm.", "b": "Yes."}, asks)
    found = [told.shows(Want("Yes", fee)), told.shows(Want("No", fee)), told.shows(Want("No", Choice(("Yes", "No"), ("fee",))))]
    told.add_result({"a": "Hm.", "b": "I do not know.", "c": "for 3 hours"}, asks)
    found += [told.shows(Want("No", fee)), told.shows(Want(None, hours=3)), told.shows(Want(None, hours=2))]
    yield "an answer in one value of a result", found, [True, False, False, True, True, False]
