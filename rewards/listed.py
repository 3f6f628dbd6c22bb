"""Which values of a tool's list the words of a text say: "the Hilton" for "Hilton Hotel", "17:00" for "5 pm".

A list is read by its own shape (hours of a day, days of a month, yes or no, weekdays and any other names), and conservatively:
words that fit several values of the list say none of them.

- hours ("5 pm"): with am or pm, on the 24-hour clock ("17:00"), noon, midnight, or with the part of the day ("5 in the
  afternoon"); of a range one am or pm serves both ends ("2 to 4 pm", "11 to 1 pm"). "At 5" and "5:30 pm" say none.
- days of a month ("12th"): as such, in words ("the twelfth"), or beside a month's name ("May 12"); of a range one such end serves
  both ("12 to 15th"). A bare number says none.
- names: the whole name, its end or beginning of several words, or what is left without the words that other values share ("Dr.
  Morgan" is Morgan, "the Hyatt"); letter case, spaces, marks, a plural "s" and one slip in a long word do not count. Weekdays
  also by their usual short forms.
- yes or no: only as the answer to a question that names the argument, or in a clause that names it itself ("no parking, please").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

Listed = tuple[str, ...]
Span = tuple[int, int, str]
"""(start, end, value): the characters of a text that say a value of the list."""
LONG = 6
"""Letters from which a name with one slip is read as the name meant."""

_TWELVE = "one two three four five six seven eight nine ten eleven twelve"
_SMALL = {word: n for n, word in enumerate(_TWELVE.split(), start=1)}
_HOUR = re.compile(r"(\d{1,2}) ?([ap]m)")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_CLOCK = rf"(?:\d{{1,2}}|{'|'.join(_SMALL)})"
_PARTS = {
    "morning": (range(1, 12), "am"),
    "afternoon": ((12, *range(1, 7)), "pm"),
    "evening": (range(4, 12), "pm"),
    "night": (range(6, 12), "pm"),
}
"""Part of the day -> hours on the twelve-hour clock that lie in it, and whether they are am or pm."""
_DAYS = {
    "sunday": ("sun",), "monday": ("mon",), "tuesday": ("tue", "tues"), "wednesday": ("wed", "weds"),
    "thursday": ("thu", "thur", "thurs"), "friday": ("fri",), "saturday": ("sat",),
}  # fmt: skip
_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
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
_WORD = re.compile(r"[^\W_]+")
_LONE = re.compile(
    rf"(?:^\W*|\b(?:at|around|about|approximately|by|from|to|till|until|before|after|say|maybe|perhaps|like|for|or|and|the)\s+)"
    rf"(?:(?P<n>\d{{1,2}})(?![\d/_:]|[.,]\d)|(?P<w>{'|'.join(_SMALL)})\b)(?:\s*o'? ?clock)?"
    rf"(?=\W*$|\s*[.,;!?)]|\s+(?:please|would|will|works?|is|if|on|or|and|then|today|tonight|tomorrow|instead|ok|okay|sounds?)\b)"
)
_SOME_NUMBER = re.compile(rf"(?<![\w.,/:])(\d{{1,2}}|{'|'.join(_SMALL)})\b(?! (?:people|guests|persons?|of us)\b)")
_OF_THE_CLOCK = re.compile(r"\b(?:morning|afternoon|evening|night|tonight|noon|midday|midnight|o'? ?clock|\d{1,2}[:.]\d\d)\b")
_OF_THE_WEEK = re.compile(r"\b(?:today|tonight|tomorrow|weekdays?|weekend|this (?:morning|afternoon|evening))\b")
_TOKEN = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}\w*")


@lru_cache(maxsize=20_000)
def spans(text: str, listed: Listed) -> tuple[Span, ...]:
    """Where and which values of the list the text says, in order. Yes and no are read by `answered` alone."""
    if is_yes_no(listed):
        return ()
    text = _masked(text)
    if all(_HOUR.fullmatch(value.casefold()) for value in listed):
        found = _hours(text)
    elif all(_ORDINAL.fullmatch(value.casefold()) for value in listed):
        found = _month_days(text)
    else:
        return tuple(_names(text, listed))
    known = {_key(value): value for value in listed}
    return tuple((start, end, known[key]) for start, end, key in sorted(set(found)) if key in known)


def _masked(text: str) -> str:
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
    return all(number_of(value) is not None or value.casefold() in _DAYS for value in listed)


def number_of(value: str) -> int | None:
    """The number of a listed hour or day of a month ("5 pm", "12th"); None of any other value."""
    match = _HOUR.fullmatch(value.casefold()) or _ORDINAL.fullmatch(value.casefold())
    return int(match[1]) if match else None


def lone_numbers(text: str) -> frozenset[int]:
    """Numbers of one or two digits, and one to twelve in words, that stand alone in a text: no time with minutes, no amount, no
    count of anything ("two beers")."""
    return frozenset(_number(match["n"] or match["w"]) for match in _LONE.finditer(_masked(text).casefold()))


def hinted(text: str, listed: Listed, phrases: Sequence[str]) -> bool:
    """True if a text may speak of the choice at all, though in words that say no one value of the list: "at 5", "in the morning",
    "today", a word that some values hold, what is asked with one of `phrases` for yes or no."""
    low = _masked(text).casefold()
    if is_yes_no(listed):
        return _place(low, phrases) is not None
    if said(text, listed):
        return True
    numbers = {number for value in listed if (number := number_of(value)) is not None}
    if numbers:
        shown = {_number(word) for word in _SOME_NUMBER.findall(low)}
        return bool(numbers & shown) or _OF_THE_CLOCK.search(low) is not None
    if {value.casefold() for value in listed} <= _DAYS.keys() and _OF_THE_WEEK.search(low):
        return True
    spread = Counter(word for value in listed for word in set(_WORD.findall(value.casefold())) if len(word) > 3)
    some = {word for word, count in spread.items() if 2 * count <= len(listed) or len(listed) == 1}
    return not some.isdisjoint(_WORD.findall(low))


# --- hours ----------------------------------------------------------------------------------------------------------


def _end(name: str) -> str:
    """An hour, its minutes as `<name>min`, its am or pm as `<name>half`."""
    return rf"(?P<{name}>{_CLOCK})(?:[:.](?P<{name}min>\d\d))?(?: ?o'? ?clock)?(?: ?(?P<{name}half>[ap])\.? ?m\b\.?)?"


_PART = rf"(?:[ ,]*(?:in the|at|this|that|the|tomorrow|every|{'|'.join(_DAYS)}))*[ ,]*(?P<part>morning|afternoon|evening|night)\b"
_ALONE = r"(?:(?<![\d:.,_])(?=\d)|\b(?=\D))"
_RANGE = re.compile(rf"{_ALONE}{_end('a')}{_TO}{_end('b')}(?:{_PART})?(?![\w:])")
_ONE = re.compile(rf"{_ALONE}{_end('a')}(?:{_PART})?")
_LATE = re.compile(r"(?<![\d:.])(?P<a>1[3-9]|2[0-3]|0?0):00(?![\d:])")
_SPECIAL = re.compile(r"\b(?:12 ?(?:o'? ?clock )?)?(?P<name>noon|midday|midnight)\b")
_HALF = re.compile(r"\b(?:half|quarter|minutes|mins)(?: (?:past|to|after|before|till))? ?(?:the )?$|\bhalf ?$")


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _SMALL[text]


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
    low = text.casefold().replace("’", "'")
    for match in _ONE.finditer(low):
        if match["amin"] not in (None, "00") or _HALF.search(low, 0, match.start()):
            continue
        if value := _meant(_number(match["a"]), match["ahalf"], match["part"]):
            yield match.start(), match.end(), value
    for match in _RANGE.finditer(low):
        yield from _range(low, match)
    for match in _LATE.finditer(low):
        hour = int(match["a"])
        yield match.start(), match.end(), f"{hour % 12 or 12}{'pm' if hour >= 12 else 'am'}"
    for match in _SPECIAL.finditer(low):
        yield match.start(), match.end(), "12am" if match["name"] == "midnight" else "12pm"


def _range(low: str, match: re.Match[str]) -> Iterator[Span]:
    """Both ends of a range of which one has no am or pm of its own: it is such that the range runs forward within half a day."""
    first, last = _number(match["a"]), _number(match["b"])
    start, end = match["ahalf"], match["bhalf"]
    if not end and match["part"]:
        value = _meant(last, None, match["part"])
        end = value[-2] if value else None
    whole = all(match[f"{name}min"] in (None, "00") for name in "ab") and not _HALF.search(low, 0, match.start("a"))
    if bool(start) == bool(end) or not whole or not (1 <= first <= 12 and 1 <= last <= 12) or first == last:
        return
    forward = first % 12 < last % 12
    other = {"a": "p", "p": "a"}
    start, end = start or (end if forward else other[end]), end or (start if forward else other[start])
    yield match.start(), match.end(), f"{first}{start}m"
    yield match.start(), match.end(), f"{last}{end}m"


# --- days of a month ------------------------------------------------------------------------------------------------

_DIGITS = r"\d{1,2}(?!\w|[:.]\d| ?[ap]\.? ?m\b| ?%)"
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
    r" (?:floor|time|one|option|choice|street|st|avenue|ave|thing|hotel|person|guest|attempt|grade|degree|birthday)\b"
)


def _month_days(text: str) -> Iterator[Span]:
    low = text.casefold()
    for match in _DAY.finditer(low):
        bare = not match["a"][0].isdigit() and not match["lead"] and not match["of"]
        if not bare and not _NO_DAY.match(low, match.end()):
            yield match.start("a"), match.end("a"), _nth(match["a"])
    for match in _IN_MONTH.finditer(low):
        name = "a" if match["a"] else "b"
        yield match.start(name), match.end(name), _nth(match[name])
    for match in _DAYS_RANGE.finditer(low):
        if any(re.fullmatch(_NTH, match[end]) for end in "ab") or match["m"] or match["n"] or match["of"]:
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
    words = {value: _WORD.findall(re.sub(r"['’]s\b", "", value.casefold())) for value in listed}
    found: dict[tuple[str, str], bool] = {}
    for value, own in words.items():
        others = {word for other, theirs in words.items() if other != value for word in theirs}
        core = [word for word in own if word not in others]
        if len(core) > 1 and core[0] in _TITLES:
            core = core[1:]
        start = own.index(core[0]) if core else 0
        whole = own[start : start + len(core)] == core
        ends = [own[:n] for n in range(2, len(own))] + [own[-n:] for n in range(2, len(own))]
        parts = [form for form in ends if sum(map(len, form)) >= LONG + 1 and any(w in core and len(w) > 3 for w in form)]
        for form in (own, core if whole else [], *parts):
            if flat := "".join(form):
                found[flat, value] = not flat.isdigit()
        for short in _DAYS.get(value.casefold(), ()):
            found[short, value] = False
    taken: dict[str, set[str]] = {}
    for flat, value in found:
        taken.setdefault(flat, set()).add(value)
    return tuple((flat, value, slips) for (flat, value), slips in found.items() if len(taken[flat]) == 1)


_TITLES = frozenset({"the", "dr", "mr", "mrs", "ms", "prof"})
_LOOSE = frozenset({"sun", "sat"})
"""Short forms of a weekday that are also words: only beside another day or after "on"."""
_BESIDE = re.compile(
    rf"\b(?:on|this|next|coming|{'|'.join((*_DAYS, *(s for f in _DAYS.values() for s in f)))}),? ?(?:or|and|-|/)? ?$"
)


def _names(text: str, listed: Listed) -> Iterator[Span]:
    forms = _forms(listed)
    low = text.casefold()
    tokens = [(m.start(), m.end(), m[0].casefold()) for m in _WORD.finditer(text)]
    exact = {flat: value for flat, value, _ in forms}
    longest = max((len(flat) for flat in exact), default=0) + 2
    for first in range(len(tokens)):
        flat = ""
        for last in range(first, min(len(tokens), first + 6)):
            flat += tokens[last][2]
            if len(flat) > longest:
                break
            value = exact.get(flat) or exact.get(flat.removesuffix("s"))
            if value is None and len(flat) >= LONG:
                near = {v for known, v, slips in forms if slips and len(known) >= LONG and one_slip(flat, known)}
                value = next(iter(near)) if len(near) == 1 else None
            if value is None or (flat in _LOOSE and not _BESIDE.search(low, 0, tokens[first][0])):
                continue
            yield tokens[first][0], tokens[last][1], value


def one_slip(spoken: str, known: str) -> bool:
    """True if `spoken` is `known` with one letter wrong, missing, added, or two neighbours swapped; the first letter is right."""
    if abs(len(spoken) - len(known)) > 1 or spoken[:1] != known[:1]:
        return False
    start = 0
    while start < min(len(spoken), len(known)) and spoken[start] == known[start]:
        start += 1
    left, right = spoken[start:], known[start:]
    if left[1:] == right[1:] or left[1:] == right or left == right[1:]:
        return True
    return left[:2] == right[1::-1] and left[2:] == right[2:]


# --- how long ---------------------------------------------------------------------------------------------------------

_LASTING = re.compile(
    rf"(?<![\w.,:-])(?P<n>{_CLOCK})[- ]?(?:full |whole )?(?:hours?|hrs?)\b(?! (?:ago|earlier|before|later|away|from now))"
)


@lru_cache(maxsize=20_000)
def lengths(text: str) -> frozenset[int]:
    """How many hours something lasts, where the text says so in whole hours ("a two-hour meeting")."""
    return frozenset(_number(match["n"]) for match in _LASTING.finditer(_masked(text).casefold()))


def hours_apart(start: str, end: str) -> int | None:
    """Hours from one listed hour of a day to another, from 1 to 23; None where one of them is none."""
    found = [_HOUR.fullmatch(value.casefold()) for value in (start, end)]
    first, last = ((int(m[1]) % 12 + (12 if m[2] == "pm" else 0)) if m else None for m in found)
    return None if first is None or last is None or first == last else (last - first) % 24


# --- yes or no ------------------------------------------------------------------------------------------------------

_POLARITY = {"yes": True, "true": True, "no": False, "false": False}
_SHORT = r"(?:i|we) (?:do|did|have|will|would|are|am)"
_ENDS = r"(?=\W*$|\s*[.,!;])"
_YES = rf"\b(?:yes|yeah|yea|yep|yup|sure|of course|certainly|definitely|absolutely|correct|{_SHORT}{_ENDS})\b"
_NO = (
    r"\b(?:(?:i|we) (?:have|did)(?: not|n'?t)\b[^.!?]*|(?:i )?(?:do ?n'?t|do not) (?:think|believe) (?:so|i|we)"
    rf"|no(?! (?:idea|clue|problem|worries))|nope|nah+|not yet|none|never|{_SHORT} ?(?:n'?t|not){_ENDS})\b"
)
_MARK = re.compile(rf"(?P<no>{_NO})|(?P<yes>{_YES})")
_LEAD = re.compile(rf"^\W*(?:(?:oh|um+|uh+|hm+|well|hi|hello|actually|ok|okay)\W+)*(?:(?P<no>{_NO})|(?P<yes>{_YES}))")
_NOT_BEFORE = re.compile(r"(?:\b(?:no|not|never|without|none)|n't|\b(?:dont|havent|wont|didnt|doesnt)) (?:\S+ ){0,4}$")
_NOT_AFTER = re.compile(r"^(?: \S+){0,2} ?(?:not\b|\S+n't\b|unnecessary\b|unpaid\b)")
_UNSURE = re.compile(
    r"\b(?:(?:do ?n'?t|do not|ca ?n'?t|can ?not|not) (?:really |actually |even |quite |too |entirely )?"
    r"(?:know|remember|recall|sure|certain|say|tell|find)|not sure|unsure|forgot(?:ten)?|no idea|no clue"
    r"|could ?n'?t (?:find|say|tell))\b"
)
_OPEN = re.compile(r"\b(?:no problem|no worries|if|whether|about|how|what|when|where|which|who|why)\b")
_SAYS = re.compile(r"\b(?:i|we)\b(?:'(?:ve|ll|d|m|re))?|\bplease\b|\bno\b|\bwith(?:out)?\b|\b(?:is|was|has been|already)\b")
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]*")


def is_yes_no(listed: Sequence[str]) -> bool:
    return bool(listed) and all(value.casefold() in _POLARITY for value in listed)


def is_yes(value: object) -> bool:
    """Whether a listed yes or no, or a boolean, is the yes."""
    return value if isinstance(value, bool) else _POLARITY[str(value).casefold()]


@lru_cache(maxsize=20_000)
def answered(asked: str, text: str, phrases: tuple[str, ...]) -> tuple[int, int, bool] | None:
    """(start, end, yes) of the words that say yes or no to what the phrases name: in a clause that names it itself, or as the
    answer to the message `asked`, which names it. None where nothing does, or where both do."""
    low = text.casefold().replace("’", "'")
    asks = _asks(asked, phrases)
    lead = _LEAD.search(low) if asks else None
    if lead:
        name = "yes" if lead["yes"] else "no"
        return lead.start(name), lead.end(name), name == "yes"
    found = []
    for start, end in _clauses(low):
        clause = low[start:end]
        place = _place(clause, phrases)
        if (
            place is None
            or "?" in clause
            or _UNSURE.search(clause)
            or not _SAYS.search(clause)
            or _OPEN.search(clause, 0, place[0])
        ):
            continue
        found.append((start, end, not _negated(clause, place)))
    if not found and asks and not _UNSURE.search(low):
        for mark in _MARK.finditer(low):
            name = "yes" if mark["yes"] else "no"
            found.append((mark.start(name), mark.end(name), name == "yes"))
    return found[0] if len({yes for _, _, yes in found}) == 1 else None


@lru_cache(maxsize=20_000)
def unknown(asked: str, text: str, phrases: tuple[str, ...]) -> bool:
    """True if the text says that its speaker does not know what the phrases name: in a clause that names it, or in answer to a
    message that asks for it."""
    low = text.casefold().replace("’", "'")
    if any(_place(low[a:b], phrases) is not None and _UNSURE.search(low[a:b]) for a, b in _clauses(low)):
        return True
    return _asks(asked, phrases) and _UNSURE.search(low) is not None and answered(asked, text, phrases) is None


def _clauses(low: str) -> Iterator[tuple[int, int]]:
    """Where the clauses of a text begin and end, blanks and closing marks apart from the question mark left out."""
    for match in _SENTENCE.finditer(low):
        clause = match[0]
        yield match.start() + len(clause) - len(clause.lstrip()), match.start() + len(clause.rstrip(" .!;\n"))


def _asks(asked: str, phrases: Sequence[str]) -> bool:
    """True if a message asks for what the phrases name, and not whether it is *not* so."""
    low = asked.casefold().replace("’", "'")
    places = [(low[a:b], _place(low[a:b], phrases)) for a, b in _clauses(low)]
    named = [_negated(clause, place) for clause, place in places if place is not None]
    return bool(named) and not any(named)


def _place(clause: str, phrases: Sequence[str]) -> tuple[int, int] | None:
    """Where a clause names it: the first phrase, whole word by whole word."""
    for phrase in phrases:
        pattern = r"\W+".join(map(re.escape, _WORD.findall(phrase.casefold())))
        if match := re.search(rf"\b{pattern}\b", clause):
            return match.span()
    return None


def _negated(clause: str, place: tuple[int, int]) -> bool:
    before = " ".join(clause[: place[0]].split()) + " "
    return _NOT_BEFORE.search(before) is not None or _NOT_AFTER.search(clause[place[1] :]) is not None
