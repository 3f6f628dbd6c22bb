"""The parts of `report.html` that show episodes: the same tasks before and after, side by side, and the review queue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from training.page_parts import evaluate_hint, not_run, table
from training.run_files import RunFiles
from training.transcripts import GROUPS
from training.verdict import disagreement_words, labels_line

SHOWN_OF_GROUP = 12
"""Tasks of a group on the page; the others stand in transcripts.jsonl."""


def side_by_side(run: RunFiles) -> str:
    """Tasks lost, wrong, won and kept, as episodes."""
    if run.transcripts is None:
        return not_run("Episodes", f"None were kept; {evaluate_hint(run)} keeps some.")
    out = [
        '<p class="hint">Greedy episodes of held-out tasks, chosen by digest and by outcome class; all that were kept are in '
        "transcripts.jsonl.</p>"
    ]
    for group in GROUPS:
        rows = [row for row in run.transcripts if row["group"] == group]
        shown = rows[:SHOWN_OF_GROUP]
        count = rows[0]["group_tasks"] if rows else 0
        out.append(f"<h3>{escape(group.capitalize())}: {count} tasks{f', {len(shown)} shown' if shown else ''}</h3>")
        out += [_pair(row, opened=group == GROUPS[0] and number == 0) for number, row in enumerate(shown)]
    return "".join(out)


def _pair(row: Mapping[str, Any], *, opened: bool) -> str:
    head = (
        f"<code>{escape(row['task_id'])}</code> {escape(row['workflow'].replace('_', ' '))}, wanted "
        f"<strong>{escape(row['wanted']['code'])}</strong>: {_gave(row['before'])} before, {_gave(row['after'])} after"
    )
    sides = "".join(
        f'<div class="side"><h4>{name}</h4>{episode(row[key])}</div>' for key, name in (("before", "Before"), ("after", "After"))
    )
    return (
        f"<details{' open' if opened else ''}><summary>{head}</summary>{_request(row)}{_wanted(row)}"
        f'<div class="sides">{sides}</div></details>'
    )


def _gave(played: Mapping[str, Any]) -> str:
    """What an episode came to, in few words."""
    code = played["given"]["code"] or f"no decision, {played['ended_by'].replace('_', ' ') or 'not ended'}"
    return f"{escape(code)} ({'right' if played['success'] else 'wrong'})"


def _request(row: Mapping[str, Any]) -> str:
    request = row["request"]
    said = f"from: {request['from']}   now: {row['started_at']}\nsubject: {request['subject']}\n\n{request['text']}"
    return f'<div class="request">{escape(said)}</div>'


def _wanted(row: Mapping[str, Any]) -> str:
    wanted = row["wanted"]
    parts = [wanted["code"], *([f"about {wanted['about']}"] if wanted["about"] else []), *(wanted["changes"] or ["no change"])]
    if wanted["answer"]:
        parts.append(f"answer {json.dumps(wanted['answer'], sort_keys=True, ensure_ascii=False)}")
    return f'<dl class="outcome"><dt>wanted</dt><dd>{"<br>".join(escape(p) for p in parts)}</dd></dl>'


def episode(played: Mapping[str, Any]) -> str:
    """Calls with arguments, what came back, what was broken; then what was given and why that is right or wrong."""
    items = []
    for number, step in enumerate(played["steps"]):
        broken = [b for b in played["broken"] if b["step"] == number]
        kind = "broken" if broken else "refused" if not step["ok"] else ""
        arguments = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in step["arguments"].items())
        answer = step["answer"]
        label = "requester: " if answer["kind"] == "requester" else f"refused ({step['refused']}): " if not step["ok"] else ""
        back = "said" if answer["kind"] == "requester" else "back"
        rules = "".join(
            f'<span class="rule">broken: <strong>{escape(b["rule"])}</strong> {escape(b["sentence"] or b["message"])}</span>'
            for b in broken
        )
        items.append(
            f'<li class="{kind}"><strong>{escape(step["tool"])}</strong>({escape(arguments)})'
            f'<span class="{back}">{escape(label + spoken(answer))}</span>{rules}</li>'
        )
    given = played["given"]
    did = [given["code"] or "no decision", *([f"about {given['about']}"] if given["about"] else [])]
    did += given["changes"] or ["no change"]
    late = [b for b in played["broken"] if b["step"] >= len(played["steps"])]
    why = [*played["reasons"], *(f"broken: {b['rule']}: {b['sentence'] or b['message']}" for b in late)]
    level = "good" if played["success"] else "bad"
    return (
        f'<ol class="calls">{"".join(items)}</ol><dl class="outcome"><dt>given</dt><dd>{"<br>".join(escape(d) for d in did)}</dd>'
        f'<dt>judged</dt><dd><span class="mark {level}">{"right" if played["success"] else "wrong"}</span>'
        f"return {played['return']:+.2f}</dd><dt>because</dt><dd>{'<br>'.join(escape(r) for r in why)}</dd></dl>"
    )


def spoken(answer: Mapping[str, Any]) -> str:
    """What came back as people read it: the requester's words without the JSON around them."""
    text = str(answer["text"])
    if answer["kind"] != "requester":
        return text
    try:
        held = json.loads(text)
    except ValueError:
        return text
    words = held.get("requester") if isinstance(held, dict) else None
    return words if isinstance(words, str) else text


def review(run: RunFiles) -> str:
    """What waits for people, and what they said."""
    if run.review is None:
        return not_run("Review queue", evaluate_hint(run))
    out = [
        f"<p>{escape(labels_line(run).text)}</p>",
        '<p class="hint">Episodes with a high reward, and those on which the reward and other signs disagree; '
        "the first ones are drawn at random. "
        "Fill in review.csv, then <code>python -m training.review RUN --read FILE</code>. "
        "Labels change no grade.</p>",
    ]
    if run.labels is not None:
        rows = [
            [
                escape("drawn at random: speaks for all episodes" if name == "all" else name),
                escape(disagreement_words(row)),
                str(row["unclear"]),
            ]
            for name, row in run.labels["disagreement"].items()
        ]
        out.append(table(("reason", "what people said", "unclear"), rows, caption=f"Labels, version {run.labels['version']}"))
    for reason in dict.fromkeys(row["reason"] for row in run.review):
        rows_of = [row for row in run.review if row["reason"] == reason]
        out.append(f"<h3>{escape(reason.capitalize())}: {len(rows_of)}</h3>")
        for row in rows_of:
            head = (
                f"<code>{escape(row['episode'])}</code> {escape(row['workflow'].replace('_', ' '))}, wanted "
                f"<strong>{escape(row['wanted']['code'])}</strong>: {_gave(row['played'])}, return {row['played']['return']:+.2f}"
            )
            out.append(f"<details><summary>{head}</summary>{_request(row)}{_wanted(row)}{episode(row['played'])}</details>")
    return "".join(out)
