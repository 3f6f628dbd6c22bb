"""From candidate records to drafts: a task and its answer, before the hold-out and the certificates. One shard at a time, purely from clean files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments.agents import ReferenceAgent, UnseenValue, run_episode
from environments.episode import Episode
from rewards.path import compile_rule
from rewards.rule import applies
from rewards.score import Grader
from schemas.episode import Frozen, Grade, JournalEntry, RowChange, ToolCall
from schemas.errors import GraderError, WorldError
from schemas.files import put_content, write_models, write_text
from schemas.records import CodeBook, OutcomeCode
from schemas.spec import Spec
from schemas.task import Answer, LedgerRow, Outcome, ReferenceStep, SystemRef, TaskSpec
from schemas.taskset import SideManifest, TaskSet
from tasks import declared
from tasks.case import Case, Clean, iso, open_clean, read_cases
from tasks.cut import CutCase, Cuts, StateAtCut, connect, cut_states, load, opening_rows
from tasks.derive import FINISH, Broken, Deriver, Underivable
from tasks.policy import Version, in_force, rule_refs, versions_of
from tasks.prompt import opening_of, started_us
from tasks.reference import NoPath, Target, invert
from tasks.requester import Vocabulary, closing, message_turn_texts, requester_of
from tasks.select import KEPT, basic_reason, speaks_of_off_system

DECLARED = "declared"
HELPDESK = "helpdesk"


class Fit(Frozen):
    """One line of fit.jsonl: which rules in force a case's recorded acts fall under, and which of them they break."""

    record_id: str
    applied: tuple[str, ...]
    broken: tuple[str, ...]


class Draft(Frozen):
    """One line of drafts.jsonl: all that hold-out, forms and leak checks need of a kept case beside its task and answer."""

    task: TaskSpec
    answer: Answer
    group: str
    """Member of the declared hold-out group."""
    closed_at: str
    closing: str = ""
    """The human agent's last public words: a form, if the case is for training."""
    later_messages: tuple[str, ...] = ()
    """What human agents wrote after the cut."""
    requester: str = ""
    difficulty: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShardWork:
    """Payload of one shard; picklable."""

    spec: Spec
    clean: str
    ids: tuple[str, ...]
    trivial_p: dict[str, float]
    """Record id -> out-of-fold probability of its true outcome class, from its opening."""
    skew_us: dict[str, int]
    apis: dict[str, declared.Api]


@dataclass(slots=True)
class Shard:
    """What the cases of one shard share."""

    work: ShardWork
    clean: Clean
    folder: Path
    versions: list[Version]
    taskset: TaskSet
    words: Vocabulary
    ledger: list[LedgerRow] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    fits: list[Fit] = field(default_factory=list)
    rules: dict[tuple[str, tuple[str, ...]], Any] = field(default_factory=dict)

    @property
    def spec(self) -> Spec:
        return self.work.spec

    def put(self, value: Any) -> str:
        return put_content(self.folder / "content", value)

    def drop(self, case: Case, workflow: str | None, reason: str, detail: str = "", difficulty: tuple[str, ...] = ()) -> None:
        self.ledger.append(
            LedgerRow(
                record_id=case.record_id,
                kind=".".join(self.clean.record),
                workflow=workflow,
                kept=reason == KEPT,
                reason=reason,
                detail=detail,
                difficulty=difficulty,
            )
        )


def work_shard(work: ShardWork, folder: Path) -> None:
    """Writes drafts.jsonl, ledger.jsonl and content/ of the shard's candidates into `folder`."""
    shard = _open(work, folder)
    cases = read_cases(shard.clean, work.ids)
    if _declared_system(work.spec):
        for case in cases:
            _declared_case(shard, case)
    else:
        _record_cases(shard, cases)
    shard.drafts.sort(key=lambda d: d.task.task_id)
    shard.ledger.sort(key=lambda row: row.record_id)
    write_models(folder / "drafts.jsonl", shard.drafts)
    write_models(folder / "ledger.jsonl", shard.ledger)
    shard.fits.sort(key=lambda f: f.record_id)
    write_models(folder / "fit.jsonl", shard.fits)
    _forget_unused(shard)


def _open(work: ShardWork, folder: Path) -> Shard:
    clean = open_clean(Path(work.clean), work.spec.select)
    (folder / "content").mkdir(parents=True, exist_ok=True)
    manifest = SideManifest(taskset=work.spec.name, side="train", tasks=0, files={}, ids={})
    taskset = TaskSet(folder, "train", manifest, {}, {"ask": {}, "tell": {}})
    words = Vocabulary(work.spec.requester.slots, _known_values(clean, work.spec))
    return Shard(work, clean, folder, versions_of(clean.policies()), taskset, words)


def _known_values(clean: Clean, spec: Spec) -> dict[str, frozenset[str]]:
    """Slot -> what the records' fields of that name (or "new_" and the name) hold, where codes: a turn may say such a value as it stands."""
    import polars as pl

    slots = [
        s for s in spec.requester.slots if any(k.endswith(f".{s}") and r.type == "code" for k, r in clean.codebook.fields.items())
    ]
    if not slots or _declared_system(spec):
        return {}
    rows = clean.events().filter(pl.col("field").is_in(slots)).select("field", "value_json").unique().collect()
    found: dict[str, set[str]] = {}
    for name, value in rows.iter_rows():
        decoded = json.loads(value) if value is not None else None
        if isinstance(decoded, str):
            found.setdefault(name, set()).add(decoded)
    return {name: frozenset(values) for name, values in sorted(found.items())}


def _forget_unused(shard: Shard) -> None:
    """Contents that only dropped cases named."""
    used: set[str] = set()
    for draft in shard.drafts:
        task = draft.task
        used.update((*task.state, *task.provenance, *task.policies))
        used.update(str(v).removeprefix("content:") for ref in task.systems for v in ref.config.values() if isinstance(v, str))
    for path in sorted((shard.folder / "content").iterdir()):
        if path.name not in used:
            path.unlink()


def _declared_system(spec: Spec) -> str | None:
    return next((s.name for s in spec.systems if s.plugin == DECLARED), None)


def outcome_codes(spec: Spec, codebook: CodeBook) -> dict[str, OutcomeCode]:
    """The code book's outcomes of the spec's workflows, in order of code."""
    workflows = {w.name for w in spec.workflows}
    return {code: outcome for code, outcome in sorted(codebook.outcomes.items()) if outcome.workflow in workflows}


# --- cases of systems whose records are rows -------------------------------------------------------------------------


def _record_cases(shard: Shard, cases: Sequence[Case]) -> None:
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
    con = connect(clean.folder, spill=shard.folder / ".spill")
    organisations = [c.organisation for c in candidates if c.organisation]
    wanted = earlier_ids | {c.record_id for c in candidates}
    load(con, clean.codebook, organisations, wanted, clean.record, skew_us=shard.work.skew_us)
    asked = [CutCase(c.record_id, c.organisation, c.requester, started_us(c)) for c in candidates]
    cuts = cut_states(con, asked, owners={rid: owners[rid] for rid in earlier_ids})
    own = opening_rows(con)
    con.close()
    shutil.rmtree(shard.folder / ".spill", ignore_errors=True)
    history = {c.record_id: c for c in read_cases(clean, earlier_ids)}
    users = _users(clean, {r for r in mine if r})
    for case in candidates:
        _record_case(shard, case, cuts, own.get(case.record_id, ({}, {})), history, users.get(case.requester or "", {}))


def _users(clean: Clean, wanted: set[str]) -> dict[str, dict[str, Any]]:
    """Requester -> first recorded name and address: a requester whose own record the opening made is known by id."""
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
        .select("record_id", "field", "value_json", "event_ts", "seq")
        .collect()
        .sort(["record_id", "field", "event_ts", "seq"], nulls_last=True)
    )
    found: dict[str, dict[str, Any]] = {}
    for rid, name, value, _, _ in rows.iter_rows():
        found.setdefault(rid, {}).setdefault(name, json.loads(value))
    return found


def _record_case(
    shard: Shard,
    case: Case,
    cuts: Cuts,
    own: tuple[dict[str, Any], dict[str, str]],
    history: Mapping[str, Case],
    user: Mapping[str, Any],
) -> None:
    spec, codebook = shard.spec, shard.clean.codebook
    assert case.code is not None
    outcome = codebook.outcomes[case.code]
    cut = started_us(case)
    state = cuts.states[case.record_id]
    difficulty = _difficulty(case)
    if state.unrebuildable:
        return shard.drop(case, outcome.workflow, "state_unknown", state.unrebuildable[0], difficulty)
    now, unclear = in_force(shard.versions, cut)
    if unclear or (not now and not spec.select.allow_no_policy):
        return shard.drop(case, outcome.workflow, "policy_unknown", "; ".join(unclear) or "no policies", difficulty)
    requester = requester_of(case, shard.words, spec.requester)
    task = TaskSpec(
        task_id=case.record_id,
        taskset=spec.name,
        workflow=outcome.workflow,
        started_at=iso(cut),
        organisation=case.organisation or "",
        opening=opening_of(case, shard.clean.record, own[0], user, cut),
        systems=_systems(shard),
        state=tuple(_store_state(shard, case, state, cuts, own, history, cut)),
        provenance=tuple(_store_provenance(shard, case, state, cuts, own)),
        policies=tuple(shard.put(v.policy.model_dump(mode="json")) for v in now),
        rules=_rules(shard, outcome.workflow, now),
        requester=requester,
        max_steps=spec.max_steps,
        weights=spec.reward,
        grades=() if now else ("no_policy",),
    )
    about = case.last.get("about_record")
    finish = ToolCall(tool=FINISH, arguments={"code": case.code, "about": about})
    writes = [w for w in case.writes if w.at_us is None or w.at_us >= cut]
    built = _build(shard, task, outcome.outcome_class, finish, writes=writes)
    for unclear_field in state.ambiguous:
        if unclear_field.record_id in built.touched:
            where = f"{unclear_field.system}.{unclear_field.kind}.{unclear_field.field}"
            return shard.drop(case, outcome.workflow, "ambiguous_state", where, difficulty)
    if known_later := sorted(state.late & built.touched):
        return shard.drop(case, outcome.workflow, "state_unknown", f"{len(known_later)} records true before and recorded after", difficulty)
    trivial = shard.work.trivial_p.get(case.record_id, 0.0) >= spec.select.triviality_p
    _decide(shard, case, task, built, trivial=trivial, difficulty=difficulty)


def _store_state(
    shard: Shard,
    case: Case,
    state: StateAtCut,
    cuts: Cuts,
    own: tuple[dict[str, Any], dict[str, str]],
    history: Mapping[str, Case],
    cut: int,
) -> Iterator[str]:
    """Stores the layers of the state: an empty frame of all kinds, the month's snapshot, what changed since, and the requester's cases."""
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
        row["messages"] = _public_messages(history[record_id], cut)
    tickets[case.record_id] = own[0]
    yield shard.put({system: {kind: tickets}})


def _public_messages(case: Case, cut: int) -> list[dict[str, Any]]:
    """What both sides had read before the cut."""
    return [
        {"at": iso(t.at_us), "from": (case.requester or "") if t.by_requester else "agent", "text": t.text}
        for t in case.turns
        if t.public and t.at_us is not None and t.at_us < cut
    ]


def _store_provenance(
    shard: Shard, case: Case, state: StateAtCut, cuts: Cuts, own: tuple[dict[str, Any], dict[str, str]]
) -> Iterator[str]:
    system, kind = shard.clean.record
    for digest in state.provenance:
        path = shard.folder / "content" / digest
        if not path.exists():
            write_text(path, cuts.texts[digest])
        yield digest
    opening = case.opening
    assert opening is not None
    yield shard.put({system: {kind: {case.record_id: {**own[1], "opening/text": opening.source}}}})


def _systems(shard: Shard) -> tuple[SystemRef, ...]:
    refs = []
    for system in shard.spec.systems:
        config = dict(system.config)
        if system.plugin == HELPDESK:
            config["codes"] = list(outcome_codes(shard.spec, shard.clean.codebook))
            config["slots"] = {slot: list(words) for slot, words in sorted(shard.spec.requester.slots.items())}
        refs.append(SystemRef(name=system.name, plugin=system.plugin, config=config))
    return tuple(refs)


def _rules(shard: Shard, workflow: str, now: Sequence[Version]) -> Any:
    key = (workflow, tuple(f"{v.policy.document} {v.policy.version}" for v in now))
    if key not in shard.rules:
        shard.rules[key] = rule_refs(shard.spec, workflow, list(now))
    return shard.rules[key]


# --- cases of a declared system ----------------------------------------------------------------------------------------


def _declared_case(shard: Shard, case: Case) -> None:
    spec, apis = shard.spec, shard.work.apis
    found = declared.screen_case(case, spec, apis)
    task_name = case.last.get(spec.select.options.get("task_field", "task"))
    workflow = task_name if isinstance(task_name, str) else None
    difficulty = _difficulty(case)
    if isinstance(found, str):
        return shard.drop(case, workflow, found, difficulty=difficulty)
    outcome = shard.clean.codebook.outcomes.get(found.code)
    if outcome is None or case.opening is None or case.requester is None:
        return shard.drop(case, found.workflow, "unknown_code" if outcome is None else "no_opening", difficulty=difficulty)
    cut = started_us(case)
    requester = requester_of(case, shard.words, spec.requester, values=declared.values_by_slot(found.queries, apis))
    texts = [case.opening.text, *(f.answer for f in requester.facts)]
    system = _declared_system(spec)
    assert system is not None
    refs = []
    for ref in _systems(shard):
        if ref.plugin == DECLARED:
            digest = shard.put([apis[w.name].declaration() for w in spec.workflows if w.name in apis])
            ref = ref.model_copy(update={"config": {"declarations": f"content:{digest}", "system": ref.name}})
        refs.append(ref)
    record_system, record_kind = shard.clean.record
    state = declared.state_of(system, found.queries, apis, texts)
    state.setdefault(record_system, {})[record_kind] = {case.record_id: {}}
    sources: dict[str, Any] = {record_system: {record_kind: {case.record_id: {"opening/text": case.opening.source}}}}
    for query in found.queries:
        row = dict.fromkeys(("request", "request_type", "item"), _source_of(case, query.record_id))
        sources.setdefault(system, {}).setdefault(query.api, {})[query.record_id] = row
    task = TaskSpec(
        task_id=case.record_id,
        taskset=spec.name,
        workflow=found.workflow,
        started_at=iso(cut),
        organisation=case.organisation or "",
        opening=opening_of(case, shard.clean.record, {}, {}, cut),
        systems=tuple(refs),
        state=(shard.put(state),),
        provenance=(shard.put(sources),),
        rules=_rules(shard, found.workflow, ()),
        requester=requester,
        max_steps=spec.max_steps,
        weights=spec.reward,
        grades=("no_policy",),
    )
    built = _build_declared(shard, task, found, outcome.outcome_class, texts)
    _decide(shard, case, task, built, trivial=False, difficulty=difficulty)


def _source_of(case: Case, record_id: str) -> str:
    return next((w.source for w in case.writes if w.record_id == record_id), "")


def _build_declared(
    shard: Shard, task: TaskSpec, found: declared.DeclaredCase, outcome_class: str, texts: Sequence[str]
) -> Built:
    """The reference of a declared case: the deciding query (for a booking, the check before it too), then the answer that it gave."""
    apis = shard.work.apis
    calls = [(q, _query_call(q, apis[q.api], texts)) for q in found.queries]
    known: dict[str, list[dict[str, Any]]] = {}
    for _, call in reversed(calls):
        known.setdefault(call.tool, []).append(call.arguments)
    last = calls[-1][1]
    booking = found.last.request_type == "Book"
    workflow = next(w for w in shard.spec.workflows if w.name == found.workflow)
    item = found.last.item or {}
    answer = {} if booking else {n: item[n] for n in workflow.options.get("answer", ()) if item.get(n) is not None}
    finish = ToolCall(tool=FINISH, arguments={"code": found.code, **({"answer": answer} if answer else {})})
    return _build(
        shard,
        task,
        outcome_class,
        finish,
        known=known,
        calls=[last] if booking else [],
        reads=[] if booking else [last],
        answer=answer,
    )


def _query_call(query: declared.Query, api: declared.Api, texts: Sequence[str]) -> ToolCall:
    name = f"{api.name}_{'book' if query.request_type == 'Book' else 'check'}" if api.booking else api.name
    return ToolCall(tool=name, arguments={n: declared.spoken(v, texts) for n, v in api.compared(query.arguments).items()})


# --- both ---------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Built:
    """A reference that was played, or why there is none."""

    answer: Answer | None = None
    reason: str = ""
    detail: str = ""
    grade: Grade | None = None
    recorded: tuple[ToolCall, ...] = ()
    """The acts that the records show: writes and the finish."""
    broken: frozenset[str] = frozenset()
    """Rules that they break."""
    entries: tuple[JournalEntry, ...] = ()
    """The reference's replay."""
    touched: frozenset[str] = frozenset()
    """Records that the outcome names, and those that the reference looks at through them."""


def _build(
    shard: Shard,
    task: TaskSpec,
    outcome_class: str,
    finish: ToolCall,
    *,
    writes: Sequence[Any] = (),
    known: Mapping[str, list[dict[str, Any]]] | None = None,
    calls: Sequence[ToolCall] = (),
    reads: Sequence[ToolCall] = (),
    answer: Mapping[str, Any] | None = None,
) -> Built:
    """Finds the reference and plays it through a real episode under the grader."""
    taskset = shard.taskset
    taskset.tasks = {task.task_id: task}
    named = (
        {w.record_id for w in writes} | {str(v) for w in writes for v in w.fields.values()} | {str(finish.arguments.get("about"))}
    )
    built = _found(taskset, task, outcome_class, finish, writes, known, calls, reads, answer)
    recorded = built.recorded or (*calls, finish)
    if built.reason in ("", "breaks_rule"):
        shard.fits.append(Fit(record_id=task.task_id, applied=_applied(task, recorded), broken=tuple(sorted(built.broken))))
    built.touched = built.touched | named
    return built


def _found(
    taskset: TaskSet,
    task: TaskSpec,
    outcome_class: str,
    finish: ToolCall,
    writes: Sequence[Any],
    known: Mapping[str, list[dict[str, Any]]] | None,
    calls: Sequence[ToolCall],
    reads: Sequence[ToolCall],
    answer: Mapping[str, Any] | None,
) -> Built:
    try:
        episode = Episode(taskset)
        episode.reset(task.task_id)
        state = taskset.state(task)
        targets = invert(writes, episode.tools, state)
        deriver = Deriver(episode, task.requester.facts, task.rules, state, known=known)
        writing = [t.call for t in targets] or list(calls)
        if not targets and calls:
            targets = [_declared_target(call, episode) for call in calls]
        steps = deriver.steps(writing, finish, reads=reads)
        return _played(taskset, task, _answer(task, outcome_class, finish, targets, steps, answer))
    except NoPath as none:
        return Built(reason="no_reference", detail=str(none))
    except Underivable as missing:
        return Built(reason="underivable", detail=str(missing))
    except Broken as broken:
        return Built(reason="breaks_rule", detail=str(broken), broken=frozenset({str(broken)}))
    finally:
        taskset._states.clear()


def _applied(task: TaskSpec, calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """Rules in force that judge one of these calls."""
    found = []
    for ref in task.rules:
        _, parameters = compile_rule(ref.rule, ref.parameters)
        when = getattr(parameters, "when", {})
        if any(call.tool == parameters.tool and applies(when, call.arguments) for call in calls):
            found.append(ref.id)
    return tuple(sorted(found))


def _declared_target(call: ToolCall, episode: Episode) -> Target:
    effect = episode.tools[call.tool].effect
    assert effect is not None
    fields = {name: call.arguments[argument] for name, argument in effect.fields.items() if argument in call.arguments}
    return Target(call, RowChange(system=effect.system, kind=effect.kind, op="create", record_id=None, fields=fields), ())


def _answer(
    task: TaskSpec,
    outcome_class: str,
    finish: ToolCall,
    targets: Sequence[Target],
    steps: Sequence[ReferenceStep],
    answer: Mapping[str, Any] | None,
) -> Answer:
    about = finish.arguments.get("about")
    outcome = Outcome(
        kind="answer" if answer else "difference",
        code=finish.arguments["code"],
        about=about,
        changes=tuple(t.change for t in targets),
        answer=dict(answer or {}),
        ignored_fields=tuple(sorted({f for t in targets for f in t.ignored})),
    )
    return Answer(task_id=task.task_id, outcome=outcome, outcome_class=outcome_class, reference=tuple(steps))


def _played(taskset: TaskSet, task: TaskSpec, answer: Answer) -> Built:
    grader = Grader(taskset, {task.task_id: answer})
    try:
        trace = run_episode(Episode(taskset, grader), ReferenceAgent(answer.reference), task.task_id, name="reference")
    except UnseenValue as missing:
        return Built(reason="underivable", detail=f"{missing.tool}.{missing.argument} is shown by nothing")
    except (WorldError, GraderError) as error:
        return Built(reason="no_reference", detail=str(error)[:200])
    grade = trace.grade
    assert grade is not None
    entries = trace.journal.entries
    recorded = tuple(step.call for step in answer.reference if not step.planned)
    if grade.full:
        return Built(answer=answer, grade=grade, entries=entries, recorded=recorded)
    rules = sorted({v.rule for v in grade.violations} & {r.id for r in task.rules})
    if rules:
        detail, broken = ", ".join(rules), frozenset(rules)
        return Built(reason="breaks_rule", detail=detail, grade=grade, entries=entries, recorded=recorded, broken=broken)
    refused = next((e for e in trace.journal.entries if not e.ok), None)
    why = (
        f"{refused.call.tool} is refused: {refused.refusal.kind.value}"
        if refused and refused.refusal
        else "its replay is not full"
    )
    return Built(reason="no_reference", detail=why, grade=grade, entries=entries)


def _decide(shard: Shard, case: Case, task: TaskSpec, built: Built, *, trivial: bool, difficulty: tuple[str, ...]) -> None:
    """The first reason in the order of REASONS, or a draft."""
    off_system = built.reason == "underivable" and speaks_of_off_system(case)
    if off_system:
        return shard.drop(case, task.workflow, "off_system", built.detail, difficulty)
    if trivial and built.answer is not None and _all_in_opening(built.answer, task):
        return shard.drop(case, task.workflow, "trivial", "", difficulty)
    if built.answer is None:
        return shard.drop(case, task.workflow, built.reason, built.detail, difficulty)
    difficulty = _difficulty(case, built.answer)
    shard.drop(case, task.workflow, KEPT, "", difficulty)
    shard.drafts.append(
        Draft(
            task=task,
            answer=built.answer,
            group=task.organisation,
            closed_at=iso(case.closed_us if case.closed_us is not None else _last_us(case)),
            closing=closing(case.turns),
            later_messages=tuple(message_turn_texts(case)),
            requester=case.requester or "",
            difficulty=difficulty,
        )
    )
    return None


def _last_us(case: Case) -> int:
    times = [t.at_us for t in case.turns if t.at_us is not None]
    return max(times) if times else started_us(case)


def _all_in_opening(answer: Answer, task: TaskSpec) -> bool:
    """True if every argument of the recorded writes and of the finish already stands in the opening."""
    return all(
        where in ("opening", "enum", "constant") or name == "code"
        for step in answer.reference
        if not step.planned
        for name, where in step.derived_from.items()
    )


def _difficulty(case: Case, answer: Answer | None = None) -> tuple[str, ...]:
    """Marks of what makes the case hard, as far as the records tell."""
    marks = []
    if answer is not None:
        if any(s.planned and s.call.tool == "reply_to_requester" for s in answer.reference):
            marks.append("missing_information")
    elif any(t.by_requester and t.public for t in case.turns[1:]):
        marks.append("missing_information")
    if len({w.system for w in case.writes}) > 1:
        marks.append("spans_systems")
    if any(w.system == "approvals" for w in case.writes):
        marks.append("exception")
    return tuple(marks)
