"""The TOML of a task set: no expressions, includes or inheritance. A bad spec reports all its faults, with dotted paths."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, ValidationError, field_validator

from schemas.episode import Frozen
from schemas.errors import SpecError
from schemas.guesses import GuessSpec, unconfirmed
from schemas.spec_faults import cross_faults, faults_of
from schemas.task import RewardWeights

SLUG = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
"""Names that become folders: no path can hide in them."""


Halves = Literal["both", "class", "arguments"]
"""The halves of "trivially implied" that decide."""


WORDS = r"\S"
"""Something is said: not blanks alone."""


class SourceSpec(Frozen):
    """One export to read."""

    name: str
    """Your name for it: it stands in messages, counts and the paths of faults."""
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
    """Person or office that agreed."""
    when: str
    """Day of the agreement, YYYY-MM-DD."""
    purpose: str
    """What the linked records may be used for."""


class TokenSpec(Frozen):
    """How people and ids become tokens."""

    scope: Literal["per_source", "per_supplier", "cross_system"] = "per_source"
    """Where one identity has one token: within each source (then nothing links the systems), in all sources of the supplier, or
    in all sources of whatever supplier under the same key. Tasks that span sources need one of the wider two, and these the
    agreement."""
    key_env: str = "RECORDGYM_TOKEN_KEY"
    """Name of the environment variable that holds the key."""
    epoch: int = 1
    """Raise it to give every identity a new token under the same key."""
    dates: Literal["shifted", "as_recorded"] = "shifted"
    """as_recorded: dates are not moved. For records of nobody's real life whose systems hold bare days of a month ("12th"): a
    shift by weeks would part them from what was said ("May 12")."""
    agreement: Agreement | None = None
    """Needed by every scope that links sources, and by dates that are not moved, or the build stops."""


class DeidSpec(Frozen):
    """What the finder of personal data has to know of these texts."""

    language: str = "en"
    """Language of the texts, for the finder of names (ISO 639-1)."""
    ner: bool = True
    """True: names in free text are also guessed; false: only those that the records tell are found."""
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
    """Where the policy documents are: Markdown with numbered clauses and a front matter (document, version, title, published,
    in_force_from)."""

    path: str
    """Glob inside the export."""
    zone: str
    """In-force dates are days in this zone."""


class SystemSpec(Frozen):
    """A system that the agent works with."""

    name: str
    """System of the code book's keys that the tools work on, e.g. "orders" of orders.order.status."""
    plugin: str
    """File name in environments/systems: the tools that an agent gets."""
    config: dict[str, Any] = Field(default_factory=dict)
    """Options of that plug-in, as its own file declares them."""


class WorkflowSpec(Frozen):
    """A kind of request."""

    name: str
    """As the code book's outcomes name it; only their records become tasks."""
    outcome: Literal["difference", "answer"] = "difference"
    """What is judged. difference: what changed in the systems, and the code; answer: what the last recorded answer said."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Workflow-specific declarations read by tasks (e.g. the declared API and its answer fields)."""


class RuleSpec(Frozen):
    """One rule, with the policy versions under which it is in force."""

    id: str
    """Your name for it, under which reports count it."""
    rule: str
    """File name in rewards/rules."""
    workflows: tuple[str, ...] = ()
    """Workflows it applies to; empty = all."""
    document: str | None = None
    """Policy document that it stands for; null: of none, always in force."""
    versions: tuple[int, ...] = ()
    """In force with these versions of `document`; empty with a null document = always."""
    clause: str | None = None
    """Number of the clause that it enforces, e.g. "1.2"; the clause table has to name the rule."""
    hard: bool = True
    """True: a run that breaks it is never full."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """What the rule's own file declares: the tool that it judges, conditions, amounts, days."""


class NotEnforceable(Frozen):
    """Why no rule stands for a clause, and who answers for that."""

    reason: str = Field(min_length=1)
    """Why no rule can stand for it."""
    signed_by: str = Field(min_length=1)
    """Who says so."""


class ClauseSpec(Frozen):
    """One line of the clause table: what a clause of a policy document has come to, rules or a signed reason for none."""

    document: str
    """Name of the policy document, as its front matter says."""
    versions: tuple[int, ...] = Field(min_length=1)
    """Versions of which this line is about."""
    clause: str
    """Its number, e.g. "1.2"."""
    rules: tuple[str, ...] = ()
    """Ids of the rules that stand for it; each version has at least one that is in force with it."""
    not_enforceable: NotEnforceable | None = None
    """Instead of rules: why there is none, signed."""


class OutcomePattern(Frozen):
    """Tells the outcome of a record whose system stores no code, from the recorded answer's text."""

    code: str
    """The outcome that it tells, as the code book names it."""
    workflow: str | None = None
    """Only for records of this workflow; null: of any."""
    pattern: str
    """Regular expression searched, case-insensitive, in the recorded answer."""


class SelectSpec(Frozen):
    """Which records become tasks."""

    record_system: str
    """System of the kind of record that becomes a task, e.g. "helpdesk"."""
    record_kind: str
    """The kind of record that becomes a task, e.g. helpdesk / ticket."""
    min_requester_turns: int = Field(default=0, ge=0)
    """Records in which the requester spoke less often are left out."""
    triviality_p: float = Field(default=0.9, ge=0, le=1)
    """Probability, guessed from the opening alone, from which an outcome counts as told by it, in [0, 1]."""
    trivial: Halves = "both"
    """What makes a task trivial. both: the opening's words tell the class and every argument stands in it. class: the words
    alone, for outcomes that are only a class. arguments: the arguments alone."""
    allow_no_policy: bool = False
    """True: records under no policy become tasks of the grade no_policy; false: they are left out."""
    options: dict[str, Any] = Field(default_factory=dict)
    """What the plug-in of a declared system asks for."""


class SpeakerSpec(Frozen):
    """A model that phrases what the requester tells; nothing is sent to it unless a spec names it with its purpose."""

    host: str
    """Base URL of an OpenAI-compatible interface, e.g. https://models.example.com/v1. Plain http only to this machine."""
    model: str = Field(min_length=1)
    """Name of the model, as the endpoint knows it."""
    purpose: str = Field(min_length=10)
    """Why records' words may be sent there."""
    key_env: str = ""
    """Name of the environment variable that holds the key; empty where the endpoint needs none. Never the key itself."""
    timeout_s: float = Field(default=10.0, gt=0, le=120)
    """Seconds for one request, all in all."""
    retries: int = Field(default=1, ge=0, le=5)
    """Requests more after one that failed."""

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
    """How the simulated requester behaves."""

    patience: int = Field(default=8, ge=1)
    """Messages without a question that the requester bears before turning away."""
    facts_per_message: int = Field(default=2, ge=1)
    """Facts told at most in one answer."""
    slots: dict[str, tuple[Annotated[str, AfterValidator(_holds_a_word)], ...]] = Field(default_factory=dict)
    """Slot -> words that ask for it."""
    speaker: SpeakerSpec | None = None
    """Model that may phrase the facts where an episode is asked to speak; null = the recorded words."""


class SignedSpec(Frozen):
    """Somebody's word for an exception, until a day."""

    reason: str = Field(pattern=WORDS)
    """Why it is right all the same."""
    signed_by: str = Field(pattern=WORDS)
    """Who answers for it."""
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
    """File name in tasks/leaks."""
    path: str = Field(min_length=1)
    """Glob over the findings' paths."""


class HoldoutSpec(Frozen):
    """What training never sees: whole groups, and the latest months."""

    group: str = "organisation"
    """Declared group that never stands on both sides."""
    share_of_groups: float = Field(default=0.25, ge=0, le=1)
    """Share of the tasks, in [0, 1], whose groups are held out as a whole; 0: none."""
    share_of_time: float = Field(default=0.25, ge=0, le=1)
    """Share of the tasks, in [0, 1], that are held out as the latest; 0: none."""
    embargo_percentile: float = Field(default=0.99, gt=0, le=1)
    """Share of a workflow's cases that last no longer than its embargo."""
    waived: dict[str, SignedSpec] = Field(default_factory=dict)
    """Group that may cross -> why, who says so, and until when."""
    cannot_promise: str = ""
    """What holding out by this group does not promise; needed for any group but the organisation, and said in the report."""
    min_per_slice: int = Field(default=0, ge=0)
    """Least number of tasks in each slice that the groups held out feed, where the export has them."""

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
    """Name of the task set and of its folder; the file is named like it."""
    supplier: str = Field(pattern=SLUG)
    """Whose records they are; the same in the code book. Names the folders of records, clean records and vault."""
    sample: bool = False
    """True for the shipped sample only: a token key file is made on first use."""
    export: str = ""
    """Folder of the export; EXPORT= (--export) names another for one run. "": it is named at each run."""
    currency: str = "EUR"
    """ISO 4217 code of all amounts, which are whole numbers of its smallest unit."""
    seed: int = 1
    """Places groups on a side and shuffles probes; another seed is another hold-out."""
    max_steps: int = Field(default=30, ge=1)
    """Calls after which an episode ends."""
    code_book: str | None = None
    """Code book JSON inside the export, or beside the spec when it starts with "spec:"."""
    sources: tuple[SourceSpec, ...]
    """The exports to read, one table each."""
    policies: PoliciesSpec | None = None
    """Where the policy documents are; null: there are none."""
    tokens: TokenSpec = TokenSpec()
    """How people and ids become tokens."""
    deid: DeidSpec = DeidSpec()
    """What the finder of personal data has to know of these texts."""
    select: SelectSpec
    """Which records become tasks."""
    systems: tuple[SystemSpec, ...]
    """The systems that the agent works with; [] for ingest alone."""
    workflows: tuple[WorkflowSpec, ...]
    """The kinds of requests that become tasks; [] for ingest alone."""
    rules: tuple[RuleSpec, ...] = ()
    """What has to be kept on the way, judged by the grader and read by the agent."""
    clauses: tuple[ClauseSpec, ...] = ()
    """The clause table: every clause of every policy version that the export holds (checked by the build)."""
    outcomes: tuple[OutcomePattern, ...] = ()
    """Only for systems that store no outcome code."""
    requester: RequesterOptions = RequesterOptions()
    """How the simulated requester behaves."""
    reward: RewardWeights = RewardWeights()
    """Weights of the parts of the reward."""
    holdout: HoldoutSpec = HoldoutSpec()
    """What training never sees."""
    waivers: tuple[WaiverSpec, ...] = ()
    """Signed exceptions to leak checks."""
    guesses: tuple[GuessSpec, ...] = ()
    """What a draft has guessed; nothing is built while one is not confirmed."""


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
        faults = faults_of(error, model=Spec)
    faults += cross_faults(spec.model_dump() if spec else raw)
    faults += unconfirmed(spec.guesses) if spec else []
    if spec is None or faults:
        raise SpecError(str(path), faults)
    return spec


def check_options(model: type[BaseModel], options: dict[str, Any], file: str, path: str) -> Any:
    """Validates a plug-in's options; SpecError with dotted paths below `path`."""
    try:
        return model.model_validate(options)
    except ValidationError as error:
        raise SpecError(file, faults_of(error, path, model=model)) from error
