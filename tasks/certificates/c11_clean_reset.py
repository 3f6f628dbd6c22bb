"""Two resets give the same state, whatever was played before or beside."""

from __future__ import annotations

from environments.episode import Episode
from tasks.certificates._bench import Bench, CertificateCheck, Said


def run(bench: Bench) -> Said:
    task_id, seed = bench.task.task_id, bench.seed
    beside = Episode(bench.taskset)
    bench.episode.reset(task_id, seed)
    fresh = bench.episode.state_digest()
    beside.reset(task_id, seed)
    for call in bench.calls:
        if not bench.episode.done:
            bench.episode.step(call)
    if beside.state_digest() != fresh:
        return "failed", "an episode changed another one"
    if bench.episode.state_digest() == fresh:
        return "failed", "the reference leaves no trace in the state"
    bench.episode.reset(task_id, seed)
    return ("passed", "") if bench.episode.state_digest() == fresh else ("failed", "a reset state differs from a fresh one")


CHECK = CertificateCheck("C11", run)
