"""Where the values of a task come from that the fold does not know: the opening, messages, the requester's turns, policy clauses.

References only, in the shape of a state: {system: {kind: {record: {name: reference}}}}. A name with a slash is no field's:
"opening/text" and its like stand at the opening record, "requester/f1" with them, "messages/0" at an earlier case, "record/id" at
every record. Contents of this shape are a task's `provenance`; environments never open them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schemas.task import RequesterSpec
from tasks.case import Case, Turn
from tasks.policy import Version
from tasks.prompt import SUBJECT_FIELDS
from tasks.requester import unquoted

References = dict[str, str]
POLICIES = "policies"
"""Stands where a state has its system: {policies: {document: {version: {clause: reference}}}}."""


def opening_sources(case: Case, own: Mapping[str, str], user: Mapping[str, str]) -> References:
    """Of each value of the opening. `own` and `user` are the sources of the opening record's and the requester's fields."""
    turn = case.opening
    assert turn is not None
    found = dict.fromkeys(("opening/record", "opening/text", "opening/received_at"), turn.source)
    requester = case.requester_source or turn.source
    subject = next((own[f] for f in SUBJECT_FIELDS if f in own), None)
    return {
        **found,
        **({"opening/subject": subject} if subject else {}),
        "opening/requester_id": requester,
        "opening/requester_name": user.get("name", requester),
        "opening/contact": user.get("email", requester),
    }


def requester_sources(case: Case, requester: RequesterSpec) -> References:
    """Of each fact and each "don't know": the requester's turn that says it, the first of several that say the same."""
    said = [(_said(turn), turn.source) for turn in case.turns if turn.by_requester and turn.public]
    told = {f"requester/{fact.id}": fact.answer for fact in requester.facts}
    told |= {f"requester/dont_know/{number}": text for number, text in enumerate(requester.dont_know)}
    found = {}
    for name, answer in told.items():
        source = next((s for text, s in said if text == answer), None) or next((s for text, s in said if answer in text), None)
        if source is not None:
            found[name] = source
    return found


def _said(turn: Turn) -> str:
    return unquoted(turn.text) or turn.text


def public_turns(case: Case, before_us: int) -> list[Turn]:
    """The messages of an earlier case that both sides had read before the cut."""
    return [t for t in case.turns if t.public and t.at_us is not None and t.at_us < before_us]


def message_sources(turns: Iterable[Turn]) -> References:
    return {f"messages/{number}": turn.source for number, turn in enumerate(turns)}


def policy_sources(now: Sequence[Version]) -> dict[str, Any]:
    """Of each clause of the documents in force."""
    return {POLICIES: {v.policy.document: {str(v.policy.version): dict(v.sources)} for v in now}}
