"""What the cases of one shard share, and what a shard writes: drafts, ledger rows and how the rules fitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.episode import Frozen
from schemas.files import put_content, read_models
from schemas.records import CodeBook, OutcomeCode
from schemas.sharing import Sharing
from schemas.spec import Spec
from schemas.task import Answer, LedgerRow, SystemRef, TaskSpec
from schemas.taskset import TaskSet
from tasks import declared
from tasks.case import Case, Clean
from tasks.fit import Fit
from tasks.policy import Version, rule_refs
from tasks.requester import TOKEN, Vocabulary, question_of
from tasks.select import KEPT

DECLARED = "declared"


HELPDESK = "helpdesk"


class Draft(Frozen):
    """One line of drafts.jsonl: all that hold-out, forms and leak checks need of a kept case beside its task and answer."""

    task: TaskSpec
    answer: Answer
    group: str
    """Member of the declared hold-out group."""
    closed_at: str
    closing: str = ""
    """The human agent's last public words: a form, if the case is for training."""
    heard: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(what the human agent said, slots that the requester then told), turn by turn: what training records teach about asking."""
    later_messages: tuple[str, ...] = ()
    """What human agents wrote after the cut."""
    requester_turns: tuple[str, ...] = ()
    """What the requester wrote, the opening too."""
    requester: str = ""
    difficulty: tuple[str, ...] = ()


def read_drafts(folder: Path) -> Iterator[Draft]:
    """The drafts of a folder; what many of their tasks name alike is held once."""
    sharing = Sharing()
    for draft in read_models(folder / "drafts.jsonl", Draft):
        yield draft.model_copy(update={"task": sharing.task(draft.task)})


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
    known: dict[str, frozenset[str]]
    """Slot -> values that the records hold in a field of that name (see draft.known_values)."""
    log: str = ""
    """Folder with the events that the shard needs; "": all of them are in `clean`."""
    groups: dict[str, str] = field(default_factory=dict)
    """Organisation -> group of the customers that were merged with it, at whatever time (see tasks.merged)."""


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


def declared_system(spec: Spec) -> str | None:
    return next((s.name for s in spec.systems if s.plugin == DECLARED), None)


def outcome_codes(spec: Spec, codebook: CodeBook) -> dict[str, OutcomeCode]:
    """The code book's outcomes of the spec's workflows, in order of code."""
    workflows = {w.name for w in spec.workflows}
    return {code: outcome for code, outcome in sorted(codebook.outcomes.items()) if outcome.workflow in workflows}


def systems_of(shard: Shard) -> tuple[SystemRef, ...]:
    return system_refs(shard.spec, shard.clean.codebook)


def system_refs(spec: Spec, codebook: CodeBook) -> tuple[SystemRef, ...]:
    """The systems of every task, without the declarations of a declared one."""
    refs = []
    for system in spec.systems:
        config = dict(system.config)
        if system.plugin == HELPDESK:
            config["codes"] = list(outcome_codes(spec, codebook))
            config["slots"] = {slot: list(words) for slot, words in sorted(spec.requester.slots.items())}
        refs.append(SystemRef(name=system.name, plugin=system.plugin, config=config))
    return tuple(refs)


def rules_of(shard: Shard, workflow: str, now: Sequence[Version]) -> Any:
    key = (workflow, tuple(f"{v.policy.document} {v.policy.version}" for v in now))
    if key not in shard.rules:
        shard.rules[key] = rule_refs(shard.spec, workflow, list(now))
    return shard.rules[key]


PEOPLE = frozenset({"PERSON", "ORG", "USER", "EMAIL", "PHONE", "ADDRESS", "POSTCODE"})
"""Types of pseudonyms that name nobody's order or account."""


def difficulty_of(case: Case) -> tuple[str, ...]:
    """Marks of what makes the case hard, told from the records alone: kept and dropped cases are marked alike."""
    opening = case.opening.text if case.opening is not None else ""
    heard = [
        t for t in case.turns if t.public and not t.by_requester and (case.decided_us is None or (t.at_us or 0) < case.decided_us)
    ]
    marks = {
        # The request names no record: which one is meant has to be found out.
        "ambiguous": not any(token.split("_")[0] not in PEOPLE for token in TOKEN.findall(opening)),
        "missing_information": any(question_of(turn.text) for turn in heard),
        "exception": any(write.system == "approvals" for write in case.writes),
        "spans_systems": len({write.system for write in case.writes}) > 1,
    }
    return tuple(mark for mark, holds in marks.items() if holds)
