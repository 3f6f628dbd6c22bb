"""Secrets: passwords after a cue, access keys of known shapes, bearer and web tokens, private keys. Redacted, never tokenised."""

from __future__ import annotations

import re

from deid.spans import Context, Detector, Span, each

CUED = re.compile(
    r"(?i)\b(?:pass(?:word|phrase|code|wd)|passwort|kennwort|pwd|pswd|pw|p/w|code[ -]?word|pass(?=\s*[:=])|"
    r"api[_ -]?key|secret(?:[_ -]?key)?|access[_ -]?token|"
    r"auth[_ -]?token)\b"
    r"(?:\s+(?:i|we|you)\s+(?:use|used|have|had|set|chose|gave(?:\s+me)?|sent(?:\s+me)?)\b)?"
    r"(?:\s+(?:is|was|are|still|now|to|ist|lautet)){0,3}\s*[:=]?\s*[\"'“„]?(?P<s>[^\s\"'“”]{4,}[^\s\"'“”.,;!?)])"
)
SHAPES = re.compile(
    r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{20,}|\bxox[abprs]-[\w-]{10,}"
    r"|\b[sr]k[-_](?:live|test|proj)?[-_]?[A-Za-z0-9]{16,}|\bAIza[\w-]{35}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|\bnpm_[A-Za-z0-9]{36}|\bpypi-[\w-]{40,}"
)
BEARER = re.compile(r"(?i)\bbearer\s+(?P<s>[A-Za-z0-9._~+/-]{12,}=*)")
USERINFO = re.compile(r"://[^\s/:@]+:(?P<s>[^\s/@]+)@")


def find(text: str, context: Context) -> list[Span]:
    spans = [Span(m.start(), m.end(), "secret", "", 100) for m in SHAPES.finditer(text)]
    for match in CUED.finditer(text):
        word = match["s"]
        if any(c.isdigit() for c in word) or not word.isalpha():
            spans.append(Span(match.start("s"), match.end("s"), "secret", "", 100))
    for pattern in (BEARER, USERINFO):
        spans.extend(Span(m.start("s"), m.end("s"), "secret", "", 100) for m in pattern.finditer(text))
    return spans


GATE = re.compile(
    r"(?i)pass|kennwort|pwd|pswd|\bpw|p/w|code.?word|key|secret|token|bearer|://|AKIA|ASIA|gh[pousr]_|glpat|xox|eyJ|AIza|npm_|pypi-|\b[sr]k[-_]"
).search
DETECTOR = Detector("secret", "secret", 100, each(find), gate=GATE)
