"""Charts as plain inline SVG: no library, no script, the same text for the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from statistics import fmean
from typing import Any

COLOURS = ("#1f4e9c", "#d1601f", "#2a7f62", "#8a3b8f", "#b38600", "#4aa3c7", "#a8001c", "#66707f", "#93b23c", "#c98bb9")
"""Told apart by the colour-blind in this order; every line has its name beside it, too."""
DASHES = ("", "6 3", "2 2", "8 3 2 3")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 340, 170, 44, 10, 8, 24
COLUMNS = 120
"""Columns of a stacked chart; more iterations are averaged into so many."""

Points = Sequence[tuple[float, float]]


def lines(title: str, series: Mapping[str, Points], *, floor: float | None = None) -> str:
    """A line chart with its legend, as a figure; "" where no series has a point. `floor` is kept in sight."""
    drawn = {name: points for name, points in series.items() if points}
    if not drawn:
        return ""
    xs, ys = [x for p in drawn.values() for x, _ in p], [y for p in drawn.values() for _, y in p]
    low, high = min([*ys, *([] if floor is None else [floor])]), max(ys)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    x0, x1 = min(xs), max(xs)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - x0) / (x1 - x0) if x1 > x0 else 0.5
        up = (y - low) / (high - low) if high > low else 0.5
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [_open(title)]
    for tick in ticks:
        y = at(x0, tick)[1]
        stroke = "#8a94a6" if tick == 0 else "#e3e7ee"
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{stroke}"/>')
        parts.append(_text(LEFT - 5, y + 3.5, _number(tick), "end"))
    parts.append(_axis(x0, x1))
    for index, points in enumerate(drawn.values()):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        placed = [at(x, y) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashed}/>')
        if len(points) < 15:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>' for x, y in placed]
    return _figure(title, "".join([*parts, "</svg>"]), list(drawn))


def stacked(title: str, names: Sequence[str], columns: Sequence[tuple[float, Sequence[float]]]) -> str:
    """Shares over iterations, one column an iteration: (iteration, share of each name), shares in [0, 1]."""
    if not columns or not names:
        return ""
    held = _bunched(columns)
    step = (WIDTH - LEFT - RIGHT) / len(held)
    height = HEIGHT - TOP - BOTTOM
    parts = [_open(title)]
    for index, (_, shares) in enumerate(held):
        y = float(TOP)
        for number, share in enumerate(shares):
            if share > 0:
                colour = COLOURS[number % len(COLOURS)]
                parts.append(
                    f'<rect x="{LEFT + index * step:.2f}" y="{y:.2f}" width="{step + 0.3:.2f}" '
                    f'height="{share * height:.2f}" fill="{colour}"/>'
                )
            y += share * height
    parts += [_text(LEFT - 5, TOP + (1 - t) * height + 3.5, _number(t), "end") for t in (0.0, 0.5, 1.0)]
    parts.append(_axis(columns[0][0], columns[-1][0]))
    return _figure(title, "".join([*parts, "</svg>"]), names, dashes=False)


def interval(figure: Mapping[str, Any] | None, *, whole: float = 1.0, before: Mapping[str, Any] | None = None) -> str:
    """A dot with its 95% interval on the line from 0 to `whole`, and above it in grey that of `before`; "" without a figure."""
    if not figure or figure.get("mean") is None:
        return ""
    said = f"{figure['mean']:.2f}"
    if figure.get("low") is not None:
        said += f", 95% interval {figure['low']:.2f} to {figure['high']:.2f}"
    parts = [
        f'<svg class="interval" role="img" aria-label="{said}" viewBox="0 0 180 20" width="180" height="20">',
        '<line x1="6" x2="174" y1="13" y2="13" stroke="#d5dae3"/>',
    ]
    if before and before.get("mean") is not None:
        parts += _dot(before, whole, 6, "#8a94a6", 3)
    return "".join([*parts, *_dot(figure, whole, 13, "#1f4e9c", 4), "</svg>"])


def _dot(figure: Mapping[str, Any], whole: float, y: int, colour: str, radius: int) -> list[str]:
    def at(value: float) -> float:
        return 6 + 168 * min(1.0, max(0.0, value / whole))

    out = [f'<circle cx="{at(figure["mean"]):.1f}" cy="{y}" r="{radius}" fill="{colour}"/>']
    if figure.get("low") is not None:
        ends = f'x1="{at(figure["low"]):.1f}" x2="{at(figure["high"]):.1f}"'
        out.insert(0, f'<line {ends} y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
    return out


def _bunched(columns: Sequence[tuple[float, Sequence[float]]]) -> list[tuple[float, list[float]]]:
    """At most COLUMNS columns: neighbours averaged."""
    size = -(-len(columns) // COLUMNS)
    groups = [columns[start : start + size] for start in range(0, len(columns), size)]
    return [(g[0][0], [fmean(part) for part in zip(*(shares for _, shares in g), strict=True)]) for g in groups]


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers from at most `low` to at least `high`."""
    span = high - low or abs(high) or 1.0
    size = 1.0
    while size * 5 < span:
        size *= 10
    while size * 0.5 > span / 2:
        size /= 10
    step = next(size * f for f in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0) if span / (size * f) <= 4)
    first = int(low // step)
    out = [first * step]
    while out[-1] < high - 1e-9 * span:
        out.append((first + len(out)) * step)
    return [round(tick, 10) for tick in out]


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 10000 else f"{value:.1e}"


def _open(title: str) -> str:
    return f'<svg class="chart" role="img" aria-label="{escape(title)}" viewBox="0 0 {WIDTH} {HEIGHT}">'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="10" fill="#5a6472" text-anchor="{anchor}">{escape(text)}</text>'


def _axis(first: float, last: float) -> str:
    y = HEIGHT - 8
    middle = _text((LEFT + WIDTH - RIGHT) / 2, y, "iteration", "middle")
    return (
        _text(LEFT, y, _number(first), "start") + middle + (_text(WIDTH - RIGHT, y, _number(last), "end") if last > first else "")
    )


def _figure(title: str, svg: str, names: Sequence[str], *, dashes: bool = True) -> str:
    keys = []
    for index, name in enumerate(names):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)] if dashes else ""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        mark = f'<line x1="0" x2="20" y1="5" y2="5" stroke="{colour}" stroke-width="{2 if dashes else 9}"{dashed}/>'
        keys.append(f'<li><svg width="20" height="10" aria-hidden="true">{mark}</svg>{escape(name)}</li>')
    return f'<figure><figcaption>{escape(title)}</figcaption>{svg}<ul class="key">{"".join(keys)}</ul></figure>'
