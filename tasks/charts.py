"""Small charts as inline SVG, drawn by hand: the same bytes for the same numbers, readable without a script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

ROW, LABEL, WIDTH = 22, 230, 420
"""Pixels: height of a row, width of its label, width of the longest bar."""


def bars(rows: Sequence[tuple[str, int]], *, whole: int) -> str:
    """Horizontal bars with counts and their share of `whole`; the first one is set off from the rest."""
    longest = max((count for _, count in rows), default=0) or 1
    height = ROW * max(1, len(rows)) + 4
    parts = [f'<svg role="img" width="{LABEL + WIDTH + 130}" height="{height}" font-size="13" font-family="sans-serif">']
    for number, (label, count) in enumerate(rows):
        y = ROW * number
        length = round(WIDTH * count / longest, 1)
        share = f" ({100 * count / whole:.1f}%)" if whole else ""
        colour = "#2a7f62" if number == 0 else "#8a94a6"
        parts.append(f'<text x="{LABEL - 8}" y="{y + 16}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<rect x="{LABEL}" y="{y + 4}" width="{length}" height="{ROW - 8}" fill="{colour}"/>')
        parts.append(f'<text x="{LABEL + length + 6}" y="{y + 16}">{count}{share}</text>')
    return "".join([*parts, "</svg>"])
