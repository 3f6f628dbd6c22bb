"""Split and duplicate cluster are recorded: the hold-out says where the task stands, and no near-duplicate of it stands on the
other side."""

from __future__ import annotations

from tasks.certificates._bench import Bench, CertificateCheck, Said


def run(bench: Bench) -> Said:
    placed, sides = bench.placement.placed, bench.placement.sides
    if placed is None:
        return "failed", "splits.json has no entry for the task"
    if placed.slice != bench.task.slice:
        return "failed", f"splits.json says {placed.slice}, the task says {bench.task.slice}"
    side = "train" if placed.slice == "train" else "heldout"
    if bench.taskset.side != side and bench.taskset.manifest.ids:
        return "failed", f"a task of the slice {placed.slice} lies in {bench.taskset.side}"
    if not placed.cluster:
        return "failed", "no cluster of near-duplicates is recorded"
    if sides - {side}:
        return "failed", f"its cluster {placed.cluster} stands on both sides"
    if (bench.task.canary != "") != (side == "heldout"):
        return "failed", f"a task in {side} {'with' if bench.task.canary else 'without'} the canary"
    return "passed", f"{placed.slice}, cluster {placed.cluster}"


CHECK = CertificateCheck("C16", run)
