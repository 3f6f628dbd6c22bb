"""Small charts without a script, the same bytes for the same numbers: bars as HTML, intervals as inline SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 180, 18
"""Units of an interval's drawing."""


def bars(rows: Sequence[tuple[str, int]], *, whole: int) -> str:
    """Horizontal bars with counts and their share of `whole`; the first one is set off from the rest."""
    longest = max((count for _, count in rows), default=0) or 1
    lines = []
    for number, (label, count) in enumerate(rows):
        share = f" ({100 * count / whole:.1f}%)" if whole else ""
        kind = "bar first" if number == 0 else "bar"
        lines.append(
            f'<li><span class="label">{escape(label)}</span><span class="track"><span class="{kind}" '
            f'style="width:{100 * count / longest:.1f}%"></span></span><span class="count">{count}{share}</span></li>'
        )
    return f'<ul class="bars">{"".join(lines)}</ul>'


def interval(numbers: Mapping[str, float]) -> str:
    """A dot with its 95% interval on the line from 0 to 1, a dashed line at chance, a dotted one where action is due.

    "" where there is no accuracy to draw.
    """
    if "accuracy" not in numbers:
        return ""
    dot = _x(numbers["accuracy"])
    parts = [
        f'<svg class="interval" role="img" aria-label="{escape(_words(numbers))}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}">',
        f'<line x1="0" x2="{WIDTH}" y1="9" y2="9" stroke="#d5dae3"/>',
    ]
    if "chance" in numbers:
        parts.append(_mark(numbers["chance"], "3 2"))
        if "margin" in numbers:
            parts.append(_mark(numbers["chance"] + numbers["margin"], "1 2"))
    if "low" in numbers and "high" in numbers:
        low, high = _x(numbers["low"]), _x(numbers["high"])
        parts.append(f'<line x1="{low:.1f}" x2="{high:.1f}" y1="9" y2="9" stroke="#1d2430" stroke-width="2"/>')
    parts.append(f'<circle cx="{dot:.1f}" cy="9" r="4" fill="#1d2430"/>')
    return "".join([*parts, "</svg>"])


def _x(value: float) -> float:
    return WIDTH * min(1.0, max(0.0, value))


def _mark(value: float, dashes: str) -> str:
    x = _x(value)
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{HEIGHT}" stroke="#66707f" stroke-dasharray="{dashes}"/>'


def _words(numbers: Mapping[str, float]) -> str:
    said = f"balanced accuracy {numbers['accuracy']:.2f}"
    if "low" in numbers and "high" in numbers:
        said += f", 95% interval {numbers['low']:.2f} to {numbers['high']:.2f}"
    return said + (f", chance {numbers['chance']:.2f}" if "chance" in numbers else "")
