"""Subjects of mails without what programs set before them, after RFC 5256 (2.1, base subject) and in more languages."""

from __future__ import annotations

import re

REPLY = re.compile(
    r"\s*(?:re|aw|antw|antwort|sv|vs|odp|ref|rif|res|ynt|rép|回复|答复)\s*(?:\[\d+\]|\(\d+\)|\^\d+)?\s*[:：]\s*", re.IGNORECASE
)
FORWARD = re.compile(r"\s*(?:fwd?|wg|tr|vb|vl|rv|enc|i|doorst|转发)\s*(?:\[\d+\])?\s*[:：]\s*|\s*\[fwd?:\s*", re.IGNORECASE)
TAG = re.compile(r"\s*\[[^\]\d]{1,40}\]\s*")
"""A list's name before the subject. With a figure in it it may be a case's number, which tells cases apart, and stays."""
WAS = re.compile(r"[\[(]\s*was\s*:?\s+(.{3,}?)\s*[\])]?$")
TRAILER = re.compile(r"\s*\(fwd\)\s*$", re.IGNORECASE)


def base_subject(subject: str) -> tuple[str, bool, bool]:
    """(subject without marks of replies and lists, whether it is a reply's, whether a forward's).

    "Re: Fwd: X" is a reply to the forward, whose base is "fwd: x": it does not meet the mails about X.
    """
    text = subject
    reply = False
    while True:
        if match := REPLY.match(text):
            reply, text = True, text[match.end() :]
        elif match := TAG.match(text):
            text = text[match.end() :]
        else:
            break
    forward = bool(match := FORWARD.match(text)) or bool(TRAILER.search(text))
    while match := FORWARD.match(text):
        text = text[match.end() :]
    text = " ".join(TRAILER.sub("", text).casefold().split())
    return (f"fwd: {text}" if forward else text), reply, forward and not reply


def former_subject(base: str) -> str:
    """Of "new subject (was: old one)" the old one's base, or ""."""
    match = WAS.search(base)
    return base_subject(match[1])[0] if match else ""
