"""`report.html` of a run: one file without a script or a reference to another host; the same text for the same run folder.

Written by hand instead of with a template engine: a trainer machine has none. Whatever comes from a file goes through `escape`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from training import page_episodes, page_parts
from training.run_files import RunFiles
from training.verdict import Line, verdict

STYLE = Path(__file__).with_name("report.css")

MARKS = {"good": "good", "bad": "BAD", "care": "look", "open": "unknown"}
"""What stands before a line of the verdict: colour alone tells nobody who cannot see it."""

SECTIONS: tuple[tuple[str, str], ...] = (
    ("results", "Held-out results"),
    ("classes", "Outcome classes"),
    ("course", "Course of training"),
    ("groups", "Workflows and organisations"),
    ("episodes", "Episodes before and after"),
    ("compared", "Seeds and controls"),
    ("alarms", "Alarms"),
    ("review", "Review by people"),
    ("card", "Run card"),
)


def page(run: RunFiles, card: Mapping[str, Any]) -> str:
    """The whole page."""
    said = verdict(run)
    parts: dict[str, str] = {
        "results": page_parts.results(run),
        "classes": page_parts.classes(run),
        "course": page_parts.course(run),
        "groups": page_parts.groups(run),
        "episodes": page_episodes.side_by_side(run),
        "compared": page_parts.compared(run),
        "alarms": page_parts.alarm_table(run),
        "review": page_episodes.review(run),
        "card": page_parts.card_table(card),
    }
    head = (
        f"Run of task set {escape(str(run.config['taskset']))} · settings <code>{run.config['config_sha256'][:12]}</code> · "
        f"code <code>{escape(run.config['versions']['code'][:12])}</code> · seed {run.config['settings']['seed']} · "
        f"{len(run.rows)} iterations"
    )
    style = STYLE.read_text(encoding="utf-8")
    links = "".join(f'<a href="#{key}">{title}</a>' for key, title in SECTIONS)
    body = "\n".join(f'<h2 id="{key}">{title}</h2>\n{parts[key]}' for key, title in SECTIONS)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(run.name)}: {escape(said.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<header>\n<h1>{escape(run.name)}</h1>\n<p class="sub">{head}</p>\n</header>\n<main>\n'
        f'<div class="banner {said.level}" role="status"><strong>{escape(said.title)}</strong>\n{_lines(said.lines)}</div>\n'
        f'{page_parts.cards(run)}\n<nav aria-label="Parts of this page">{links}</nav>\n{body}\n</main>\n'
        f"{_canary(run)}</body>\n</html>\n"
    )


def _lines(lines: Sequence[Line]) -> str:
    items = [f'<li><span class="mark {one.level}">{MARKS[one.level]}</span>{page_parts.ticked(one.text)}</li>' for one in lines]
    return f"<ul>{''.join(items)}</ul>\n"


def _canary(run: RunFiles) -> str:
    """Held-out tasks stand on this page: it carries their canary, so that nobody trains on it unawares."""
    found = sorted({row["canary"] for row in (*(run.transcripts or ()), *(run.review or ())) if row.get("canary")})
    if not found:
        return ""
    return f'<footer><p class="hint">Shows held-out tasks. Not for training: {escape(", ".join(found))}</p></footer>\n'
