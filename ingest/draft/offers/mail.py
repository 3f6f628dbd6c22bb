"""E-mail: mailboxes and folders of single mails. They hold requesters' words and no outcomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from ingest.draft.model import FoundFile, Profile
from ingest.draft.offer import Drafted, Offer

HEADS = 5_000
"""Mails whose addresses are looked at."""
LOOKED_AT = 64 << 20
"""Bytes of one mailbox that are looked at."""
OWN_SHARE = 0.5
"""Share of the mails that a domain must stand in to be guessed to be the supplier's own."""
ADDRESS = re.compile(rb"@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)")
FIELDS: dict[str, dict[str, str]] = {
    "subject": {"type": "text", "known_at": "start"},
    "from": {"type": "email", "known_at": "start"},
    "from_name": {"type": "name", "known_at": "start"},
    "to": {"type": "json", "known_at": "start"},
    "cc": {"type": "json", "known_at": "start"},
    "requester": {"type": "id", "identity": "mailbox", "known_at": "start"},
    "attachments": {"type": "json", "known_at": "history"},
    "link": {"type": "json", "known_at": "history"},
}
"""What the format tells of a thread: by its first mail, and mail by mail."""


def draft(profile: Profile) -> Drafted | None:
    files = [file for file in profile.files if file.kind in ("mbox", "eml")]
    if not files:
        return None
    made, at = Drafted(record=None), "sources.mail"
    folder = _common([PurePosixPath(file.name).parent for file in files])
    mails, domains = _domains(files)
    source: dict[str, object] = {"name": "mail", "format": "mail", "path": folder, "zone": "UTC"}
    kinds = Counter(file.kind for file in files)
    made.guess(
        f"{at}.format", "mail", f"{len(files)} files of mails ({', '.join(f'{n} {kind}' for kind, n in sorted(kinds.items()))})"
    )
    made.guess(f"{at}.zone", "UTC", "mails carry the offset of their times")
    own, count = domains.most_common(1)[0] if domains else ("", 0)
    if own and len(domains) > 1 and count >= OWN_SHARE * mails:
        source["options"] = {"own_domains": [own]}
        made.guess(f"{at}.options.own_domains", own, f"stands in the addresses of {count:,} of {mails:,} mails looked at")
    made.sources.append(source)
    for name, rule in FIELDS.items():
        why = "the first mail of a thread tells it" if rule["known_at"] == "start" else "each mail tells its own"
        made.rule(f"mail.thread.{name}", dict(rule), why)
    made.missing.append("mails hold no outcome: what was decided must stand in another system, or nothing becomes a task")
    return made


def _common(folders: list[PurePosixPath]) -> str:
    """The deepest folder that holds all."""
    parts = list(folders[0].parts)
    for folder in folders[1:]:
        while parts and tuple(parts) != folder.parts[: len(parts)]:
            parts.pop()
    return "/".join(parts) or "."


def _domains(files: list[FoundFile]) -> tuple[int, Counter[str]]:
    """(mails looked at, in how many of them each domain stands in From, To or Cc)."""
    mails, found = 0, Counter[str]()
    for file in files:
        for head in _heads(file):
            mails += 1
            found.update({domain.decode("ascii").lower() for domain in ADDRESS.findall(head)})
            if mails == HEADS:
                return mails, found
    return mails, found


def _heads(file: FoundFile) -> Iterator[bytes]:
    """The address headers of each mail of a file that can be read."""
    try:
        with file.path.open("rb") as handle:
            raw = handle.read(LOOKED_AT)
    except OSError:
        return
    pieces = re.split(rb"(?m)^From \S+ .*\d{4}\r?$", raw) if file.kind == "mbox" else [raw]
    for piece in pieces:
        head = re.split(rb"\r?\n\r?\n", piece.lstrip(), maxsplit=1)[0]
        if head:
            yield b"\n".join(re.findall(rb"(?im)^(?:from|to|cc):.*$", head))


OFFER = Offer(draft)
