"""Names under which only a grader keeps its answers, and where they stand: as keys of JSON, and unquoted before a value.

Unquoted ("expected_outcome: 3", "goldAnswer=3", "gold_label -> x") only a name of several parts written as one word counts, as
nobody writes in a sentence ("the expected outcome is ...", "Expected outcome: ...").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tasks.leaks._decode import unwrapped
from tasks.leaks._literals import plain

_JSON_KEY = re.compile(r'"([\w .-]{3,40})\\*"\s*:')
_QUOTED_KEY = re.compile(rf"{_JSON_KEY.pattern}|'([\w .-]{{3,40}})'\s*:")
"""As `_JSON_KEY`, or as Python prints it."""
_ASSIGNED = re.compile(
    r"(?<![\w-])(?P<name>[^\W\d_][\w-]{3,40})(?<!-)"
    r"(?:[*`'\"\\)\]]{0,4}[ \t]{0,3}(?::=|:(?![:/])|[=-]{1,2}>|\u2192|={1,3}|\||\t|\s(?:is|equals)\s)"
    r"|(?<=\w)>(?=[^<>\s]))\s*[^\s|]"
)
"""A name and what sets it apart from its value, or the tag of a value."""
_LOWER = bytes(range(256)).lower()
SURE = ("expected", "gold", "golden", "correct", "ideal", "oracle")
"""Words that make of an answer the right one ("expectedOutcome", "gold_answer")."""
ANSWERS = (
    *("answer", "answers", "action", "actions", "calls", "class", "code", "decision", "label", "labels", "outcome", "outcomes"),
    *("path", "reply", "resolution", "response", "result", "solution", "steps", "trajectory"),
)
AHEAD = ("reply", "resolution", "response", "result", "steps")
"""Answers that a desk's own records expect: when a case is to be solved, what a failing screen should have shown."""
_TRUE = (
    "answer",
    "answers",
    "action",
    "actions",
    "class",
    "code",
    "decision",
    "label",
    "labels",
    "outcome",
    "outcomes",
    "solution",
)
"""Answers of which there is a true one: behind "true" other words are a desk's own ("true_cost")."""
_WHOLE = (
    *("outcome", "outcome_class", "outcome_code", "expected", "bounds", "g_min", "g_max", "derived_from", "required_by"),
    *("solution", "reference_path", "reference_answer", "reference_outcome", "reference_solution", "reference_trajectory"),
    *("target_answer", "target_outcome", "target_label", "target_class", "ground_truth", "answer_key", "gold_standard"),
    *("gt_label", "gt_answer", "gt_outcome", "gt_class", "gt_action", "y_true"),
)
_OF_TRUTH = tuple(f"{truth}_{answer}" for truth in ("true", "ground_truth") for answer in _TRUE)
_PAIRED = tuple(f"{sure}_{answer}" for sure in SURE for answer in ANSWERS if sure != "expected" or answer not in AHEAD)
KEYS = frozenset((*_WHOLE, *_OF_TRUTH, *_PAIRED))
_COMPOUND = frozenset(plain(key) for key in KEYS if "_" in key)
_HYPHENED = frozenset(map(plain, (*_OF_TRUTH, *_PAIRED)))
"""Those that count unquoted with a hyphen in them, too; others are words ("answer-key: see page 4")."""
_PARTS = {*SURE, *map(plain, (*_WHOLE, *_OF_TRUTH))}
HINTS = [part.encode() for part in sorted(_PARTS) if not any(other in part for other in _PARTS - {part})]
"""Of which each key holds one, as `plain` writes it."""
_FIRST = tuple(part.encode() for part in ("true", "target", "reference", "gt"))
_ALONE = tuple(hint for hint in HINTS if not hint.startswith(_FIRST))
_BEHIND = {first: tuple(hint for hint in HINTS if hint.startswith(first)) for first in _FIRST}
"""Hints that begin alike, looked for where their begin is."""
_FIGURES = "0123456789"


def is_key(name: str, keys: set[str]) -> bool:
    """True for a key of the grader's (`keys`, as `plain` writes them) in any spelling, numbered or in look-alike letters."""
    if _among(plain(name), keys):
        return True
    return not name.isascii() and any(isinstance(read, str) and _among(plain(read), keys) for read in unwrapped(name))


def _among(name: str, keys: set[str]) -> bool:
    if name in keys:
        return True
    stem = name.rstrip(_FIGURES)
    return stem != name and stem in keys and stem in _COMPOUND


def may_name(raw: bytes) -> bool:
    """False where a text holds none of the grader's keys (in ASCII, as `plain` writes them), however they are spelled: a key of
    JSON is ASCII but for what `_JSON_KEY` allows between, which is taken out here. Another alphabet's letter may count as a small
    or capital one of ours: such texts are left to the pattern."""
    if not raw.isascii():
        return True
    held = raw.translate(_LOWER, b" ._-")
    return any(map(held.__contains__, _ALONE)) or any(
        first in held and any(map(held.__contains__, hints)) for first, hints in _BEHIND.items()
    )


def keys_of_json(text: str, keys: set[str]) -> set[str]:
    """The keys of JSON in a text that are the grader's."""
    if not may_name(text.encode()):
        return set()
    # No key goes over a brace, and many tasks hold the same objects: each is looked at once.
    return {key for part in {*text.split("{")} for key in _JSON_KEY.findall(part) if is_key(key, keys)}


def quoted(text: str) -> Iterator[str]:
    """What stands like a key of JSON in a text, whole or cut off."""
    if ":" in text:
        yield from (a or b for a, b in _QUOTED_KEY.findall(text))


def assigned_in(texts: Sequence[tuple[str, str]], keys: set[str]) -> list[tuple[str, str]]:
    """(path, key) of what `assigned` finds in texts with their paths: where none holds any, one look tells it of all of them."""
    if not may_name("\n".join([text for _, text in texts]).encode("utf-8", "surrogatepass")):
        return []
    return [(path, name) for path, text in texts for name in assigned(text, keys)]


def assigned(text: str, keys: set[str]) -> list[str]:
    """The grader's keys that stand in a text before a value, quoted or not."""
    if not may_name(text.encode("utf-8", "surrogatepass")):
        return []
    return [name for name in dict.fromkeys(_ASSIGNED.findall(text)) if is_key(name, keys) and _is_one_word(name)]


def _is_one_word(name: str) -> bool:
    """True for a name that no sentence holds as it is written."""
    bare = plain(name)
    if not bare.isascii():
        return True  # look-alikes, of which nobody makes a word
    stem = bare.rstrip(_FIGURES)
    return stem in (_HYPHENED if "-" in name else _COMPOUND)
