"""The cut of attachments: bytes that the records knew by hash before it, or nothing.

A link in a message leads to whatever stands there today. So no stage fetches one: an attachment enters a state only where its
digest was recorded before the cut and the export itself delivers bytes of that digest. Sources give no attachments yet (Zendesk's
are left out); one that does emits a field whose value is {"name": ..., "sha256": ...} and shows what `attachments_at` returns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attachment:
    """One recorded attachment of a message or record."""

    record_id: str
    name: str
    sha256: str | None
    """Digest as recorded; None: only a link was recorded."""
    event_us: int | None
    """When it was attached, microseconds since 1970 in UTC; None: unknown, and so never before a cut."""
    recorded_us: int | None
    """When the system knew the digest."""


def attachments_at(
    known: Iterable[Attachment], cut_us: int, delivered: Callable[[str], bytes | None]
) -> dict[tuple[str, str], bytes]:
    """(record, name) -> bytes at the cut. `delivered` gives the export's bytes of a digest, or None where it has none.

    Of several under one name the last before the cut counts; where its bytes are not what the digest says, it is absent rather
    than an older one or today's.
    """
    last: dict[tuple[str, str], Attachment] = {}
    before = [a for a in known if None not in (a.event_us, a.recorded_us) and max(_times(a)) < cut_us]
    for attachment in sorted(before, key=lambda a: (*_times(a), a.sha256 or "")):
        last[attachment.record_id, attachment.name] = attachment
    found = {}
    for place, attachment in sorted(last.items()):
        content = delivered(attachment.sha256) if attachment.sha256 else None
        if content is not None and hashlib.sha256(content).hexdigest() == attachment.sha256:
            found[place] = content
    return found


def _times(attachment: Attachment) -> tuple[int, int]:
    assert attachment.event_us is not None
    assert attachment.recorded_us is not None
    return attachment.event_us, attachment.recorded_us
