"""Whether a person said yes or no to what an argument asks: as the answer to the question that names it ("Do you need parking?"
"Yes, please."), or in a clause that names it itself ("no parking, please").

Read so that doubt says neither. A yes or no is an answer only where the naming question is the only one that it can answer, where
that question is not about leaving the thing out ("Shall I cancel the parking?"), and where nothing else in the answer says the
opposite ("Yes. Wait, no."). A clause says it only with one negation or none, and with no word that turns its sense ("I don't mind
parking", "please cancel parking").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

_POLARITY = {"yes": True, "true": True, "no": False, "false": False}
_WORD = re.compile(r"[^\W_]+")
_IDIOM = re.compile(
    r"\b(?:no (?:problem|worries|doubts?|objections?|rush|hurry|matter|pressure|big deal)|never ?mind|why not|not a problem"
    r"|(?:make|making|be|being) sure)\b"
)
"""Words with a "no" or a "sure" that answer nothing."""
_SHORT = r"(?:i|we) (?:do|did|have|will|would|are|am)"
_STOP = r"(?=\W*$|\s*[.,!;?:)]|\s+-)"
_NOUNLESS = (
    r"(?=\W*$|\s*[.,!;?:)]|\s+(?:-|i|we|it|that|this|thank\w*|thanx|thx|not|sir|ma'?am|sorry|need|please|pls|they|he|she"
    r"|you|do|did|don'?t|just"
    r"|but|because|as|and|actually|at)\b)"
)
"""What follows a bare "no": with a noun it denies that noun alone ("no breakfast please")."""
_YES = (
    r"\b(?:(?:yes|yeah|yea|yep|yup)\b|(?:sure|of course|certainly|definitely|absolutely|correct)\b(?! (?:do ?n'?t"
    r"|wo ?n'?t|not|no)\b)"
    rf"|{_SHORT}{_STOP})"
)
_NO = (
    r"\b(?:(?:sure|of course|certainly|definitely|absolutely|probably|surely) (?:not|no)\b"
    rf"|(?:i )?(?:do ?n'?t|do not) (?:think|believe) (?:so|i|we)\b|no{_NOUNLESS}|nope\b|nah+\b|not yet\b|(?:none|never){_STOP}"
    rf"|{_SHORT} ?(?:n'?t|not)(?:{_STOP}|(?= and\b)))"
)
_DONE_NOT = re.compile(
    r"\b(?:i|we) (?:have|did)(?: not|n'?t)\b(?! (?:hear|heard|catch|caught|get that|got that|know|known|sure|decided?"
    r"|thought|think|checked?"
    r"|understand|understood|been|said|say|mean))[^.!?]*"
)
"""To whether something was done: "I haven't paid it yet"."""
_ASKS_DONE = re.compile(r"\b(?:have|has|did)\b|n't you\b")
_MARK = re.compile(rf"(?P<no>{_NO})|(?P<yes>{_YES})")
_LEAD = re.compile(rf"^\W*(?:(?:oh|um+|uh+|hm+|well|hi|hello|actually|ok|okay)\W+)*(?:(?P<no>{_NO})|(?P<yes>{_YES}))")
_LATER_YES = re.compile(
    rf"\b(?:(?:yes|yeah|yea|yep|yup)\b|(?:sure|of course|certainly|definitely|absolutely|correct|{_SHORT}){_STOP})"
)
_NOT = re.compile(r"\b(?:no|not|never|without|none|nor|neither|cannot|dont|havent|wont|didnt|doesnt|cant|isnt)\b|n't\b")
_FALLS_BACK = re.compile(r"^\W*(?:(?:wait|actually|oh|hm+|sorry|but|well|hold on|or)\W+)*(?:no|not|nope|nah)\b" + _NOUNLESS)
_TURNS = re.compile(
    r"\b(?:cancel\w*|drop\w*|remov\w*|skip\w*|declin\w*|refus\w*|waiv\w*|delet\w*|exclud\w*|avoid\w*|against|mind"
    r"|hat(?:e|es|ed|ing)|dislik\w*"
    r"|leav(?:e|ing) (?:out|off)|leave\b.{0,30}\bout|opt\w*|get rid|rid of|instead|hardly|barely|scarcely|stop\w*"
    r"|den(?:y|ied)|unless|except"
    r"|other than|rather than|wrong|say no|used to|last time|previously|take (?:it |that )?off)\b"
)
"""Words in a clause or question by which what is named may be meant the other way round."""
_ABSENT = re.compile(r"\b(?:no|not|never|without|none)\b|n't\b|\b(?:dont|havent|wont|didnt|doesnt)\b")
_NOT_BEFORE = re.compile(r"(?:\b(?:no|not|never|without|none|nor|dont|havent|wont|didnt|doesnt)|n't) (?:\S+ ){0,4}$")
_NOT_AFTER = re.compile(r"^(?: \S+){0,2} ?(?:not\b|\S+n't\b|unnecessary\b|unpaid\b)")
_UNSURE = re.compile(
    r"\b(?:(?:do ?n'?t|do not|ca ?n'?t|can ?not|not) (?:really |actually |even |quite |too |entirely )?"
    r"(?:know|remember|recall|sure|certain|(?:say|tell|find)(?! no\b))|not sure|unsure|forgot(?:ten)?|no idea|no clue"
    r"|could ?n'?t (?:find|say|tell)|would not say)\b"
)
_OPEN = re.compile(r"\b(?:no problem|no worries|if|whether|about|how|what|when|where|which|who|why)\b")
_SAYS = re.compile(r"\b(?:i|we)\b(?:'(?:ve|ll|d|m|re))?|\bplease\b|\bno\b|\bwith(?:out)?\b|\b(?:is|was|has been|already)\b")
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]*")
_PIECE = re.compile(r",|\b(?:but|so|because)\b")
"""Between two pieces of a sentence, each with its own yes or no ("no car but I need parking")."""
_WHICH = re.compile(
    r"^\W*(?:(?:and|so|ok(?:ay)?|great|then|also|alright|all right)\W+)*(?:what|which|when|where|who|whom|whose|why|how)\b"
)
_OR_NOT = re.compile(r",? or not(?=\W*$)")
"""At the end of a question it turns nothing: "Do you need parking or not?"."""
_BARE_NO = re.compile(r"\W*(?:no|nope)\W*")
_LEADS = re.compile(r"\bno,? (?=(?:i|we)\b)")
_REQUESTS = re.compile(
    r"\b(?:tell me|let me know|i need (?:to know|your|the)|give me|please (?:tell|confirm|state|specify|provide|say))\b"
)


def is_yes_no(listed: Sequence[str]) -> bool:
    return bool(listed) and all(value.casefold() in _POLARITY for value in listed)


def is_yes(value: object) -> bool:
    """Whether a listed yes or no, or a boolean, is the yes."""
    return value if isinstance(value, bool) else _POLARITY[str(value).casefold()]


@lru_cache(maxsize=20_000)
def answered(asked: str, text: str, phrases: tuple[str, ...]) -> tuple[int, int, bool] | None:
    """(start, end, yes) of the words that say yes or no to what the phrases name: in a clause that names it itself, or as the
    answer to the message `asked`, which names it. None where nothing does, or where it is not clear."""
    low = _plain(text)
    asks = _asks(asked, phrases)
    found = list(_named(low, phrases))
    answer = _answer(low, _ASKS_DONE.search(asked.casefold()) is not None) if asks else None
    if isinstance(answer, bool):
        return None  # it says both
    if answer is not None:
        found.insert(0, answer)
    if not found or len({yes for _, _, yes in found}) > 1:
        return None
    return found[0]


@lru_cache(maxsize=20_000)
def unknown(asked: str, text: str, phrases: tuple[str, ...]) -> bool:
    """True if the text says that its speaker does not know what the phrases name: in a clause that names it, or in answer to a
    message that asks for it."""
    low = _plain(text)
    if any(named(low[a:b], phrases) is not None and _UNSURE.search(low[a:b]) for a, b in _clauses(low)):
        return True
    return _asks(asked, phrases) and _UNSURE.search(low) is not None and answered(asked, text, phrases) is None


def named(clause: str, phrases: Sequence[str]) -> tuple[int, int] | None:
    """Where a clause in small letters names it: the first phrase, whole word by whole word."""
    for phrase in phrases:
        pattern = r"\W+".join(map(re.escape, _WORD.findall(phrase.casefold())))
        if match := re.search(rf"\b{pattern}\b", clause):
            return match.span()
    return None


def _plain(text: str) -> str:
    """The text in small letters, with idioms that hold a "no" as blanks of the same length."""
    return _IDIOM.sub(lambda match: " " * len(match[0]), text.casefold().replace("’", "'"))


def _answer(low: str, done: bool) -> tuple[int, int, bool] | bool | None:
    """The yes or no with which an answer leads, or else the only one that it holds. False where it says both; None where none."""
    lead = _LEAD.search(low)
    marks = [lead] if lead else list(_MARK.finditer(low))
    places = [(m.start(name), m.end(name), name == "yes") for m in marks for name in ("yes" if m["yes"] else "no",)]
    if done and not lead:
        places += [(m.start(), m.end(), False) for m in _DONE_NOT.finditer(low)]
    if not places:
        return None
    if not lead and _UNSURE.search(low):
        return None
    start, end, yes = places[0]
    if any(other != yes for _, _, other in places) or (lead and _takes_back(low[end:], yes)):
        return False
    return start, end, yes


def _takes_back(rest: str, yes: bool) -> bool:
    """True if what follows a leading yes or no may say the opposite: a "not" in the same sentence, or a later "wait, no"."""
    same, *later = [match[0] for match in _SENTENCE.finditer(f"{rest} ")] or [""]
    if not yes:
        return _LATER_YES.search(rest) is not None
    pieces = [piece for sentence in later for piece in sentence.split(",")]
    if rest[:1] in (".", "!", ";"):
        pieces += same.split(",")
        same = ""
    return _NOT.search(same) is not None or any(_FALLS_BACK.search(p) or ((m := _MARK.search(p)) and m["no"]) for p in pieces)


def _named(low: str, phrases: Sequence[str]) -> Iterator[tuple[int, int, bool]]:
    """What the clauses say that name it themselves."""
    for start, end in _clauses(low):
        clause = low[start:end]
        if "?" in clause or named(clause, phrases) is None or _TURNS.search(clause) or _UNSURE.search(clause):
            continue
        cuts = [0, *(match.end() for match in _PIECE.finditer(clause)), len(clause)]
        denied = False  # an earlier piece holds a "not", which may hold for a later one without its own "I"
        for first, last in pairwise(cuts):
            piece = _LEADS.sub(lambda match: " " * len(match[0]), clause[first:last])
            found = _said_of(piece, phrases, denied=denied)
            if found is not None:
                yield start + first, start + first + found[0], found[1]
            denied = denied or (_ABSENT.search(piece) is not None and not _BARE_NO.fullmatch(piece))


def _said_of(piece: str, phrases: Sequence[str], *, denied: bool) -> tuple[int, bool] | None:
    """(end, yes) of a piece of a clause that says yes or no to what it names; None where it does not, or is not clear."""
    place = named(piece, phrases)
    if place is None:
        return None
    more = re.compile(r"\band\b").search(piece, place[1])
    piece = piece[: more.start()] if more else piece
    nots = len(_ABSENT.findall(piece))
    if nots > 1 or _OPEN.search(piece, 0, place[0]) or not _says(piece):
        return None
    if _negated(piece, place):
        return len(piece), False
    own = re.search(r"\b(?:i|we)\b", piece) is not None
    far = _NOT.search(piece[: place[0]]) is not None  # it denies something else, or this from afar
    return None if far or (denied and not own) else (len(piece), True)


def _says(piece: str) -> bool:
    return _SAYS.search(piece) is not None or _NOT.search(piece) is not None


def _clauses(low: str) -> Iterator[tuple[int, int]]:
    """Where the clauses of a text begin and end, blanks and closing marks apart from the question mark left out."""
    for match in _SENTENCE.finditer(low):
        clause = match[0]
        yield match.start() + len(clause) - len(clause.lstrip()), match.start() + len(clause.rstrip(" .!;\n"))


def _asks(asked: str, phrases: Sequence[str]) -> bool:
    """True if a yes or no answers what the phrases name: a message asks for it, not whether it should be left out, nor for it or
    something else, and asks nothing else that can be answered so."""
    low = _plain(asked)
    clauses = [low[a:b] for a, b in _clauses(low)]
    naming = [clause for clause in clauses if named(clause, phrases) is not None]
    others = [clause for clause in clauses if clause not in naming and ("?" in clause or _REQUESTS.search(clause))]
    questions = [clause for clause in naming if "?" in clause or _REQUESTS.search(clause)]
    if not naming or any(_turned(clause, phrases) for clause in naming):
        return False
    if not questions:
        return not others
    last = clauses.index(questions[-1])
    return all(_WHICH.search(clause) and clauses.index(clause) < last for clause in others)


def _turned(clause: str, phrases: Sequence[str]) -> bool:
    clause = _OR_NOT.sub("", clause)
    place = named(clause, phrases)
    either = re.search(r"\bor\b", clause) is not None
    return place is not None and (_negated(clause, place) or _TURNS.search(clause) is not None or either)


def _negated(clause: str, place: tuple[int, int]) -> bool:
    before = " ".join(clause[: place[0]].split()) + " "
    return _NOT_BEFORE.search(before) is not None or _NOT_AFTER.search(clause[place[1] :]) is not None
