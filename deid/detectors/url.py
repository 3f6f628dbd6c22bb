"""URLs with a scheme or "www.": Presidio's recogniser. Bare "word.word" is left alone: most are missing blanks after
a full stop."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from deid.spans import Context, Detector, Span, each

START = re.compile(r"(?i)\b(?:h(?:tt|xx)ps?(?::|\[:\])//|www\.)")
LOOSE = re.compile(r"(?i)\bh(?:tt|xx)ps?(?::|\[:\])//[^\s<>\"']+[^\s<>\"'.,;:!?)]")


@cache
def _recognizer() -> Any:
    from presidio_analyzer.predefined_recognizers import UrlRecognizer

    return UrlRecognizer()


def find(text: str, context: Context) -> list[Span]:
    found = {(r.start, r.end) for r in _recognizer().analyze(text, ["URL"], None) if START.match(text, r.start)}
    found |= {m.span() for m in LOOSE.finditer(text)}
    return [Span(start, end, "url", text[start:end].casefold().rstrip("/"), 75) for start, end in sorted(found)]


DETECTOR = Detector("url", "url", 75, each(find), gate=START.search)
