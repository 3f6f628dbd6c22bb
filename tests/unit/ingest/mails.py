"""Mails as bytes, and what they are read with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ingest.sources._mail_body import Reading
from ingest.sources._mail_parse import Mail, parsed

READING = Reading((), "UTC", True, "cp1252", 1_000_000, 100_000, 200)
ARRIVED = "from a.example by mx.example with SMTP; Mon, 3 Mar 2025 09:00:05 +0000"
HEADERS = {
    "Received": ARRIVED,
    "From": "Anna <anna@kunde.example>",
    "To": "support@supplier.example",
    "Subject": "Order",
    "Date": "Mon, 3 Mar 2025 09:00:00 +0000",
    "Message-ID": "<m1@kunde.example>",
}


def raw(body: str | bytes = "Hello", **headers: str | None) -> bytes:
    """A mail; a header given as None is left out, `_` in a name stands for a hyphen."""
    told: dict[str, str | None] = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"{name}: {value}" for name, value in told.items() if value is not None]
    head = "\n".join(lines).encode("utf-8", "surrogateescape")
    return head + b"\n\n" + (body.encode() if isinstance(body, str) else body)


def mail(body: str | bytes = "Hello", reading: dict[str, Any] | None = None, **headers: str | None) -> Mail:
    return parsed(raw(body, **headers), replace(READING, **(reading or {})))


def findings(found: Mail) -> dict[str, int]:
    return dict(found.findings)
