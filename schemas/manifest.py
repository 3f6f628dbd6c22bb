"""The manifest of a stage's output folder."""

from __future__ import annotations

from schemas.episode import Frozen


class Manifest(Frozen):
    """Written last, so that its presence with matching hashes is what "finished" means.

    Seconds are kept apart in timings.json, so that a finished folder has the same bytes however often it was killed.
    """

    stage: str
    schema_version: int
    key: str
    """Digest of stage, inputs, code version and settings: the same key means the same bytes."""
    code_version: str
    inputs: dict[str, str]
    """Input name -> sha256."""
    counts: dict[str, int]
    """Rows in, out and quarantined, per kind; rows_in = rows_out + rows_quarantined where a stage reads rows."""
    files: dict[str, str]
    """Output file, relative -> sha256."""
