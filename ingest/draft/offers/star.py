"""STAR: the two archives of dialogues and APIs, told by the names in them."""

from __future__ import annotations

import tarfile
from itertools import islice

from ingest.draft.model import FoundFile, Profile
from ingest.draft.offer import Drafted, Offer


def draft(profile: Profile) -> Drafted | None:
    found = {role: file for file in profile.files if file.kind == "archive" and (role := _role(file))}
    if "dialogues" not in found:
        return None
    made = Drafted()
    made.sources.append({"name": "star", "format": "star", "zone": "UTC"})
    made.guess("sources.star.format", "star", f"{found['dialogues'].name} holds dialogues/*.json")
    made.guess("sources.star.zone", "UTC", "its times are Unix seconds")
    if "apis" not in found:
        made.missing.append("the archive with apis/ (format star needs it)")
    return made


def _role(file: FoundFile) -> str:
    try:
        with tarfile.open(file.path) as archive:
            names = [member.name for member in islice(archive, 50)]
    except (tarfile.TarError, OSError, EOFError):
        return ""
    if any(name.startswith("dialogues/") and name.endswith(".json") for name in names):
        return "dialogues"
    return "apis" if any(name.startswith("apis/") for name in names) else ""


OFFER = Offer(draft)
