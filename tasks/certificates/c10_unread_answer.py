"""The answer cannot be read without acting: from the task set alone, whatever the leak checks of the build said.

Looked through are the opening, everything that the requester can say, every row that some tool could show, and what the agent's
own read tools really show of the case's records. None may hold an outcome code; the words of the task's own outcome may not stand
in the opening or in the requester's mouth; a typed answer may not be told by anyone but a system. Policies are left out: they may
name codes, since they are the same for every case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from environments.seen import Seen
from schemas.episode import ToolCall
from schemas.files import canonical_json
from tasks.certificates._bench import Bench, CertificateCheck, Said

COINED = re.compile(r"[_\d]|[a-z][A-Z]")
"""A code that is a plain word ("found") also stands in ordinary sentences: it tells only where it is the whole value."""
POLICIES = "policies"
"""System whose tools show the policy documents."""
READS = 2
"""Records of a kind that each read tool is called with."""

_scanned: dict[tuple[str, tuple[str, ...]], str | None] = {}
"""(content, codes) -> the first code in it: contents are shared by many tasks and never change."""


def run(bench: Bench) -> Said:
    task, codes = bench.task, tuple(bench.codes)
    own = {code for code, about in bench.codes.items() if about.workflow == task.workflow}
    for name, tool in bench.tools.items():
        for argument, schema in tool.parameters["properties"].items():
            if len(own) > 1 and len(own & set(schema.get("enum", ()))) == 1:
                return "failed", f"{name}.{argument} lists one code of the workflow alone"
    spoken = [fact.answer for fact in task.requester.facts]
    told = [task.opening.subject, task.opening.text, *spoken, *task.requester.dont_know]
    if code := _first(told, codes):
        return "failed", f"{code} stands in the opening or in what the requester says"
    label = _plain(bench.codes[bench.answer.outcome.code].label) if bench.answer.outcome.code in bench.codes else ""
    if " " in label and any(label in _plain(text) for text in told):
        return "failed", "the words of the outcome stand in the opening or in what the requester says"
    for digest in task.state:
        if code := _in_content(bench, digest, codes):
            return "failed", f"{code} stands in what a tool can show"
    shown = list(_read(bench))
    if code := _first(shown, codes):
        return "failed", f"{code} stands in what a tool shows"
    answer = bench.answer.outcome.answer
    if answer and Seen(task.opening.subject, task.opening.text, *spoken).holds(answer):
        return "failed", "the whole answer is told without a look into a system"
    return "passed", f"{len(shown)} reads, {len(told)} sayings, {len(task.state)} contents"


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _first(texts: Iterable[str], codes: tuple[str, ...]) -> str | None:
    """The first code that stands in one of the texts as a word of its own; a plain word only where it is the whole text."""
    for text in texts:
        low = text.casefold()
        for code in codes:
            known = code.casefold()
            if known not in low:
                continue
            if low.strip() == known or (COINED.search(code) and re.search(rf"(?<!\w){re.escape(known)}(?!\w)", low)):
                return code
    return None


def _in_content(bench: Bench, digest: str, codes: tuple[str, ...]) -> str | None:
    key = (digest, codes)
    if key not in _scanned:
        value = bench.taskset.content(digest)
        whole = canonical_json(value).casefold()
        near = tuple(code for code in codes if code.casefold() in whole)
        _scanned[key] = _first(_strings(value), near) if near else None
    return _scanned[key]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _read(bench: Bench) -> Iterator[str]:
    """What the read tools show of the case's own records, and what the reference is shown before it finishes."""
    for tool in bench.tools.values():
        required = tool.parameters.get("required", ())
        if not tool.reads or len(required) != 1 or tool.effect is not None:
            continue
        kind = {"requester_id": "user"}.get(required[0], required[0].removesuffix("_id"))
        known = [bench.task.opening.requester_id] if kind == "user" else bench.ids().get(kind, [])
        for record_id in known[:READS]:
            bench.episode.reset(bench.task.task_id, bench.seed)
            yield bench.episode.step(ToolCall(tool=tool.name, arguments={required[0]: record_id})).observation.text
    for call, text in zip(bench.calls[:-1], bench.shown(), strict=False):
        if bench.tools[call.tool].system != POLICIES:
            yield text


CHECK = CertificateCheck("C10", run)
