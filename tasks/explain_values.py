"""Every value that an agent can see in a task, by a path, and what it rests on: rows of the export, the spec, or a reason.

opening/<field>                          the request as first made
<system>/<kind>/<record>                 that there is such a record (its id)
<system>/<kind>/<record>/<field>[/...]   a field; of a list or object each part: messages/0/text, item/Message
requester/<fact>                         what the requester answers when asked for it; requester/dont_know/0
policies/<document>/<clause>             a clause in force; also .../title and .../version
rules/<rule>/sentence, rules/<rule>/parameters/...
systems/<system>/<option>[/...]          what the tools are made from
forms/<ask|tell>/<slot or code>/0        sentences that a policy under a grammar writes with
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.errors import StageError
from schemas.task import TaskSpec
from schemas.taskset import TaskSet

OPENING = ("record", "requester_id", "requester_name", "contact", "subject", "text", "received_at")
RESERVED = ("opening", "requester", "policies", "rules", "systems", "forms")
SHOWN = 8
"""Names that a fault lists of what there is below a path."""
References = dict[str, Any]
"""Name -> reference, or a list of them."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value and what it rests on."""

    path: str
    value: Any
    references: tuple[str, ...] = ()
    """Of the rows of the export, resolved by the vault."""
    spec_key: str = ""
    """Key of the spec (or of a file that it names) that says so."""
    reason: str = ""
    """Why there is neither, or how the value was made from several rows."""

    @property
    def explained(self) -> bool:
        return bool(self.references or self.spec_key or self.reason)


UNKNOWN = "null: the log holds no row of it before the start, so it is unknown"
SAID_NULL = "null: the row says so"
TIED = "null: these rows disagree, stand at one time, and nothing says which is the later"
COUNTED = "counted or added up from these rows"
NONE_COUNTED = "recomputed at the start: no record counted for it"
NO_SUBJECT = "the request has no subject"
FORM = "a sentence that human agents used in several training cases; no single row"


def values(taskset: TaskSet, task: TaskSpec) -> Iterator[Value]:
    """All of them, in a fixed order."""
    sources = provenance(taskset, task)
    record = task.opening.record
    at_opening: References = sources.get(record.system, {}).get(record.kind, {}).get(record.record_id, {})
    yield from _opening(task, at_opening)
    for system, kinds in taskset.state(task).items():
        for kind, records in kinds.items():
            for record_id, row in records.items():
                known = sources.get(system, {}).get(kind, {}).get(record_id, {})
                path = f"{system}/{kind}/{record_id}"
                yield _of_rows(path, record_id, known.get("record/id") or known.get("opening/record") or _any(known))
                for name, value in row.items():
                    yield from _field(f"{path}/{name}", name, value, known)
    yield from _requester(task, at_opening)
    yield from _policies(taskset, task, sources)
    for rule in task.rules:
        at = f"rules (id = {rule.id!r})"
        yield Value(f"rules/{rule.id}/sentence", rule.sentence, spec_key=f"{at}; the sentence of rewards/rules/{rule.rule}.py")
        for parts, value in _leaves(rule.parameters):
            key = ".".join(("parameters", *parts))
            yield Value("/".join(("rules", rule.id, "parameters", *parts)), value, spec_key=f"{at}.{key}")
    yield from _systems(taskset, task)
    for kind, forms in taskset.forms.items():
        for name, texts in forms.items():
            for number, text in enumerate(texts):
                yield Value(f"forms/{kind}/{name}/{number}", text, reason=FORM)


def value_at(taskset: TaskSet, task: TaskSpec, path: str) -> list[Value]:
    """The value of that path, or all below it. StageError that names what is close to it, where there is none."""
    found = [v for v in values(taskset, task) if v.path == path or v.path.startswith(f"{path}/")]
    exact = [v for v in found if v.path == path]
    if exact or found:
        return exact or found
    raise StageError(f"{task.task_id} shows no {path} ({_near(taskset, task, path)})")


def _near(taskset: TaskSet, task: TaskSpec, path: str) -> str:
    """Paths of the deepest part that there is, the ones most like the one asked for first."""
    paths = [v.path for v in values(taskset, task)]
    parts = path.split("/")
    for depth in range(len(parts) - 1, -1, -1):
        head = "/".join(parts[:depth])
        below = [p for p in paths if not head or p.startswith(f"{head}/")]
        names = sorted({p[len(head) :].lstrip("/").split("/")[0] for p in below})
        if not names:
            continue
        wanted = parts[depth]
        close = difflib.get_close_matches(wanted, names, n=3) or difflib.get_close_matches(path, paths, n=3)
        shown = names if not head else names[:SHOWN]  # the first parts are few, and each is another sort of value
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        return f"did you mean {', '.join(close)}?" if close else f"there: {', '.join(shown)}{more}"
    return "there: nothing"


def provenance(taskset: TaskSet, task: TaskSpec) -> dict[str, Any]:
    """The task's references, merged as its state is: a later layer replaces a record's row and its references."""
    merged: dict[str, Any] = {}
    for digest in task.provenance:
        for system, kinds in taskset.content(digest).items():
            for kind, records in kinds.items():
                held = merged.setdefault(system, {}).setdefault(kind, {})
                for record_id, fields in records.items():
                    fresh = "record/id" in fields
                    held[record_id] = dict(fields) if fresh else {**held.get(record_id, {}), **fields}
    return merged


def _opening(task: TaskSpec, known: References) -> Iterator[Value]:
    shown = {**{name: getattr(task.opening, name) for name in OPENING}, "record": task.opening.record.record_id}
    for name, value in shown.items():
        reason = NO_SUBJECT if name == "subject" and not value else ""
        yield _of_rows(f"opening/{name}", value, known.get(f"opening/{name}"), reason=reason)


def _requester(task: TaskSpec, known: References) -> Iterator[Value]:
    for fact in task.requester.facts:
        yield _of_rows(f"requester/{fact.id}", fact.answer, known.get(f"requester/{fact.id}"))
    told = task.requester.dont_know
    for number, text in enumerate(told):
        path = f"requester/dont_know/{number}"
        by_default = path not in known and told == type(task.requester)().dont_know
        yield _of_rows(
            path, text, known.get(path), reason="the default words of schemas/task.py: none were recorded" if by_default else ""
        )


def _policies(taskset: TaskSet, task: TaskSpec, sources: Mapping[str, Any]) -> Iterator[Value]:
    for policy in taskset.policies(task):
        known = sources.get("policies", {}).get(policy.document, {}).get(str(policy.version), {})
        head = f"policies/{policy.document}"
        first = known.get(policy.clauses[0].clause) if policy.clauses else None
        yield _of_rows(f"{head}/title", policy.title, first, reason="front matter of the file of this clause")
        yield _of_rows(f"{head}/version", policy.version, first, reason="front matter of the file of this clause")
        for clause in policy.clauses:
            yield _of_rows(f"{head}/{clause.clause}", clause.text, known.get(clause.clause))


DERIVED = {
    "codes": "outcomes of the code book, for the workflows of the spec",
    "slots": "requester.slots",
    "declarations": "the supplier's own descriptions of its interfaces (declarations.json of the clean records)",
    "system": "systems (name)",
}
"""Options of a system that are not written at the system in the spec."""


def _systems(taskset: TaskSet, task: TaskSpec) -> Iterator[Value]:
    for ref in task.systems:
        for name, given in ref.config.items():
            stored = isinstance(given, str) and given.startswith("content:")
            value = taskset.content(given.removeprefix("content:")) if stored else given
            for parts, leaf in _leaves(value):
                key = DERIVED.get(name) or ".".join((f"systems (name = {ref.name!r}).config.{name}", *parts))
                yield Value("/".join(("systems", ref.name, name, *parts)), leaf, spec_key=key)


def _field(path: str, name: str, value: Any, known: References) -> Iterator[Value]:
    """A field's parts; each message of an earlier case has a row of its own."""
    if name == "messages" and isinstance(value, list):
        for number, message in enumerate(value):
            for parts, leaf in _leaves(message):
                yield _of_rows("/".join((path, str(number), *parts)), leaf, known.get(f"messages/{number}"))
        return
    source = known.get(name)
    if value is None:
        reason = UNKNOWN if source is None else TIED if isinstance(source, list) else SAID_NULL
        yield _of_rows(path, value, source, reason=reason)
        return
    reason = ""
    if isinstance(source, list):
        reason = COUNTED if source else NONE_COUNTED
    for parts, leaf in _leaves(value):
        yield _of_rows("/".join((path, *parts)), leaf, source, reason=reason)


def _of_rows(path: str, value: Any, source: Any, *, reason: str = "") -> Value:
    references = tuple(source) if isinstance(source, list) else (source,) if source else ()
    return Value(path, value, references, reason=reason)


def _any(known: References) -> Any:
    """A row that tells any field of the record names the record too."""
    return next((source for source in known.values() if isinstance(source, str)), None)


def _leaves(value: Any, *parts: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Parts of a nested value with the keys that lead to each; an empty list or object is a part itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    if not value or not isinstance(value, dict | list | tuple):
        yield parts, value
    for key, item in items:
        yield from _leaves(item, *parts, str(key))
