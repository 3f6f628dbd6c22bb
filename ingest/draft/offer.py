"""What a draft offers for one format: its sources, the code book's fields, and a guess with evidence for each choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ingest.draft.model import Profile
from schemas.guesses import GuessSpec


@dataclass(slots=True)
class Drafted:
    """A part of a spec and of a code book. Each choice in it has a guess."""

    sources: list[dict[str, Any]] = field(default_factory=list)
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of the code book: "system.kind.field" -> its rule."""
    codes: dict[str, list[str]] = field(default_factory=dict)
    systems: list[dict[str, Any]] = field(default_factory=list)
    guesses: list[GuessSpec] = field(default_factory=list)
    covers: set[str] = field(default_factory=set)
    """Tables that the sources read."""
    record: tuple[str, str] | None = None
    """System and kind of the record that may become a task."""
    missing: list[str] = field(default_factory=list)
    """What the format would need and the export lacks, in plain words."""

    def guess(self, at: str, says: str, evidence: str) -> None:
        self.guesses.append(GuessSpec(at=at, says=says, evidence=evidence))

    def rule(self, name: str, rule: dict[str, Any], evidence: str, codes: list[str] | None = None) -> None:
        """A field of the code book, with its guess."""
        self.fields[name] = rule
        if codes:
            self.codes[name] = codes
        says = ", ".join(f"{key} {value}" for key, value in rule.items() if key != "meaning")
        self.guess(f"code_book.fields.{name}", says, evidence)


@dataclass(frozen=True, slots=True)
class Offer:
    """A format's part of a draft: `ingest/draft/offers/<format>.py` exports `OFFER`, named like the format it drafts for."""

    draft: Callable[[Profile], Drafted | None]
    """None where the export holds nothing of the format."""
