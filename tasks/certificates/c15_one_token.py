"""One person has one token: in the opening, in the rows about them, in the dialogue and in policies.

Two tokens are one person's where the task set itself says so: the requester's name and address, the user record that the request
was opened under, and the records of people (name, e-mail, phone, login side by side in one row) that the case looks at or that
are held under the requester's own address. Under the scope per_source, tokens of two systems are meant to differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tasks.certificates._bench import Bench, CertificateCheck, Said

PERSON = re.compile(r"(PERSON_[0-9A-F]{8})(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?")


def run(bench: Bench) -> Said:
    if bench.proof.token_scope == "per_source":
        return "not_applicable", "token scope per_source: each source has tokens of its own"
    opening = bench.task.opening
    own = {person for text in (opening.requester_name, opening.contact) if (person := _person(text))}
    if len(own) > 1:
        return "failed", "the opening has two tokens for its requester"
    rows = 0
    for name, row in _rows(bench, own):
        rows += 1
        held = {person for value in row.values() if isinstance(value, str) and (person := _person(value))}
        if len(held) > 1:
            return "failed", f"{name} holds {len(held)} tokens of one person"
        if name.endswith(opening.requester_id) and own and held and held != own:
            return "failed", f"{name} has another token than the opening"
    if not own and not rows:
        return "not_applicable", "nobody is named by a token"
    strangers = [p.document for p in bench.taskset.policies(bench.task) if any(PERSON.search(c.text) for c in p.clauses)]
    if strangers:
        return "failed", f"policies name people: {', '.join(strangers)}"
    return "passed", f"{rows} records of people"


def _person(text: str) -> str | None:
    found = PERSON.fullmatch(text)
    return found[1] if found else None


def _rows(bench: Bench, own: set[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """("system.kind id", row) of the records of people that the case is about, each once."""
    wanted = {(r.system, r.kind, r.record_id) for entry in bench.whole().journal.entries for r in entry.reads}
    addresses = {bench.task.opening.contact}
    for system, kinds in sorted(bench.state.items()):
        for kind, rows in sorted(kinds.items()):
            for record_id, row in rows.items():
                mine = record_id == bench.task.opening.requester_id or row.get("email") in addresses
                if mine or ((system, kind, record_id) in wanted and any(key in row for key in ("email", "phone", "login"))):
                    yield f"{system}.{kind} {record_id}", row


CHECK = CertificateCheck("C15", run)
