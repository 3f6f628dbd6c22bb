"""Junk arguments survive, and no call of the agent reads or writes a file of the task set.

Every tool is called with values of the wrong type, huge and deeply nested ones, numbers that are none, half characters, paths to
the answers and digests of contents. Nothing may be raised, a refused call may change nothing, the shared rows must be as they are
stored, the grader must be able to judge the episode and must not call it full. That no file is touched is observed, not argued:
while a call runs, every opening of a file below the task set's folder is counted (sys.addaudithook).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from environments.episode import MAX_OBSERVATION, Episode
from environments.tool import Tool
from schemas.episode import ToolCall
from schemas.files import get_content
from tasks.certificates._bench import Bench, CertificateCheck, Said

DEEP: list[Any] = []
for _ in range(60):
    DEEP = [DEEP]
VALUES: tuple[Any, ...] = (
    None, True, -1, 2**80, 1.5, float("nan"), float("inf"), "", " ", "x" * 100_000, "\ud800", "\x00", "\u202e\U0001f9fe",
    "'; DROP TABLE orders; --", "{{answer}}", [], ["x"] * 400, {}, {"a": {"b": {}}}, {1: 2}, DEEP, b"x", object(),
)  # fmt: skip
ACTIONS: tuple[Any, ...] = (
    None, "", "null", "[]", "{", "{}", 7, [], {}, {"tool": None}, {"tool": "no_such_tool"}, {"tool": "x" * 5000, "arguments": {}},
    {"tool": "resolve", "arguments": []}, {"tool": "resolve", "arguments": {"__class__": "x"}}, {"arguments": {}},
    {"tool": "resolve", "arguments": {}, "answer": 1}, '{"tool":"resolve","arguments":{"code":NaN}}', "[" * 5000, "\ud800", b"{}",
    object(), ToolCall(tool=""), ToolCall(tool="__init__"),
)  # fmt: skip

_watched: list[str] = []
"""The folder under watch while a call runs; empty otherwise."""
_opened: list[str] = []
_hooked: list[bool] = []


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched and event == "open" and isinstance(arguments[0], str | bytes):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if path.startswith(_watched[0] + os.sep):
            _opened.append(os.path.basename(path))


def run(bench: Bench) -> Said:
    if not _hooked:
        sys.addaudithook(_on_event)  # for as long as the process lives: Python takes none back
        _hooked.append(True)
    folder = os.path.realpath(bench.taskset.folder)
    episode, tried = bench.episode, 0
    _opened.clear()
    for action in (*ACTIONS, *_calls(bench)):
        if tried == 0 or episode.done:
            if tried and (fault := _unfit(bench)):
                return "failed", fault
            episode.reset(bench.task.task_id, bench.seed)
        if fault := _survives(episode, action, folder):
            return "failed", fault
        tried += 1
    if fault := _unfit(bench):
        return "failed", fault
    # Where the task set lies differs between machines, and the grades that are counted must not: these are only looked at.
    for action in _files(bench, folder):
        if episode.done or tried % bench.task.max_steps == 0:
            episode.reset(bench.task.task_id, bench.seed)
        if fault := _survives(episode, action, folder):
            return "failed", fault
        tried += 1
    for digest in bench.task.state:
        if get_content(bench.taskset.folder / "content", digest) != bench.taskset.content(digest):
            return "failed", "a call changed rows that all episodes share"
    return "passed", f"{tried} junk calls of {len(bench.tools)} tools"


def _survives(episode: Episode, action: Any, folder: str) -> str | None:
    """What is wrong with how the episode took `action`, or None."""
    name = action.tool if isinstance(action, ToolCall) else "an action that is no call"
    before = dict(episode.rows_written)
    _watched.append(folder)
    try:
        observation = episode.step(action).observation
    except Exception as error:  # a crash of any kind is what is looked for
        return f"{name[:60]} raised {type(error).__name__}"
    finally:
        _watched.clear()
    if _opened:
        return f"{name[:60]} opened {_opened[0]}"
    if len(observation.text) > MAX_OBSERVATION + 1:
        return f"{name[:60]} showed {len(observation.text)} characters"
    if folder in observation.text and folder not in str(action):
        return f"{name[:60]} showed where the task set lies"
    if observation.refusal is not None and dict(episode.rows_written) != before:
        return f"{name[:60]} was refused and changed a row"
    return None


def _unfit(bench: Bench) -> str | None:
    """What is wrong with the judgement of the junk so far, or None."""
    return "junk is full" if bench.judged(bench.episode.journal).grade.full else None


def _calls(bench: Bench) -> Iterator[ToolCall]:
    """Each tool with junk in each of its arguments, in turn; over the tools every value is tried."""
    paths = ["../heldout/answers.jsonl", f"content:{bench.task.state[0]}", "certificates.jsonl", "/etc/passwd", "*", ".."]
    values = [*VALUES, *paths]
    turn = 0
    for name, tool in bench.tools.items():
        fitting = _fitting(bench, tool)
        if tool.reads:
            yield ToolCall(tool=name, arguments=fitting)
        yield ToolCall(tool=name, arguments={})
        yield ToolCall(tool=name, arguments={**fitting, "no_such_argument": 1})
        for argument, schema in tool.parameters["properties"].items():
            for _ in range(2):
                yield ToolCall(tool=name, arguments={**fitting, argument: values[turn % len(values)]})
                turn += 1
            if schema["type"] == "string" and "enum" not in schema:
                path = paths[turn % len(paths)]
                yield ToolCall(tool=name, arguments={**fitting, argument: path})
    first = next(iter(bench.tools))
    while turn < len(values):
        yield ToolCall(tool=first, arguments={"x": values[turn]})
        turn += 1


def _files(bench: Bench, folder: str) -> Iterator[ToolCall]:
    """Each tool with the very paths of the grader's files, an argument each."""
    names = (f"{bench.taskset.side}/answers.jsonl", "heldout/answers.jsonl", "certificates.jsonl", "splits.json", "manifest.json")
    turn = 0
    for name, tool in bench.tools.items():
        fitting = _fitting(bench, tool)
        for argument, schema in tool.parameters["properties"].items():
            if schema["type"] == "string" and "enum" not in schema:
                path = f"{folder}/{names[turn % len(names)]}"
                yield ToolCall(tool=name, arguments={**fitting, argument: path})
                turn += 1


def _fitting(bench: Bench, tool: Tool) -> dict[str, Any]:
    """Arguments of the right types, so that one junk value is what is wrong with a call."""
    made = next((call.arguments for call in bench.calls if call.tool == tool.name), {})
    blank: dict[str, Any] = {"integer": 1, "boolean": False, "object": {}, "string": "none"}
    properties = tool.parameters["properties"]
    required = tool.parameters.get("required", ())
    return {n: made.get(n, properties[n].get("enum", [blank[properties[n]["type"]]])[0]) for n in required}


CHECK = CertificateCheck("C12", run)
