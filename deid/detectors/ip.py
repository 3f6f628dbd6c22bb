"""IP addresses, versions 4 and 6: Presidio's recogniser."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from deid.spans import Context, Detector, Span, each

DEFANGED = re.compile(r"(?<![\d.])\d{1,3}(?:(?:\.|\[\.\]|\(\.\)|\[dot\]|\(dot\)|%2e)\d{1,3}){3}(?![\d.])", re.IGNORECASE)
"""As it is written so that nobody clicks on it."""


@cache
def _recognizer() -> Any:
    from presidio_analyzer.predefined_recognizers import IpRecognizer

    return IpRecognizer()


def find(text: str, context: Context) -> list[Span]:
    results = _recognizer().analyze(text, ["IP_ADDRESS"], None)
    spans = [Span(r.start, r.end, "ip", text[r.start : r.end].casefold(), 60) for r in results if r.score >= 0.5]
    for match in DEFANGED.finditer(text):
        parts = re.findall(r"\d+", match.group().casefold().replace("%2e", "."))
        if match.group() != ".".join(parts) and all(int(part) < 256 for part in parts):
            spans.append(Span(match.start(), match.end(), "ip", ".".join(parts), 60))
    return spans


GATE = re.compile(r"\d\.\d{1,3}\.\d|\d(?:[\[(](?:\.|dot)|%2[eE]\d)|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:").search
DETECTOR = Detector("ip", "ip", 60, each(find), gate=GATE)
