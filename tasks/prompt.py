"""The request as first made: what the opening itself gave, and nothing that was known later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.episode import RowRef
from schemas.task import Opening
from tasks.case import Case, iso
from tasks.requester import unquoted

SUBJECT_FIELDS = ("subject", "title", "summary")


def opening_of(
    case: Case, record: tuple[str, str], fields: Mapping[str, Any], user: Mapping[str, Any], started_us: int
) -> Opening:
    """`fields` are the opening record's own at the start, `user` the requester's row (empty where the supplier has none)."""
    turn = case.opening
    assert turn is not None
    assert case.requester is not None
    subject = next((str(fields[f]) for f in SUBJECT_FIELDS if fields.get(f)), "")
    return Opening(
        record=RowRef(system=record[0], kind=record[1], record_id=case.record_id),
        requester_id=case.requester,
        requester_name=str(user.get("name") or case.requester),
        contact=str(user.get("email") or case.requester),
        subject=subject,
        text=unquoted(turn.text) or turn.text,
        received_at=iso(started_us),
    )


FOLDS_US = (1_800_000_000, 3_600_000_000)
"""Microseconds by which clocks are put back: an hour, half an hour on Lord Howe Island."""


def started_us(case: Case) -> int:
    """The cut: when the opening message arrived; the record's own opening where the message carries no time.

    Where the local hour of a message that itself opened the record was there twice, an event reads it as the later instant and a
    cut as the earlier one. Any other difference (a chat opened before its first words were typed) is no fold: the words arrived
    when they arrived.
    """
    turn = case.opening
    at = turn.at_us if turn is not None and turn.at_us is not None else case.opened_us
    if turn is not None and at is not None and turn.seq is not None and turn.seq == case.opening_seq:
        at = case.opened_us if case.opened_us is not None and at - case.opened_us in FOLDS_US else at
    assert at is not None
    return at
