"""E-mail addresses: Presidio's pattern (without its look-up of public suffixes, which would ask the network), and the
obfuscated forms."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from deid.identity import normalise_email
from deid.spans import Context, Detector, Span, each

AT = r"\s?(?:\(at\)|\[at\]|\{at\}| at |\[@\]|\(@\)|%40|&#0*64;|&#x40;|&commat;)\s?"
DOT = r"\s?(?:\(dot\)|\[dot\]|\{dot\}| dot |\[\.\]|\(\.\)|%2e|&#0*46;|&period;)\s?"
OBFUSCATED = re.compile(
    rf"\b[\w.+-]+(?:{DOT}[\w+-]+)*(?:{AT}[\w-]+(?:(?:\s?\.\s?|{DOT})[\w-]+)*?|@[\w-]+(?:\.[\w-]+)*?(?={DOT})(?:{DOT}[\w-]+)*?)"
    rf"(?:\s?\.\s?|{DOT})(?:com|org|net|de|uk|co|eu|fr|info|io|example|test|invalid)\b",
    re.IGNORECASE,
)


@cache
def _recognizer() -> Any:
    from presidio_analyzer.predefined_recognizers import EmailRecognizer

    class Offline(EmailRecognizer):  # type: ignore[misc,unused-ignore]
        def validate_result(self, pattern_text: str) -> None:
            """Any domain counts: a wrong top level may be a typing error in a real address."""

    return Offline()


def find(text: str, context: Context) -> list[Span]:
    spans = []
    if "@" in text:
        for result in _recognizer().analyze(text, ["EMAIL_ADDRESS"], None):
            start = result.start
            while start < result.end and not (text[start].isalnum() or text[start] == "_"):
                start += 1
            spans.append(Span(start, result.end, "email", normalise_email(text[start : result.end]), 90))
    for match in OBFUSCATED.finditer(text):
        plain = re.sub(AT, "@", match.group(), flags=re.IGNORECASE)
        plain = re.sub(DOT, ".", plain, flags=re.IGNORECASE).replace(" ", "")
        spans.append(Span(match.start(), match.end(), "email", normalise_email(plain), 88))
    return spans


DETECTOR = Detector("email", "email", 90, each(find), gate=re.compile(r"@|\bat\b|%40|64;|x40;|&commat", re.IGNORECASE).search)
