"""Where shards run: in this process, or in a local pool that survives killed workers. The shard functions know nothing of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from schemas.errors import StageError

ENGINES = ("inline", "pool")
MAX_POOL_RESTARTS = 5


def begin_worker(parent: int) -> None:
    """Ctrl-C is the parent's to handle; and a worker whose parent was killed ends instead of waiting for work for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_shards(
    run: Callable[[Callable[[Any, Path], None], Any, Path], Path],
    work: Callable[[Any, Path], None],
    jobs: Sequence[tuple[Any, Path]],
    *,
    workers: int,
    engine: str,
) -> Iterator[Path]:
    """Yields each job's folder as it finishes, in no particular order.

    A pool breaks as a whole when one worker dies: the unfinished jobs are submitted again to a new one, at most
    MAX_POOL_RESTARTS times.
    """
    if engine not in ENGINES:
        raise StageError(f"engine {engine!r} is not one of {', '.join(ENGINES)}")
    if engine == "inline" or workers == 1 or len(jobs) <= 1:
        for payload, folder in jobs:
            yield run(work, payload, folder)
        return
    left = {folder: payload for payload, folder in jobs}
    context = multiprocessing.get_context("spawn")
    for _ in range(MAX_POOL_RESTARTS + 1):
        size = min(workers, len(left))
        with ProcessPoolExecutor(size, context, initializer=begin_worker, initargs=(os.getpid(),)) as pool:
            try:
                futures = [pool.submit(run, work, payload, folder) for folder, payload in left.items()]
                for future in as_completed(futures):
                    folder = future.result()
                    del left[folder]
                    yield folder
            except BrokenProcessPool:
                continue
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return
    raise StageError(f"workers died {MAX_POOL_RESTARTS + 1} times ({len(left)} shards left); is there enough memory?")
