"""Names after a cue, in any case: "my name is piotr", "this is Olena from", "Mr Kowalski". A model trained on cased
text misses these."""

from __future__ import annotations

import re

from deid.fold import fold, fold_word, word_set
from deid.names import TITLES
from deid.spans import GUESS, Context, Detector, Span, each

WORD = r"[^\W\d_][^\W\d_'’-]*(?:[-'’][^\W\d_]+)*"
NAME = rf"(?P<n>{WORD}(?:\s+{WORD}){{0,2}})"
SURE = re.compile(
    r"(?i)\b(?:(?:my|full|first|last|his|her|the|customer)\s+names?(?:\s+(?:is|was|are)|'s|:|\s*-)|name\s*[:=]|named|"
    rf"call me|i go by)\s*:?\s*{NAME}"
)
MAYBE = re.compile(rf"(?i)\b(?:i am|i'm|i’m|im|this is|it's|it’s|it is|here is|ich bin)\s+{NAME}")
WEAK = re.compile(rf"(?i)\b(?:yours,?|for|under)\s+{NAME}")
GREETED = re.compile(
    r"(?im)^\W*(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|hallo|liebe[rs]?)\s+(?:there\s+)?"
    rf"{NAME}(?=\s*(?:[,!:.\n–-]|$))"
)
COLLEAGUE = re.compile(
    r"(?i)\b(?:colleagues?|coworker|boss|manager|assistant|secretary|husband|wife|partner|neighbou?r|friend|brother|sister|"
    rf"daughter|son)\s+{NAME}"
)
CLOSING = re.compile(
    r"(?i)^(?:with |many |warm |best |kind |kindest |lots of |all the |viele |mit )?.{0,24}\b"
    r"(?:regards|greetings|wishes|thanks|thank you|cheers|"
    r"sincerely|faithfully|best|br|rgds|yours|gr(?:ü|ue)(?:ß|ss)en?|lg|mfg|vg|care|day|reply|answer|advance)$"
)
SIGNATURE = re.compile(rf"{WORD}(?:\s+{WORD}){{0,2}}")
TITLED = re.compile(rf"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Herr|Frau)\b\.?\s+{NAME}")
STOP = word_set(
    """
a an the and or but not on in at of to for from with by as is am are was were be been being it its this that these those
there here he she we you they i my your his her our their me him us them who whom which what when where why how so very too
also just still now then again already never ever sorry sure fine good ok okay happy sad glad afraid aware interested looking
trying calling writing wondering waiting having going getting using need needing want wanting unable able ready late early
new old really not only about regarding concerning please thanks thank hello hi hey dear order account ticket refund customer
client number email phone address name wrong right correct different same missing spelled unknown none test today tomorrow
yesterday tonight monday tuesday wednesday thursday friday saturday sunday one two three four five six seven eight nine ten
all any some no yes mine yours both each every another other more less much many few because if since until while would could
should can will may might must shall do does did done has have had having make made speaking asking hoping planning thinking
feeling based located currently
"""
)


ANY_CASE, CAPITAL, KNOWN = 2, 1, 0
"""How much a cue is trusted: with a name in any case, with a capital, or only with a first name of the supplier's tables."""
CUES = ((SURE, ANY_CASE), (TITLED, ANY_CASE), (MAYBE, CAPITAL), (GREETED, CAPITAL), (COLLEAGUE, CAPITAL), (WEAK, KNOWN))


def find(text: str, context: Context) -> list[Span]:
    spans = []
    for pattern, trust in CUES:
        at = 0
        while match := pattern.search(text, at):
            at = max(match.start("n"), match.start() + 1)
            span = _name(text, match.start("n"), match["n"], trust, context, pattern is COLLEAGUE)
            whole = pattern is not GREETED or (
                span is not None and span.end == match.end("n")
            )  # "Dear Halden team" greets a team
            if span and (whole or fold(text[span.start : span.end]) in context.first_names):
                spans.append(span)
    return spans + _signed(text, context)


def _signed(text: str, context: Context) -> list[Span]:
    """The line after a closing ("Regards"), where it is one to three words that can be a name, in any case."""
    spans, at, closing = [], 0, False
    for line in text.split("\n"):
        bare = line.strip(" \t,.!-–*_")
        if bare and closing and SIGNATURE.fullmatch(bare):
            start = at + line.index(bare)
            words = re.findall(WORD, bare)
            if len(bare) > 2 and (
                span := _name(text, start, bare, ANY_CASE if len(words) == 1 or not bare[0].isupper() else CAPITAL, context)
            ):
                spans.append(span)
        closing = bool(CLOSING.search(bare)) if bare else closing
        at += len(line) + 1
    return spans


def _name(text: str, start: int, phrase: str, trust: int, context: Context, on: bool = False) -> Span | None:
    """The leading words of `phrase` that can be a name; a common word ends it.

    `on`: after a known first name any uncommon word goes on.
    """
    end, opened = start, False
    for number, match in enumerate(re.finditer(WORD, phrase)):
        word = match.group()
        low = fold_word(word)
        named = low in context.first_names or (number > 0 and (low in context.last_names or (on and opened)))
        opened = opened or low in context.first_names
        trusted = named or trust == ANY_CASE or (word[0].isupper() and (trust == CAPITAL or number > 0))
        common = low in STOP or low in TITLES or (low in context.common and not named) or len(low) < 2
        if common or not trusted or fold(phrase[: match.end()]) in context.vocabulary:
            break
        if number and word[0].islower() and phrase[:1].isupper():
            break
        end = start + match.end()
    return Span(start, end, "person", "", 20, GUESS) if end > start else None


DETECTOR = Detector("introduced", "person", 20, each(find), tier=GUESS, whole=True)
