"""Which policy version and which rules were in force when a request arrived: by half-open interval, never by publication."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.errors import SpecError
from schemas.plugins import load_plugin
from schemas.spec import ClauseSpec, Spec, check_options
from schemas.task import PolicyClause, PolicySpec, RuleRef
from tasks.case import us

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a document with its half-open interval in microseconds; None = open on that side."""

    policy: PolicySpec
    from_us: int | None
    to_us: int | None
    sources: dict[str, str]
    """Clause -> source reference."""

    def in_force(self, at_us: int) -> bool:
        return (self.from_us is None or self.from_us <= at_us) and (self.to_us is None or at_us < self.to_us)


def versions_of(table: pl.DataFrame | None) -> list[Version]:
    """Every version with its clauses in reading order."""
    if table is None:
        return []
    rows: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in table.iter_rows(named=True):
        rows[row["document"], row["version"]].append(row)
    found = []
    for (document, version), clauses in sorted(rows.items()):
        clauses.sort(key=lambda r: clause_key(r["clause"]))
        spec = PolicySpec(
            document=document,
            version=version,
            title=clauses[0]["title"],
            clauses=tuple(PolicyClause(clause=r["clause"], text=r["text"]) for r in clauses),
        )
        first = clauses[0]
        found.append(
            Version(spec, us(first["in_force_from"]), us(first["in_force_to"]), {r["clause"]: r["source_pos"] for r in clauses})
        )
    return found


def clause_key(clause: str) -> tuple[Any, ...]:
    """Orders "2.10" after "2.9"."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in clause.split("."))


def in_force(versions: list[Version], at_us: int) -> tuple[list[Version], list[str]]:
    """The one version of each document in force at `at_us`, and the documents for which there is none or more than one."""
    by_document: dict[str, list[Version]] = defaultdict(list)
    for version in versions:
        by_document[version.policy.document].append(version)
    chosen, unclear = [], []
    for document, candidates in sorted(by_document.items()):
        now = [v for v in candidates if v.in_force(at_us)]
        if len(now) == 1:
            chosen.append(now[0])
        else:
            unclear.append(f"{document}: {len(now)} versions in force")
    return chosen, unclear


def check_clauses(spec: Spec, versions: Sequence[Version]) -> None:
    """Raises SpecError naming every clause that the export holds and the clause table does not, and the other way round."""
    held = _held(versions)
    listed = _listed(spec)
    todo = "is in the export and not listed: name its rules, or say why it has none"
    faults = [f"clauses: {_named(key)} {todo}" for key in held if key not in listed]
    faults += [f"clauses: {_named(key)} is listed and not in the export" for key in listed if key not in held]
    if faults:
        raise SpecError(spec.name, faults)


def clause_table(spec: Spec, versions: Sequence[Version]) -> list[dict[str, Any]]:
    """One row a clause of each version, in reading order: what stands for it, or why nothing does and who signed that.

    Keys: document, version, clause, rules (ids), kinds (rule files), reason and signed_by ("" where rules stand for it). Empty
    where the supplier has no policy documents. SpecError as `check_clauses`.
    """
    check_clauses(spec, versions)
    listed, by_id = _listed(spec), {rule.id: rule for rule in spec.rules}
    rows = []
    for document, version, clause in _held(versions):
        line = listed[document, version, clause]
        mine = [by_id[rule_id] for rule_id in line.rules if version in by_id[rule_id].versions]
        gap = line.not_enforceable
        rows.append(
            {
                "document": document,
                "version": version,
                "clause": clause,
                "rules": [rule.id for rule in mine],
                "kinds": sorted({rule.rule for rule in mine}),
                "reason": gap.reason if gap else "",
                "signed_by": gap.signed_by if gap else "",
            }
        )
    return rows


def _held(versions: Sequence[Version]) -> list[tuple[str, int, str]]:
    return [(v.policy.document, v.policy.version, c.clause) for v in versions for c in v.policy.clauses]


def _listed(spec: Spec) -> dict[tuple[str, int, str], ClauseSpec]:
    return {(line.document, version, line.clause): line for line in spec.clauses for version in line.versions}


def _named(key: tuple[str, int, str]) -> str:
    document, version, clause = key
    return f"{document} version {version} clause {clause}"


def rule_refs(spec: Spec, workflow: str, now: list[Version]) -> tuple[RuleRef, ...]:
    """The rules in force for a workflow: those without a document, and those that name the version of their document that is in
    force."""
    from rewards.rule import Rule

    at = {v.policy.document: v.policy.version for v in now}
    refs = []
    for index, rule in enumerate(spec.rules):
        if rule.workflows and workflow not in rule.workflows:
            continue
        if rule.document is not None and at.get(rule.document) not in rule.versions:
            continue
        plugin = load_plugin("rewards.rules", rule.rule, "RULE", Rule)
        parameters = check_options(plugin.parameters, rule.parameters, spec.name, f"rules.{index}.parameters")
        refs.append(
            RuleRef(
                id=rule.id,
                rule=rule.rule,
                sentence=plugin.sentence(parameters),
                parameters=rule.parameters,
                document=rule.document,
                version=at.get(rule.document) if rule.document else None,
                clause=rule.clause,
                hard=rule.hard,
            )
        )
    return tuple(refs)
