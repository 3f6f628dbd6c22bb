"""Cases whose systems hold rows (a helpdesk with accounts, orders, payments): state at the cut, policies in force, recorded
writes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schemas.episode import ToolCall
from schemas.files import write_text
from schemas.task import TaskSpec
from tasks.case import Case, Clean, Turn, iso, read_cases
from tasks.cut import CutCase, Cuts, StateAtCut, connect, cut_states, load, opening_rows
from tasks.derive import FINISH
from tasks.policy import Version, in_force
from tasks.prompt import opening_of, started_us
from tasks.replay import all_in_opening, build_reference, decide_case
from tasks.requester import requester_of
from tasks.select import basic_reason
from tasks.shard import (
    Shard,
    difficulty_of,
    rules_of,
    systems_of,
)
from tasks.sources import (
    References,
    message_sources,
    opening_sources,
    policy_sources,
    public_turns,
    requester_sources,
)
from tasks.trivial import is_trivial


def record_cases(shard: Shard, cases: Sequence[Case]) -> None:
    spec, clean = shard.spec, shard.clean
    candidates = []
    for case in cases:
        reason = basic_reason(case, spec, clean.codebook)
        if reason is None:
            candidates.append(case)
        else:
            outcome = clean.codebook.outcomes.get(case.code or "")
            shard.drop(case, outcome.workflow if outcome else None, reason)
    if not candidates:
        return
    owners = clean.owners()
    mine = {c.requester for c in candidates}
    earlier_ids = {rid for rid, requester in owners.items() if requester in mine}
    con = connect(clean.log or clean.folder, spill=shard.folder / ".spill")
    organisations = [c.organisation for c in candidates if c.organisation]
    wanted = earlier_ids | {c.record_id for c in candidates}
    load(con, clean.codebook, organisations, wanted, clean.record, skew_us=shard.work.skew_us, groups=shard.work.groups)
    asked = [CutCase(c.record_id, c.organisation, c.requester, started_us(c)) for c in candidates]
    cuts = cut_states(con, asked, owners={rid: owners[rid] for rid in earlier_ids})
    own = opening_rows(con)
    con.close()
    shutil.rmtree(shard.folder / ".spill", ignore_errors=True)
    history = {c.record_id: c for c in read_cases(clean, earlier_ids)}
    users = _users(clean, {r for r in mine if r})
    for case in candidates:
        _record_case(shard, case, cuts, own.get(case.record_id, ({}, {})), history, users.get(case.requester or "", ({}, {})))


def _users(clean: Clean, wanted: set[str]) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    """Requester -> first recorded name and address, and their sources: a requester whose own record the opening made is known by
    id."""
    import polars as pl

    kinds = [
        k
        for k in {tuple(key.split(".", 2)[:2]) for key in clean.codebook.fields}
        if k[0] == clean.record[0] and k != clean.record
    ]
    if not kinds:
        return {}
    rows = (
        clean.events()
        .filter((pl.col("system") == clean.record[0]) & pl.col("record_id").is_in(sorted(wanted)) & (pl.col("type") == "create"))
        .filter(pl.col("field").is_in(["name", "email"]) & pl.col("value_json").is_not_null())
        .select("record_id", "field", "value_json", "event_ts", "seq", "source_pos")
        .collect()
        .sort(["record_id", "field", "event_ts", "seq", "value_json", "source_pos"], nulls_last=True)
    )
    found: dict[str, tuple[dict[str, Any], dict[str, str]]] = {}
    for rid, name, value, _, _, source in rows.iter_rows():
        values, sources = found.setdefault(rid, ({}, {}))
        if name not in values:
            values[name], sources[name] = json.loads(value), source or ""
    return found


def _record_case(
    shard: Shard,
    case: Case,
    cuts: Cuts,
    own: tuple[dict[str, Any], dict[str, str]],
    history: Mapping[str, Case],
    user: tuple[dict[str, Any], dict[str, str]],
) -> None:
    spec, codebook = shard.spec, shard.clean.codebook
    assert case.code is not None
    outcome = codebook.outcomes[case.code]
    cut = started_us(case)
    state = cuts.states[case.record_id]
    difficulty = difficulty_of(case)
    if state.unrebuildable:
        return shard.drop(case, outcome.workflow, "state_unknown", state.unrebuildable[0], difficulty)
    now, unclear = in_force(shard.versions, cut)
    if unclear or (not now and not spec.select.allow_no_policy):
        return shard.drop(case, outcome.workflow, "policy_unknown", "; ".join(unclear) or "no policies", difficulty)
    requester = requester_of(case, shard.words, spec.requester)
    record_sources = {case.record_id: {**own[1], **opening_sources(case, own[1], user[1]), **requester_sources(case, requester)}}
    layers = tuple(_store_state(shard, case, state, cuts, own, history, cut, record_sources))
    task = TaskSpec(
        task_id=case.record_id,
        taskset=spec.name,
        workflow=outcome.workflow,
        started_at=iso(cut),
        organisation=case.organisation or "",
        opening=opening_of(case, shard.clean.record, own[0], user[0], cut),
        systems=systems_of(shard),
        state=layers,
        provenance=tuple(_store_provenance(shard, state, cuts, now, record_sources)),
        policies=tuple(shard.put(v.policy.model_dump(mode="json")) for v in now),
        rules=rules_of(shard, outcome.workflow, now),
        requester=requester,
        max_steps=spec.max_steps,
        weights=spec.reward,
        grades=() if now else ("no_policy",),
    )
    about = case.last.get("about_record")
    finish = ToolCall(tool=FINISH, arguments={"code": case.code, "about": about})
    writes = [w for w in case.writes if w.at_us is None or w.at_us >= cut]
    built = build_reference(shard, task, outcome.outcome_class, finish, writes=writes)
    for unclear_field in state.ambiguous:
        if unclear_field.record_id in built.touched:
            where = f"{unclear_field.system}.{unclear_field.kind}.{unclear_field.field}"
            return shard.drop(case, outcome.workflow, "ambiguous_state", where, difficulty)
    if known_later := sorted(state.late & built.touched):
        return shard.drop(
            case, outcome.workflow, "state_unknown", f"{len(known_later)} records true before and recorded after", difficulty
        )
    trivial = is_trivial(
        spec.select.trivial,
        generated="generated_request" in task.grades,
        told=shard.work.trivial_p.get(case.record_id, 0.0) >= spec.select.triviality_p,
        stands=built.answer is not None and all_in_opening(built.answer),
    )
    decide_case(shard, case, task, built, trivial=trivial, difficulty=difficulty)


def _store_state(
    shard: Shard,
    case: Case,
    state: StateAtCut,
    cuts: Cuts,
    own: tuple[dict[str, Any], dict[str, str]],
    history: Mapping[str, Case],
    cut: int,
    sources: dict[str, References],
) -> Iterator[str]:
    """Stores the layers of the state: an empty frame of all kinds, the month's snapshot, what changed since, and the
    requester's cases, whose messages' references are added to `sources`."""
    system, kind = shard.clean.record
    frame: dict[str, dict[str, Any]] = {}
    names = {s.name for s in shard.spec.systems}
    for key in shard.clean.codebook.fields:
        in_system, of_kind = key.split(".", 2)[:2]
        if in_system in names:
            frame.setdefault(in_system, {}).setdefault(of_kind, {})
    yield shard.put(frame)
    tickets: dict[str, Any] = {}
    for digest in state.parts:
        text = cuts.texts[digest]
        path = shard.folder / "content" / digest
        if not path.exists():
            write_text(path, text)
        yield digest
        if f'"{kind}"' in text:
            tickets.update(json.loads(text).get(system, {}).get(kind, {}))
    for record_id, row in tickets.items():
        turns = public_turns(history[record_id], cut)
        row["messages"] = _messages(history[record_id], turns)
        sources[record_id] = message_sources(turns)
    tickets[case.record_id] = own[0]
    yield shard.put({system: {kind: tickets}})


def _messages(case: Case, turns: Sequence[Turn]) -> list[dict[str, Any]]:
    return [
        {"at": iso(t.at_us), "from": (case.requester or "") if t.by_requester else "agent", "text": t.text}
        for t in turns
        if t.at_us is not None
    ]


def _store_provenance(
    shard: Shard, state: StateAtCut, cuts: Cuts, now: Sequence[Version], sources: dict[str, References]
) -> Iterator[str]:
    system, kind = shard.clean.record
    for digest in state.provenance:
        path = shard.folder / "content" / digest
        if not path.exists():
            write_text(path, cuts.texts[digest])
        yield digest
    if now:
        yield shard.put(policy_sources(now))
    yield shard.put({system: {kind: sources}})
