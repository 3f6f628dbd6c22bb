"""Progress lines of an evaluation: how many tasks of the phase are done, and for how long it has run."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

EVERY = 10.0
"""Seconds between two lines of a phase."""


@dataclass(slots=True)
class Progress:
    """Says of a phase that takes long how far it is; `quiet`: nothing."""

    quiet: bool = False
    phase: str = ""
    total: int = 0
    done: int = 0
    whole: int = 0
    """Episodes of all phases."""
    so_far: int = 0
    began: float = 0.0
    said: float = 0.0
    opened: float = field(default_factory=time.monotonic)

    def start(self, phase: str, total: int) -> None:
        """A phase of `total` episodes begins."""
        self.phase, self.total, self.done = phase, total, 0
        self.began = self.said = time.monotonic()

    def tick(self, finished: int = 0) -> None:
        """`finished` more episodes are over; called often, it writes a line every EVERY seconds."""
        self.done += finished
        self.so_far += finished
        now = time.monotonic()
        if now - self.said >= EVERY:
            self.said = now
            place = f"{self.done} of {self.total} episodes, {now - self.began:.0f} s; {self.so_far} of {self.whole} in all"
            self.say(f"{self.phase}: {place}")

    def end(self, result: str) -> None:
        """The phase is over: its result, with the seconds that it took and those since the start of all."""
        now = time.monotonic()
        self.say(f"{self.phase}: {result} ({self.total} episodes, {now - self.began:.0f} s; {now - self.opened:.0f} s in all)")

    def say(self, line: str) -> None:
        if not self.quiet:
            print(f"held out: {line}", file=sys.stderr, flush=True)
