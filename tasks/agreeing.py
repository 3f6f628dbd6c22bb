"""Whether a turn of a requester agrees to what the other side proposed, and which value that was.

Doubt agrees to nothing: a proposal must be the last thing that was asked, must not be about what is full, taken or to be given
up, and the answer must not hesitate, ask for something else, or take its yes back.
"""

from __future__ import annotations

import re

from rewards.listed import Listed, mentions, said

_ALONE = (
    r"(?=\W*$|\s*[.,!;:)-]|\s+(?:that|it|this|i|we|let'?s|thank\w*|thanks|thx|please|pls|plesae|yes|then|for|with|to|by"
    r"|sounds?|works?|and|so|go"
    r"|book|sir|do|just|you can|my|because|as)\b)"
)
"""A word of praise alone or before the deed, not before a noun ("great question")."""
_EAGER = re.compile(r"\bcan(?:['’]?t|not) wait\b", re.IGNORECASE)
_INTERJECTIONS = re.compile(r"^\W*(?:(?:oh|well|hm+|ah|omg|wow|hi|hello)\W+)*", re.IGNORECASE)
AGREES = re.compile(
    r"^\W*(?:(?:yes|yeah|yea|yep|yup|sure|ok|okay|all ?right|absolutely|definitely|certainly|of course|go ahead"
    r"|no problem)\b(?! (?:not|no)\b)"
    rf"|(?:fine|great|perfect|good|awesome|cool|excellent|wonderful|correct|right|exactly|works|lovely)\b{_ALONE}"
    r"|please(?= (?:do|yes|go ahead|book|schedule|reserve|confirm)\b|\W*$)"
    r"|(?:that|it|this)(?:'?ll| will| would|'?d)? (?:works?|be (?:fine|good|great|perfect|ok(?:ay)?|excellent|lovely)|do\b)"
    r"|(?:that|it|this)(?:'?s| is) (?:fine|good|great|perfect|ok(?:ay)?|excellent|right|correct|lovely)\b"
    r"|(?:that )?sounds? (?:fine|good|great|perfect|ok(?:ay)?|excellent|lovely|reasonable)\b"
    r"|let'?s (?:do|take|book|go with) (?:it|that)|i'?ll take (?:it|that)|i (?:guess|suppose) (?:so|that(?=\W*$)))",
    re.IGNORECASE,
)
REFUSES = re.compile(
    r"\b(?:no(?! problem| worries)|nope|not|never|neither|cannot|instead|rather|other|another|else)\b|n['’]t\b", re.IGNORECASE
)
_HESITATES = re.compile(
    r"\b(?:let me (?:think|check|see|ask)|hold on|wait|one (?:moment|sec\w*)|give me a|too (?:expensive|late|early|far"
    r"|long|much|bad)|cheaper"
    r"|(?<!see you )(?<!talk to you )later(?! today)|earlier|sooner|changed my mind|prefer|question|something|choose"
    r"|hmm+ but)\b",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"^\W*(?:(?:wait|actually|oh|hm+|sorry|but|well|or)\W+)*(?:no(?! problem| worries| other| more)|nope|not(?= at all"
    r"|\W*$)|never ?mind)\b"
    r"|\b(?:do(?:n['’]?t| not) (?:want|like|need|book)|changed my mind|on second thought|instead|rather|hold on)\b"
    r"|^\W*(?:actually|wait)\b",
    re.IGNORECASE,
)
"""In what follows the first sentence of an agreement; all else there is talk."""
FIRST = re.compile(r"(?<=[.!?])\s+")
SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_ABBREVIATED = re.compile(r"\b(dr|mr|mrs|ms|st)\.", re.IGNORECASE)
DENIED = re.compile(
    r"\b(?:no|not|un(?:available|able|fortunately)|impossible|sorry|conflict\w*|already|booked|full|fully|taken|cannot"
    r"|cancel\w*|remov\w*"
    r"|drop\w*|delet\w*|chang\w*|mov(?:e|ed|ing)|skip\w*|except|but|instead|other than|rather than|too (?:late|early"
    r"|expensive|far)|closed)\b|n['’]t\b",
    re.IGNORECASE,
)
"""In a sentence of the other side: what it names is not proposed."""
_BOOKS_IT = re.compile(r"\b(?:(?:get|have) (?:it|you|that|this|them|him|her) booked|be booked)\b", re.IGNORECASE)
_DEED = r"(?:go ahead|book|schedul|reserv|confirm|make|take|set|place|proceed|put|do|finali|request|order|arrang)"
_CONSENT = re.compile(
    rf"\b(?:shall|should|can|may|could) (?:i|we) (?:please |just |now |then |also )*{_DEED}"
    rf"|\b(?:want|like) (?:me |us )?to (?:please |just |now |then |also )*{_DEED}|\b(?:would you|do you) (?:like|want) (?:that"
    rf"|it|this)\b"
    r"|\b(?:is|does|will|would|are|do) (?:that|this|it|you)\b.{0,25}\b(?:ok(?:ay)?|work\w*|fine|good|alright|all right"
    r"|suit|do|acceptable|agree|correct|right)\b"
    r"|^\W*(?:ok(?:ay)?|all ?right|alright|correct|right|sounds? good|what do you (?:say|think)|how about (?:that"
    r"|it))\W*$|\bgo ahead\b",
    re.IGNORECASE,
)
"""A question whose yes is one to what was proposed before it."""
_ELSE = re.compile(r"\b(?:what|who|which|how many|anything|another|other|different)\b", re.IGNORECASE)
_ASKS = re.compile(r"\?|\b(?:could you|can you|please|i(?:'ll)? need|let me know|what|which|tell me)\b", re.IGNORECASE)


def agrees(answer: str) -> bool:
    """True if a turn says yes to what was proposed, and does not take it back."""
    first, *rest = FIRST.split(_INTERJECTIONS.sub("", _EAGER.sub("", answer)).strip())
    if not AGREES.search(first) or REFUSES.search(first) or _HESITATES.search(first):
        return False
    but = re.search(r"\bbut\b", first, re.IGNORECASE)
    return but is None and not any(_TAKES_BACK.search(sentence) for sentence in rest)


def proposed(message: str, choices: Listed) -> frozenset[str]:
    """The one value of the list that a message proposes, where a yes answers that."""
    plain = _ABBREVIATED.sub(r"\1 ", message)
    if len({value for _, _, value in mentions(plain, choices)}) != 1:
        return frozenset()
    sentences = [s for s in SENTENCE.findall(plain) if any(c.isalnum() for c in s)]
    offers = [n for n, s in enumerate(sentences) if said(s, choices) and not _denies(s)]
    if not offers:
        return frozenset()
    offer, after = sentences[offers[-1]], [s for s in sentences[offers[-1] + 1 :] if _ASKS.search(s)]
    end = max(end for _, end, _ in mentions(offer, choices))
    if "?" in offer and _ELSE.search(offer, end):
        return frozenset()
    consents = all(_CONSENT.search(s) and not _ELSE.search(s) and not _denies(s) for s in after)
    return said(offer, choices) if consents else frozenset()


def _denies(sentence: str) -> bool:
    return DENIED.search(_BOOKS_IT.sub("", sentence)) is not None
