"""A chat template taken apart: the text of an opening, of a call and of an answer, each as the difference that it makes.

What the agent wrote is never written again: behind its ids stands what the template puts between a call and the next one. That is
only the same conversation where the template is prefix-preserving (k messages, ready for an answer, are how k+1 begin) and each
piece looks alike wherever it stands. Both are checked once, on a conversation of several calls; a template for which they do
not hold is refused with what differs.

A template that has no form for calls gets them as JSON in the words of the assistant, one that has no role for tools gets answers
from the user, one that has no system message gets it before the first words of the user.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2.exceptions import TemplateError
from transformers import PreTrainedTokenizerBase

from schemas.errors import StageError

CHATML = """{%- for message in messages %}
{{- '<|im_start|>' + ('user' if message.role == 'tool' else message.role) + '\n' }}
{%- if message.role == 'tool' %}{{- '<tool_response>\n' + message.content + '\n</tool_response>' }}
{%- elif message.tool_calls %}{%- for call in message.tool_calls %}
{{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) }}
{{- '}\n</tool_call>' }}
{%- endfor %}
{%- else %}{{- message.content }}
{%- endif %}
{%- if message.role == 'system' and tools %}
{{- '\n\nThe tools, one a line:\n<tools>' }}
{%- for tool in tools %}{{- '\n' + (tool | tojson) }}{%- endfor %}
{{- '\n</tools>\n\nAnswer with one call: <tool_call>\n{"name": ..., "arguments": {...}}\n</tool_call>' }}
{%- endif %}
{{- eos_token + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""
"""Ours, for a tokenizer without a template, and for one whose own is not prefix-preserving (`--template chatml`)."""
PLAIN = '{"name": ..., "arguments": {...}}'
PROBE_TOOL = {
    "type": "function",
    "function": {
        "name": "probe_tool",
        "description": "Probes.",
        "parameters": {"type": "object", "properties": {"item_id": {"type": "string"}}, "required": ["item_id"]},
    },
}
PROBE_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("probe_tool", {"item_id": "ITEM_7F"}),
    ("other_tool", {"minor": 590, "text": 'Say "yes"?'}),
    ("last_tool", {}),
)


class _Unfit(Exception):  # noqa: N818 - a way of using the template that it does not allow
    pass


@dataclass(frozen=True, slots=True)
class CallForm:
    """How an assistant's turn writes a call: before + name + between + arguments as JSON + after."""

    before: str
    between: str
    after: str
    """With the end of the turn."""
    stop: str
    """The token in `after` that ends the turn."""

    @property
    def closing(self) -> str:
        """What a call still needs behind its arguments, up to the end of the turn."""
        return self.after[: self.after.index(self.stop)]

    @property
    def behind(self) -> str:
        """What the template writes behind the end of the turn."""
        return self.after[self.after.index(self.stop) + len(self.stop) :]

    def text(self, name: str, arguments: dict[str, Any]) -> str:
        """A whole call without the end of the turn."""
        return f"{self.before}{name}{self.between}{as_json(arguments)}{self.closing}"

    def parse(self, text: str) -> tuple[str, dict[str, Any]] | None:
        """(name, arguments) of exactly one call, blanks around it allowed; None for anything else."""
        opening, body = self.before[: self.before.index("{")].strip(), text.strip()
        closing = self.closing[self.closing.rindex("}") + 1 :].strip()
        if not body.startswith(opening) or not body.endswith(closing):
            return None
        try:
            value = json.loads(body[len(opening) : len(body) - len(closing)])
            keys = list(json.loads(f"{self.before[self.before.index('{') :]}{self.between}null{self._brace}"))
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or set(value) != set(keys):
            return None
        name, arguments = (value[key] for key in keys)
        return (name, arguments) if isinstance(name, str) and isinstance(arguments, dict) else None

    @property
    def _brace(self) -> str:
        return self.closing[: self.closing.rindex("}") + 1]


def as_json(value: Any) -> str:
    """As chat templates write it."""
    return json.dumps(value, ensure_ascii=False)


class Template:
    """The pieces of a conversation under one tokenizer's template."""

    form: CallForm
    cue: str
    """What makes it the assistant's turn."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, text: str) -> None:
        """Raises StageError where the template cannot be used, with the reason and an example."""
        self.tokenizer, self.text = tokenizer, text
        self.guarded = sorted((t for t in tokenizer.get_added_vocab() if len(t) > 1), key=lambda t: (-len(t), t))
        reasons: list[str] = []
        ways = [(calls, role, system) for system in (True, False) for calls in (True, False) for role in ("tool", "user")]
        for self.own_calls, self.role, self.own_system in ways:
            try:
                self._measure()
                return
            except (_Unfit, TemplateError, TypeError, KeyError) as error:
                reasons.append(str(error))
        reason = next((r for r in reasons if "prefix-preserving" in r), reasons[0])
        raise StageError(
            f"the chat template cannot be used: {reason}; `--template chatml` takes our own, which the model may not know"
        )

    def opening(self, system: str, tools: Sequence[dict[str, Any]], user: str) -> str:
        """Text of the start of an episode, without the cue."""
        return self._render(self._start(system, tools, user), tools, cue=False)

    def answer(self, text: str) -> str:
        """Text of what a tool answers, from behind the end of the call's turn, without the cue."""
        messages = [*self._start("s", [PROBE_TOOL], "u"), self._call(*PROBE_CALLS[0])]
        before = self._render(messages, [PROBE_TOOL], cue=False)
        whole = self._render([*messages, {"role": self.role, "content": self.guard(text)}], [PROBE_TOOL], cue=False)
        return _behind(before, whole)

    def guard(self, text: str) -> str:
        """`text` without what the tokenizer would take for one of its own marks: what a requester writes ends no turn."""
        for mark in self.guarded:
            if mark in text:
                text = text.replace(mark, f"{mark[0]} {mark[1:]}")
        return text

    def _start(self, system: str, tools: Sequence[dict[str, Any]], user: str) -> list[dict[str, Any]]:
        said = system
        if tools and not self.own_calls:
            lines = "\n".join(as_json(tool) for tool in tools)
            said = f"{system}\n\nThe tools, one a line:\n{lines}\n\nAnswer with one call and nothing else: {PLAIN}"
        if self.own_system:
            return [{"role": "system", "content": self.guard(said)}, {"role": "user", "content": self.guard(user)}]
        return [{"role": "user", "content": self.guard(f"{said}\n\n{user}")}]

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if self.own_calls:
            call = {"type": "function", "function": {"name": name, "arguments": arguments}}
            return {"role": "assistant", "content": "", "tool_calls": [call]}
        return {"role": "assistant", "content": as_json({"name": name, "arguments": arguments})}

    def _render(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, cue: bool) -> str:
        rendered = self.tokenizer.apply_chat_template(
            list(messages),
            tools=list(tools) if tools and self.own_calls else None,
            chat_template=self.text,
            tokenize=False,
            add_generation_prompt=cue,
        )
        return str(rendered)

    def _measure(self) -> None:
        """Finds cue and form, then checks them on a whole conversation. Raises _Unfit."""
        messages = self._start("s", [PROBE_TOOL], "u")
        start = self._render(messages, [PROBE_TOOL], cue=False)
        ready = self._render(messages, [PROBE_TOOL], cue=True)
        self.cue = _behind(start, ready)
        name, arguments = PROBE_CALLS[0]
        written = _behind(ready, self._render([*messages, self._call(name, arguments)], [PROBE_TOOL], cue=False))
        if self.own_calls and '"probe_tool"' not in start:
            raise _Unfit("it does not show the tools")
        self.form = self._form(written, name, as_json(arguments))
        text = start
        for number, (tool, given) in enumerate(PROBE_CALLS):
            messages.append(self._call(tool, given))
            text += self.cue + self.form.text(tool, given) + self.form.stop + self.form.behind
            _same(text, self._render(messages, [PROBE_TOOL], cue=False))
            answer = json.dumps({"number": number, "text": "a <b> & c"})
            messages.append({"role": self.role, "content": answer})
            text += self.answer(answer)
            _same(text, self._render(messages, [PROBE_TOOL], cue=False))
            _same(text + self.cue, self._render(messages, [PROBE_TOOL], cue=True))

    def _form(self, written: str, name: str, arguments: str) -> CallForm:
        at = written.find(name)
        of = written.find(arguments, at + len(name))
        if at < 0 or of < 0:
            raise _Unfit("it does not write a call as JSON")
        before, between, after = written[:at], written[at + len(name) : of], written[of + len(arguments) :]
        form = CallForm(before, between, after, self._stop(after))
        if "{" not in before or "}" not in form.closing or form.parse(written[: -len(after)] + form.closing) is None:
            raise _Unfit("it does not write a call as one JSON object")
        return form

    def _stop(self, after: str) -> str:
        eos = self.tokenizer.eos_token
        if eos and eos in after:
            return str(eos)
        special = [t for t in self.tokenizer.all_special_tokens if t and t in after]
        if not special:
            raise _Unfit("it ends a turn with no token of its own")
        return str(min(special, key=after.index))


def _behind(before: str, whole: str) -> str:
    """What `whole` has behind `before`. Raises _Unfit where it begins otherwise."""
    if not whole.startswith(before):
        raise _Unfit(f"it is not prefix-preserving: {_difference(before, whole)}")
    return whole[len(before) :]


def _same(ours: str, theirs: str) -> None:
    if ours != theirs:
        raise _Unfit(f"it writes a message otherwise once more follow: {_difference(ours, theirs)}")


def _difference(one: str, other: str) -> str:
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"after {one[max(0, at - 24) : at]!r} it first has {one[at : at + 24]!r}, then {other[at : at + 24]!r}"
