"""What a planted leak is: the set with the leak in it, where it stands, and which kind of section 8 it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tasks.leaks import LeakInput


class UnplantableError(Exception):
    """The clean set has no place for this leak (no policies, no repositories ...); another clean set has."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A finding tells this leak if it names one of `tasks`, or if its path holds one of `where`. Both empty: the leak is of the
    set as a whole, and any finding that the clean set did not have tells it."""

    data: LeakInput
    tasks: tuple[str, ...] = ()
    where: tuple[str, ...] = ()


Make = Callable[[LeakInput, Random], Planted]


@dataclass(frozen=True, slots=True)
class Plant:
    """One kind of leak: `make` puts it into a clean set, the same for the same generator of random numbers."""

    name: str
    section: str
    """Kind of section 8 of the semantics: a key of SECTIONS."""
    words: str
    """What was planted, in words: the row of the table."""
    make: Make
    statistical: bool = False
    """True: tells the outcome by probability over the set, judged over many seeds; false: must be found each time."""
    suspect: bool = False
    """True: a suspect for the supplier to declare is the right answer, not a failure."""


SECTIONS = {
    "outcome field": ("outcome_field", "outcome_literal"),
    "field not allowed": ("unknown_field", "outcome_field"),
    "time after the cut": ("late_time",),
    "resolution text": ("resolution_text",),
    "late identifier": ("late_identifier",),
    "outcome literal": ("outcome_literal", "outcome_field"),
    "group on both sides": ("group_overlap",),
    "time overlap": ("time_overlap",),
    "near-duplicate": ("near_duplicate",),
    "policy version": ("policy_version",),
    "requester knows": ("requester_knows",),
    "aggregate counts the future": ("aggregate_future",),
    "sequence past the cut": ("late_sequence",),
    "file time": ("late_file",),
    "git object beyond the base": ("late_git_object",),
    "ids or order encode": ("encoded_outcome",),
    "key presence": ("key_presence",),
    "implied by the request": ("implied_outcome",),
    "metadata": ("metadata_probe",),
    "conflicting outcomes": ("conflicting_outcome",),
    "canary": ("canary",),
    "fitted artefact": ("fitted_on_heldout",),
    "requester template": ("requester_template",),
    "back-filled column": ("backfilled_column",),
    "grader constants": ("grader_constants",),
}
"""Kind -> names of the checks whose file says so; a leak told by another check only is found, and listed as such."""
