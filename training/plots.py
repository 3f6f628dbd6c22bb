"""Curves of a run as SVG and PNG where matplotlib is installed; nothing, and a line that says so, where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("success (rollout, sampled)", ("success", "full", "validation_success")),
    ("return", ("return", "validation_return")),
    ("violations and refused calls an episode", ("violations", "refusals")),
    ("turns an episode", ("turns",)),
    ("KL", ("kl_warm", "k3")),
    ("entropy (nats)", ("entropy",)),
    ("losses", ("policy_loss", "value_loss")),
    ("explained variance, clip fraction", ("explained_variance", "clip_fraction")),
)
"""Title and metrics of each panel."""


def plot_run(rows: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Writes curves.svg and curves.png from the rows of metrics.jsonl; nothing without matplotlib or without rows."""
    if not rows:
        return []
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "recordgym"
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 7), layout="constrained")
    axes = figure.subplots(2, 4)
    for axis, (title, names) in zip(axes.flat, PANELS, strict=True):
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("iteration", fontsize=8)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
        for name in names:
            points = [(row["iteration"], row[name]) for row in rows if row.get(name) is not None]
            if points:
                axis.plot(*zip(*points, strict=True), label=name, marker="o" if len(points) < 12 else None, markersize=3)
        axis.legend(fontsize=7)
    written = []
    for kind in ("svg", "png"):
        path = folder / f"curves.{kind}"
        figure.savefig(path, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else {"Software": None})
        written.append(path)
    return written
