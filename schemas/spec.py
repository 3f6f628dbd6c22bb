"""The TOML of a task set: no expressions, includes or inheritance. A bad spec reports all its faults, with dotted paths."""

from __future__ import annotations

import tomllib
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, Field, ValidationError, field_validator

from schemas.episode import Frozen
from schemas.errors import SpecError
from schemas.plugins import plugin_names
from schemas.task import RewardWeights

SLUG = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
"""Names that become folders: no path can hide in them."""


SYSTEMS = "environments.systems"
"""Folder of the system plug-ins: their names are listed, none is imported here."""

Halves = Literal["both", "class", "arguments"]
"""The halves of "trivially implied" that decide."""


WORDS = r"\S"
"""Something is said: not blanks alone."""


class SourceSpec(Frozen):
    """One export to read."""

    name: str
    format: str
    """File name in ingest/sources."""
    path: str = "."
    """Relative to the export folder."""
    zone: str
    """IANA zone of times that carry none; "UTC" must be said, never assumed."""
    time_format: str | None = None
    """strptime format of such times; null where the format's own is fixed (ISO 8601 with offset, Unix seconds)."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Checked by the source's own options model."""


class Agreement(Frozen):
    """Who allowed tokens to link sources."""

    who: str
    when: str
    purpose: str


class TokenSpec(Frozen):
    scope: Literal["per_source", "per_supplier", "cross_system"] = "per_source"
    key_env: str = "RECORDGYM_TOKEN_KEY"
    """Name of the environment variable that holds the key."""
    epoch: int = 1
    dates: Literal["shifted", "as_recorded"] = "shifted"
    """as_recorded: dates are not moved. For records of nobody's real life whose systems hold bare days of a month ("12th"): a
    shift by weeks would part them from what was said ("May 12")."""
    agreement: Agreement | None = None
    """Needed by every scope that links sources, and by dates that are not moved, or the build stops."""


class DeidSpec(Frozen):
    language: str = "en"
    ner: bool = True
    date_formats: tuple[str, ...] = ()
    """Extra strptime formats of dates inside texts (ISO 8601 and English month names are always known)."""
    id_patterns: dict[str, str] = Field(default_factory=dict)
    """Identity -> regular expression of such ids in free text, e.g. order = "A-\\d{6}"."""
    alike: tuple[str, ...] = ()
    """Secrets (a PIN): a wrong value is hidden like the right one. A number that is said as one, by its name or by that
    of a field that holds it ("my PIN is either 3100 or 3941"), becomes such a token, whether or not a record knows it; where a
    thread's records hold one in figures, so does every number of as many figures in it, but for years. Else "1234 or TOKEN" would
    tell which of the two the records know."""
    allow: tuple[str, ...] = ()
    """Words of the supplier's own vocabulary that are never people (product and place names)."""


class PoliciesSpec(Frozen):
    path: str
    """Glob inside the export."""
    zone: str
    """In-force dates are days in this zone."""


class SystemSpec(Frozen):
    name: str
    plugin: str
    config: dict[str, Any] = Field(default_factory=dict)


class WorkflowSpec(Frozen):
    name: str
    outcome: Literal["difference", "answer"] = "difference"
    options: dict[str, Any] = Field(default_factory=dict)
    """Workflow-specific declarations read by tasks (e.g. the declared API and its answer fields)."""


class RuleSpec(Frozen):
    id: str
    rule: str
    """File name in rewards/rules."""
    workflows: tuple[str, ...] = ()
    """Workflows it applies to; empty = all."""
    document: str | None = None
    versions: tuple[int, ...] = ()
    """In force with these versions of `document`; empty with a null document = always."""
    clause: str | None = None
    hard: bool = True
    parameters: dict[str, Any] = Field(default_factory=dict)


class NotEnforceable(Frozen):
    """Why no rule stands for a clause, and who answers for that."""

    reason: str = Field(min_length=1)
    signed_by: str = Field(min_length=1)


class ClauseSpec(Frozen):
    """One line of the clause table: what a clause of a policy document has come to, rules or a signed reason for none."""

    document: str
    versions: tuple[int, ...] = Field(min_length=1)
    clause: str
    rules: tuple[str, ...] = ()
    """Ids of the rules that stand for it; each version has at least one that is in force with it."""
    not_enforceable: NotEnforceable | None = None


class OutcomePattern(Frozen):
    """Tells the outcome of a record whose system stores no code, from the recorded answer's text."""

    code: str
    workflow: str | None = None
    pattern: str
    """Regular expression searched, case-insensitive, in the recorded answer."""


class SelectSpec(Frozen):
    record_system: str
    record_kind: str
    """The kind of record that becomes a task, e.g. helpdesk / ticket."""
    min_requester_turns: int = Field(default=0, ge=0)
    triviality_p: float = Field(default=0.9, ge=0, le=1)
    trivial: Halves = "both"
    """What makes a task trivial. both: the opening's words tell the class and every argument stands in it. class: the words
    alone, for outcomes that are only a class. arguments: the arguments alone."""
    allow_no_policy: bool = False
    options: dict[str, Any] = Field(default_factory=dict)


class SpeakerSpec(Frozen):
    """A model that phrases what the requester tells; nothing is sent to it unless a spec names it with its purpose."""

    host: str
    """Base URL of an OpenAI-compatible interface, e.g. https://models.example.com/v1. Plain http only to this machine."""
    model: str = Field(min_length=1)
    purpose: str = Field(min_length=10)
    """Why records' words may be sent there."""
    key_env: str = ""
    """Name of the environment variable that holds the key; empty where the endpoint needs none. Never the key itself."""
    timeout_s: float = Field(default=10.0, gt=0, le=120)
    """Seconds for one request, all in all."""
    retries: int = Field(default=1, ge=0, le=5)

    @field_validator("host")
    @classmethod
    def _safe(cls, value: str) -> str:
        parts = urlsplit(value)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if not parts.hostname or parts.scheme not in ("https", "http") or (parts.scheme == "http" and not local):
            raise ValueError("must be an https URL (http only to this machine)")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("must hold neither user, password, query nor fragment")
        return value


def _holds_a_word(phrase: str) -> str:
    if not any(letter.isalnum() for letter in phrase):
        raise ValueError("holds no word that could ask for anything")
    return phrase


class RequesterOptions(Frozen):
    patience: int = Field(default=8, ge=1)
    facts_per_message: int = Field(default=2, ge=1)
    slots: dict[str, tuple[Annotated[str, AfterValidator(_holds_a_word)], ...]] = Field(default_factory=dict)
    """Slot -> words that ask for it."""
    speaker: SpeakerSpec | None = None
    """Model that may phrase the facts where an episode is asked to speak; null = the recorded words."""


class SignedSpec(Frozen):
    """Somebody's word for an exception, until a day."""

    reason: str = Field(pattern=WORDS)
    signed_by: str = Field(pattern=WORDS)
    expires: str
    """Last day on which it holds, YYYY-MM-DD."""

    @field_validator("expires")
    @classmethod
    def _is_a_day(cls, value: str) -> str:
        date.fromisoformat(value)
        return value

    @property
    def words(self) -> str:
        """As reports show it."""
        return f"{self.signed_by}, until {self.expires}: {self.reason}"


class WaiverSpec(SignedSpec):
    """A signed exception to a leak check."""

    check: str = Field(min_length=1)
    path: str = Field(min_length=1)
    """Glob over the findings' paths."""


class HoldoutSpec(Frozen):
    group: str = "organisation"
    """Declared group that never stands on both sides."""
    share_of_groups: float = Field(default=0.25, ge=0, le=1)
    share_of_time: float = Field(default=0.25, ge=0, le=1)
    embargo_percentile: float = Field(default=0.99, gt=0, le=1)
    """Share of a workflow's cases that last no longer than its embargo."""
    waived: dict[str, SignedSpec] = Field(default_factory=dict)
    """Group that may cross -> why, who says so, and until when."""
    cannot_promise: str = ""
    """What holding out by this group does not promise; needed for any group but the organisation, and said in the report."""
    min_per_slice: int = Field(default=0, ge=0)

    @field_validator("waived", mode="before")
    @classmethod
    def _is_signed(cls, value: Any) -> Any:
        if isinstance(value, dict) and any(isinstance(one, str) for one in value.values()):
            raise ValueError("a reason alone signs nothing; give each group reason, signed_by and expires (YYYY-MM-DD)")
        return value

    def signed(self) -> dict[str, str]:
        """Group that may cross -> the waiver in words."""
        return {name: waiver.words for name, waiver in self.waived.items()}

    def waivers(self) -> tuple[WaiverSpec, ...]:
        """The same as waivers of the leak check that looks at groups."""
        return tuple(
            WaiverSpec(check="group_overlap", path=f"groups/{name}", **waiver.model_dump())
            for name, waiver in sorted(self.waived.items())
        )


class Spec(Frozen):
    """`tasks/specs/<name>.toml`."""

    name: str = Field(pattern=SLUG)
    supplier: str = Field(pattern=SLUG)
    sample: bool = False
    """True for the shipped sample only: a token key file is made on first use."""
    export: str
    """Default export folder; EXPORT overrides it."""
    currency: str = "EUR"
    seed: int = 1
    max_steps: int = Field(default=30, ge=1)
    code_book: str | None = None
    """Code book JSON inside the export, or beside the spec when it starts with "spec:"."""
    sources: tuple[SourceSpec, ...]
    policies: PoliciesSpec | None = None
    tokens: TokenSpec = TokenSpec()
    deid: DeidSpec = DeidSpec()
    select: SelectSpec
    systems: tuple[SystemSpec, ...]
    workflows: tuple[WorkflowSpec, ...]
    rules: tuple[RuleSpec, ...] = ()
    clauses: tuple[ClauseSpec, ...] = ()
    """The clause table: every clause of every policy version that the export holds (checked by the build)."""
    outcomes: tuple[OutcomePattern, ...] = ()
    requester: RequesterOptions = RequesterOptions()
    reward: RewardWeights = RewardWeights()
    holdout: HoldoutSpec = HoldoutSpec()
    waivers: tuple[WaiverSpec, ...] = ()


def faults_of(error: ValidationError, prefix: str = "") -> list[str]:
    """Each pydantic fault as "dotted.path: message"; values are not repeated (they may be secret)."""
    faults = []
    for fault in error.errors(include_url=False, include_input=False):
        path = ".".join([prefix, *map(str, fault["loc"])] if prefix else map(str, fault["loc"]))
        faults.append(f"{path or '(top)'}: {fault['msg']}")
    return faults


def load_spec(path: Path) -> Spec:
    """Reads and checks a spec. Raises SpecError naming every fault."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SpecError(str(path), ["no such file"]) from error
    except OSError as error:
        raise SpecError(str(path), [f"cannot be read: {error.strerror}"]) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(str(path), [f"not TOML: {error}"]) from error
    faults, spec = [], None
    try:
        spec = Spec.model_validate(raw)
    except ValidationError as error:
        faults = faults_of(error)
    faults += _cross_faults(spec.model_dump() if spec else raw)
    if spec is None or faults:
        raise SpecError(str(path), faults)
    return spec


def _cross_faults(raw: dict[str, Any]) -> list[str]:
    """Faults that no single field shows. `raw` may itself be faulty: what has another shape is passed over here."""
    faults: list[str] = []
    sources, systems = _tables(raw.get("sources")), _tables(raw.get("systems"))
    workflows, rules = _tables(raw.get("workflows")), _tables(raw.get("rules"))
    zones = {f"sources.{index}.zone": source.get("zone") for index, source in sources}
    if isinstance(policies := raw.get("policies"), dict):
        zones["policies.zone"] = policies.get("zone")
    faults += [f"{path}: {zone!r} is not an IANA zone" for path, zone in zones.items() if not _zone_known(zone)]
    for group, key, tables in (
        ("sources", "name", sources),
        ("systems", "name", systems),
        ("workflows", "name", workflows),
        ("rules", "id", rules),
    ):
        counts = Counter(str(table[key]) for _, table in tables if key in table)
        faults += [f"{group}: {name!r} is declared twice" for name, count in sorted(counts.items()) if count > 1]
    there = plugin_names(SYSTEMS)
    for index, system in systems:
        plugin = system.get("plugin")
        if isinstance(plugin, str) and plugin not in there:
            faults.append(f"systems.{index}.plugin: {plugin!r} is no file of {SYSTEMS} ({', '.join(there)})")
    known = {str(table.get("name")) for _, table in workflows}
    for index, rule in rules:
        named = rule.get("workflows")
        for name in named if isinstance(named, list | tuple) else ():
            if name not in known:
                faults.append(f"rules.{index}.workflows: {name!r} is not a workflow ({', '.join(sorted(known))})")
    holdout = raw.get("holdout")
    if isinstance(holdout, dict) and holdout.get("group", "organisation") != "organisation" and not holdout.get("cannot_promise"):
        faults.append(f"holdout.cannot_promise: a hold-out by {holdout['group']!r} has to say what it cannot promise")
    faults += _clause_faults(_tables(raw.get("clauses")), [rule for _, rule in rules])
    tokens = raw.get("tokens")
    scope = tokens.get("scope") if isinstance(tokens, dict) else None
    if scope in ("per_supplier", "cross_system") and raw["tokens"].get("agreement") is None:
        faults.append(f"tokens.agreement: scope {scope!r} links sources and needs a recorded agreement (who, when, purpose)")
    dates = tokens.get("dates") if isinstance(tokens, dict) else None
    if dates == "as_recorded" and raw["tokens"].get("agreement") is None:
        faults.append("tokens.agreement: dates that are not moved need a recorded agreement (who, when, purpose)")
    return faults


def _clause_faults(clauses: list[tuple[int, dict[str, Any]]], rules: list[dict[str, Any]]) -> list[str]:
    """Where the clause table and the rules do not say the same of each other; an empty table says nothing of any rule."""
    by_id = {str(rule.get("id")): rule for rule in rules}
    faults: list[str] = []
    listed: Counter[tuple[str, str, str]] = Counter()
    for index, row in clauses:
        place, named = f"clauses.{index}", _names(row.get("rules"))
        versions = _names(row.get("versions"))
        listed.update((str(row.get("document")), version, str(row.get("clause"))) for version in versions)
        if bool(named) == (row.get("not_enforceable") is not None):
            faults.append(f"{place}: give `rules` or `not_enforceable`, one of the two")
        standing: set[str] = set()
        for rule_id in named:
            rule = by_id.get(rule_id)
            if rule is None:
                faults.append(f"{place}.rules: {rule_id!r} is not a rule of this spec")
            elif (rule.get("document"), rule.get("clause")) != (row.get("document"), row.get("clause")):
                found = f"{rule.get('document')} {rule.get('clause')}"
                faults.append(f"{place}.rules: {rule_id!r} names {found}, not {row.get('document')} {row.get('clause')}")
            else:
                standing.update(_names(rule.get("versions")))
        if named and (bare := [v for v in versions if v not in standing]):
            faults.append(f"{place}: no rule named stands for version {', '.join(bare)}")
    for (document, version, clause), count in sorted(listed.items()):
        if count > 1:
            faults.append(f"clauses: {document} version {version} clause {clause} is listed {count} times")
    if clauses:
        held = {rule_id for _, row in clauses for rule_id in _names(row.get("rules"))}
        loose = [rule_id for rule_id, rule in by_id.items() if rule.get("document") is not None and rule_id not in held]
        faults += [f"rules: {rule_id!r} stands for a policy clause, but no line of `clauses` names it" for rule_id in loose]
    return faults


def _names(value: Any) -> list[str]:
    """The entries of a list, as text; of anything else none (its shape is another check's fault)."""
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


def _tables(value: Any) -> list[tuple[int, dict[str, Any]]]:
    """The tables of an array of tables, with their places in it."""
    return [(i, table) for i, table in enumerate(value) if isinstance(table, dict)] if isinstance(value, list | tuple) else []


def _zone_known(zone: Any) -> bool:
    """A zone that is absent or no text is another check's fault."""
    if not isinstance(zone, str):
        return True
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def check_options(model: type[BaseModel], options: dict[str, Any], file: str, path: str) -> Any:
    """Validates a plug-in's options; SpecError with dotted paths below `path`."""
    try:
        return model.model_validate(options)
    except ValidationError as error:
        raise SpecError(file, faults_of(error, path)) from error
