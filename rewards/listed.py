"""Which values of a tool's list the words of a text say: "the Hilton" for "Hilton Hotel", "17:00" for "5 pm".

A list is read by its own shape (hours of a day, days of a month, yes or no, weekdays and any other names), and conservatively:
words that fit several values of the list say none of them.

- hours ("5 pm"): with am or pm, on the 24-hour clock ("17:00"), noon, midnight, or with the part of the day ("5 in the
  afternoon"); of a range one am or pm serves both ends ("2 to 4 pm", "11 to 1 pm"). "At 5" and "5:30 pm" say none.
- days of a month ("12th"): as such, in words ("the twelfth"), or beside a month's name ("May 12"); of a range one such end serves
  both ("12 to 15th"). A bare number says none.
- names: the whole name, its end or beginning of several words (of seven letters, one word of four that no other value has), or
  what is left without the words that other values share ("Dr. Morgan" is Morgan, "the Hyatt"); letter case, spaces, marks, "'s",
  a plural "s" and one slip in a long word do not count. Of a name inside a longer one only the longer is said. Weekdays also by
  their usual short forms.
- yes or no: see `rewards.yes_no`.

What is only refused ("not Monday", "5 pm doesn't work") is mentioned and not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from rewards.slips import slip_of_name
from rewards.yes_no import is_yes_no

Listed = tuple[str, ...]
Span = tuple[int, int, str]
"""(start, end, value): the characters of a text that say a value of the list."""
BEHIND = 80
"""Characters before a place that are looked at: no longer wording decides, and long texts are not read anew for each place."""
LONG = 6
"""Letters from which a name with one slip is read as the name meant."""

_TWELVE = "one two three four five six seven eight nine ten eleven twelve"
SMALL = {word: n for n, word in enumerate(_TWELVE.split(), start=1)}
_HOUR = re.compile(r"(\d{1,2}) ?([ap]m)")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
CLOCK = rf"(?:\d{{1,2}}|{'|'.join(SMALL)})"
_PARTS = {
    "morning": (range(1, 12), "am"),
    "afternoon": ((12, *range(1, 7)), "pm"),
    "evening": (range(4, 12), "pm"),
    "night": (range(6, 12), "pm"),
}
"""Part of the day -> hours on the twelve-hour clock that lie in it, and whether they are am or pm."""
DAYS = {
    "sunday": ("sun",), "monday": ("mon",), "tuesday": ("tue", "tues"), "wednesday": ("wed", "weds"),
    "thursday": ("thu", "thur", "thurs"), "friday": ("fri",), "saturday": ("sat",),
}  # fmt: skip
_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?"
    r"|dec(?:ember)?)\.?"
)
_TO = r" ?(?:-|–|—|to|till|til|until|through|thru|and|or|&)(?: the)? ?"
_UNITS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
_ORDINALS = {word: n for n, word in enumerate(
    [*_UNITS, "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
     "nineteenth", "twentieth"], start=1)}  # fmt: skip
_ORDINALS |= {f"{tens}{join}{word}": base + n for tens, base in (("twenty", 20), ("thirty", 30)) for join in "- "
              for n, word in enumerate(_UNITS, start=1) if base + n <= 31}  # fmt: skip
_ORDINALS["thirtieth"] = 30
_AS_WORDS = "|".join(sorted(_ORDINALS, key=len, reverse=True))
_WORD = re.compile(r"([^\W_]+)(?:['’][sS]\b)?")
"""A word, and the "'s" after it that does not count."""
_TOKEN = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}\w*")


def spans(text: str, listed: Listed) -> tuple[Span, ...]:
    """Where and which values of the list the text says, in order. Yes and no are read by `rewards.yes_no` alone."""
    low = folded(text)
    return tuple(span for span in mentions(text, listed) if not _refused(low, span[0], span[1]))


@lru_cache(maxsize=20_000)
def mentions(text: str, listed: Listed) -> tuple[Span, ...]:
    """As `spans`, with those that are only named to be refused."""
    if is_yes_no(listed):
        return ()
    text = masked(text)
    if all(_HOUR.fullmatch(value.casefold()) for value in listed):
        found = _hours(text)
    elif all(_ORDINAL.fullmatch(value.casefold()) for value in listed):
        found = _month_days(text)
    else:
        return tuple(_names(text, listed))
    known = {_key(value): value for value in listed}
    return tuple((start, end, known[key]) for start, end, key in sorted(set(found)) if key in known)


_REFUSED_BEFORE = re.compile(
    r"(?:(?<!why )(?<!why n't )\b(?:not|except(?: for)?|other than|instead of|rather than|(?:any|every)\w*(?: \w+)? but)"
    r"|n't|\bno)"
    r"(?: (?:at|on|the|for|with|in|by|dr\.?|this|next|want|like|do|make|take))* $"
)
_REFUSED_AFTER = re.compile(
    r"(?: (?:at|in|on|the|is|morning|afternoon|evening|that|time|day)\b)*"
    r"(?: (?:wo|do|does|is|ca) ?n[o']?t\b| (?:will|does|is|can) ?not\b)(?: (?:really|going to|gonna|be|a))*"
    r"(?: (?:work|suit|fit|sound|look|good|great|possible|available|ok|okay|fine|option|happen|do|for me)\b|\W*$)"
    r"|,? (?:is )?(?:impossible|no good|out of the question)\b"
)


def _refused(low: str, start: int, end: int) -> bool:
    """True if the words beside a value refuse it."""
    return behind(_REFUSED_BEFORE, low, start) or _REFUSED_AFTER.match(low, end) is not None


def folded(text: str) -> str:
    """The text without case and with plain apostrophes, each character in its place: what casefold would lengthen stays."""
    low = text.casefold()
    if len(low) != len(text):
        low = "".join(one if len(one := letter.casefold()) == 1 else letter for letter in text)
    return low.replace("’", "'")


def behind(pattern: re.Pattern[str], low: str, end: int) -> bool:
    """True if what stands before a place, in BEHIND characters, ends as the pattern does (which ends in "$")."""
    return pattern.search(low, max(0, end - BEHIND), end) is not None


def masked(text: str) -> str:
    """The text with pseudonyms as blanks of the same length: their letters and digits say nothing."""
    return _TOKEN.sub(lambda match: " " * len(match[0]), text)


def said(text: str, listed: Listed) -> frozenset[str]:
    """The values of the list that the text says."""
    return frozenset(value for _, _, value in spans(text, listed))


def _key(value: str) -> str:
    """A listed hour or day of a month without its spaces: "5pm", "12"."""
    hour, day = _HOUR.fullmatch(value.casefold()), _ORDINAL.fullmatch(value.casefold())
    return f"{int(hour[1])}{hour[2]}" if hour else str(int(day[1])) if day else value


def is_when(listed: Listed) -> bool:
    """True for a list of hours, of days of a month or of weekdays."""
    return all(number_of(value) is not None or value.casefold() in DAYS for value in listed)


def is_day_of_month(listed: Listed) -> bool:
    return all(_ORDINAL.fullmatch(value.casefold()) for value in listed)


def number_of(value: str) -> int | None:
    """The number of a listed hour or day of a month ("5 pm", "12th"); None of any other value."""
    match = _HOUR.fullmatch(value.casefold()) or _ORDINAL.fullmatch(value.casefold())
    return int(match[1]) if match else None


# --- hours ----------------------------------------------------------------------------------------------------------


def _end(name: str) -> str:
    """An hour, its minutes as `<name>min`, its am or pm as `<name>half`."""
    return rf"(?P<{name}>{CLOCK})(?:[:.](?P<{name}min>\d\d))?(?: ?o'? ?clock)?(?: ?(?P<{name}half>[ap])\.? ?m\b\.?)?"


_PART = rf"(?:[ ,]*(?:in the|at|this|that|the|tomorrow|every|{'|'.join(DAYS)}))*[ ,]*(?P<part>morning|afternoon|evening|night)\b"
_ALONE = r"(?:(?<![\d:.,_$€£])(?<!\d )(?=\d)|(?<!twenty )(?<!twenty-)(?<!thirty )(?<!thirty-)(?<!forty )(?<!fifty )\b(?=\D))"
_RANGE = re.compile(rf"{_ALONE}{_end('a')}{_TO}{_end('b')}(?:{_PART})?(?![\w:])")
_ONE = re.compile(rf"{_ALONE}{_end('a')}(?:{_PART})?")
_LATE = re.compile(r"(?<![\d:.])(?P<a>1[3-9]|2[0-3]|0?0):00(?![\d:])")
_SPECIAL = re.compile(r"\b(?:12 ?(?:o'? ?clock )?)?(?P<name>noon|midday|midnight)\b")
_HALF = re.compile(
    r"\b(?:half|quarter|minutes|mins)(?: (?:past|to|after|before|till))? ?(?:the )?$|\bhalf ?$"
    r"|(?<!from )(?<!between )(?<![\d:.])\b(?:five|ten|twenty(?:[- ]five)?|5|10|20|25) (?:past|to|after|before|till|of) $"
)
"""Before an hour: minutes from it ("ten to 5 pm"), so that it is not the hour."""
_COUNTS = re.compile(
    r"(?:\b(?:we|there|they)(?:'re| are| were| will be| be|'ll be)|\b(?:have|has|had|need|us|for|of|with|party|group"
    r"|table|seats?|rooms?))\s*$"
)
"""Before a number: it says how many, not when."""
_OF_TIME = re.compile(
    r"(?:^|[.!?;:(]|\b(?:at|around|about|by|from|to|till|until|before|after|say|maybe|like|or|and|is|approximately"
    rf"|today|tomorrow|tonight|{'|'.join(DAYS)}),?)\s*$"
)


def number(text: str) -> int:
    return int(text) if text.isdigit() else SMALL[text]


def _hour(number: int, half: str) -> str | None:
    return f"{number}{half}" if 1 <= number <= 12 else None


def _meant(number: int, meridiem: str | None, part: str | None) -> str | None:
    """The hour as "5pm", or None where neither am/pm nor the part of the day decides it."""
    if meridiem:
        return _hour(number, f"{meridiem}m")
    if part:
        hours, half = _PARTS[part]
        return _hour(number, half) if number in hours else None
    return None


def _hours(text: str) -> Iterator[Span]:
    low = folded(text)
    for match in _ONE.finditer(low):
        if match["amin"] not in (None, "00") or behind(_HALF, low, match.start()):
            continue
        part = match["part"] if _is_hour(low, match) else None
        if value := _meant(number(match["a"]), match["ahalf"], part):
            yield match.start(), match.end(), value
    for match in _RANGE.finditer(low):
        yield from _range(low, match)
    for match in _LATE.finditer(low):
        hour = int(match["a"])
        yield match.start(), match.end(), f"{hour % 12 or 12}{'pm' if hour else 'am'}"
    for match in _SPECIAL.finditer(low):
        yield match.start(), match.end(), "12am" if match["name"] == "midnight" else "12pm"


def _is_hour(low: str, match: re.Match[str]) -> bool:
    """True if a number before a part of the day is an hour: beside a comma, "this" or a day's name it may count people."""
    if match["ahalf"] or "clock" in match[0]:
        return True
    if behind(_COUNTS, low, match.start()):
        return False
    plain = re.fullmatch(r"\S+ ?(?:in the|at) ?(?:morning|afternoon|evening|night)", match[0])
    return plain is not None or behind(_OF_TIME, low, match.start())


def _range(low: str, match: re.Match[str]) -> Iterator[Span]:
    """Both ends of a range of which one has no am or pm of its own: it is such that the range runs forward within half a day."""
    first, last = number(match["a"]), number(match["b"])
    start, end = match["ahalf"], match["bhalf"]
    if not end and match["part"]:
        value = _meant(last, None, match["part"])
        end = value[-2] if value else None
    if not match["amin"] and not start and " to " in match[0] and behind(_HALF, low, match.start("b")):
        return  # "ten to 5 pm" is ten minutes before it
    whole = all(match[f"{name}min"] in (None, "00") for name in "ab") and not behind(_HALF, low, match.start("a"))
    if bool(start) == bool(end) or not whole or not (1 <= first <= 12 and 1 <= last <= 12) or first == last:
        return
    forward = first % 12 < last % 12
    other = {"a": "p", "p": "a"}
    start, end = start or (end if forward else other[end]), end or (start if forward else other[start])
    yield match.start(), match.end(), f"{first}{start}m"
    yield match.start(), match.end(), f"{last}{end}m"


# --- days of a month ------------------------------------------------------------------------------------------------

_COUNTED = (
    r"(?:people|guests?|persons?|of us|times?|nights?|days?|hours?|weeks?|adults?|kids|children|friends|more|other|tables?"
    r"|rooms?|beds?|beers?)\b"
)
_DIGITS = rf"\d{{1,2}}(?!\w|[:.]\d| ?[ap]\.? ?m\b| ?%| {_COUNTED})"
_NTH = rf"(?:\d{{1,2}} ?(?:st|nd|rd|th)\b|(?:{_AS_WORDS})\b)"
_SOME = rf"(?:{_NTH}|{_DIGITS})"
_OF = rf"(?: ?(?:of )?(?:{_MONTHS}(?!\w)|(?:this|next|the)(?: following| coming| same)? month\b))"
_START = r"(?<![\w.,/:$€£-])"
_DAY = re.compile(rf"{_START}(?:(?P<lead>the|on|{_MONTHS}) ?)?(?P<a>{_NTH})(?P<of>{_OF})?")
_IN_MONTH = re.compile(rf"{_START}(?P<a>{_DIGITS}){_OF}|\b{_MONTHS} ?(?:the )?(?P<b>{_DIGITS})")
_DAYS_RANGE = re.compile(
    rf"{_START}(?:(?P<m>{_MONTHS}) ?)?(?:the )?(?P<a>{_SOME}){_OF}?{_TO}(?:(?P<n>{_MONTHS}) ?)?(?P<b>{_SOME})(?P<of>{_OF})?"
)
_NO_DAY = re.compile(
    r"(?: (?:or|and|to) \d{1,2} ?(?:st|nd|rd|th))?"
    r" (?:floor|time|one|option|choice|street|st|avenue|ave|thing|hotel|person|guest|attempt"
    r"|grade|grader|degree|birthday|class|half|quarter|century|glance|thoughts?|weeks?|days?|stay|available|place|round|visit"
    r"|part|row|trip|party|sense|anniversary|cable|question|step|wheel|officer|level|job|appointment|directions?|sets?"
    r"|to (?!the\b|\d)\w+)\b"
)
_CHOSEN = frozenset(_UNITS[:3])
"""Ordinals that as often choose among things: they say a day only beside a month or after these words."""
_ON = re.compile(r"\b(?:on|from|until|till|to|through|by|between) (?:the )?$")
_VERB = re.compile(r"\b(?:may|march)\b")
_SUBJECT = re.compile(r"\b(?:i|we|you|he|she|they|it|that|this|there|who|which|what|people|guests?)(?:'\w+)? $")
_GOES_ON = (
    r"(?=\W*$|\s*[.,;:!?)/&–—-]|,? (?:to|till?|until|through|thru|and|or|for|at|in|on|from|please|pls|would|will|works|if|with"
    r"|ok|okay|sounds|then|as|is|it|i|we|that|because|\d{4})\b)"
)
"""What goes on after a date: before a noun or a verb, a number beside "may" or "march" may count or may do something."""
_BEFORE_DAY = re.compile(rf"(?:may|march) (?:the )?(?:{_NTH}|{_DIGITS}(?:{_TO}(?:{_SOME}))?{_GOES_ON})|(?:may|march)(?={_TO}\d)")
_AFTER_NTH = re.compile(rf"{_NTH}(?: of)? $")
_AFTER_DIGITS = re.compile(r"\d(?: of)? $")
_ENDS_DATE = re.compile(rf"(?:may|march){_GOES_ON}")


def _months_only(low: str) -> str:
    """The text without "may" and "march" where they can be verbs ("I may 5 times", "2 may come")."""

    def kept(match: re.Match[str]) -> str:
        start = match.start()
        month = (
            behind(_AFTER_NTH, low, start)
            or (behind(_AFTER_DIGITS, low, start) and _ENDS_DATE.match(low, start))
            or (_BEFORE_DAY.match(low, start) and not behind(_SUBJECT, low, start))
        )
        return match[0] if month else "_" * len(match[0])

    return _VERB.sub(kept, low)


def _month_days(text: str) -> Iterator[Span]:
    low = _months_only(folded(text))
    for match in _DAY.finditer(low):
        named = match["of"] or (match["lead"] and match["lead"] not in ("the", "on"))
        start = match.start("a")
        if match["a"][0].isdigit():
            bare = low.endswith("my ", 0, start)
        else:
            bare = not match["lead"] or (match["a"] in _CHOSEN and not behind(_ON, low, start))
        if named or not (bare or _NO_DAY.match(low, match.end())):
            yield match.start("a"), match.end("a"), _nth(match["a"])
    for match in _IN_MONTH.finditer(low):
        name = "a" if match["a"] else "b"
        yield match.start(name), match.end(name), _nth(match[name])
    for match in _DAYS_RANGE.finditer(low):
        if _NO_DAY.match(low, match.end()) and not match["of"]:
            continue
        sure = behind(_ON, low, match.start("a"))
        ends = [match[end] for end in "ab" if re.fullmatch(_NTH, match[end]) and (sure or match[end] not in _CHOSEN)]
        if ends or match["m"] or match["n"] or match["of"]:
            yield match.start(), match.end(), _nth(match["a"])
            yield match.start(), match.end(), _nth(match["b"])


def _nth(text: str) -> str:
    """The number of a day in digits, with an ending or in words: "12"."""
    found = re.match(r"\d+", text)
    return str(int(found[0])) if found else str(_ORDINALS[text])


# --- names ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=500)
def _forms(listed: Listed) -> tuple[tuple[str, str, bool], ...]:
    """(letters and digits run together, value, a long word that may have a slip) of every way to say each value in full."""
    words = {value: _WORD.findall(value.casefold()) for value in listed}
    found: dict[tuple[str, str], bool] = {}
    for value, own in words.items():
        others = {word for other, theirs in words.items() if other != value for word in theirs}
        core = [word for word in own if word not in others]
        if core and core[0] in _TITLES:
            core = core[1:]
        start = own.index(core[0]) if core else 0
        whole = own[start : start + len(core)] == core
        ends = [own[:n] for n in range(2, len(own))] + [own[-n:] for n in range(2, len(own))]
        parts = [form for form in ends if sum(map(len, form)) >= LONG + 1 and any(w in core and len(w) > 3 for w in form)]
        for form in (own, core if whole else [], *parts):
            if flat := "".join(form):
                found[flat, value] = not flat.isdigit()
        for short in DAYS.get(value.casefold(), ()):
            found[short, value] = False
    taken: dict[str, set[str]] = {}
    for flat, value in found:
        taken.setdefault(flat, set()).add(value)
    return tuple((flat, value, slips) for (flat, value), slips in found.items() if len(taken[flat]) == 1)


_TITLES = frozenset({"the", "dr", "mr", "mrs", "ms", "prof"})
_LOOSE = frozenset({"sun", "sat"})
"""Short forms of a weekday that are also words: only beside another day or after "on"."""
_BESIDE = re.compile(
    rf"\b(?:on|this|next|coming|{'|'.join((*DAYS, *(s for f in DAYS.values() for s in f)))}),? ?(?:or|and|-|/)? ?$"
)


def _names(text: str, listed: Listed) -> Iterator[Span]:
    ends: dict[str, int] = {}  # of each value, the furthest so far
    for _, group in groupby(_any_names(text, listed), key=itemgetter(0)):
        alike = list(group)
        for _, end, value in alike:
            ends[value] = max(end, ends.get(value, 0))
        for start, end, value in alike:
            if not any(end <= furthest and other != value for other, furthest in ends.items()):
                yield start, end, value


def _any_names(text: str, listed: Listed) -> Iterator[Span]:
    """As `_names`, with those that are part of a longer name of another value."""
    forms = _forms(listed)
    low = folded(text)
    tokens = [(m.start(), m.end(), m[1].casefold()) for m in _WORD.finditer(text)]
    exact = {flat: value for flat, value, _ in forms}
    longest = max((len(flat) for flat in exact), default=0) + 1
    for first in range(len(tokens)):
        flat = ""
        for last in range(first, len(tokens)):
            flat += tokens[last][2]
            if len(flat) > longest:
                break
            value = exact.get(flat) or exact.get(flat.removesuffix("s"))
            # A letter that stands alone is a word of its own ("Shadyside Inn. I"), not a slip in the name before it.
            if value is None and len(flat) >= LONG and tokens[last][1] - tokens[last][0] > 1:
                near = {v for known, v, slips in forms if slips and len(known) >= LONG and slip_of_name(flat, known)}
                value = next(iter(near)) if len(near) == 1 else None
            if value is None or (flat in _LOOSE and not behind(_BESIDE, low, tokens[first][0])):
                continue
            yield tokens[first][0], tokens[last][1], value


# --- how long ---------------------------------------------------------------------------------------------------------

_LASTING = re.compile(
    rf"(?<![\w.,:-])(?P<n>{CLOCK})[- ]?(?:full |whole )?(?:hours?|hrs?)\b(?! (?:ago|earlier|before|later|away|from now))"
)


@lru_cache(maxsize=20_000)
def lengths(text: str) -> frozenset[int]:
    """How many hours something lasts, where the text says so in whole hours ("a two-hour meeting")."""
    return frozenset(number(match["n"]) for match in _LASTING.finditer(masked(text).casefold()))


def hours_apart(start: str, end: str) -> int | None:
    """Hours from one listed hour of a day to another, from 1 to 23; None where one of them is none."""
    found = [_HOUR.fullmatch(value.casefold()) for value in (start, end)]
    first, last = ((int(m[1]) % 12 + (12 if m[2] == "pm" else 0)) if m else None for m in found)
    return None if first is None or last is None or first == last else (last - first) % 24
