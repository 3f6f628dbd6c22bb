"""Plain sentences that no supplier has: what an agent wrote after the cut, and fillers that say nothing of the outcome."""

from __future__ import annotations

from random import Random

_WHO = (
    "our depot",
    "the night shift",
    "the second warehouse",
    "a colleague upstairs",
    "the regional desk",
    "the carrier's office",
)
_DID = ("compared", "measured", "traced", "weighed", "photographed", "counted", "recalculated", "reopened")
_WHAT = (
    "the sealed pallet",
    "both meter readings",
    "the spare bracket",
    "your second parcel",
    "the worn hinge",
    "every loose cable",
)
_WHERE = (
    "beside the north stairwell",
    "under the loading ramp",
    "in the basement archive",
    "next to gate nine",
    "behind the old kiosk",
)
_THEN = (
    "wrote off the remainder",
    "moved the slot by one morning",
    "kept the deposit as it stands",
    "replaced the broken lid free of charge",
)
_WHY = (
    "because the seal was never cut",
    "since the scale had drifted",
    "as the photograph showed rust",
    "because nobody had signed for it",
)
_ASIDE = (
    "The weather has been odd here.",
    "We are a small team this month.",
    "Please excuse the short note.",
    "I am writing from the train.",
    "My notes are on the other desk.",
    "There may be some background noise.",
    "We had the painters in.",
    "The canteen is closed again.",
    "I share this mailbox with two others.",
    "Our printer is out of ink.",
    "You may also reach the front desk.",
    "This is my first message to you.",
)


def resolution(rng: Random) -> str:
    """A sentence of about twenty words, two clauses, each over six words."""
    number = rng.randrange(1000, 9999)
    return (
        f"{rng.choice(_WHO).capitalize()} {rng.choice(_DID)} {rng.choice(_WHAT)} {rng.choice(_WHERE)} and then "
        f"{rng.choice(_THEN)} {rng.choice(_WHY)}, quote {number} for the file."
    )


def clauses(sentence: str) -> tuple[str, str]:
    left, _, right = sentence.rstrip(".").partition(" and then ")
    return left, right


def typos(text: str, rng: Random, every: int = 4) -> str:
    """Two letters change places in each `every`-th word: no six words in a row stay as they were."""
    words = text.split()
    for at in range(every - 2, len(words), every):
        word = words[at]
        if len(word) < 4:
            words[at] = word + "e"
            continue
        cut = rng.randrange(1, len(word) - 2)
        if word[cut] == word[cut + 1]:
            words[at] = word[:cut] + word[cut + 1 :]
        else:
            words[at] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
    return " ".join(words)


def asides(rng: Random, count: int) -> str:
    return " ".join(rng.sample(_ASIDE, count))


def letter(rng: Random, sentences: int) -> str:
    """A long request of its own: about ten words a sentence."""
    found = []
    for _ in range(sentences):
        who, did, what, where = (rng.choice(part) for part in (_WHO, _DID, _WHAT, _WHERE))
        found.append(f"{who.capitalize()} {did} {what} {where} on visit {rng.randrange(11, 99)}.")
    return " ".join(found)
