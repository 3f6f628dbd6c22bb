"""A person plays a task in the terminal. Works on a terminal and with lines from a pipe."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from environments.agents import action_text
from environments.episode import Episode
from environments.tool import Tool, did_you_mean
from schemas.episode import Grade, Observation, Step, ToolCall

HELP = """A line is one call of a tool:
  get_order ORDER_1A2B3C4D                       arguments in the order of the table
  create_refund order_id=ORDER_1A2B3C4D amount_minor=590 reason=late_delivery
  reply_to_requester What is the order number?   a message needs no quotes
  get_order {"order_id": "ORDER_1A2B3C4D"}       or JSON
Other lines: tools, help TOOL, rules, opening, history, quit."""
COMMANDS = ("help", "tools", "rules", "opening", "history", "quit", "exit")


class Unclear(Exception):  # noqa: N818 - told to the player, never seen outside
    """A line that is no call; the message says what to write."""


def parse_line(line: str, tools: dict[str, Tool]) -> ToolCall:
    """The call that a typed line means. Raises Unclear, with help, where it means none."""
    name, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    if name.startswith("{"):
        try:
            return ToolCall.model_validate(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise Unclear('that JSON is no call; write {"tool": name, "arguments": {...}}') from error
    tool = tools.get(name)
    if tool is None:
        raise Unclear(f"there is no tool {name!r}{did_you_mean(name, tools)} Type `tools` to see them.")
    if rest.startswith("{"):
        try:
            arguments = json.loads(rest)
        except (ValueError, RecursionError) as error:
            raise Unclear(f"{name}: those arguments are not JSON") from error
        if not isinstance(arguments, dict):
            raise Unclear(f"{name}: the arguments must be a JSON object")
        return ToolCall(tool=name, arguments=arguments)
    return ToolCall(tool=name, arguments=_arguments(tool, rest))


def _arguments(tool: Tool, rest: str) -> dict[str, Any]:
    properties = tool.parameters["properties"]
    if len(properties) == 1 and tool.prose and rest and rest[0] not in "\"'" and not rest.startswith(f"{tool.prose[0]}="):
        return {tool.prose[0]: rest}
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise Unclear(f"{tool.name}: a quote is not closed") from error
    arguments: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key in properties:
            arguments[key] = _value(tool, key, value)
            continue
        if equals and key.isidentifier() and key.islower():
            raise Unclear(f"{tool.name} has no argument {key!r}{did_you_mean(key, properties)} It takes {tool.usage()}.")
        free = [name for name in properties if name not in arguments]
        if not free:
            raise Unclear(f"{tool.name} takes {tool.usage()}; there is one word too many ({word[:40]!r})")
        arguments[free[0]] = _value(tool, free[0], word)
    return arguments


def _value(tool: Tool, name: str, text: str) -> Any:
    """The typed text as the argument's type; what does not fit is left for the tool to refuse."""
    kind = tool.parameters["properties"][name]["type"]
    if kind == "integer":
        try:
            return int(text)
        except ValueError:
            return text
    if kind == "boolean" and text.casefold() in ("true", "false", "yes", "no"):
        return text.casefold() in ("true", "yes")
    if kind == "object":
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def tools_table(tools: Iterable[Tool]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("tool", "arguments", "what it does"):
        table.add_column(column, overflow="fold")
    for tool in tools:
        properties = tool.parameters["properties"]
        required = tool.parameters["required"]
        words = " ".join(name if name in required else f"[{name}]" for name in properties)
        first = tool.description.split(". ")[0].rstrip(".")
        mark = " (ends the case)" if tool.finishing else ""
        table.add_row(tool.name, escape(words), escape(first + mark))
    return table


def _tool_help(tool: Tool) -> str:
    lines = [f"{tool.name}: {tool.description}"]
    for name, schema in tool.parameters["properties"].items():
        need = "" if name in tool.parameters["required"] else ", optional"
        allowed = f" One of: {', '.join(map(str, schema['enum']))}." if "enum" in schema else ""
        lines.append(f"  {name} ({schema['type']}{need}): {schema['description']}{allowed}")
    return "\n".join(lines)


class Player:
    """One game: prints what happens on `console`, takes lines from `lines`."""

    def __init__(self, episode: Episode, console: Console, lines: Iterator[str]) -> None:
        self.episode, self.console, self.lines = episode, console, lines

    def play(self, task_id: str, seed: int) -> Grade | None:
        """Plays to the end, or until the player quits. Returns the grade of a finished game, else None."""
        opening = self.episode.reset(task_id, seed)
        self.console.print(tools_table(self.episode.tools.values()))
        self._opening(opening)
        self.console.print("Type `help` for how to call them, `rules` for what binds you, `quit` to stop.\n", markup=False)
        while not self.episode.done:
            line = next(self.lines, None)
            if line is None or line.strip() in ("quit", "exit"):
                self.console.print("Stopped before the case was finished: no grade.", markup=False)
                return None
            if line.strip():
                self._line(line.strip())
        grade = self.episode.grade()
        if grade is not None:
            self._grade(grade)
        return grade

    def _line(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        commands: dict[str, Callable[[], None]] = {
            "tools": lambda: self.console.print(tools_table(self.episode.tools.values())),
            "rules": self._rules,
            "opening": lambda: self._opening(self.episode.opening),
            "history": self._history,
        }
        if word == "help":
            tool = self.episode.tools.get(rest.strip())
            self.console.print(_tool_help(tool) if tool else HELP, markup=False, highlight=False)
        elif word in commands and not rest.strip():
            commands[word]()
        else:
            try:
                call = parse_line(line, self.episode.tools)
            except Unclear as unclear:
                self.console.print(f"? {unclear}", markup=False)
                return
            self._show(self.episode.step(call))

    def _opening(self, opening: Observation) -> None:
        shown = json.loads(opening.text)
        words = shown.pop("text")
        facts = "\n".join(f"{key}: {', '.join(v) if isinstance(v, list) else v}" for key, v in shown.items())
        panel = Panel(escape(f"{facts}\n\n{words}"), title=f"task {escape(self.episode.task.task_id)}", expand=False)
        self.console.print(panel, soft_wrap=False)  # else a panel cuts long lines off

    def _rules(self) -> None:
        for rule in self.episode.task.rules:
            where = f"{rule.document} {rule.clause}: " if rule.document else ""
            self.console.print(f"- {where}{rule.sentence}", markup=False, highlight=False)
        if not self.episode.task.rules:
            self.console.print("No rule is in force for this task.", markup=False)

    def _history(self) -> None:
        for entry in self.episode.journal.entries:
            state = "ok" if entry.ok else f"refused ({entry.refusal.kind.value if entry.refusal else ''})"
            self.console.print(f"{entry.step}: {action_text(entry.call)} -> {state}", markup=False, highlight=False)

    def _show(self, step: Step) -> None:
        observation = step.observation
        if observation.refusal is not None:
            self.console.print(
                f"refused ({observation.refusal.kind.value}): {observation.refusal.message}", style="yellow", markup=False
            )
            return
        try:
            result = json.loads(observation.text)
        except ValueError:  # cut off at the bound of an observation
            self.console.print(observation.text, markup=False, highlight=False)
            return
        if observation.kind == "requester" and isinstance(result, dict):
            self.console.print(f"requester: {result['requester']}", style="cyan", markup=False, highlight=False)
        else:
            self.console.print(json.dumps(result, indent=1, ensure_ascii=False), markup=False)

    def _grade(self, grade: Grade) -> None:
        ended = self.episode.journal.ended_by.replace("_", " ")
        verdict = "full: solved, and no rule was broken" if grade.full else "success" if grade.success else "not solved"
        self.console.print(Panel(f"{verdict} (ended by {ended})", title="graded journal", expand=False))
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("step", "call", "", "reward", "broke"):
            table.add_column(column, overflow="fold")
        for entry in self.episode.journal.entries:
            broken = [v for v in grade.violations if v.step == entry.step]
            reward = f"{grade.rewards[entry.step]:+.2f}" if entry.step < len(grade.rewards) else ""
            state = "" if entry.ok else "refused"
            table.add_row(str(entry.step), escape(action_text(entry.call)), state, reward, ", ".join(v.rule for v in broken))
        self.console.print(table)
        for violation in grade.violations:
            rows = ", ".join(f"{r.system}.{r.kind} {r.record_id}" for r in violation.evidence) or "no row"
            line = f"broke {violation.rule} at step {violation.step}: {violation.message} (evidence: {rows})"
            self.console.print(line, style="red", markup=False, highlight=False)
        for reason in grade.reasons:
            if " broke " not in reason:
                self.console.print(reason, style="green" if reason.startswith("right") else "red", markup=False, highlight=False)
        score = "" if grade.score is None else f", score {grade.score:.0f} of 100"
        self.console.print(f"return {grade.return_:+.2f}{score}", markup=False)
