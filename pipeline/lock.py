"""One writer a folder: who comes second is told so at once, and a killed writer leaves nothing locked."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.errors import StageError

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Makes the folder and holds it. Raises StageError where it cannot be written or another process holds it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / LOCK).open("w")
    except OSError as error:
        raise StageError(f"cannot write in {folder}: {error.strerror}") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StageError(f"{folder} is being written by another run; wait until it has ended") from error
        yield
