"""STAR: human-to-human service dialogues (one JSON each in a tar archive) with API queries and their recorded answers.

A dialogue becomes a record `desk.dialogue` with what was said; each query a record of system `apis` whose kind is the API, one
row an argument, then the answer that was returned as `item`. Never read into text: what the wizard typed for the suggestion
engine, labels, the hidden goal (UserTask, UserGuide) and questionnaires. A row is a dialogue: one odd event sends it to
quarantine whole.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

import msgspec

from ingest.decode import line_text
from ingest.decode import typed as typed_row
from ingest.source import Context, Output, Part, Row, RowFault, Source, SourceOptions, require_file
from ingest.times import Stamp, TimeFault, from_unix
from ingest.values import checked, shown_code, shown_key, type_of
from schemas.errors import SourceError
from schemas.events import EventType
from schemas.files import sha256_file

SLICES = 4
"""Parts that the archive is read in; fixed, so that outputs do not depend on the number of workers."""
CALL = re.compile(r"api\.(\w+)\((.*)\)", re.DOTALL)
OPERATORS = frozenset(
    (
        "is_equal_to",
        "is_one_of",
        "is_less_than",
        "is_greater_than",
        "is_at_least",
        "is_at_most",
        "contains",
        "contains_not",
        "is_not",
    )
)


SPOKEN = frozenset({("User", "utter"), ("Wizard", "utter"), ("Wizard", "pick_suggestion")})
"""(agent, action) whose text the other side saw; all other text is notes, labels or the hidden goal."""


class Capability(msgspec.Struct, forbid_unknown_fields=True):
    Domain: str | None
    SchemaImage: str
    Task: str


class Scenario(msgspec.Struct, forbid_unknown_fields=True):
    Domains: list[str | None]
    Happy: bool
    MultiTask: bool
    UserTask: str
    WizardCapabilities: list[Capability]
    WizardTask: str


class Turn(msgspec.Struct, forbid_unknown_fields=True):
    Agent: Literal["User", "Wizard", "KnowledgeBase", "UserGuide"]
    Action: Literal[
        "utter", "request_suggestions", "pick_suggestion", "query", "return_item", "complete", "instruct", "select_task",
        "select_primary", "select_secondary",
    ]  # fmt: skip
    UnixTime: int | None = None
    Text: str | None = None
    APIName: str | None = None
    Constraints: list[dict[str, str]] | None = None
    Item: dict[str, Any] | None = None
    TotalItems: int | None = None
    ActionLabel: str | None = None
    ActionLabelOptions: list[str] | None = None
    PrimaryItem: dict[str, Any] | None = None
    SecondaryItem: dict[str, Any] | None = None
    PostAnnotation: list[Any] | None = None
    Task: str | None = None


class Question(msgspec.Struct, forbid_unknown_fields=True):
    Question: str
    Answer: Any


class Dialogue(msgspec.Struct, forbid_unknown_fields=True, rename={"FORMAT_VERSION": "FORMAT-VERSION"}):
    AnonymizedUserWorkerID: str
    AnonymizedWizardWorkerID: str
    BatchID: str
    CompletionLevel: str
    DialogueID: int
    Events: list[Turn]
    FORMAT_VERSION: Literal[7]
    IntroducesConflicts: bool
    Scenario: Scenario
    UserQuestionnaire: list[Question]
    WizardQuestionnaire: list[Question]


class StarOptions(SourceOptions):
    dialogues: str = "dialogues.tar.gz"
    descriptions: str = "policies_and_apis.tar.gz"
    """Archive with apis/apis/<name>.json."""


def _archives(context: Context) -> tuple[str, str]:
    return context.options.dialogues, context.options.descriptions


def inputs(context: Context) -> dict[str, str]:
    found = {}
    for name in _archives(context):
        path = context.root / name
        require_file(path, "the archive")
        found[context.file(path)] = sha256_file(path)
    return found


def _members(context: Context, archive: str, folder: str) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of each JSON file of a folder of the archive, as they come."""
    path = context.root / archive
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                if not member.isfile() or PurePosixPath(member.name).parent.as_posix() != folder or member.name[-5:] != ".json":
                    continue
                handle = tar.extractfile(member)
                if handle is not None:
                    yield member.name, handle.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise SourceError(context.file(path), "", f"not a readable tar archive ({type(error).__name__})") from error


def parts(context: Context) -> list[Part]:
    return [Part(f"dialogues-{index:02d}", index) for index in range(SLICES)]


def _apis(context: Context) -> dict[str, dict[str, Any]]:
    """API name -> its description as read, sorted by name."""
    found: dict[str, dict[str, Any]] = {}
    for name, body in _members(context, context.options.descriptions, "apis/apis"):
        try:
            description = json.loads(body)
            _ = [(entry["Name"], entry["Type"]) for entry in description["input"]]
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(context.options.descriptions, name, "not an API description") from error
        found[PurePosixPath(name).stem] = description
    if not found:
        raise SourceError(context.options.descriptions, "", "no API descriptions", allowed="apis/apis/<name>.json")
    return dict(sorted(found.items()))


def declarations(context: Context) -> list[Any]:
    """The API descriptions exactly as read, each with its name under "APIName"."""
    return [{"APIName": name, **description} for name, description in _apis(context).items()]


def read(context: Context, part: Part, output: Output) -> None:
    apis = {name: {entry["Name"]: entry for entry in body["input"]} for name, body in _apis(context).items()}
    decode = msgspec.json.Decoder(Dialogue).decode
    file = context.file(context.root / context.options.dialogues)
    seen = 0
    for place, (name, body) in enumerate(_members(context, context.options.dialogues, "dialogues")):
        seen += 1
        if place % SLICES != part.payload:
            continue
        stem = PurePosixPath(name).stem
        with output.row(file, f"member:{name}", place, key=f"dialogue:{stem}") as row:
            dialogue = typed_row(decode, line_text(body, None)[0])
            Case(context, output, row, stem, dialogue, apis).read()
    if seen == 0:
        raise SourceError(file, "", "no dialogues", allowed="dialogues/<number>.json")


@dataclass(slots=True)
class Case:
    """One dialogue while it becomes events."""

    context: Context
    output: Output
    row: Row
    stem: str
    dialogue: Dialogue
    apis: dict[str, dict[str, dict[str, Any]]]

    @property
    def record(self) -> tuple[str, str, str]:
        return ("desk", "dialogue", self.stem)

    @property
    def stream(self) -> str:
        return f"dialogue:{self.stem}"

    @property
    def wizard(self) -> str:
        return f"desk:wizard:{self.dialogue.AnonymizedWizardWorkerID}"

    def read(self) -> None:
        self.row.owner(self.record, organisation=self.dialogue.AnonymizedWizardWorkerID)
        stamps = [self.stamp(index, turn) for index, turn in enumerate(self.dialogue.Events)]
        timed = [stamp for stamp in stamps if stamp]
        self.open(timed[0] if timed else None)
        self.turns(stamps)
        # What the platform recorded when the dialogue had ended; an opening must not know it.
        end = (self.stream, len(self.dialogue.Events) + 1, 0)
        value = checked(self.context.code_book, self.record[:2], "completion", self.dialogue.CompletionLevel)
        self.row.event(self.record, EventType.change, timed[-1] if timed else None, order=end, field="completion", value=value)

    def stamp(self, index: int, turn: Turn) -> Stamp | None:
        if turn.UnixTime is None:
            return None
        try:
            return from_unix(turn.UnixTime)
        except TimeFault as fault:
            raise RowFault(
                fault.reason, field="UnixTime", found=fault.found, allowed=fault.allowed, pos=self.pos(index)
            ) from fault

    def pos(self, index: int) -> str:
        return f"{self.row.pos}#Events/{index}"

    def open(self, opened: Stamp | None) -> None:
        if opened is None:
            self.output.finding("no_time:desk.dialogue")
        tasks = [capability.Task for capability in self.dialogue.Scenario.WizardCapabilities]
        self.row.event(self.record, EventType.create, opened, order=(self.stream, 0, 0))
        self.row.mark(self.record, "opened", opened, (self.stream, 0, 0))
        fields: dict[str, Any] = {
            "task": tasks[0] if len(tasks) == 1 else tasks,
            "wizard": self.dialogue.AnonymizedWizardWorkerID,
            "requester": self.dialogue.AnonymizedUserWorkerID,
        }
        for index, (field, value) in enumerate(fields.items(), 1):
            kept = value if isinstance(value, list) else checked(self.context.code_book, self.record[:2], field, value)
            self.row.event(self.record, EventType.create, opened, order=(self.stream, 0, index), field=field, value=kept)

    def turns(self, stamps: list[Stamp | None]) -> None:
        opening, queries = False, 0
        query: tuple[str, str, str] | None = None
        asked: Stamp | None = None
        for index, (turn, stamp) in enumerate(zip(self.dialogue.Events, stamps, strict=True)):
            order = (self.stream, index + 1, 0)
            spoken = turn.Text if turn.Text and turn.Text.strip() else None
            if spoken and (turn.Agent, turn.Action) in SPOKEN:
                actor = f"desk:user:{self.dialogue.AnonymizedUserWorkerID}" if turn.Agent == "User" else self.wizard
                self.row.event(
                    self.record, EventType.message, stamp, order=order, actor=actor, text=spoken, visibility="public",
                    pos=self.pos(index),
                )  # fmt: skip
                if turn.Agent == "User" and not opening:
                    opening = True
                    self.row.mark(self.record, "opening", stamp, order)
            elif turn.Action == "query":
                queries += 1
                asked = stamp
                query = self.query(index, turn, stamp, f"{self.stem}-q{queries}")
            elif turn.Action == "return_item":
                if query is None or turn.APIName != query[1]:
                    raise RowFault("an answer without its query", field="APIName", pos=self.pos(index))
                item = checked(self.context.code_book, query[:2], "item", turn.Item)
                # The knowledge base answers at once and carries no time of its own.
                self.row.event(
                    query, EventType.change, stamp or asked, order=order, field="item", value=item, reference=self.stem,
                    pos=self.pos(index),
                )  # fmt: skip
            elif turn.Action == "complete":
                self.row.mark(self.record, "closed", stamp, order)

    def query(self, index: int, turn: Turn, stamp: Stamp | None, number: str) -> tuple[str, str, str]:
        api, pos = turn.APIName, self.pos(index)
        if api not in self.apis:
            raise RowFault("unknown API", field="APIName", found=shown_key(api), allowed=", ".join(self.apis), pos=pos)
        record = ("apis", api, number)
        order = (self.stream, index + 1, 0)
        self.row.owner(record, parent=self.record)
        self.row.event(record, EventType.create, stamp, order=order, actor=self.wizard, reference=self.stem, pos=pos)
        self.row.mark(record, "opened", stamp, order)
        given: dict[str, str] = {}
        for constraint in turn.Constraints or []:
            for name, raw in constraint.items():
                if name in given:
                    self.output.finding(f"repeated_argument:apis.{api}.{name}")
                given[name] = raw  # the form sends a repeated argument's last value
        for place, (name, raw) in enumerate(given.items(), 1):
            value = self.argument(api, name, raw, pos)
            at = (self.stream, index + 1, place)
            self.row.event(
                record,
                EventType.create,
                stamp,
                order=at,
                actor=self.wizard,
                field=name,
                value=value,
                reference=self.stem,
                pos=pos,
            )
        return record

    def argument(self, api: str, name: str, raw: str, pos: str) -> Any:
        """The value of an equality, bare; any other condition as it was written ("api.is_at_most(10)")."""
        described, where = self.apis[api].get(name), f"apis.{api}.{name}"
        if described is None:
            raise RowFault("unknown argument", field=where, found="an undeclared argument", pos=pos)
        value, plain = argument_value(raw)
        if not plain:
            match = CALL.fullmatch(str(value))
            if match is None or match[1] not in OPERATORS:
                raise RowFault(
                    "unknown condition", field=where, found="a condition", allowed=", ".join(sorted(OPERATORS)), pos=pos
                )
            return value
        if value is not None:
            value = typed(value, described, where, pos)
        try:
            return checked(self.context.code_book, ("apis", api), name, value)
        except RowFault as fault:
            fault.pos = pos
            raise


def typed(value: Any, described: dict[str, Any], where: str, pos: str) -> Any:
    """`value` as the API's own description types it, or RowFault."""
    if described["Type"] in {"Categorical", "RequestType"}:
        categories = described["Categories"]
        if value not in categories:
            raise RowFault(
                "unknown code", field=where, found=shown_code(value, categories), allowed=", ".join(categories), pos=pos
            )
    if described["Type"] == "Integer" and type(value) is not int:
        raise RowFault("not a whole number", field=where, found=type_of(value), allowed="a whole number", pos=pos)
    return str(value) if described["Type"] in {"ShortString", "LongString"} else value


def argument_value(raw: str) -> tuple[Any, bool]:
    """(value, True) for a bare value or an equality with one; (the text as written, False) for any other condition."""
    text = raw.strip()
    if match := CALL.fullmatch(text):
        inner = _literal(match[2])
        if match[1] == "is_equal_to" and match[2].strip() and not isinstance(inner, list):
            return inner, True
        if match[1] in {"is_equal_to", "is_one_of"} and isinstance(inner, list) and len(inner) == 1:
            return inner[0], True
        return text, False
    return _literal(text), True


def _literal(text: str) -> Any:
    """A JSON or Python literal; a number with a leading zero (a PIN) stays text, and so does what is no literal."""
    text = text.strip()
    if text in {"True", "False"}:
        return text == "True"
    try:
        value = json.loads(text)
    except ValueError:
        bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
        return bare.strip()
    return value.strip() if isinstance(value, str) else value


SOURCE = Source(options=StarOptions, inputs=inputs, parts=parts, read=read, declarations=declarations)
