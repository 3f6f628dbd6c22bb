"""Stopping a command as people do, and whether anything of it is left."""

from __future__ import annotations

import os
import signal
import time

INTERRUPTED = "interrupted; run the same command again: a stage goes on from what it finished"


def stop(group: int, sent: signal.Signals) -> None:
    """Ctrl-C reaches the whole process group, as from a terminal; a kill its first process alone."""
    (os.killpg if sent == signal.SIGINT else os.kill)(group, sent)


def all_gone(group: int, seconds: float = 10) -> bool:
    """True as soon as no process of the group is left; False if one still is after `seconds`."""
    for _ in range(int(10 * seconds)):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
