"""IP addresses, versions 4 and 6: Presidio's recogniser."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from deid.spans import Context, Detector, Span, each


@cache
def _recognizer() -> Any:
    from presidio_analyzer.predefined_recognizers import IpRecognizer

    return IpRecognizer()


def find(text: str, context: Context) -> list[Span]:
    results = _recognizer().analyze(text, ["IP_ADDRESS"], None)
    return [Span(r.start, r.end, "ip", text[r.start : r.end].casefold(), 60) for r in results if r.score >= 0.5]


DETECTOR = Detector("ip", "ip", 60, each(find), gate=re.compile(r"\d\.\d{1,3}\.\d|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:").search)
