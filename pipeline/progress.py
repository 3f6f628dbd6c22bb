"""Progress of long work on stderr: a bar on a terminal, a line every few seconds elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    def __call__(self, done: int = 1) -> None: ...


@contextmanager
def progress(label: str, total: int, *, quiet: bool = False, every_s: float = 5.0) -> Iterator[Advance]:
    """Yields a function to call with the number of units just finished."""
    if quiet or total == 0:
        yield lambda done=1: None
        return
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(label, total=total)
            yield lambda done=1: bar.advance(task, done)
        return
    finished, last = 0, time.monotonic()

    def advance(done: int = 1) -> None:
        nonlocal finished, last
        finished += done
        now = time.monotonic()
        if now - last >= every_s or finished == total:
            last = now
            print(f"{label}: {finished}/{total}", file=sys.stderr, flush=True)

    yield advance
