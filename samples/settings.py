"""The knobs of the simulation: how many tickets of which kind, and how often each kind of mess is planted."""

from __future__ import annotations

from schemas.episode import Frozen

KIND_SHARES: dict[str, float] = {
    "refund": 0.25, "cancel": 0.15, "address_change": 0.15, "exchange": 0.16, "account_recovery": 0.145, "goodwill": 0.145,
}  # fmt: skip
OBSTACLES: dict[str, float] = {
    "off_system": 0.080,
    "broke_rule": 0.060,
    "trivial": 0.030,
    "out_of_scope": 0.030,
    "merged": 0.022,
    "no_outcome": 0.020,
    "deleted": 0.014,
    "redacted": 0.012,
    "unknown_code": 0.010,
    "ambiguous_tie": 0.006,
    "late_fact": 0.006,
    "broken_line": 0.003,
}
"""Share of tickets with each obstacle (at most one a ticket): what makes a ticket not clean. From 100 tickets
on at least one of each."""
PLANTS: dict[str, float] = {
    "thanks": 0.15,
    "outcome_note": 0.12,
    "html_only": 0.08,
    "mojibake": 0.04,
    "subject_rewritten": 0.04,
    "late_arrival": 0.025,
    "tied_events": 0.025,
    "scheduled": 0.025,
    "deleted_before": 0.025,
    "deleted_later": 0.020,
    "clock_skew": 0.060,
    "dst_fold": 0.250,
    "redaction": 0.015,
    "older_row": 0.015,
    "cp1252_line": 0.006,
}
"""Share of tickets with each harmless mess: the ticket stays clean, the stages must cope. clock_skew and dst_fold apply
only where the clock and the calendar allow."""
SECOND_ADDRESS = 0.4
"""Share of tickets that come from the second address of a person who has one."""
PEOPLE_PER_TICKET = 0.62
REPEATED_ROWS = 3
"""Rows at the end of each page that the next page repeats."""
PAGE_ROWS = 1000
MIN_TICKETS, MAX_TICKETS = 50, 150_000


class Settings(Frozen):
    """What the sample's bytes depend on, beside the code."""

    tickets: int = 2000
    """In [50, 150000]; the order system's numbers do not reach further."""
    seed: int = 1
