"""Text of the resolution: what a human agent wrote after the cut, shown before."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from schemas.task import Fact, PolicyClause
from tasks.leaks import LeakInput
from tests.plants._edit import Edit, choose, key_of, own, stamp, task_and_row, when
from tests.plants._planted import Plant, Planted
from tests.plants._words import clauses, resolution, typos

SECTION = "resolution text"


def _written(data: LeakInput, task_id: str, text: str) -> LeakInput:
    """The human agent really wrote `text` after the cut."""
    said = (*data.later_messages.get(task_id, ()), f"Hello,\n\n{text}\n\nKind regards")
    return replace(data, later_messages={**data.later_messages, task_id: said})


def _in_field(shown: Callable[[str, Random], Any], *, json_field: bool = False) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        task, at = task_and_row(data, rng)
        text = resolution(rng)
        edit = Edit(_written(data, task.task_id, text)).declare(key_of(at, "remark"), "json" if json_field else "text")
        return Planted(edit.field(task.task_id, at, "remark", shown(text, rng)).done(), (task.task_id,))

    return make


def split_fields(data: LeakInput, rng: Random) -> Planted:
    task, at = task_and_row(data, rng)
    text = resolution(rng)
    left, right = clauses(text)
    edit = Edit(_written(data, task.task_id, text)).declare(key_of(at, "line_1"), "text").declare(key_of(at, "line_2"), "text")
    edit.field(task.task_id, at, "line_1", left).field(task.task_id, at, "line_2", right)
    return Planted(edit.done(), (task.task_id,))


def earlier_case(data: LeakInput, rng: Random) -> Planted:
    """The answer stands among the messages of an earlier case, with a time before the cut."""
    task = choose(data, rng)
    text = resolution(rng)
    system, kind, rid = own(task)
    note = [{"at": stamp(when(task.started_at) - timedelta(days=3)), "from": "agent", "text": f"Good morning, {text} Bye"}]
    edit = Edit(_written(data, task.task_id, text)).declare(f"{system}.{kind}.messages", "json")
    return Planted(edit.rows(task.task_id, {system: {kind: {rid: {"messages": note}}}}).done(), (task.task_id,))


def last_message(data: LeakInput, rng: Random) -> Planted:
    """The whole of a real message after the cut, quoted below the request."""
    task = choose(data, rng, lambda t: any(len(m.split()) >= 8 for m in data.later_messages.get(t.task_id, ())))
    message = max(data.later_messages[task.task_id], key=len)
    quoted = "\n".join(f"> {line}" for line in message.splitlines())
    return Planted(Edit(data).opening(task.task_id, text=f"{task.opening.text}\n\n{quoted}").done(), (task.task_id,))


def wrapped_quote(data: LeakInput, rng: Random) -> Planted:
    """Quoted with a mark and a line break after every fourth word."""
    task = choose(data, rng)
    text = resolution(rng)
    words = text.split()
    quoted = "\n".join("> " + " ".join(words[i : i + 4]) for i in range(0, len(words), 4))
    edit = Edit(_written(data, task.task_id, text)).opening(task.task_id, text=f"{task.opening.text}\n\n{quoted}")
    return Planted(edit.done(), (task.task_id,))


def in_subject(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    text = resolution(rng)
    return Planted(Edit(_written(data, task.task_id, text)).opening(task.task_id, subject=f"Re: {text}").done(), (task.task_id,))


def in_fact(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    text = resolution(rng)
    fact = Fact(id="f97", slots=("history",), question="What were you told?", answer=f"I was told: {text}")
    return Planted(Edit(_written(data, task.task_id, text)).fact(task.task_id, fact).done(), (task.task_id,))


def in_dont_know(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    text = resolution(rng)
    turns = (*task.requester.dont_know, f"No idea, but {text}")
    return Planted(Edit(_written(data, task.task_id, text)).requester(task.task_id, dont_know=turns).done(), (task.task_id,))


def in_policy(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng, lambda t: bool(t.policies))
    text = resolution(rng)
    edit = Edit(_written(data, task.task_id, text))
    policy = dict(data.content(task.policies[-1]))
    policy["clauses"] = [*policy["clauses"], PolicyClause(clause="9.9", text=f"Example: {text}").model_dump()]
    edit.task(task.task_id, policies=(*task.policies[:-1], edit.put(policy)))
    return Planted(edit.done(), (task.task_id,))


def in_tool_text(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    text = resolution(rng)
    edit = Edit(_written(data, task.task_id, text))
    first, *rest = task.systems
    digest = edit.put({"api": "notes", "description": f"Shows notes, for instance: {text}"})
    config = {**first.config, "declarations": f"content:{digest}"}
    edit.task(task.task_id, systems=(first.model_copy(update={"config": config}), *rest))
    return Planted(edit.done(), (task.task_id,))


def requester_name(data: LeakInput, rng: Random) -> Planted:
    """The contact of the opening: a mail header with the answer as its display name."""
    task = choose(data, rng)
    text = resolution(rng)
    edit = Edit(_written(data, task.task_id, text)).opening(task.task_id, requester_name=text)
    return Planted(edit.done(), (task.task_id,))


def _reordered(text: str, _: Random) -> str:
    left, right = clauses(text)
    return f"{right[:1].upper()}{right[1:]}; before that {left[:1].lower()}{left[1:]}."


def _shouted(text: str, _: Random) -> str:
    return "".join(c for c in text.upper() if c.isalnum() or c == " ")


def _marked_up(text: str, _: Random) -> str:
    words = html.escape(text).split()
    return "<div>" + "&nbsp;<b>".join([" ".join(words[:7]), " ".join(words[7:14]) + "</b>", " ".join(words[14:])]) + "</div>"


def _invisible(text: str, rng: Random) -> str:
    return " ".join(w[:2] + rng.choice("\u200b\u00ad\u2060") + w[2:] if len(w) > 3 else w for w in text.split())


def _no_break(text: str, _: Random) -> str:
    """As word processors paste it: no-break spaces and typographic marks."""
    return text.replace(" ", "\u00a0").replace(",", "\u201a").replace(".", "\u2026")


def _letters(text: str, _: Random) -> Any:
    return {"thread": [{"parts": [{"type": "text", "body": text}]}]}


def whole_in_words(data: LeakInput, rng: Random) -> Planted:
    """One word a list item."""
    task, at = task_and_row(data, rng)
    text = resolution(rng)
    edit = Edit(_written(data, task.task_id, text)).declare(key_of(at, "tokens"), "tags")
    return Planted(edit.field(task.task_id, at, "tokens", text.split()).done(), (task.task_id,))


def across_rows(data: LeakInput, rng: Random) -> Planted:
    """Halves of the sentence in two rows of the state."""
    task, at = task_and_row(data, rng)
    text = resolution(rng)
    left, right = clauses(text)
    system, kind, _ = at
    other = (system, kind, "NOTE_0A1B2C3D")
    edit = Edit(_written(data, task.task_id, text)).declare(f"{system}.{kind}.remark", "text")
    edit.field(task.task_id, at, "remark", left).field(task.task_id, other, "remark", right)
    return Planted(edit.done(), (task.task_id,))


def short_answer(data: LeakInput, rng: Random) -> Planted:
    """The real answer is one short sentence of seven words."""
    task, at = task_and_row(data, rng)
    text = f"Spare bracket number {rng.randrange(300, 900)} leaves gate nine tomorrow."
    said = (*data.later_messages.get(task.task_id, ()), text)
    edit = Edit(replace(data, later_messages={**data.later_messages, task.task_id: said})).declare(key_of(at, "remark"), "text")
    return Planted(edit.field(task.task_id, at, "remark", text).done(), (task.task_id,))


PLANTS = (
    Plant("text_verbatim", SECTION, "sentence of the answer, verbatim in a text field", _in_field(lambda t, _: t)),
    Plant("text_typos", SECTION, "the same with typing errors in every fourth word", _in_field(typos)),
    Plant("text_reordered", SECTION, "the same with its two clauses in the other order", _in_field(_reordered)),
    Plant("text_upper_case", SECTION, "the same in capitals without punctuation", _in_field(_shouted)),
    Plant("text_marked_up", SECTION, "the same as HTML with entities", _in_field(_marked_up)),
    Plant("text_invisible", SECTION, "the same with invisible characters inside words", _in_field(_invisible)),
    Plant("text_no_break", SECTION, "the same with no-break spaces and typographic marks", _in_field(_no_break)),
    Plant("text_nested", SECTION, "the same deep in a nested list", _in_field(_letters, json_field=True)),
    Plant("text_json_string", SECTION, "the same in JSON inside a text field", _in_field(lambda t, _: json.dumps({"b": [t]}))),
    Plant("text_split_fields", SECTION, "the same split over two fields of a row", split_fields),
    Plant("text_split_rows", SECTION, "the same split over two rows", across_rows),
    Plant("text_word_list", SECTION, "the same as a list of single words", whole_in_words),
    Plant("text_short", SECTION, "an answer of seven words, verbatim", short_answer),
    Plant("text_earlier_case", SECTION, "the same among the messages of an earlier case", earlier_case),
    Plant("text_quoted_message", SECTION, "a whole later message quoted below the opening", last_message),
    Plant("text_wrapped_quote", SECTION, "the sentence quoted in the opening, wrapped after every fourth word", wrapped_quote),
    Plant("text_subject", SECTION, "the sentence in the subject", in_subject),
    Plant("text_fact", SECTION, "the sentence in a requester's fact", in_fact),
    Plant("text_dont_know", SECTION, "the sentence in a requester's turn of not knowing", in_dont_know),
    Plant("text_policy", SECTION, "the sentence as an example in a policy", in_policy),
    Plant("text_tool", SECTION, "the sentence in the description of a declared tool", in_tool_text),
    Plant("text_requester_name", SECTION, "the sentence as the requester's display name", requester_name),
)
